import { expect, test } from "vitest";
import type { PointsReply } from "../src/api/types";
import { addPoint, bucketsFromReply, emptyBuckets, findBucket, inUnit, lineOf, nearestBucket } from "../src/lib/chart/buckets";
import { NON_FINITE } from "../src/lib/text/number";

const reply = (): PointsReply => ({
  columns: {
    x: [0, 4, 8],
    min: [1, "NaN", 2],
    max: [9, "NaN", 2],
    first: [1, "NaN", 2],
    last: [3, "Infinity", 2],
    mean: [4, "NaN", 2],
    count: [4, 4, 1],
    line: [2, 5, 8],
    line_stream: ["algo-1", "algo-2", "algo-1"],
  },
  total_points: 9,
  bucket_width: 4,
  seq: "7",
});

test("step times of two trainers are drawn in one unit", () => {
  const seconds = bucketsFromReply({ ...reply(), unit: "s" });
  const own = inUnit(seconds, "ms");
  expect([own.min, own.max, own.mean, own.last, own.unit]).toEqual([[1000, null, 2000], [9000, null, 2000], [4000, null, 2000], [3000, null, 2000], "ms"]);
  expect(seconds.mean).toEqual([4, null, 2]);
  expect(inUnit(own, "s").mean).toEqual([4, null, 2]);
  for (const unit of ["s", "", "tokens/s", undefined]) expect(inUnit(seconds, unit)).toBe(seconds);
  expect(inUnit(bucketsFromReply(reply()), "ms").mean).toEqual([4, null, 2]);
});

test("non-finite values leave a gap and a mark", () => {
  const buckets = bucketsFromReply(reply());
  expect(buckets.mean).toEqual([4, null, 2]);
  expect(buckets.nonFinite).toEqual([0, NON_FINITE.nan | NON_FINITE.posInf, 0]);
});

test("a NaN in the middle of a bucket is known by its count", () => {
  const counted = reply();
  counted.columns.non_finite = [1, 4, 0];
  expect(bucketsFromReply(counted).nonFinite[0]).toBe(NON_FINITE.nan);
});

test("which infinities are in the middle of a bucket is counted", () => {
  const counted = reply();
  Object.assign(counted.columns, { non_finite: [3, 2, 0], inf: [1, 1, 0], neg_inf: [2, 0, 0] });
  expect(bucketsFromReply(counted).nonFinite).toEqual([NON_FINITE.posInf | NON_FINITE.negInf, NON_FINITE.nan | NON_FINITE.posInf, 0]);
});

test("a live point joins the last bucket", () => {
  const buckets = bucketsFromReply(reply());
  expect(addPoint(buckets, { x: 9, value: 8, line: 9, stream: "algo-1" })).toBe(true);
  expect(buckets.x).toEqual([0, 4, 8]);
  expect([buckets.min[2], buckets.mean[2], buckets.max[2], buckets.last[2]]).toEqual([2, 5, 8, 8]);
  expect([buckets.count[2], buckets.line[2], buckets.total]).toEqual([2, 9, 10]);
});

test("a live point past the last bucket opens a new one", () => {
  const buckets = bucketsFromReply(reply());
  addPoint(buckets, { x: 13, value: "NaN", line: 13, stream: "algo-1" });
  expect(buckets.x).toEqual([0, 4, 8, 13]);
  expect(buckets.mean[3]).toBeNull();
  expect(buckets.nonFinite[3]).toBe(NON_FINITE.nan);
});

test("a late point goes to its own bucket, also before its first x", () => {
  const buckets = bucketsFromReply(reply());
  buckets.x[1] = 6;
  addPoint(buckets, { x: 5, value: 100, line: 50, stream: "algo-1" });
  expect(buckets.x).toEqual([0, 5, 8]);
  expect([buckets.max[1], buckets.line[1]]).toEqual([100, 50]);
  addPoint(buckets, { x: -3, value: 1, line: 0, stream: "algo-1" });
  expect(buckets.x).toEqual([-3, 0, 5, 8]);
});

test("a point that was loaded is not added again", () => {
  const buckets = bucketsFromReply(reply());
  expect(addPoint(buckets, { x: 8, value: 2, line: 8, stream: "algo-1" })).toBe(false);
  expect(buckets.total).toBe(9);
  expect(addPoint(buckets, { x: 8, value: 2, line: 8, stream: "algo-2" })).toBe(true);
});

test("without a width every x is a bucket of its own", () => {
  const buckets = emptyBuckets();
  for (const x of [1, 2, 2, 1.5]) addPoint(buckets, { x, value: x, line: x * 10, stream: "s" });
  expect(buckets.x).toEqual([1, 1.5, 2]);
  expect(buckets.count).toEqual([1, 1, 1]);
});

test("finds the bucket at or before, and the nearest", () => {
  expect(findBucket([0, 4, 8], 5)).toBe(1);
  expect(findBucket([0, 4, 8], -1)).toBe(-1);
  expect(nearestBucket([0, 4, 8], 7)).toBe(2);
  expect(nearestBucket([0, 4, 8], -9)).toBe(0);
  expect(nearestBucket([], 1)).toBe(-1);
});

test("a bucket opens the line of the extreme that was meant", () => {
  const given = reply();
  given.columns.min_line = [1, 5, 8];
  given.columns.max_line = [2, 5, 8];
  const buckets = bucketsFromReply(given);
  expect(lineOf(buckets, 0, 1.5, true)).toBe(1);
  expect(lineOf(buckets, 0, 8, true)).toBe(2);
  expect(lineOf(buckets, 0, null, true)).toBe(2); // by the keyboard: the one that stands out
  expect(lineOf(buckets, 0, 1.5, false)).toBe(2); // of several streams nobody knows whose it is
  expect(lineOf(buckets, 1, 1, true)).toBe(5);
  addPoint(buckets, { x: 9, value: -7, line: 12, stream: "algo-1" });
  expect([lineOf(buckets, 2, -6, true), lineOf(buckets, 2, 2, true)]).toEqual([12, 8]);
});
