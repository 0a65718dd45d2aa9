// Several jobs' documents, what differs between them, and one metric's curve of each.
import { computed, signal } from "@preact/signals";
import { asProblem, isAbort, type Problem } from "../../api/client";
import type { JobRow } from "../../api/types";
import { Batch } from "../../lib/flow/batch";
import { inUnit, type Buckets } from "../../lib/chart/buckets";
import { STEPS, type XMap } from "../../lib/chart/xmap";
import { joinNames, metricFor, MOST_COMPARED, type Comparison } from "../../lib/jobs/compare";
import { isWork, quoteText, type Axis } from "../../lib/url/url";
import { onLive, setWant } from "../../live/client";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
import { AxisMaps, JobChart, NO_TROUBLE } from "./jobchart";
import { JobNotes } from "./jobnotes";
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
  map: XMap;
}

/** Which jobs: by their names, or those that a search finds first. */
export type Choice = { names: readonly string[] } | { query: string };

const ROWS_MS = 1000;
/** Curves that grow are drawn so many times a second at most, and less often where a frame of them costs more. */
const DRAW_MS = 80;
const LOOK_MS = 30_000;

interface Page {
  jobs: JobRow[];
  total?: number;
}

export class CompareStore extends Store {
  readonly rows = signal<JobRow[] | null>(null);
  /** How many jobs the search has found, of which the first are here. */
  readonly total = signal(0);
  /** Names of which there is no job. */
  readonly missing = signal<string[]>([]);
  readonly curves = signal<CompareCurve[] | null>(null);
  readonly notes = new JobNotes();
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
  private readonly maps = new AxisMaps();

  constructor(private readonly choice: Choice) {
    super();
    this.whenStopped(
      () => this.drawing.abort(),
      this.notes,
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
    this.notes.forget();
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
    this.notes.load(this.charts.map(({ job }) => job));
  }

  private async loadCurve(chart: JobChart, row: JobRow | undefined, spec: CompareSpec, signal: AbortSignal): Promise<Problem | null> {
    try {
      if (row) await chart.load(() => this.maps.of(row.TrainingJobName, chart.metric, spec.axis, signal), spec);
    } catch (error) {
      if (isAbort(error)) return null;
      // A job may have lost the metric, or gone, since its row was read; or it has no such axis.
      return asProblem(error);
    }
    return chart.store.problem.peek();
  }

  private show(): void {
    const shown = this.charts.filter((chart) => chart.isShown);
    const unit = shown[0]?.store.buckets.unit;
    this.curves.value = shown.map(({ job, metric, store }) => ({ job, metric, buckets: inUnit(store.buckets, unit), map: store.map ?? STEPS }));
  }
}
