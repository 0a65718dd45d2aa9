// A job's curve in a row of a table: its line, the band of what its buckets hold, and where it was no number.
import type { Num } from "../../api/types";
import { toNumber } from "../text/number";

export interface SparkColumns {
  x: number[];
  min: Num[];
  max: Num[];
  last: Num[];
  non_finite?: number[];
}

export interface SparkShape {
  line: string;
  band: string;
  /** Pixels from the left at which a value was NaN or infinite. */
  marks: number[];
}

const MARGIN = 1.5;
/** So that no difference of finite values is infinite. */
const SCALE = 2 ** -8;

/** One huge value must not flatten all others; it leaves at the top, where it is seen. */
function rangeOf(values: readonly number[]): [number, number] {
  const sorted = [...values].sort((a, b) => a - b);
  const low = sorted[0] ?? 0;
  const most = sorted[sorted.length - 1] ?? 0;
  const usual = sorted[Math.floor((sorted.length - 1) * 0.9)] ?? most;
  return [low, most - low > 8 * (usual - low) && usual > low ? low + 2 * (usual - low) : most];
}

export function sparkShape(columns: SparkColumns, width: number, height: number): SparkShape {
  const { x, min, max, last } = columns;
  const first = x[0] ?? 0;
  const span = (x[x.length - 1] ?? first) - first;
  const left = (i: number): number => MARGIN + (span > 0 ? ((x[i] ?? first) - first) / span : 0.5) * (width - 2 * MARGIN);
  const read = (value: Num): number => toNumber(value) * SCALE;
  const [lines, lows, highs] = [last.map(read), min.map(read), max.map(read)];
  const [low, high] = rangeOf([...lows, ...highs].filter(Number.isFinite));
  const top = (value: number): number => {
    const share = high > low ? (Math.min(high, Math.max(low, value)) - low) / (high - low) : 0.5;
    return height - MARGIN - share * (height - 2 * MARGIN);
  };
  const at = (i: number, value: number): string => `${left(i).toFixed(1)} ${top(value).toFixed(1)}`;

  let line = "";
  let band = "";
  const marks: number[] = [];
  for (let i = 0; i < x.length; i++) {
    if ((columns.non_finite?.[i] ?? 0) > 0) marks.push(left(i));
    const value = lines[i] ?? NaN;
    const isBroken = i === 0 || !Number.isFinite(lines[i - 1]);
    const isAlone = isBroken && !Number.isFinite(lines[i + 1]);
    if (Number.isFinite(value)) line += `${isBroken ? "M" : "L"}${at(i, value)}${isAlone ? "h3" : ""}`;
    const [from = NaN, to = NaN] = [lows[i], highs[i]];
    if (Number.isFinite(from) && Number.isFinite(to) && to > from) band += `M${at(i, from)}V${top(to).toFixed(1)}`;
  }
  return { line, band, marks };
}
