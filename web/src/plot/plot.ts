// A uPlot chart of one metric: band of extremes, mean, smoothed curve, ghosts of older attempts.
import uPlot from "./uplot";
import type { Buckets } from "../lib/chart/buckets";
import { smooth } from "../lib/chart/smooth";
import type { Axis, ChartLook } from "../lib/url/url";
import type { Ghost, NodeCurve } from "../lib/chart/curves";
import { axisLook, logRange, PADDING, paddedRange, xAxis, xLogTicks, ySize, yTicks } from "./axes";
import type { PlotColors } from "./colors";
import { clipped, drawBand, drawGhosts, drawLines, drawNodes, drawNonFinite, HAIRLINE, type UprightLine } from "./draw";

type Span = [number, number];

export interface PlotLook extends ChartLook {
  axis: Axis;
  colors: PlotColors;
  /** The window on x that is asked for; null shows all there is. */
  window: Span | null;
}

export interface Curves {
  buckets: Buckets;
  ghosts: Ghost[];
  nodes: NodeCurve[];
}

export interface PlotEvents {
  onHover(index: number | null): void;
  /** y: where in the plot the pointer was. */
  onPick(index: number, y: number): void;
  onZoom(from: number, to: number): void;
  onReset(): void;
  /** The plot's scales or size changed: what is laid over it must be placed anew. */
  onLayout(): void;
}

/** What a plot can do beyond drawing comes later, so that the first curve does not wait for it. */
export interface Addon {
  /** Another range of y. */
  rangeY?(plot: Plot): Span | null;
  draw?(plot: Plot, u: uPlot): void;
  /** Listens to the plot; returns how to stop. */
  attach?(plot: Plot, over: HTMLElement): () => void;
}

const CLICK_SLOP = 4;
const DOUBLE_CLICK_MS = 250;
const MEAN_SERIES = 3;

export class Plot {
  readonly uplot: uPlot;
  buckets: Buckets;
  private ghosts: Ghost[] = [];
  private nodes: NodeCurve[] = [];
  private lines: UprightLine[] = [];
  private readonly addons: Addon[] = [];
  private readonly offs: (() => void)[] = [];
  private pick = 0;
  /** So many buckets at the start have no place on a logarithmic x. */
  private skip = 0;
  /** The bucket that keys have come to, and where it was then. */
  private pointed: { index: number; left: number } | null = null;

  constructor(
    host: HTMLElement,
    size: { width: number; height: number },
    public look: PlotLook,
    buckets: Buckets,
    readonly events: PlotEvents,
  ) {
    this.buckets = buckets;
    this.uplot = new uPlot(this.options(size), this.columns(), host);
    this.uplot.over.addEventListener("click", (event) => this.clicked(event.detail));
  }

  use(addon: Addon): void {
    this.addons.push(addon);
    if (addon.attach) this.offs.push(addon.attach(this, this.uplot.over));
    if (addon.rangeY) this.redraw();
  }

  destroy(): void {
    window.clearTimeout(this.pick);
    for (const off of this.offs) off();
    this.uplot.destroy();
  }

  update({ buckets, ghosts, nodes }: Curves, lines: UprightLine[], window: Span | null): void {
    this.buckets = buckets;
    this.ghosts = ghosts;
    this.nodes = nodes;
    this.lines = lines;
    this.look = { ...this.look, window };
    this.redraw();
  }

  /** Another window, smoothing or clip, of the same curves. */
  setLook(look: Partial<PlotLook>): void {
    const before = this.look;
    this.look = { ...before, ...look };
    if ((Object.keys(look) as (keyof PlotLook)[]).some((key) => before[key] !== this.look[key])) this.redraw();
  }

  resize(width: number, height: number): void {
    this.uplot.setSize({ width, height });
  }

  private redraw(): void {
    this.uplot.setData(this.columns());
  }

  /** The window that is shown. */
  get shown(): Span {
    const { min, max } = this.uplot.scales["x"] ?? {};
    return [min ?? 0, max ?? 1];
  }

  /** Pixels from the plot area's left edge, and where that edge lies in the host. */
  place(x: number): { left: number; inside: boolean } {
    const left = this.uplot.valToPos(x, "x");
    return { left, inside: left >= -0.5 && left <= this.plotWidth + 0.5 };
  }

  /** Pixels from the host's upper edge; what is no number, or out of sight, stands at the edge. */
  placeY(value: number): number {
    const { top, height } = this.uplot.bbox;
    const at = this.uplot.valToPos(value, "y");
    const inside = Number.isFinite(at) ? Math.min(height / uPlot.pxRatio, Math.max(0, at)) : 0;
    return top / uPlot.pxRatio + inside;
  }

  get plotLeft(): number {
    return this.uplot.bbox.left / uPlot.pxRatio;
  }

  get plotWidth(): number {
    return this.uplot.bbox.width / uPlot.pxRatio;
  }

  /** Moves the cursor to a bucket, as the arrow keys do. */
  pointAt(index: number): void {
    const x = this.buckets.x[index];
    if (x === undefined) return;
    const y = this.buckets.mean[index];
    const top = y === null || y === undefined ? 0 : this.uplot.valToPos(y, "y");
    const left = this.uplot.valToPos(x, "x");
    this.pointed = { index, left };
    this.uplot.setCursor({ left, top });
  }

  /** A mouse points at a place, keys at a bucket: that one stays when the plot gets another width, until a mouse points elsewhere. */
  private moved(): void {
    const { pointed, buckets, uplot } = this;
    if (pointed && uplot.cursor.left === pointed.left) {
      const x = buckets.x[pointed.index];
      if (x !== undefined && uplot.valToPos(x, "x") !== pointed.left) return this.pointAt(pointed.index);
    } else this.pointed = null;
    this.events.onHover(this.cursorIndex);
  }

  private get cursorIndex(): number | null {
    const { idx } = this.uplot.cursor;
    return typeof idx === "number" ? idx + this.skip : null;
  }

  private clicked(clicks: number): void {
    window.clearTimeout(this.pick);
    const index = this.cursorIndex;
    if (index === null || clicks > 1) return;
    const y = this.uplot.posToVal(this.uplot.cursor.top ?? 0, "y");
    // While zoomed a second click may follow, which resets and is not meant for the log.
    if (this.look.window) this.pick = window.setTimeout(() => this.events.onPick(index, y), DOUBLE_CLICK_MS);
    else this.events.onPick(index, y);
  }

  private smoothed(values: (number | null)[]): (number | null)[] {
    return smooth(values, this.look.smooth, this.look.smoothing);
  }

  private columns(): uPlot.AlignedData {
    const { x, min, max, mean } = this.buckets;
    const { logScale, logX } = this.look;
    const first = x.findIndex((value) => value > 0);
    this.skip = logX ? (first < 0 ? x.length : first) : 0;
    const onAxis = (column: (number | null)[]): (number | null)[] => {
      const shown = this.skip > 0 ? column.slice(this.skip) : column;
      return logScale ? shown.map((value) => (value !== null && value > 0 ? value : null)) : shown;
    };
    const xs = this.skip > 0 ? x.slice(this.skip) : x;
    return [xs, onAxis(min), onAxis(max), onAxis(mean), this.look.smooth > 0 ? onAxis(this.smoothed(mean)) : xs.map(() => null)];
  }

  private options({ width, height }: { width: number; height: number }): uPlot.Options {
    const { axis, colors, logX } = this.look;
    const isSmooth = (): boolean => this.look.smooth > 0;
    // The nodes' own curves stand where else their mean does.
    const ifFolded = (color: string): string => (this.nodes.length > 0 ? "transparent" : color);
    const stroke = (): string => ifFolded(isSmooth() ? colors.faint : colors.line);
    return {
      width,
      height,
      ms: 1,
      legend: { show: false },
      padding: PADDING,
      cursor: {
        sync: { key: `smfleet-${axis}`, scales: ["x", null] },
        drag: { x: true, y: false, setScale: false },
        points: { size: (_, series) => (series === MEAN_SERIES ? 6 : 0), fill: () => colors.line, width: 0 },
        bind: {
          // Shift drags the window itself.
          mousedown: (_, __, handler) => (event) => (event.shiftKey ? null : handler(event)),
          dblclick: () => () => {
            this.events.onReset();
            return null;
          },
        },
      },
      scales: {
        x: { time: axis === "time", distr: logX ? 3 : 1, range: () => this.rangeX() },
        y: { distr: this.look.logScale ? 3 : 1, range: (_, low, high) => this.rangeY(low, high) },
      },
      axes: [
        { ...axisLook(colors), size: 26, ...(logX ? xLogTicks() : xAxis(axis)) },
        { ...axisLook(colors), size: ySize, space: 32, ...yTicks(this.look.logScale) },
      ],
      series: [
        {},
        { stroke: colors.edge, width: 1, points: { show: false } },
        { stroke: colors.edge, width: 1, points: { show: false } },
        { stroke, width: HAIRLINE, points: { size: 4, fill: stroke } },
        { stroke: () => ifFolded(isSmooth() ? colors.line : "transparent"), width: 1.75, points: { show: false } },
      ],
      hooks: {
        setCursor: [() => this.moved()],
        setSelect: [(u) => this.selected(u)],
        drawClear: [
          (u) => clipped(u, (context) => ((context.fillStyle = colors.band), drawBand(u, context, this.buckets))),
          (u) => drawGhosts(u, this.ghosts, colors.ghost),
          (u) => drawLines(u, this.lines, colors),
        ],
        draw: [
          (u) => drawNodes(u, this.nodes.map(({ buckets: { x, mean } }) => ({ x, y: this.smoothed(mean) })), colors.series),
          (u) => drawNonFinite(u, this.buckets, colors.critical),
          (u) => this.addons.forEach((addon) => addon.draw?.(this, u)),
          () => this.events.onLayout(),
        ],
      },
    };
  }

  private rangeX(): Span {
    const { x } = this.buckets;
    const first = x[this.skip] ?? 0;
    const last = x[x.length - 1] ?? first;
    const [from, to] = this.look.window ?? (last > first ? [first, last] : [first - 1, first + 1]);
    // Where the window begins at nothing a logarithmic axis begins with the first value.
    return this.look.logX ? [from > 0 ? from : first || 1, to > from && to > 0 ? to : (first || 1) * 10] : [from, to];
  }

  private rangeY(low: number | null, high: number | null): Span {
    for (const addon of this.addons) {
      const range = addon.rangeY?.(this);
      if (range) return this.look.logScale ? logRange(...range) : paddedRange(...range);
    }
    let min = low ?? Infinity;
    let max = high ?? -Infinity;
    for (const ghost of this.ghosts) {
      for (const y of ghost.y) {
        if (y === null || (this.look.logScale && y <= 0)) continue;
        min = Math.min(min, y);
        max = Math.max(max, y);
      }
    }
    return this.look.logScale ? logRange(min, max) : paddedRange(min, max);
  }

  private selected(u: uPlot): void {
    if (u.select.width < CLICK_SLOP) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (to > from) this.events.onZoom(from, to);
  }
}
