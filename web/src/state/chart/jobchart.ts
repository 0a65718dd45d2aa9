// One job's curve among many, kept current, and the axes that many jobs share.
import { shifted, STEPS, TIMES, type XMap } from "../../lib/chart/xmap";
import { isWork, type Axis } from "../../lib/url/url";
import { ChartStore } from "./chart";
import { askPoints, type PointsQuery } from "./points";

/** A job may have lost the metric, or gone, since its row was read. */
export const NO_TROUBLE = 404;

export interface Window {
  from: number | null;
  to: number | null;
  buckets: number;
}

export class JobChart {
  readonly store: ChartStore;
  /** Of the axis that is asked for; null: the job has none. */
  private map: XMap | null = null;
  private readonly off: () => void;

  constructor(
    readonly job: string,
    readonly metric: string,
    onChange: () => void,
    /** null: all of them, folded. */
    private readonly stream: string | null = null,
    private readonly columns?: readonly string[],
  ) {
    this.store = new ChartStore(job, metric);
    this.off = this.store.version.subscribe((version) => version > 0 && onChange());
  }

  is = (job: string, metric: string): boolean => this.job === job && this.metric === metric;

  /** Its curve is there, and on this axis. */
  get isShown(): boolean {
    return this.map !== null && this.store.isLoaded.peek() && this.store.map === this.map && this.store.problem.peek()?.status !== NO_TROUBLE;
  }

  async load(find: () => Promise<XMap>, { from, to, buckets }: Window): Promise<void> {
    const map = await find().catch((error: unknown) => {
      this.map = null;
      throw error;
    });
    this.map = map;
    await this.store.load({ map, from, to, buckets, stream: this.stream, superseded: false, nodes: [], ...(this.columns ? { columns: this.columns } : {}) });
  }

  stop(): void {
    this.off();
    this.store.stop();
  }
}

/** Of axes that count from each job's own beginning, or by its work. */
export class AxisMaps {
  private readonly known = new Map<string, XMap>();

  clear(): void {
    this.known.clear();
  }

  async of(job: string, metric: string, axis: Axis, signal: AbortSignal): Promise<XMap> {
    if (axis === "step") return STEPS;
    if (axis === "time") return TIMES;
    const key = `${axis} ${job} ${axis === "rstep" ? metric : ""}`;
    const map = this.known.get(key) ?? (await makeMap(job, metric, axis, signal));
    this.known.set(key, map);
    return map;
  }
}

async function makeMap(job: string, metric: string, axis: Exclude<Axis, "step" | "time">, signal: AbortSignal): Promise<XMap> {
  const first = async (x: PointsQuery["x"]): Promise<number> => (await askPoints({ job, metric, x, buckets: 1 }, signal)).columns.x[0] ?? 0;
  if (isWork(axis)) return (await import("./work")).loadWork(job, metric, axis, signal);
  if (axis === "rstep") return shifted("step", await first("step"));
  const [time, since] = await Promise.all([first("time"), first("relative")]);
  return shifted("time", time - since);
}
