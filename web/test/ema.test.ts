import { expect, test } from "vitest";
import { ema } from "../src/lib/chart/ema";

test("weight 0 changes nothing", () => {
  expect(ema([1, null, 3], 0)).toEqual([1, null, 3]);
});

test("is corrected at the start: a constant stays constant", () => {
  for (const value of ema([5, 5, 5], 0.9)) expect(value).toBeCloseTo(5, 12);
});

test("follows a step by its weight", () => {
  const [, second] = ema([0, 1], 0.5);
  expect(second).toBeCloseTo(2 / 3, 12);
});

test("gaps stay gaps and do not feed the average", () => {
  const smooth = ema([2, null, NaN, 2], 0.9);
  expect(smooth[1]).toBeNull();
  expect(smooth[2]).toBeNaN();
  expect(smooth[3]).toBeCloseTo(2, 12);
});
