// What uPlot has no series for: drawn by hand on its canvas.
import uPlot from "./uplot";
import type { Severity } from "../api/types";
import type { Buckets } from "../lib/chart/buckets";
import type { Ghost } from "../lib/chart/curves";
import { LARGEST } from "./axes";
import type { PlotColors } from "./colors";

type Curve = Pick<Ghost, "x" | "y">;

export interface UprightLine {
  x: number;
  /** Of an incident; null: of something that is no trouble. */
  severity: Severity | null;
}

export function clipped(u: uPlot, draw: (context: CanvasRenderingContext2D) => void): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  draw(u.ctx);
  u.ctx.restore();
}

/**
 * Of curves, in CSS pixels. Without a GPU a line of one device pixel is drawn segment by segment, a wider one as an outline, which takes
 * 25 times as long for a noisy curve.
 */
export const HAIRLINE = 1;

/** From the lowest to the highest of each bucket and on to the next, column by column of pixels: as an outline it would take ten times as long. */
export function drawBand(u: uPlot, context: CanvasRenderingContext2D, { x, min, max }: Pick<Buckets, "x" | "min" | "max">): void {
  const [px, py] = [placer(u, "x"), placer(u, "y")];
  const isLog = u.scales["y"]?.distr === 3;
  const place = (value: number): number => py(isLog ? Math.max(value, Number.MIN_VALUE) : value);
  const first = Math.floor(u.bbox.left);
  const width = Math.ceil(u.bbox.width) + 1;
  const tops = new Float64Array(width).fill(Infinity);
  const bottoms = new Float64Array(width).fill(-Infinity);
  let before: [number, number, number] | null = null;
  for (let i = 0; i < x.length; i++) {
    const [low, high] = [min[i] ?? null, max[i] ?? null];
    const x1 = px(x[i] ?? 0) - first;
    // On a logarithmic axis what is not above 0 has no place.
    if (low === null || high === null || (isLog && high <= 0) || !Number.isFinite(x1)) {
      before = null;
      continue;
    }
    const here: [number, number, number] = [x1, place(high), place(low)];
    const [x0, top0, bottom0] = before && before[0] < x1 ? before : here;
    const [, top1, bottom1] = here;
    const slope = x1 > x0 ? 1 / (x1 - x0) : 0;
    for (let column = Math.max(0, Math.floor(x0)); column <= Math.min(width - 1, Math.floor(x1)); column++) {
      const from = (Math.max(x0, column) - x0) * slope;
      const to = (Math.min(x1, column + 1) - x0) * slope;
      tops[column] = Math.min(tops[column] ?? 0, top0 + from * (top1 - top0), top0 + to * (top1 - top0));
      bottoms[column] = Math.max(bottoms[column] ?? 0, bottom0 + from * (bottom1 - bottom0), bottom0 + to * (bottom1 - bottom0));
    }
    before = here;
  }
  for (let column = 0; column < width; column++) {
    // What lies far outside would be rounded to anywhere.
    const top = Math.max(tops[column] ?? 0, u.bbox.top - 1);
    const height = Math.min(bottoms[column] ?? 0, u.bbox.top + u.bbox.height + 1) - top;
    if (height > 0) context.fillRect(first + column, top, 1, height);
  }
}

/** Older attempts, behind everything: what was superseded is still there to see. */
export function drawGhosts(u: uPlot, ghosts: Ghost[], color: string): void {
  if (ghosts.length === 0) return;
  clipped(u, (context) => {
    context.strokeStyle = color;
    context.lineWidth = uPlot.pxRatio;
    context.setLineDash([3 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
    for (const ghost of ghosts) strokePath(u, context, ghost);
  });
}

/** A curve a node: eight hues, then the same dashed. */
export function drawNodes(u: uPlot, curves: Curve[], colors: string[]): void {
  clipped(u, (context) => {
    context.lineWidth = HAIRLINE * uPlot.pxRatio;
    curves.forEach((curve, i) => {
      context.strokeStyle = colors[i % colors.length] ?? "";
      context.setLineDash(i < colors.length ? [] : [4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
      strokePath(u, context, curve);
    });
  });
}

/** From values to pixels of the canvas; of a linear axis without uPlot's questions for each of thousands of points. */
export function placer(u: uPlot, axis: "x" | "y"): (value: number) => number {
  const { min, max, distr } = u.scales[axis] ?? {};
  if (distr !== 1 || min === undefined || max === undefined || !(max > min)) return (value) => u.valToPos(value, axis, true);
  const from = u.valToPos(min, axis, true);
  const scale = (u.valToPos(max, axis, true) - from) / (max - min);
  return (value) => from + (value - min) * scale;
}

export function strokePath(u: uPlot, context: CanvasRenderingContext2D, ghost: Curve): void {
  const isLog = u.scales["y"]?.distr === 3;
  const [px, py] = [placer(u, "x"), placer(u, "y")];
  const { x: xs, y: ys } = ghost;
  let isDown = false;
  context.beginPath();
  for (let i = 0; i < xs.length; i++) {
    const y = ys[i];
    if (y === null || y === undefined || (isLog && y <= 0)) isDown = false;
    else if (isDown) context.lineTo(px(xs[i] ?? 0), py(y));
    else {
      const left = px(xs[i] ?? 0);
      context.moveTo(left, py(y));
      isDown = true;
      // One alone is a dot.
      if ((ys[i + 1] ?? null) === null) context.lineTo(left + 1, py(y));
    }
  }
  context.stroke();
}

export function drawLines(u: uPlot, lines: UprightLine[], colors: PlotColors): void {
  if (lines.length === 0) return;
  clipped(u, (context) => {
    context.lineWidth = uPlot.pxRatio;
    for (const line of lines) {
      const x = Math.round(u.valToPos(line.x, "x", true)) + 0.5;
      context.setLineDash((line.severity ? [2, 4] : [6, 4]).map((length) => length * uPlot.pxRatio));
      context.strokeStyle = line.severity ? colors[line.severity] : colors.ghost;
      context.beginPath();
      context.moveTo(x, u.bbox.top);
      context.lineTo(x, u.bbox.top + u.bbox.height);
      context.stroke();
    }
  });
}

const MARK = 4;

/** NaN and infinities, and what lies beyond the largest axis, have no place: a cross at the top edge, never nothing. */
export function drawNonFinite(u: uPlot, buckets: Buckets, color: string): void {
  const size = MARK * uPlot.pxRatio;
  let lastX = -Infinity;
  clipped(u, (context) => {
    context.strokeStyle = color;
    context.lineWidth = 1.5 * uPlot.pxRatio;
    context.beginPath();
    buckets.nonFinite.forEach((bits, i) => {
      if (bits === 0 && Math.abs(buckets.max[i] ?? 0) <= LARGEST && Math.abs(buckets.min[i] ?? 0) <= LARGEST) return;
      const x = u.valToPos(buckets.x[i] ?? 0, "x", true);
      if (x - lastX < size) return;
      lastX = x;
      const top = u.bbox.top + 2 * uPlot.pxRatio;
      context.moveTo(x - size, top);
      context.lineTo(x + size, top + 2 * size);
      context.moveTo(x + size, top);
      context.lineTo(x - size, top + 2 * size);
    });
    context.stroke();
  });
}
