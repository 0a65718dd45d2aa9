// The addon that leaves outliers out of the y axis, and marks each at the edge.
import uPlot from "./uplot";
import { t } from "../i18n/i18n";
import { clipRange, outside, type Outside } from "../lib/chart/clip";
import { formatCount } from "../lib/text/format";
import { clipped } from "./draw";
import type { Addon } from "./plot";

const SIZE = 4;

export const clip: Addon = {
  rangeY: ({ look, buckets: { min, max, mean } }) => (look.clip ? clipRange(min, max, mean) : null),
  draw: (plot, u) => {
    const { look, buckets } = plot;
    const { min: from, max: to } = u.scales["y"] ?? {};
    if (!look.clip || from === undefined || to === undefined) return;
    markOutside(u, buckets.x, outside(buckets.min, buckets.max, from, to), look.colors.warning);
  },
};

/** Marks at the edges for what lies beyond them, and how much that is. */
export function markOutside(u: uPlot, x: readonly number[], { above, below }: Outside, color: string): void {
  const { top, height } = u.bbox;
  mark(u, above.map((i) => x[i] ?? 0), top, 1, color);
  mark(u, below.map((i) => x[i] ?? 0), top + height, -1, color);
  if (above.length > 0) write(u, t("{n} above", { n: formatCount(above.length) }), top + 20 * uPlot.pxRatio, color);
  if (below.length > 0) write(u, t("{n} below", { n: formatCount(below.length) }), top + height - 10 * uPlot.pxRatio, color);
}

/** A triangle a place that points to where the value lies. */
function mark(u: uPlot, xs: number[], edge: number, down: number, color: string): void {
  const size = SIZE * uPlot.pxRatio;
  let last = -Infinity;
  clipped(u, (context) => {
    context.fillStyle = color;
    context.beginPath();
    for (const x of xs) {
      const left = u.valToPos(x, "x", true);
      if (left - last < size) continue;
      last = left;
      context.moveTo(left, edge);
      context.lineTo(left + size, edge + down * 1.6 * size);
      context.lineTo(left - size, edge + down * 1.6 * size);
    }
    context.fill();
  });
}

function write(u: uPlot, text: string, y: number, color: string): void {
  clipped(u, (context) => {
    context.fillStyle = color;
    context.font = `${11 * uPlot.pxRatio}px system-ui, sans-serif`;
    context.textAlign = "right";
    context.fillText(text, u.bbox.left + u.bbox.width - 4 * uPlot.pxRatio, y);
  });
}
