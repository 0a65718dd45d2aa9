// What curves say at the cursor: each value with the place that it belongs to, which need not be the cursor's.
import type { Pen } from "../jobs/compare";
import { nearestBucket, type Buckets } from "../chart/buckets";
import { nonFiniteText } from "../chart/nonfinite";
import { formatValue } from "../text/format";

export interface ValueAt {
  name: string;
  pen: Pen;
  /** Where the value is on the x axis. */
  x: number;
  y: number | null;
  text: string;
}

interface Curve {
  name: string;
  pen: Pen;
  buckets: Buckets;
}

/** Of each curve the value nearest to the cursor, the highest first. */
export const valuesAt = (curves: readonly Curve[], cursor: number): ValueAt[] =>
  curves.flatMap((curve) => valueAt(curve, cursor) ?? []).sort((a, b) => (b.y ?? -Infinity) - (a.y ?? -Infinity));

function valueAt({ name, pen, buckets }: Curve, cursor: number): ValueAt | null {
  const i = nearestBucket(buckets.x, cursor);
  const x = buckets.x[i];
  if (x === undefined || isBeyond(buckets, cursor)) return null;
  const [low, high, mean] = [buckets.min[i] ?? null, buckets.max[i] ?? null, buckets.mean[i] ?? null];
  const bad = nonFiniteText(buckets.nonFinite[i] ?? 0);
  const spread = low !== null && high !== null && low !== high ? ` (${formatValue(low)} … ${formatValue(high)})` : "";
  return { name, pen, x, y: mean, text: mean === null ? bad || "–" : `${formatValue(mean)}${spread}${bad ? ` ${bad}` : ""}` };
}

/** A curve that has ended says nothing of what comes behind it. */
function isBeyond({ x, width }: Buckets, at: number): boolean {
  const [first = 0, last = 0] = [x[0], x[x.length - 1]];
  const room = Math.max(width, (last - first) / Math.max(1, x.length - 1));
  return at < first - room || at > last + room;
}

/** The place that the tooltip is of: that of the chosen curve's value, else of the one nearest to the cursor. Others state their own. */
export function placeOf(values: readonly ValueAt[], cursor: number, chosen: string | null): number {
  const own = values.find((one) => one.name === chosen);
  if (own) return own.x;
  return values.reduce((best, { x }) => (Math.abs(x - cursor) < Math.abs(best - cursor) ? x : best), values[0]?.x ?? cursor);
}
