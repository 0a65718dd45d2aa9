// Several jobs' documents, what differs between them, and one metric's curve of each.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, Problem } from "../api/client";
import type { JobRow, PointsReply } from "../api/types";
import { bucketsFromReply, type Buckets } from "../lib/buckets";
import { joinNames, metricFor, MOST_COMPARED, type Comparison } from "../lib/compare";
import { tokensMetric } from "../lib/tokens";
import { quoteText, type Axis } from "../lib/url";
import { along, shifted, STEPS, TIMES, type XMap } from "../lib/xmap";
import { onLive, setWant } from "../live/client";
import { freshSeq } from "./info";
import { askPoints, CURVE, type PointsQuery } from "./points";
import { Soon } from "./poll";

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

const REFETCH_MS = 2000;
const TOKEN_BUCKETS = 500;

interface Page {
  jobs: JobRow[];
  total?: number;
}

export class CompareStore {
  readonly rows = signal<JobRow[] | null>(null);
  /** How many jobs the search has found, of which the first are here. */
  readonly total = signal(0);
  /** Names of which there is no job. */
  readonly missing = signal<string[]>([]);
  readonly curves = signal<CompareCurve[] | null>(null);
  /** Settings that differ, and on request those that do not. */
  readonly comparison = signal<Comparison | null>(null);
  readonly problem = signal<Problem | null>(null);
  private spec: CompareSpec | null = null;
  private readonly abort = new AbortController();
  private drawing = new AbortController();
  private readonly refetch = new Soon(REFETCH_MS, () => void this.loadRows().then(() => this.loadCurves()));
  private readonly off: () => void;
  /** Of axes that count from each job's own beginning, or by its tokens. */
  private readonly maps = new Map<string, XMap>();

  constructor(private readonly choice: Choice) {
    this.off = onLive((event) => {
      const job = event.kind === "job" ? event.data.TrainingJobName : event.kind === "points" ? event.data.job : null;
      if (event.kind === "resync" || (job !== null && this.rows.peek()?.some((row) => row.TrainingJobName === job))) this.refetch.ask();
    });
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.abort.signal.aborted) return;
    await this.loadRows();
    setWant({ jobs: (this.rows.peek() ?? []).map((row) => row.TrainingJobName), kinds: ["points", "job"], after: seq });
  }

  stop(): void {
    this.abort.abort();
    this.drawing.abort();
    this.off();
    this.refetch.cancel();
  }

  retry(): void {
    this.problem.value = null;
    void this.loadRows();
  }

  draw(spec: CompareSpec): void {
    this.spec = spec;
    void this.loadCurves();
  }

  async loadComparison(isAll: boolean): Promise<void> {
    const names = (this.rows.peek() ?? []).map((row) => row.TrainingJobName);
    try {
      this.comparison.value = await getJson<Comparison>("compare", { jobs: joinNames(names), equal: isAll || undefined }, this.abort.signal);
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  private async loadRows(): Promise<void> {
    const { choice } = this;
    const q = "query" in choice ? choice.query : `name in (${choice.names.map(quoteText).join(", ")})`;
    try {
      const page = await getJson<Page>("jobs", { q, limit: MOST_COMPARED, total: "query" in choice || undefined }, this.abort.signal);
      const found = new Map(page.jobs.map((row) => [row.TrainingJobName, row]));
      const names = "names" in choice ? choice.names : [...found.keys()];
      this.missing.value = names.filter((name) => !found.has(name));
      this.rows.value = names.map((name) => found.get(name)).filter((row) => row !== undefined);
      this.total.value = page.total ?? page.jobs.length;
      this.problem.value = null;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  private async loadCurves(): Promise<void> {
    const spec = this.spec;
    if (!spec) return;
    this.drawing.abort();
    this.drawing = new AbortController();
    const { signal } = this.drawing;
    const one = async (row: JobRow): Promise<CompareCurve[]> => {
      const metric = metricFor(row, spec.metric)?.metric;
      if (metric === undefined) return [];
      try {
        return [{ job: row.TrainingJobName, metric, buckets: await this.loadCurve(row, metric, spec, signal) }];
      } catch (error) {
        const problem = asProblem(error);
        // A job may have lost the metric, or gone, since its row was read.
        if (isAbort(error) || problem.status !== 404) throw error;
        return [];
      }
    };
    try {
      const curves = await Promise.all((this.rows.value ?? []).map(one));
      if (!signal.aborted) this.curves.value = curves.flat();
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  private async loadCurve(row: JobRow, metric: string, spec: CompareSpec, signal: AbortSignal): Promise<Buckets> {
    const map = await this.mapOf(row, metric, spec, signal);
    const query: PointsQuery = {
      job: row.TrainingJobName,
      metric,
      x: spec.axis === "relative" ? "relative" : map.axis,
      from: spec.from === null ? undefined : Math.floor(map.toServer(spec.from)),
      to: spec.to === null ? undefined : Math.ceil(map.toServer(spec.to)),
      buckets: spec.buckets,
      columns: CURVE,
    };
    const buckets = bucketsFromReply(await askPoints(query, signal));
    if (!map.isPlain) buckets.x = buckets.x.map(map.fromServer);
    return buckets;
  }

  private async mapOf(row: JobRow, metric: string, { axis }: CompareSpec, signal: AbortSignal): Promise<XMap> {
    if (axis === "step" || axis === "relative") return STEPS;
    if (axis === "time") return TIMES;
    const key = `${axis} ${row.TrainingJobName} ${axis === "rstep" ? metric : ""}`;
    const known = this.maps.get(key) ?? (await this.makeMap(row, metric, axis, signal));
    this.maps.set(key, known);
    return known;
  }

  private async makeMap(row: JobRow, metric: string, axis: "rstep" | "tokens", signal: AbortSignal): Promise<XMap> {
    const job = row.TrainingJobName;
    const ask = (name: string, buckets: number): Promise<PointsReply> => askPoints({ job, metric: name, x: "step", buckets }, signal);
    if (axis === "rstep") return shifted("step", (await ask(metric, 1)).columns.x[0] ?? 0);
    const tokens = tokensMetric(row.metrics ?? []);
    if (tokens === undefined) throw new Problem(404, "No tokens", job);
    const { x, max } = bucketsFromReply(await ask(tokens, TOKEN_BUCKETS));
    return along(x, max) ?? STEPS;
  }
}
