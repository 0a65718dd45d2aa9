import { expect, test } from "vitest";
import { formatStamp } from "../src/lib/text/stamp";
import { parseTarget } from "../src/lib/log/goto";

const end = Date.UTC(2026, 10, 21, 14, 0, 0);

test("numbers are lines", () => {
  expect(parseTarget(" 40,112 ", end, true)).toEqual({ line: 40112 });
  expect(parseTarget("0", end, true)).toEqual({ line: 0 });
});

test("clock times are the last ones before the log's end", () => {
  expect(parseTarget("13:30", end, true)).toEqual({ ms: Date.UTC(2026, 10, 21, 13, 30) });
  expect(parseTarget("14:00:01", end, true)).toEqual({ ms: Date.UTC(2026, 10, 20, 14, 0, 1) });
  expect(parseTarget("25:00", end, true)).toBeNull();
  expect(parseTarget("12:61", end, true)).toBeNull();
});

test("days, and how long before the end", () => {
  expect(parseTarget("2026-11-20 9:05:10", end, true)).toEqual({ ms: Date.UTC(2026, 10, 20, 9, 5, 10) });
  expect(parseTarget("2026-11-20 09:05", end, true)).toEqual({ ms: Date.UTC(2026, 10, 20, 9, 5) });
  expect(parseTarget("2026-11-20T09:05:10Z", end, false)).toEqual({ ms: Date.UTC(2026, 10, 20, 9, 5, 10) });
  expect(parseTarget("2026-11-20", end, true)).toEqual({ ms: Date.UTC(2026, 10, 20) });
  expect(parseTarget("-10m", end, true)).toEqual({ ms: end - 600_000 });
  expect(parseTarget("- 1.5 h", end, true)).toEqual({ ms: end - 5_400_000 });
});

test("anything else is nothing", () => {
  for (const text of ["", "loss", "-", "12:3", "1.5", "2026-13-40 00:00"]) expect(parseTarget(text, end, true)).toBeNull();
});

test("stamps", () => {
  expect(formatStamp(end, "UTC", 0)).toBe("14:00:00");
  expect(formatStamp(end + 3_723_000, "relative", end)).toBe("+1:02:03");
  expect(formatStamp(end - 1000, "relative", end)).toBe("−0:00:01");
});
