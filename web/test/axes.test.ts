import { expect, test } from "vitest";
import { formatLogTick, formatTicks, logRange, logSplits, paddedRange } from "../src/plot/axes";

test("ticks of an axis share their digits", () => {
  expect(formatTicks([0, 0.5, 1])).toEqual(["0.0", "0.5", "1.0"]);
  expect(formatTicks([0, 10, 20])).toEqual(["0", "10", "20"]);
  expect(formatTicks([-1, 0])).toEqual(["−1", "0"]);
  expect(formatTicks([0, 1e-5])).toEqual(["0", "1e-5"]);
});

test("log ticks are round and as dense as there is room", () => {
  expect(logSplits(0.5, 200, 100)).toEqual([1, 10, 100]);
  expect(logSplits(0.9, 22, 100)).toEqual([1, 2, 5, 10, 20]);
  expect(logSplits(2, 9.5, 400)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  expect(logSplits(0.411, 0.431, 100)).toEqual([0.42, 0.43]);
  expect(formatLogTick(0.42)).toBe("0.42");
  expect(formatLogTick(1e-5)).toBe("1e-5");
});

test("flat and empty curves get a range", () => {
  expect(paddedRange(Infinity, -Infinity)).toEqual([0, 1]);
  expect(paddedRange(10, 10 + 1e-12)[0]).toBeCloseTo(9);
  expect(paddedRange(0, 10)).toEqual([0, 10.6]);
  expect(logRange(-1, 0)).toEqual([0.1, 10]);
});
