// A uPlot chart of one metric: band of extremes, mean, smoothed curve, ghosts of older attempts.
import uPlot from "uplot";
import type { Buckets } from "../lib/buckets";
import { ema } from "../lib/ema";
import type { Axis } from "../lib/url";
import type { Ghost, NodeCurve } from "../state/chart";
import { axisLook, logRange, paddedRange, xAxis, yTicks } from "./axes";
import type { PlotColors } from "./colors";
import { drawGhosts, drawIncidentLines, drawNodes, drawNonFinite, type IncidentLine } from "./draw";

export interface PlotLook {
  axis: Axis;
  logScale: boolean;
  smooth: number;
  colors: PlotColors;
  /** The window on x that is asked for; null shows all there is. */
  window: [number, number] | null;
}

export interface Curves {
  buckets: Buckets;
  ghosts: Ghost[];
  nodes: NodeCurve[];
}

export interface PlotEvents {
  onHover(index: number | null): void;
  onPick(index: number): void;
  onZoom(from: number, to: number): void;
  onReset(): void;
  /** The plot's scales or size changed: what is laid over it must be placed anew. */
  onLayout(): void;
}

const CLICK_SLOP = 4;
const DOUBLE_CLICK_MS = 250;
const MEAN_SERIES = 3;

export class Plot {
  private readonly uplot: uPlot;
  private buckets: Buckets;
  private ghosts: Ghost[] = [];
  private nodes: NodeCurve[] = [];
  private incidents: IncidentLine[] = [];
  private pick = 0;

  constructor(
    host: HTMLElement,
    size: { width: number; height: number },
    private look: PlotLook,
    buckets: Buckets,
    private readonly events: PlotEvents,
  ) {
    this.buckets = buckets;
    this.uplot = new uPlot(this.options(size), this.columns(), host);
    this.uplot.over.addEventListener("click", (event) => this.clicked(event.detail));
  }

  destroy(): void {
    window.clearTimeout(this.pick);
    this.uplot.destroy();
  }

  update({ buckets, ghosts, nodes }: Curves, incidents: IncidentLine[], window: [number, number] | null): void {
    this.buckets = buckets;
    this.ghosts = ghosts;
    this.nodes = nodes;
    this.incidents = incidents;
    this.look = { ...this.look, window };
    this.uplot.setData(this.columns());
  }

  setSmooth(smooth: number): void {
    this.look = { ...this.look, smooth };
    this.uplot.setData(this.columns());
  }

  resize(width: number, height: number): void {
    this.uplot.setSize({ width, height });
  }

  /** Pixels from the plot area's left edge, and where that edge lies in the host. */
  place(x: number): { left: number; inside: boolean } {
    const left = this.uplot.valToPos(x, "x");
    return { left, inside: left >= -0.5 && left <= this.plotWidth + 0.5 };
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
    this.uplot.setCursor({ left: this.uplot.valToPos(x, "x"), top });
  }

  private clicked(clicks: number): void {
    window.clearTimeout(this.pick);
    const index = this.uplot.cursor.idx;
    if (typeof index !== "number" || clicks > 1) return;
    // While zoomed a second click may follow, which resets and is not meant for the log.
    if (this.look.window) this.pick = window.setTimeout(() => this.events.onPick(index), DOUBLE_CLICK_MS);
    else this.events.onPick(index);
  }

  private columns(): uPlot.AlignedData {
    const { x, min, max, mean } = this.buckets;
    const positive = (column: (number | null)[]): (number | null)[] =>
      this.look.logScale ? column.map((value) => (value !== null && value > 0 ? value : null)) : column;
    return [x, positive(min), positive(max), positive(mean), positive(ema(mean, this.look.smooth))];
  }

  private options({ width, height }: { width: number; height: number }): uPlot.Options {
    const { axis, colors } = this.look;
    const isSmooth = (): boolean => this.look.smooth > 0;
    // The nodes' own curves stand where else their mean does.
    const ifFolded = (color: string): string => (this.nodes.length > 0 ? "transparent" : color);
    const stroke = (): string => ifFolded(isSmooth() ? colors.faint : colors.line);
    return {
      width,
      height,
      ms: 1,
      legend: { show: false },
      padding: [14, 22, 0, 0],
      cursor: {
        sync: { key: `smfleet-${axis}`, scales: ["x", null] },
        drag: { x: true, y: false, setScale: false },
        points: { size: (_, series) => (series === MEAN_SERIES ? 6 : 0), fill: () => colors.line, width: 0 },
        bind: {
          dblclick: () => () => {
            this.events.onReset();
            return null;
          },
        },
      },
      scales: {
        x: { time: axis === "time", range: () => this.rangeX() },
        y: { distr: this.look.logScale ? 3 : 1, range: (_, low, high) => this.rangeY(low, high) },
      },
      axes: [
        { ...axisLook(colors), size: 26, ...xAxis(axis) },
        { ...axisLook(colors), size: 56, space: 32, ...yTicks(this.look.logScale) },
      ],
      series: [
        {},
        { stroke: colors.edge, width: 1, points: { show: false } },
        { stroke: colors.edge, width: 1, points: { show: false } },
        { stroke, width: 1.25, points: { size: 4, fill: stroke } },
        { stroke: () => ifFolded(isSmooth() ? colors.line : "transparent"), width: 1.75, points: { show: false } },
      ],
      bands: [{ series: [2, 1], fill: colors.band }],
      hooks: {
        setCursor: [(u) => this.events.onHover(typeof u.cursor.idx === "number" ? u.cursor.idx : null)],
        setSelect: [(u) => this.selected(u)],
        drawClear: [
          (u) => drawGhosts(u, this.ghosts, colors.ghost),
          (u) => drawIncidentLines(u, this.incidents, colors),
        ],
        draw: [
          (u) => drawNodes(u, this.nodes.map(({ buckets: { x, mean } }) => ({ x, y: ema(mean, this.look.smooth) })), colors.series),
          (u) => drawNonFinite(u, this.buckets, colors.critical),
          () => this.events.onLayout(),
        ],
      },
    };
  }

  private rangeX(): [number, number] {
    if (this.look.window) return this.look.window;
    const first = this.buckets.x[0] ?? 0;
    const last = this.buckets.x[this.buckets.x.length - 1] ?? first;
    return last > first ? [first, last] : [first - 1, first + 1];
  }

  private rangeY(low: number | null, high: number | null): [number, number] {
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
