// A chart's buckets in the browser: what /points replied, kept up to date by live points.
import type { Num, PointColumns, PointsReply } from "../../api/types";
import { NON_FINITE, nonFiniteBit, toNumber } from "../text/number";

export interface Buckets {
  /** The first x in each bucket, rising. */
  x: number[];
  /** Finite extremes and mean; null where a bucket holds no finite value. */
  min: (number | null)[];
  max: (number | null)[];
  mean: (number | null)[];
  last: (number | null)[];
  count: number[];
  /** The line of the value farthest from the mean, and its stream. */
  line: (number | null)[];
  lineStream: (string | null)[];
  /** The lines of the extremes; of a fold over several streams nobody knows whose. */
  minLine: (number | null)[];
  maxLine: (number | null)[];
  /** NON_FINITE bits of the values in each bucket. */
  nonFinite: number[];
  /** Width of a bucket on the x axis; at most 1 point a bucket below 1. */
  width: number;
  total: number;
  /** Of the values, as the reply says it. */
  unit?: string;
}

export interface NewPoint {
  x: number;
  value: Num;
  line: number | null;
  stream: string;
}

export function emptyBuckets(): Buckets {
  return {
    x: [], min: [], max: [], mean: [], last: [], count: [],
    line: [], lineStream: [], minLine: [], maxLine: [], nonFinite: [], width: 0, total: 0,
  };
}

export function bucketsFromReply(reply: PointsReply): Buckets {
  const columns = reply.columns;
  const count = columns.x.length;
  // In JSON a number is finite, and what is not a text.
  const isFinite = (value: Num): value is Exclude<Num, string> => typeof value !== "string";
  const finite = (column: readonly Num[] | undefined): (number | null)[] =>
    !column ? new Array<null>(count).fill(null) : column.every(isFinite) ? column.slice() : column.map((value) => (isFinite(value) ? value : null));
  const lines = (...from: (readonly (number | null)[] | undefined)[]): (number | null)[] => from.find((one) => one)?.slice() ?? new Array<null>(count).fill(null);
  return {
    x: columns.x.slice(),
    min: finite(columns.min),
    max: finite(columns.max),
    mean: finite(columns.mean),
    last: finite(columns.last),
    count: columns.count?.slice() ?? new Array<number>(count).fill(1),
    line: lines(columns.line),
    lineStream: columns.line_stream?.slice() ?? new Array<null>(count).fill(null),
    minLine: lines(columns.min_line, columns.line),
    maxLine: lines(columns.max_line, columns.line),
    nonFinite: nonFiniteOf(columns),
    width: reply.bucket_width,
    total: reply.total_points,
    unit: reply.unit ?? "",
  };
}

const MICROSECONDS: Readonly<Record<string, number>> = { s: 1e6, ms: 1e3, us: 1 };

/** The same in another unit of time, as trainers print step times in s and in ms; of units that are none of it as they are. */
export function inUnit(buckets: Buckets, unit: string | undefined): Buckets {
  const from = MICROSECONDS[buckets.unit ?? ""];
  const to = MICROSECONDS[unit ?? ""];
  if (from === undefined || to === undefined || from === to) return buckets;
  const convert = (column: readonly (number | null)[]): (number | null)[] => column.map((value) => (value === null ? null : (value * from) / to));
  return { ...buckets, min: convert(buckets.min), max: convert(buckets.max), mean: convert(buckets.mean), last: convert(buckets.last), unit: unit ?? "" };
}

function nonFiniteOf(columns: PointColumns): number[] {
  if (columns.non_finite?.every((count) => count === 0)) return columns.non_finite.slice();
  const asked = [columns.first, columns.last, columns.min, columns.max, columns.mean].filter((column) => column !== undefined);
  return columns.x.map((_, i) => {
    const count = columns.non_finite?.[i];
    if (count === 0) return 0;
    let bits = 0;
    for (const column of asked) bits |= nonFiniteBit(column[i]);
    const [above = 0, below = 0] = [columns.inf?.[i], columns.neg_inf?.[i]];
    if (count !== undefined && columns.inf && columns.neg_inf && count > above + below) bits |= NON_FINITE.nan;
    bits |= (above > 0 ? NON_FINITE.posInf : 0) | (below > 0 ? NON_FINITE.negInf : 0);
    // A value in the middle of its bucket shows in none of these; the count alone does not say which kind.
    return bits === 0 && count ? NON_FINITE.nan : bits;
  });
}

function finiteOrNull(value: Num | null | undefined): number | null {
  const number = toNumber(value);
  return Number.isFinite(number) ? number : null;
}

/** Whether x falls into the bucket that starts at `start`; buckets are anchored at 0. */
function isSameBucket(buckets: Buckets, start: number, x: number): boolean {
  if (buckets.width <= 0) return start === x;
  return Math.floor(start / buckets.width) === Math.floor(x / buckets.width);
}

/** The index of the last bucket whose x is not past `x`, or -1. */
export function findBucket(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? Infinity) <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The index of the bucket nearest to x, or -1 when there is none. */
export function nearestBucket(xs: readonly number[], x: number): number {
  const before = findBucket(xs, x);
  const after = before + 1;
  if (before < 0) return xs.length > 0 ? 0 : -1;
  if (after >= xs.length) return before;
  return x - (xs[before] ?? 0) <= (xs[after] ?? 0) - x ? before : after;
}

/**
 * Puts a live point where it belongs: into the last bucket, a new one, or (when it is late) an
 * earlier one. Returns false when the point was there already.
 */
export function addPoint(buckets: Buckets, point: NewPoint): boolean {
  let at = findBucket(buckets.x, point.x);
  // A late point may precede the first x of its own bucket.
  const next = at + 1;
  if (next < buckets.x.length && isSameBucket(buckets, buckets.x[next] ?? 0, point.x)) at = next;
  if (at >= 0 && isSameBucket(buckets, buckets.x[at] ?? 0, point.x)) {
    if (isLoaded(buckets, at, point)) return false;
    mergeInto(buckets, at, point);
  } else {
    insertAt(buckets, at + 1, point);
  }
  buckets.total++;
  return true;
}

/** Only a bucket of one point tells which point it holds; merging twice is harmless elsewhere. */
function isLoaded(buckets: Buckets, at: number, point: NewPoint): boolean {
  const stream = buckets.lineStream[at];
  return (
    buckets.count[at] === 1 &&
    buckets.x[at] === point.x &&
    buckets.line[at] === point.line &&
    (stream === null || stream === point.stream)
  );
}

function mergeInto(buckets: Buckets, at: number, point: NewPoint): void {
  const value = finiteOrNull(point.value);
  const count = buckets.count[at] ?? 0;
  buckets.count[at] = count + 1;
  buckets.x[at] = Math.min(buckets.x[at] ?? point.x, point.x);
  buckets.nonFinite[at] = (buckets.nonFinite[at] ?? 0) | nonFiniteBit(point.value);
  if (value === null) return;
  const mean = buckets.mean[at] ?? null;
  if (mean === null || Math.abs(value - mean) > farthest(buckets, at, mean)) {
    buckets.line[at] = point.line;
    buckets.lineStream[at] = point.stream;
  }
  if (value < (buckets.min[at] ?? Infinity)) buckets.minLine[at] = point.line;
  if (value > (buckets.max[at] ?? -Infinity)) buckets.maxLine[at] = point.line;
  buckets.min[at] = Math.min(buckets.min[at] ?? value, value);
  buckets.max[at] = Math.max(buckets.max[at] ?? value, value);
  buckets.mean[at] = mean === null ? value : mean + (value - mean) / (count + 1);
  buckets.last[at] = value;
}

function farthest(buckets: Buckets, at: number, mean: number): number {
  return Math.max((buckets.max[at] ?? mean) - mean, mean - (buckets.min[at] ?? mean));
}

function insertAt(buckets: Buckets, at: number, point: NewPoint): void {
  const value = finiteOrNull(point.value);
  buckets.x.splice(at, 0, point.x);
  for (const column of [buckets.min, buckets.max, buckets.mean, buckets.last]) column.splice(at, 0, value);
  buckets.count.splice(at, 0, 1);
  for (const column of [buckets.line, buckets.minLine, buckets.maxLine]) column.splice(at, 0, point.line);
  buckets.lineStream.splice(at, 0, point.stream);
  buckets.nonFinite.splice(at, 0, nonFiniteBit(point.value));
}

/** The line to open for a bucket: of the extreme that was meant, where it is known whose it is. */
export function lineOf(buckets: Buckets, index: number, y: number | null, isOneStream: boolean): number | null {
  const [min, max] = [buckets.min[index] ?? null, buckets.max[index] ?? null];
  if (!isOneStream || y === null || min === null || max === null) return buckets.line[index] ?? null;
  return (y - min < max - y ? buckets.minLine : buckets.maxLine)[index] ?? null;
}
