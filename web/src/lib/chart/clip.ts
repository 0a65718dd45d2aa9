// A y axis without outliers. They are not hidden: the chart marks them at its edge, with their number.

type Column = readonly (number | null)[];

/** Further away than so many times the spread of the middle half, a bucket is an outlier. */
const FAR = 3;
const FEWEST = 8;

/** The range without outliers; null: there are none, or too little to say so. */
export function clipRange(min: Column, max: Column, mean: Column): [number, number] | null {
  const means = mean.filter((value) => value !== null).sort((a, b) => a - b);
  if (means.length < FEWEST) return null;
  const at = (share: number): number => means[Math.round((means.length - 1) * share)] ?? 0;
  // The lower and upper tenth belong to a curve that falls from its start; a spike does not last that long.
  const [low, q1, q3, high] = [at(0.02), at(0.25), at(0.75), at(0.98)];
  const room = FAR * (q3 - q1) || Math.abs(q1) * 0.1 || 1;
  const from = Math.max(lowest(min), Math.min(low, q1 - room));
  const to = Math.min(highest(max), Math.max(high, q3 + room));
  return from > lowest(min) || to < highest(max) ? [from, to] : null;
}

const lowest = (column: Column): number => column.reduce<number>((a, b) => (b === null ? a : Math.min(a, b)), Infinity);
const highest = (column: Column): number => column.reduce<number>((a, b) => (b === null ? a : Math.max(a, b)), -Infinity);

export interface Outside {
  above: number[];
  below: number[];
}

/** The buckets (by index) that reach beyond the axis. */
export function outside(min: Column, max: Column, from: number, to: number): Outside {
  const found: Outside = { above: [], below: [] };
  max.forEach((value, i) => value !== null && value > to && found.above.push(i));
  min.forEach((value, i) => value !== null && value < from && found.below.push(i));
  return found;
}
