// What uPlot has no series for: drawn by hand on its canvas.
import uPlot from "uplot";
import type { Severity } from "../api/types";
import type { Buckets } from "../lib/buckets";
import type { Ghost } from "../state/chart";
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
    context.lineWidth = 1.25 * uPlot.pxRatio;
    curves.forEach((curve, i) => {
      context.strokeStyle = colors[i % colors.length] ?? "";
      context.setLineDash(i < colors.length ? [] : [4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
      strokePath(u, context, curve);
    });
  });
}

export function strokePath(u: uPlot, context: CanvasRenderingContext2D, ghost: Curve): void {
  const isLog = u.scales["y"]?.distr === 3;
  let isDown = false;
  context.beginPath();
  ghost.x.forEach((x, i) => {
    const y = ghost.y[i];
    if (y === null || y === undefined || (isLog && y <= 0)) {
      isDown = false;
      return;
    }
    const px = u.valToPos(x, "x", true);
    const py = u.valToPos(y, "y", true);
    if (isDown) context.lineTo(px, py);
    else context.moveTo(px, py);
    isDown = true;
  });
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
