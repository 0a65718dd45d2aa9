import { expect, test } from "vitest";
import { ema } from "../src/lib/chart/ema";
import { smooth } from "../src/lib/chart/smooth";

const KINDS = ["ema", "gauss", "mean"] as const;
const even = Array.from({ length: 200 }, () => 3.5);

test("what is level stays level, from its first value on", () => {
  for (const by of KINDS) for (const weight of [0.1, 0.6, 0.99]) smooth(even, weight, by).forEach((value) => expect(value).toBeCloseTo(3.5, 12));
});

test("no weight changes nothing", () => {
  const values = [1, null, 5, 2];
  for (const by of KINDS) expect(smooth(values, 0, by)).toEqual(values);
});

test("the exponential average is debiased: its first values are means of what there is", () => {
  const [first, second] = ema([10, 20], 0.9);
  expect(first).toBeCloseTo(10, 12);
  expect(second).toBeCloseTo((0.9 * 10 + 20) / 1.9, 12);
});

test("a mean takes as many values on both sides, fewer at the ends", () => {
  const values = [0, 0, 0, 9, 0, 0, 0];
  expect(smooth(values, 0.5, "mean")).toEqual([0, 9 / 4, 9 / 5, 9 / 5, 9 / 5, 9 / 4, 0]);
});

test("a Gaussian is symmetric, is highest at its spike and keeps the sum", () => {
  const values = Array.from({ length: 201 }, (_, i) => (i === 100 ? 1 : 0));
  const out = smooth(values, 0.8, "gauss").map((value) => value ?? 0);
  expect(out.indexOf(Math.max(...out))).toBe(100);
  for (let k = 1; k < 20; k++) expect(out[100 - k]).toBeCloseTo(out[100 + k] ?? NaN, 12);
  expect(out.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
});

test("gaps stay gaps and feed nothing", () => {
  for (const by of KINDS) {
    const out = smooth([1, null, 1, null, null, 1], 0.9, by);
    expect(out.map((value) => value === null)).toEqual([false, true, false, true, true, false]);
    out.forEach((value) => value === null || expect(value).toBeCloseTo(1, 12));
    expect(smooth([null, null], 0.9, by)).toEqual([null, null]);
    expect(smooth([], 0.9, by)).toEqual([]);
  }
});
