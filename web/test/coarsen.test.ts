import { expect, test } from "vitest";
import { coarsen } from "../src/lib/log/coarsen";

const buckets = (...counts: number[]): { from_ms: number; count: number }[] => counts.map((count, i) => ({ from_ms: 1000 + 10 * i, count }));

test("buckets are no finer than the lines lie apart", () => {
  // five lines, each three buckets from the next: a comb becomes a row
  const { buckets: coarse, width } = coarsen(buckets(1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1));
  expect([coarse.map((one) => one.count), coarse[1]?.from_ms, width]).toEqual([[1, 1, 1, 1, 1], 1030, 30]);
});

test("no line is lost, and as many lines as buckets stay as they are", () => {
  expect(coarsen(buckets(0, 2, 0, 0, 0)).buckets.reduce((sum, one) => sum + one.count, 0)).toBe(2);
  expect(coarsen(buckets(3, 0, 1))).toEqual({ buckets: buckets(3, 0, 1), width: 10 });
  expect(coarsen([]).buckets).toEqual([]);
});
