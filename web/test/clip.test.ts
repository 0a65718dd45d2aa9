import { expect, test } from "vitest";
import { clipRange, outside } from "../src/lib/chart/clip";

const calm = Array.from({ length: 100 }, (_, i) => 2 + (i % 7) / 100);

test("a spike is left out of the axis and found at its edge", () => {
  const mean = calm.map((value, i) => (i === 40 ? 90 : value));
  const range = clipRange(mean, mean, mean);
  expect(range?.[1]).toBeLessThan(3);
  expect(outside(mean, mean, ...(range ?? [0, 0]))).toEqual({ above: [40], below: [] });
});

test("an extreme inside of a bucket counts, too, also below", () => {
  const min = calm.map((value, i) => (i === 7 ? -50 : value));
  const range = clipRange(min, calm, calm);
  expect(outside(min, calm, ...(range ?? [0, 0]))).toEqual({ above: [], below: [7] });
});

test("a curve that falls from its start has no outliers", () => {
  const mean = Array.from({ length: 400 }, (_, i) => 2 + 3 * Math.exp(-i / 200));
  expect(clipRange(mean, mean, mean)).toBeNull();
});

test("nothing is said of few values, of none, and of equal ones", () => {
  for (const values of [[], [1, 2, 900], calm.map(() => null), calm.map(() => 5)]) expect(clipRange(values, values, values)).toBeNull();
});
