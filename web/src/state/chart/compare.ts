// Several jobs' documents, what differs between them, and one metric's curve of each.
import { computed, signal } from "@preact/signals";
import { asProblem, isAbort, Problem } from "../../api/client";
import type { JobRow } from "../../api/types";
import { Batch } from "../../lib/flow/batch";
import type { Buckets } from "../../lib/chart/buckets";
import { joinNames, metricFor, MOST_COMPARED, type Comparison } from "../../lib/jobs/compare";
import { isWork, quoteText, type Axis } from "../../lib/url/url";
import { shifted, STEPS, TIMES, type XMap } from "../../lib/chart/xmap";
import { onLive, setWant } from "../../live/client";
import { ChartStore } from "./chart";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
import { askPoints, type PointsQuery } from "./points";
import { every, Soon } from "../../lib/flow/poll";

export interface CompareSpec {
  metric: string;
  axis: Axis;
  from: number | null;
  to: number | null;
  buckets: number;
}

export interface CompareCurve {
  job: string;
  metric: string;
  buckets: Buckets;
}

/** Which jobs: by their names, or those that a search finds first. */
export type Choice = { names: readonly string[] } | { query: string };

const ROWS_MS = 1000;
/** Curves that grow are drawn so many times a second at most, and less often where a frame of them costs more. */
const DRAW_MS = 80;
const LOOK_MS = 30_000;
const NO_TROUBLE = 404;

interface Page {
  jobs: JobRow[];
  total?: number;
}

/** One job's curve, kept current. */
class JobChart {
  readonly store: ChartStore;
  /** Of the axis that is asked for; null: the job has none. */
  private map: XMap | null = null;
  private readonly off: () => void;

  constructor(
    readonly job: string,
    readonly metric: string,
    onChange: () => void,
  ) {
    this.store = new ChartStore(job, metric);
    this.off = this.store.version.subscribe((version) => version > 0 && onChange());
  }

  is = (job: string, metric: string): boolean => this.job === job && this.metric === metric;

  /** Its curve is there, and on this axis. */
  get isShown(): boolean {
    return this.map !== null && this.store.isLoaded.peek() && this.store.map === this.map && this.store.problem.peek()?.status !== NO_TROUBLE;
  }

  async load(find: () => Promise<XMap>, { from, to, buckets }: CompareSpec): Promise<void> {
    const map = await find().catch((error: unknown) => {
      this.map = null;
      throw error;
    });
    this.map = map;
    await this.store.load({ map, from, to, buckets, stream: null, superseded: false, nodes: [] });
  }

  stop(): void {
    this.off();
    this.store.stop();
  }
}

export class CompareStore extends Store {
  readonly rows = signal<JobRow[] | null>(null);
  /** How many jobs the search has found, of which the first are here. */
  readonly total = signal(0);
  /** Names of which there is no job. */
  readonly missing = signal<string[]>([]);
  readonly curves = signal<CompareCurve[] | null>(null);
  /** Why jobs are not on the axis that is chosen, a text a job. */
  readonly leftOut = signal<string[]>([]);
  /** Settings that differ, and on request those that do not. */
  readonly comparison = signal<Comparison | null>(null);
  private readonly troubles = { curves: signal<Problem | null>(null), comparison: signal<Problem | null>(null) };
  readonly trouble = computed(() => this.problem.value ?? this.troubles.curves.value ?? this.troubles.comparison.value);
  private spec: CompareSpec | null = null;
  private drawing = new AbortController();
  private readonly newRows = new Batch<JobRow>(ROWS_MS, (rows) => this.takeRows(rows));
  private charts: JobChart[] = [];
  private isAll = false;
  private readonly reload = new Soon(ROWS_MS, () => this.retry());
  private readonly publish = new Soon(DRAW_MS, () => this.show());
  /** Of axes that count from each job's own beginning, or by its tokens. */
  private readonly maps = new Map<string, XMap>();

  constructor(private readonly choice: Choice) {
    super();
    this.whenStopped(
      () => this.drawing.abort(),
      this.newRows,
      this.publish,
      this.reload,
      () => this.charts.forEach((chart) => chart.stop()),
      // What begins to be found, or is deleted, sends nothing.
      every(LOOK_MS, () => void this.loadRows()),
      onLive((event) => {
        // The curves see to themselves.
        if (event.kind === "resync") this.reload.ask();
        else if (event.kind === "job") this.newRows.add(event.data);
        else if (event.kind === "backfill" && event.data.state === "done" && this.rows.peek()?.some((row) => row.TrainingJobName === event.data.job)) {
          this.maps.clear();
          this.reload.ask();
        }
      }),
    );
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.signal.aborted) return;
    await this.loadRows(seq);
  }

  retry(): void {
    void this.loadRows().then((isThere) => (isThere ? this.loadCurves() : undefined));
    void this.loadComparison(this.isAll);
  }

  draw(spec: CompareSpec): void {
    this.spec = spec;
    void this.loadCurves();
  }

  async loadComparison(isAll: boolean): Promise<void> {
    const names = this.names();
    this.isAll = isAll;
    if (names.length < 2) return;
    const reply = await this.get<Comparison>("compare", { jobs: joinNames(names), equal: isAll || undefined }, (problem) => (this.troubles.comparison.value = problem));
    if (reply) this.comparison.value = reply;
  }

  private names(): string[] {
    return (this.rows.peek() ?? []).map((row) => row.TrainingJobName);
  }

  private async loadRows(after?: string | null): Promise<boolean> {
    const before = this.names().join("\n");
    const { choice } = this;
    const q = "query" in choice ? choice.query : `name in (${choice.names.map(quoteText).join(", ")})`;
    const show = (page: Page): void => {
      const found = new Map(page.jobs.map((row) => [row.TrainingJobName, row]));
      const names = "names" in choice ? choice.names : [...found.keys()];
      this.missing.value = names.filter((name) => !found.has(name));
      this.rows.value = names.map((name) => found.get(name)).filter((row) => row !== undefined);
      this.total.value = page.total ?? page.jobs.length;
    };
    if (!(await this.getFor<Page>("jobs", show, { q, limit: MOST_COMPARED, total: "query" in choice || undefined }))) return false;
    if (after !== undefined || this.names().join("\n") !== before) {
      const seq = after === undefined ? await freshSeq() : after;
      if (!this.signal.aborted) setWant({ jobs: this.names(), kinds: ["points", "job", "backfill"], after: seq });
    }
    return true;
  }

  private takeRows(fresh: readonly JobRow[]): void {
    const rows = this.rows.peek();
    const news = new Map(fresh.map((row) => [row.TrainingJobName, row]));
    if (!rows?.some((row) => news.has(row.TrainingJobName))) return;
    this.rows.value = rows.map((row) => ({ ...row, ...news.get(row.TrainingJobName) }));
    if (this.wanted().some(({ job, metric }) => !this.charts.some((chart) => chart.is(job, metric)))) void this.loadCurves();
  }

  /** Whose curve is drawn of what. */
  private wanted(): { row: JobRow; job: string; metric: string }[] {
    return (this.rows.peek() ?? []).flatMap((row) => {
      const metric = this.spec && metricFor(row, this.spec.metric)?.metric;
      return metric ? [{ row, job: row.TrainingJobName, metric }] : [];
    });
  }

  private async loadCurves(): Promise<void> {
    const spec = this.spec;
    if (!spec) return;
    this.drawing.abort();
    this.drawing = new AbortController();
    const { signal } = this.drawing;
    const before = this.charts;
    const wanted = this.wanted();
    this.charts = wanted.map(({ job, metric }) => before.find((chart) => chart.is(job, metric)) ?? new JobChart(job, metric, () => this.publish.ask()));
    for (const chart of before) if (!this.charts.includes(chart)) chart.stop();
    const problems = await Promise.all(this.charts.map((chart, i) => this.loadCurve(chart, wanted[i]?.row, spec, signal)));
    if (signal.aborted) return;
    this.leftOut.value = isWork(spec.axis) ? problems.flatMap((one) => (one?.status === NO_TROUBLE ? [one.detail] : [])) : [];
    this.troubles.curves.value = problems.find((one) => one !== null && one.status !== NO_TROUBLE) ?? null;
    this.show();
  }

  private async loadCurve(chart: JobChart, row: JobRow | undefined, spec: CompareSpec, signal: AbortSignal): Promise<Problem | null> {
    try {
      if (row) await chart.load(() => this.mapOf(row, chart.metric, spec, signal), spec);
    } catch (error) {
      if (isAbort(error)) return null;
      // A job may have lost the metric, or gone, since its row was read; or it has no such axis.
      return asProblem(error);
    }
    return chart.store.problem.peek();
  }

  private show(): void {
    this.curves.value = this.charts.filter((chart) => chart.isShown).map(({ job, metric, store }) => ({ job, metric, buckets: store.buckets }));
  }

  private async mapOf(row: JobRow, metric: string, { axis }: CompareSpec, signal: AbortSignal): Promise<XMap> {
    if (axis === "step") return STEPS;
    if (axis === "time") return TIMES;
    const key = `${axis} ${row.TrainingJobName} ${axis === "rstep" ? metric : ""}`;
    const known = this.maps.get(key) ?? (await this.makeMap(row, metric, axis, signal));
    this.maps.set(key, known);
    return known;
  }

  private async makeMap(row: JobRow, metric: string, axis: Exclude<Axis, "step" | "time">, signal: AbortSignal): Promise<XMap> {
    const job = row.TrainingJobName;
    const first = async (x: PointsQuery["x"]): Promise<number> => (await askPoints({ job, metric, x, buckets: 1 }, signal)).columns.x[0] ?? 0;
    if (isWork(axis)) return (await import("./work")).loadWork(job, metric, axis, signal);
    if (axis === "rstep") return shifted("step", await first("step"));
    const [time, since] = await Promise.all([first("time"), first("relative")]);
    return shifted("time", time - since);
  }
}
