import { expect, test } from "vitest";
import { aggregate, quantile, valueAt } from "../src/lib/jobs/aggregate";
import { emptyBuckets, type Buckets } from "../src/lib/chart/buckets";

function run(points: [x: number, y: number][]): Buckets {
  const all = emptyBuckets();
  for (const [x, y] of points) {
    all.x.push(x);
    for (const column of [all.min, all.max, all.mean, all.last]) column.push(y);
    all.count.push(1);
    all.nonFinite.push(0);
  }
  all.total = points.length;
  return all;
}

const line = (from: number, to: number, y: (x: number) => number): Buckets => run(Array.from({ length: to - from + 1 }, (_, i) => [from + i, y(from + i)]));

test("between two points of a run lies a straight line, beyond its ends nothing", () => {
  expect(valueAt([0, 10], [1, 3], 5)).toBe(2);
  expect(valueAt([0, 10], [1, 3], 10)).toBe(3);
  expect(valueAt([0, 10], [1, 3], 11)).toBeNull();
  expect(valueAt([0, 10], [1, null], 5)).toBeNull();
  expect(valueAt([], [], 5)).toBeNull();
});

test("quantiles lie between the values around them", () => {
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(quantile([1, 2, 3, 4], 0.25)).toBe(1.75);
  expect(quantile([7], 0.9)).toBe(7);
});

test("mean, median and the three bands", () => {
  const runs = [1, 2, 9].map((level) => line(0, 100, () => level));
  const mean = aggregate(runs, "mean", "minmax");
  expect(mean.mean[50]).toBeCloseTo(4, 12);
  expect([mean.min[50], mean.max[50]]).toEqual([1, 9]);
  const median = aggregate(runs, "median", "quartiles");
  expect([median.min[50], median.mean[50], median.max[50]]).toEqual([1.5, 2, 5.5]);
  const std = aggregate(runs, "mean", "std");
  expect((std.max[50] ?? 0) - (std.mean[50] ?? 0)).toBeCloseTo(Math.sqrt(19), 9);
  expect(mean.count.every((count) => count === 3)).toBe(true);
  expect(mean.total).toBe(303);
});

test("a spike between two lines of the grid is in the band from lowest to highest", () => {
  const runs = [line(0, 100_000, (x) => (x === 33_333 ? 90 : 2)), line(0, 100_000, () => 2)];
  expect(Math.max(...aggregate(runs, "mean", "minmax").max.map((value) => value ?? 0))).toBe(90);
});

test("a spike between two lines of the grid is in the mean, as its share of the points", () => {
  // cells of some 2.5 steps: the spike is one of two or three points of one run of two
  const runs = [line(0, 1000, (x) => (x === 333 ? 92 : 2)), line(0, 1000, () => 2)];
  const highest = Math.max(...aggregate(runs, "mean", "std").mean.map((value) => value ?? 0));
  expect([2 + 90 / 2 / 2, 2 + 90 / 3 / 2]).toContainEqual(highest);
});

test("what is not finite in a run is marked in its group, and no value of it", () => {
  const broken = line(0, 100, () => 5);
  broken.mean[40] = broken.min[40] = broken.max[40] = null;
  broken.nonFinite[40] = 1;
  const out = aggregate([broken, line(0, 100, () => 1)], "mean", "std");
  const marked = out.nonFinite.findIndex((bits) => bits !== 0);
  expect(out.x[marked]).toBeCloseTo(40, 0);
  expect(out.nonFinite.filter((bits) => bits !== 0)).toEqual([1]);
  expect([out.mean[marked], out.count[marked]]).toEqual([1, 1]);
});

test("where only some runs are, those count alone", () => {
  const out = aggregate([line(0, 100, () => 1), line(50, 200, () => 3)], "mean", "std");
  expect(out.count[0]).toBe(1);
  expect(out.mean[out.x.length - 1]).toBe(3);
  expect(Math.max(...out.count)).toBe(2);
});

test("no runs, empty runs and runs of one point", () => {
  expect(aggregate([], "mean", "std").x).toEqual([]);
  expect(aggregate([emptyBuckets()], "mean", "std").x).toEqual([]);
  const one = aggregate([run([[5, 2]])], "median", "quartiles");
  expect([one.x, one.mean]).toEqual([[5], [2]]);
});
