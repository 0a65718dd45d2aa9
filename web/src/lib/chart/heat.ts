// A heat map of many streams: which row of pixels shows whom, and what colour a deviation has.
import type { HeatReply } from "../../api/types";

export type Cell = number | null | "NaN";

/** Rows of a picture that is at most so high: where streams are more than pixels, some share one, and its worst one is seen. */
export function rowsPerLine(rows: number, mostLines: number): number {
  return Math.max(1, Math.ceil(rows / Math.max(1, mostLines)));
}

/** The bad direction has a sign of its own: a step that is longer, a throughput that is lower. 0: nobody knows, both are. */
export function badSign({ higher, role }: Pick<HeatReply, "higher" | "role">): 1 | -1 | 0 {
  if (higher !== undefined) return higher ? -1 : 1;
  if (role === "throughput" || role === "mfu") return -1;
  return role === "step_time" || role === "loss" || role === "eval_loss" ? 1 : 0;
}

export const badness = (cell: Cell | undefined, sign: 1 | -1 | 0): number =>
  cell === undefined || cell === null ? -Infinity : cell === "NaN" ? Infinity : sign === 0 ? Math.abs(cell) : cell * sign;

/** Of the cells that share a pixel, the worst one. */
export function worstCell(cells: readonly (Cell | undefined)[], sign: 1 | -1 | 0): Cell {
  let worst: Cell = null;
  for (const cell of cells) if (cell !== undefined && cell !== null && (worst === null || badness(cell, sign) > badness(worst, sign))) worst = cell;
  return worst;
}

/** How bad a stream is on the whole: the mean over its columns, where NaN counts as all of the scale. */
export function rowBadness(away: readonly Cell[], sign: 1 | -1 | 0): number {
  let sum = 0;
  let count = 0;
  for (const cell of away) {
    if (cell === null) continue;
    sum += cell === "NaN" ? 1000 : sign === 0 ? Math.abs(cell) : cell * sign;
    count++;
  }
  return count === 0 ? -Infinity : sum / count;
}

/** How far the worst stream is on the bad side of the others, on the whole; -1: there is nothing to be seen at all. */
export function tellingOf(heat: Pick<HeatReply, "rows" | "higher" | "role">): number {
  const sign = badSign(heat);
  const most = Math.max(-1, ...heat.rows.filter((row) => row.away.some((cell) => cell !== null)).map((row) => rowBadness(row.away, sign)));
  // Where nobody knows what is bad (a rank, a temperature), nodes may well differ: such a metric is for where no other shows anything.
  return sign === 0 ? Math.min(most, 1) : most;
}

/** Below five percent it is noise: a fleet of equals shall look calm. */
const SCALES = [50, 100, 200, 500, 1000];

/** The end of the colours in thousandths: what all but one in five hundred of the cells lie within. */
export function scaleOf(rows: readonly { away: readonly Cell[] }[]): number {
  const counts = new Array<number>(SCALES.length + 1).fill(0);
  let total = 0;
  for (const { away } of rows)
    for (const cell of away) {
      if (typeof cell !== "number") continue;
      const size = Math.abs(cell);
      const at = SCALES.findIndex((scale) => size <= scale);
      counts[at < 0 ? SCALES.length : at]!++;
      total++;
    }
  let seen = 0;
  for (const [i, scale] of SCALES.entries()) {
    seen += counts[i] ?? 0;
    if (seen >= total * 0.998) return scale;
  }
  return SCALES[SCALES.length - 1] ?? 1000;
}

/** Which of `levels` colours on each side; 0: as good as the median. */
export function levelOf(cell: number, scale: number, levels: number): number {
  const level = Math.round((Math.min(scale, Math.abs(cell)) / scale) * levels);
  return cell < 0 ? -level : level;
}

/** Values of a cell in words need the median that it is measured by. */
export const valueOf = (cell: number, median: number | null): number | null => (median === null ? null : median + (Math.abs(median) * cell) / 1000);
