// A uPlot chart of one metric of many jobs: each curve with its band of extremes, so that no spike of any job is lost.
import uPlot from "./uplot";
import { DASHES } from "../lib/chart/color";
import { findBucket, nearestBucket, type Buckets } from "../lib/chart/buckets";
import type { Pen } from "../lib/jobs/compare";
import { clipRange, outside } from "../lib/chart/clip";
import { smooth } from "../lib/chart/smooth";
import type { Axis, ChartLook } from "../lib/url/url";
import { axisLook, logRange, PADDING, paddedRange, xAxis, xLogTicks, ySize, yTicks } from "./axes";
import { markOutside } from "./clip";
import type { PlotColors } from "./colors";
import { drawTitles } from "./titles";
import { clipped, drawBand, drawNonFinite, HAIRLINE, placer, strokePath } from "./draw";

export interface OverlayCurve {
  name: string;
  /** Of one job's: what it is the curve of. */
  metric?: string;
  unit?: string;
  pen: Pen;
  buckets: Buckets;
  /** Of a group: its band is an area. */
  isBand?: boolean;
}

export interface OverlayLook extends ChartLook {
  axis: Axis;
  colors: PlotColors;
}

export interface OverlayEvents {
  /** The x under the cursor, and the curve nearest to it. */
  onHover(x: number | null, name: string | null): void;
  onPick(name: string): void;
  onZoom(from: number, to: number): void;
  onReset(): void;
  /** What is laid over it must be placed anew. */
  onLayout?(): void;
}

const CLICK_SLOP = 4;
const HALF_PIXEL = 0.5; // the last point is at the edge, which device pixels round

export class Overlay {
  private readonly uplot: uPlot;
  private curves: OverlayCurve[] = [];
  private window: [number, number] | null = null;
  private chosen: string | null = null;
  private nearest: string | null = null;
  /**
   * Where a key or another chart has put the cursor, until the pointer moves it: the place of its pixel is not quite that, so that the next
   * key would not leave it, and is another one as soon as points come or the size changes.
   */
  private held: number | null = null;
  /** The pointer or the keys are in this chart: of a cursor that follows another one's, or is not there yet, nobody is told. */
  private isOwn = false;
  private y: [number, number] | null = null;

  constructor(
    host: HTMLElement,
    size: { width: number; height: number },
    private readonly look: OverlayLook,
    private readonly events: OverlayEvents,
  ) {
    this.uplot = new uPlot(this.options(size), [[], []], host);
    this.uplot.over.addEventListener("click", () => this.nearest !== null && this.uplot.select.width < CLICK_SLOP && this.events.onPick(this.nearest));
  }

  destroy(): void {
    if (this.isOwn) this.events.onHover(null, null);
    this.uplot.destroy();
  }

  resize(width: number, height: number): void {
    this.uplot.setSize({ width, height });
  }

  /** `y`: the range that several charts share; null: this one's own. */
  update(curves: OverlayCurve[], window: [number, number] | null, y: [number, number] | null = null): void {
    this.curves = curves;
    this.window = window;
    this.y = y;
    const xs = curves.flatMap(({ buckets: { x } }) => (x.length > 0 ? [x[0] ?? 0, x[x.length - 1] ?? 0] : []));
    const [low, high] = [xs.reduce((a, b) => Math.min(a, b), Infinity), xs.reduce((a, b) => Math.max(a, b), -Infinity)];
    // Of two ends that are the same uPlot makes no scale.
    const ends = low < high ? [low, high] : low === high ? [low - 1, high + 1] : [];
    this.uplot.setData([ends, ends.map(() => null)]);
  }

  /** Others are dimmed; null: none is. */
  choose(name: string | null): void {
    if (this.chosen === name) return;
    this.chosen = name;
    this.uplot.redraw(false);
  }

  /** The cursor stands where another chart's does; nobody is told of it. */
  point(x: number | null): void {
    this.isOwn = false;
    this.held = x;
    this.putCursor(x, 0);
  }

  /** Pixels from the plot's left edge. */
  place(x: number): { left: number; inside: boolean } {
    const left = this.uplot.valToPos(x, "x");
    return { left, inside: left >= -HALF_PIXEL && left <= this.uplot.bbox.width / uPlot.pxRatio + HALF_PIXEL };
  }

  get plotLeft(): number {
    return this.uplot.bbox.left / uPlot.pxRatio;
  }

  private putCursor(x: number | null, top: number): void {
    const { left, inside } = x === null ? { left: -10, inside: false } : this.place(x);
    this.uplot.setCursor({ left: inside ? left : -10, top: inside ? top : -10 }, false);
  }

  /** Moves the cursor to the next place of any curve, as the arrow keys do. */
  step(from: number | null, by: number): void {
    const all = [...new Set(this.curves.flatMap(({ buckets }) => buckets.x))].sort((a, b) => a - b).filter((x) => !this.window || (x >= this.window[0] && x <= this.window[1]));
    const at = from === null ? (by > 0 ? -1 : all.length) : findBucket(all, from);
    const x = all[Math.min(all.length - 1, Math.max(0, at + by))];
    if (x === undefined) return;
    this.isOwn = true;
    this.held = x;
    this.uplot.setCursor({ left: this.uplot.valToPos(x, "x"), top: this.uplot.bbox.height / uPlot.pxRatio / 2 });
  }

  private options({ width, height }: { width: number; height: number }): uPlot.Options {
    const { axis, colors, logScale, logX } = this.look;
    return {
      width,
      height,
      ms: 1,
      legend: { show: false },
      padding: PADDING,
      cursor: {
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        bind: {
          // What moves below a pointer at rest makes the browser tell of it as of a move.
          mousemove: (_u, over, move) => (event) => {
            if (event.target !== over || (this.held !== null && event.movementX === 0 && event.movementY === 0)) return null;
            this.isOwn = true;
            this.held = null;
            return move(event);
          },
          mouseleave: (_u, over, leave) => (event) => (event.target === over && this.held === null ? leave(event) : null),
          dblclick: () => () => {
            this.events.onReset();
            return null;
          },
        },
      },
      scales: {
        x: { time: axis === "time", distr: logX ? 3 : 1, range: () => this.rangeX() },
        y: { distr: logScale ? 3 : 1, range: () => this.rangeY() },
      },
      axes: [
        { ...axisLook(colors), size: 26, ...(logX ? xLogTicks() : xAxis(axis)) },
        { ...axisLook(colors), size: ySize, space: 32, ...yTicks(logScale) },
      ],
      series: [{}, { points: { show: false } }],
      hooks: {
        setCursor: [(u) => this.moved(u)],
        setSelect: [(u) => this.selected(u)],
        draw: [(u) => this.draw(u), (u) => drawTitles(u, axis, this.curves[0]?.unit ?? "", colors.text), () => this.events.onLayout?.()],
      },
    };
  }

  private draw(u: uPlot): void {
    const { colors } = this.look;
    clipped(u, (context) => {
      // The chosen one lies on top of all.
      const order = [...this.curves].sort((a, b) => Number(a.name === this.chosen) - Number(b.name === this.chosen));
      for (const { name, pen, buckets, isBand } of order) {
        const isDim = this.chosen !== null && this.chosen !== name;
        const { x, min, max, mean } = buckets;
        context.strokeStyle = colors.series[pen.color] ?? "";
        context.lineWidth = uPlot.pxRatio;
        context.setLineDash([]);
        context.globalAlpha = isDim ? 0.08 : 0.3;
        if (isBand) {
          context.fillStyle = context.strokeStyle;
          context.globalAlpha = isDim ? 0.04 : 0.18;
          drawBand(u, context, buckets);
        } else strokeExtremes(u, context, x, min, max);
        context.globalAlpha = isDim ? 0.2 : 1;
        context.lineWidth = (name === this.chosen ? 2 : HAIRLINE) * uPlot.pxRatio;
        context.setLineDash((DASHES[pen.dash % DASHES.length] ?? []).map((length) => length * uPlot.pxRatio));
        if (this.look.smooth > 0 && !isBand) {
          context.globalAlpha *= 0.3;
          strokePath(u, context, { x, y: mean });
          context.globalAlpha = isDim ? 0.2 : 1;
        }
        strokePath(u, context, { x, y: smooth(mean, this.look.smooth, this.look.smoothing) });
        if (x.length === 1) drawDot(u, context, x[0] ?? 0, mean[0] ?? null);
      }
      context.globalAlpha = 1;
    });
    for (const { pen, buckets } of this.curves) drawNonFinite(u, buckets, colors.series[pen.color] ?? "");
    const { min: from, max: to } = u.scales["y"] ?? {};
    if (!this.look.clip || from === undefined || to === undefined) return;
    const all = this.columns();
    markOutside(u, all.x, outside(all.min, all.max, from, to), colors.warning);
  }

  /** All curves' buckets behind each other. */
  private columns(): Pick<Buckets, "x" | "min" | "max" | "mean"> {
    const of = (key: "min" | "max" | "mean"): (number | null)[] => this.curves.flatMap(({ buckets }) => buckets[key]);
    return { x: this.curves.flatMap(({ buckets }) => buckets.x), min: of("min"), max: of("max"), mean: of("mean") };
  }

  private rangeX(): [number, number] {
    if (this.look.logX) return this.rangeLogX();
    if (this.window) return this.window;
    const [first, last] = this.uplot ? [this.uplot.data[0][0], this.uplot.data[0][1]] : [];
    if (first === undefined || last === undefined) return [0, 1];
    return last > first ? [first, last] : [first - 1, first + 1];
  }

  private rangeLogX(): [number, number] {
    let [first, last] = [Infinity, -Infinity];
    for (const { buckets: { x } } of this.curves)
      for (const at of x) if (at > 0) [first, last] = [Math.min(first, at), Math.max(last, at)];
    if (!(first < last)) [first, last] = [1, 10];
    const [from, to] = this.window ?? [first, last];
    return [from > 0 ? from : first, to > 0 && to > from ? to : last];
  }

  private rangeY(): [number, number] {
    const { logScale } = this.look;
    if (this.look.clip) {
      const { min, max, mean } = this.columns();
      const range = clipRange(min, max, mean);
      if (range) return logScale ? logRange(...range) : paddedRange(...range);
    }
    if (this.y) return logScale ? logRange(...this.y) : paddedRange(...this.y);
    let low = Infinity;
    let high = -Infinity;
    for (const { buckets } of this.curves)
      for (const column of [buckets.min, buckets.max])
        for (const y of column) {
          if (y === null || (logScale && y <= 0)) continue;
          low = Math.min(low, y);
          high = Math.max(high, y);
        }
    return logScale ? logRange(low, high) : paddedRange(low, high);
  }

  private moved(u: uPlot): void {
    if (this.held !== null) this.putCursor(this.held, Math.max(0, u.cursor.top ?? 0));
    if (!this.isOwn) return;
    const { left = -1, top = -1 } = u.cursor;
    if (left < 0) {
      this.isOwn = false;
      this.nearest = this.held = null;
      this.events.onHover(null, null);
      return;
    }
    const x = this.held ?? u.posToVal(left, "x");
    let closest = Infinity;
    this.nearest = null;
    for (const { name, buckets } of this.curves) {
      const y = buckets.mean[nearestBucket(buckets.x, x)] ?? null;
      if (y === null || (this.look.logScale && y <= 0)) continue;
      const distance = Math.abs(u.valToPos(y, "y") - top);
      if (distance < closest) [closest, this.nearest] = [distance, name];
    }
    this.events.onHover(x, this.nearest);
  }

  private selected(u: uPlot): void {
    if (u.select.width < CLICK_SLOP) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (to > from) this.events.onZoom(from, to);
  }
}

const DOT = 4;

/** A curve of one point is no line. */
function drawDot(u: uPlot, context: CanvasRenderingContext2D, x: number, y: number | null): void {
  if (y === null || (u.scales["y"]?.distr === 3 && y <= 0)) return;
  const size = DOT * uPlot.pxRatio;
  context.fillStyle = context.strokeStyle;
  context.fillRect(u.valToPos(x, "x", true) - size / 2, u.valToPos(y, "y", true) - size / 2, size, size);
}

/** A stroke from the lowest to the highest value of each bucket. */
function strokeExtremes(u: uPlot, context: CanvasRenderingContext2D, x: number[], min: (number | null)[], max: (number | null)[]): void {
  const isLog = u.scales["y"]?.distr === 3;
  const [px, py] = [placer(u, "x"), placer(u, "y")];
  context.beginPath();
  x.forEach((at, i) => {
    const low = min[i] ?? null;
    const high = max[i] ?? null;
    if (low === null || high === null || high === low || (isLog && high <= 0)) return;
    const left = px(at);
    context.moveTo(left, py(isLog ? Math.max(low, Number.MIN_VALUE) : low));
    context.lineTo(left, py(high));
  });
  context.stroke();
}
