// Many runs as one curve with a band: what the runs of a group have in common, and how far they are apart.
import { emptyBuckets, findBucket, type Buckets } from "../chart/buckets";

export const CENTERS = ["mean", "median"] as const;
export type Center = (typeof CENTERS)[number];
export const BANDS = ["minmax", "std", "quartiles"] as const;
export type Band = (typeof BANDS)[number];

const CELLS = 400;

/** The value at x on the straight line between the buckets around it; null before the first and behind the last. */
export function valueAt(x: readonly number[], y: readonly (number | null)[], at: number): number | null {
  const i = findBucket(x, at);
  const [x0, y0] = [x[i], y[i] ?? null];
  if (x0 === undefined || y0 === null) return null;
  if (x0 === at) return y0;
  const [x1, y1] = [x[i + 1], y[i + 1] ?? null];
  if (x1 === undefined || y1 === null) return null;
  return y0 + ((at - x0) / (x1 - x0)) * (y1 - y0);
}

/** Between the two values around it, as most tools do it. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  const [a = NaN, b = a] = [sorted[low], sorted[low + 1]];
  return a + (at - low) * (b - a);
}

function spread(values: readonly number[], center: number, band: Band): [number, number] {
  const sorted = [...values].sort((a, b) => a - b);
  if (band === "minmax") return [sorted[0] ?? center, sorted[sorted.length - 1] ?? center];
  if (band === "quartiles") return [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  // Of a sample, not of all runs there could be; one run alone has none.
  const variance = values.length > 1 ? values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1) : 0;
  return [center - Math.sqrt(variance), center + Math.sqrt(variance)];
}

interface Cells {
  from: number;
  width: number;
  count: number;
}

const cellOf = (x: number, { from, width, count }: Cells): number => Math.min(count - 1, Math.max(0, Math.round((x - from) / (width || 1))));

/**
 * A run in each cell: the mean of the points in those of its buckets that begin there, so that what lies between two grid lines is in it, too;
 * where none begins, what is read off its line.
 */
function valuesOf(run: Buckets, cells: Cells, at: (cell: number) => number): (number | null)[] {
  const sums = new Float64Array(cells.count);
  const points = new Float64Array(cells.count);
  const has = new Uint8Array(cells.count);
  run.x.forEach((x, i) => {
    const [cell, mean, count] = [cellOf(x, cells), run.mean[i] ?? null, run.count[i] ?? 1];
    has[cell] = 1;
    if (mean === null) return;
    sums[cell] = (sums[cell] ?? 0) + mean * count;
    points[cell] = (points[cell] ?? 0) + count;
  });
  return Array.from(sums, (sum, cell) => (points[cell] ? sum / points[cell] : has[cell] ? null : valueAt(run.x, run.mean, at(cell))));
}

/** What is not finite is marked, whatever the rest of the runs comes to. */
function markNonFinite(out: Buckets, runs: readonly Buckets[], cells: Cells): void {
  for (const run of runs)
    run.x.forEach((x, i) => {
      const cell = cellOf(x, cells);
      out.nonFinite[cell] = (out.nonFinite[cell] ?? 0) | (run.nonFinite[i] ?? 0);
    });
}

/** min and max of every bucket that begins in a cell. */
function widen(out: Buckets, runs: readonly Buckets[], cells: Cells): void {
  for (const run of runs) {
    run.x.forEach((x, i) => {
      const [low, high] = [run.min[i] ?? null, run.max[i] ?? null];
      const cell = cellOf(x, cells);
      if (low === null || high === null) return;
      out.min[cell] = Math.min(out.min[cell] ?? low, low);
      out.max[cell] = Math.max(out.max[cell] ?? high, high);
    });
  }
}

/** The runs' curves as one, on an even grid over all of them; `count` says how many runs are there. */
export function aggregate(runs: readonly Buckets[], center: Center, band: Band): Buckets {
  const out = emptyBuckets();
  const ends = runs.flatMap(({ x }) => (x.length > 0 ? [x[0] ?? 0, x[x.length - 1] ?? 0] : []));
  if (ends.length === 0) return out;
  const from = Math.min(...ends);
  const width = (Math.max(...ends) - from) / (CELLS - 1);
  const cells = { from, width, count: width > 0 ? CELLS : 1 };
  const placeOf = (cell: number): number => (cell === cells.count - 1 ? Math.max(...ends) : from + cell * width);
  const columns = runs.map((run) => valuesOf(run, cells, placeOf));
  for (let i = 0; i < cells.count; i++) {
    const at = placeOf(i);
    const values = columns.map((column) => column[i] ?? null).filter((value) => value !== null);
    const sorted = [...values].sort((a, b) => a - b);
    const middle = values.length === 0 ? null : center === "mean" ? values.reduce((a, b) => a + b, 0) / values.length : quantile(sorted, 0.5);
    const [low, high] = middle === null ? [null, null] : spread(values, middle, band);
    out.x.push(at);
    out.mean.push(middle);
    out.last.push(middle);
    out.min.push(low);
    out.max.push(high);
    out.count.push(values.length);
    out.line.push(null);
    out.lineStream.push(null);
    out.nonFinite.push(0);
  }
  markNonFinite(out, runs, cells);
  if (band === "minmax") widen(out, runs, cells);
  out.width = width;
  out.total = runs.reduce((sum, run) => sum + run.total, 0);
  return out;
}
