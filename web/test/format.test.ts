import { expect, test } from "vitest";
import { cutMiddle, formatAmount, formatCompact, formatCount, formatDuration, formatTime, formatValue, isUtc } from "../src/lib/text/format";
import { formatAge } from "../src/lib/text/stamp";

declare const process: { env: Record<string, string | undefined> };

test.each([
  [0.0000967, "0.000097"],
  [-0.00055, "−0.00055"],
  [4e-7, "< 0.000001"],
  [0, "0"],
  [12.5, "12.50"],
  [null, "–"],
] as const)("formatAmount(%s) is %s", (value, text) => {
  expect(formatAmount(value)).toBe(text);
});

test.each([
  [2.3144, "2.314"],
  [0.4605, "0.4605"],
  [0.46, "0.4600"],
  [71, "71"],
  [1234, "1,234"],
  [41200, "41.2 k"],
  [1_940_000, "1.94 M"],
  [999_900, "1.00 M"],
  [0.00021, "2.1e-4"],
  [-3.5, "−3.500"],
  [-1.7976e15, "−1.798e15"],
  [-1.7976931348623157e308, "−1.8e308"],
  [-1.2345e-100, "−1.2e-100"],
  [0, "0"],
  ["NaN", "NaN"],
  ["Infinity", "+Inf"],
  ["-Infinity", "−Inf"],
  [undefined, "–"],
] as const)("formatValue(%s) is %s", (value, text) => {
  expect(formatValue(value)).toBe(text);
});

test("compact numbers keep three digits", () => {
  expect(formatCompact(3100)).toBe("3.10 k");
  expect(formatCompact(12)).toBe("12.0");
});

test("counts are grouped, absent ones a dash", () => {
  expect(formatCount(12431)).toBe("12,431");
  expect(formatCount(undefined)).toBe("–");
});

test("durations show two units, ages one", () => {
  expect(formatDuration(3 * 86_400 + 4 * 3600 + 59)).toBe("3 d 4 h");
  expect(formatDuration(7200)).toBe("2 h");
  expect(formatDuration(65)).toBe("1 min 5 s");
  expect(formatDuration(-4)).toBe("0 s");
  expect(formatAge(9 * 60_000 + 1)).toBe("9 min");
  expect(formatAge(NaN)).toBe("–");
});

test("long names are cut in the middle, by characters", () => {
  expect(cutMiddle("abcdefghij", 5)).toBe("ab…ij");
  expect(cutMiddle("abc", 5)).toBe("abc");
  expect(cutMiddle("😀😀😀😀😀😀", 3)).toBe("😀…😀");
});

test.each([
  ["Europe/Berlin", false, "2026-11-20 14:03:09 UTC+1"],
  ["Asia/Kathmandu", false, "2026-11-20 18:48:09 UTC+5:45"],
  ["America/St_Johns", false, "2026-11-20 09:33:09 UTC−3:30"],
  ["UTC", false, "2026-11-20 13:03:09 UTC"],
  ["Asia/Tokyo", true, "2026-11-20 13:03:09 UTC"],
])("a time says its zone: %s, in UTC %s", (zone, inUtc, text) => {
  const before = process.env["TZ"];
  process.env["TZ"] = zone;
  isUtc.value = inUtc;
  try {
    expect(formatTime(Date.parse("2026-11-20T13:03:09Z"))).toBe(text);
  } finally {
    isUtc.value = false;
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  }
});
