import { expect, test } from "vitest";
import { markRead, readMs, reportSpan, statedHours, statedSpan } from "../src/state/fleet/report";

const HOUR_MS = 3_600_000;
const now = 100 * HOUR_MS;

test("both ends that an address states win over hours, and hours over what was read", () => {
  expect(reportSpan({ hours: "24", from_ms: "5000", to_ms: "6000" }, 7000, now)).toEqual({ from_ms: 5000, to_ms: 6000 });
  expect(reportSpan({ hours: "24" }, 7000, now)).toEqual({ from_ms: 76 * HOUR_MS });
  expect(reportSpan({}, 7000, now)).toEqual({ from_ms: 7001 });
  expect(reportSpan({ hours: "x" }, null, now)).toEqual({ from_ms: 88 * HOUR_MS });
});

test("half a time, or one that ends before it begins, is none", () => {
  for (const address of [{ from_ms: "5000" }, { to_ms: "5000" }, { from_ms: "6000", to_ms: "5000" }, { from_ms: "x", to_ms: "5000" }, { from_ms: "0", to_ms: "0" }])
    expect(statedSpan(address)).toBeNull();
});

test("an older report that is marked takes nothing back", () => {
  markRead(9000);
  markRead(5000);
  expect(readMs.value).toBe(9000);
});

test("hours are a number of at most ten years", () => {
  expect(["1", "0.5", "168", "87600"].map(statedHours)).toEqual([1, 0.5, 168, 87600]);
  for (const hours of [undefined, "", "0", "-5", "abc", "1e3", "9999999", "87601", " 5"]) expect(statedHours(hours)).toBeNull();
  expect(reportSpan({ hours: "9999999" }, 7000, now)).toEqual({ from_ms: 7001 });
});
