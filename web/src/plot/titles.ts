// What the numbers of the axes are: in the corners beside the plot, where no tick stands.
import uPlot from "./uplot";
import { t } from "../i18n/i18n";
import { zoneOf } from "../lib/text/format";
import type { Axis } from "../lib/url/url";

const FONT_PX = 11;
const GAP_PX = 22;
const ABOVE_PX = 13; // of a tick at the top of the plot, whose number is centred on it
const BELOW_PX = 17;
const EDGE_PX = 2;

/** Of the horizontal axis; the clock says its zone. */
export function xTitle(axis: Axis, ms: number): string {
  if (axis === "time") return zoneOf(ms);
  if (axis === "tokens") return t("tokens");
  if (axis === "flops") return "FLOPs";
  return axis === "relative" ? t("time") : t("step");
}

export function drawTitles(u: uPlot, axis: Axis, unit: string, color: string): void {
  const ratio = uPlot.pxRatio;
  const { left, top, height } = u.bbox;
  const { ctx } = u;
  ctx.save();
  ctx.fillStyle = color;
  ctx.font = `${FONT_PX * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  if (unit) ctx.fillText(unit, 4 * ratio, top - ABOVE_PX * ratio);
  ctx.textAlign = "right";
  const title = xTitle(axis, u.scales["x"]?.max ?? 0);
  // A long one reaches nearer to the ticks rather than over the edge.
  const right = Math.max(left - GAP_PX * ratio, ctx.measureText(title).width + EDGE_PX * ratio);
  ctx.fillText(title, right, top + height + BELOW_PX * ratio);
  ctx.restore();
}
