import { expect, test } from "vitest";
import { evenSplits, formatLogTick, formatTicks, formatTimeTick, logRange, logSplits, paddedRange, ySize } from "../src/plot/axes";
import { xTitle } from "../src/plot/titles";
import { isUtc } from "../src/lib/text/format";

test("ticks of an axis share their digits", () => {
  expect(formatTicks([0, 0.5, 1])).toEqual(["0.0", "0.5", "1.0"]);
  expect(formatTicks([0, 10, 20])).toEqual(["0", "10", "20"]);
  expect(formatTicks([-1, 0])).toEqual(["−1", "0"]);
  expect(formatTicks([0, 1e-5])).toEqual(["0", "1e-5"]);
});

test("an axis has three ticks at least, each written in full", () => {
  expect(evenSplits(2.79, 2.86, 2)).toEqual([2.8, 2.825, 2.85]);
  expect(formatTicks([2.8, 2.825, 2.85])).toEqual(["2.800", "2.825", "2.850"]);
  expect(evenSplits(0, 10.6, 8)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(evenSplits(0, 390, 3)).toEqual([0, 100, 200, 300]);
  for (let low = 0.013; low < 900; low *= 1.7) for (let size = 1e-3; size < 1e6; size *= 1.3) expect(evenSplits(low, low + size, 1).length).toBeGreaterThanOrEqual(3);
  // of steps there is nothing between one and the next
  expect(evenSplits(7, 9, 6, 1)).toEqual([7, 8, 9]);
  expect(evenSplits(7, 8, 6, 1)).toEqual([7, 8]);
  expect(evenSplits(0, 12, 4, 1)).toEqual([0, 5, 10]);
  // the ends of what a number can be
  expect(evenSplits(-8e307, 8e307, 4).length).toBeGreaterThanOrEqual(3);
  expect(evenSplits(0, 5e-324, 4)).toBeDefined();
  expect(evenSplits(1e18, 1e18 + 1000, 4).length).toBeLessThan(20);
});

test("log ticks are round and as dense as there is room", () => {
  expect(logSplits(0.5, 200, 100)).toEqual([1, 10, 100]);
  expect(logSplits(0.9, 22, 100)).toEqual([1, 2, 5, 10, 20]);
  expect(logSplits(2, 9.5, 400)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  expect(logSplits(0.411, 0.431, 100)).toEqual([0.415, 0.42, 0.425, 0.43]);
  expect(formatLogTick(0.42)).toBe("0.42");
  expect(formatLogTick(1e-5)).toBe("1e-5");
});

test("flat and empty curves get a range", () => {
  expect(paddedRange(Infinity, -Infinity)).toEqual([0, 1]);
  expect(paddedRange(10, 10 + 1e-12)[0]).toBeCloseTo(9);
  expect(paddedRange(0, 10)).toEqual([0, 10.6]);
  expect(logRange(-1, 0)).toEqual([0.1, 10]);
});

test("the axis is as wide as its longest text", () => {
  expect(ySize(null, ["2.0", "3.0"])).toBe(56);
  expect(ySize(null, null)).toBe(56);
  expect(ySize(null, ["12345.6789"])).toBeGreaterThan(70);
});

test("ticks of the clock: the day at midnight, also in UTC, and parts of a second", () => {
  isUtc.value = true;
  const at = Date.parse("2026-11-20T14:03:09.250Z");
  expect([1, 1000, 60_000, 86_400_000].map((step) => formatTimeTick(at, step))).toEqual(["03:09.250", "14:03:09", "14:03", "11-20"]);
  expect(formatTimeTick(Date.parse("2026-11-21T00:00:00Z"), 3_600_000)).toBe("11-21");
  expect(["step", "time", "relative", "tokens"].map((axis) => xTitle(axis as "step", at))).toEqual(["step", "UTC", "time", "tokens"]);
  isUtc.value = false;
});
