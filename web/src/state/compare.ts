// Several jobs' documents, what differs between them, and one metric's curve of each.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, send, type Problem } from "../api/client";
import type { JobRow, PointsReply } from "../api/types";
import { bucketsFromReply, type Buckets } from "../lib/buckets";
import { metricFor } from "../lib/compare";
import { onLive, setWant } from "../live/client";
import { freshSeq } from "./info";

export type CompareAxis = "step" | "time" | "relative";

export interface CompareSpec {
  metric: string;
  axis: CompareAxis;
  from: number | null;
  to: number | null;
  buckets: number;
}

export interface CompareCurve {
  job: string;
  metric: string;
  buckets: Buckets;
}

const REFETCH_MS = 2000;
const QUERIES_AT_ONCE = 20;

export class CompareStore {
  readonly rows = signal<JobRow[] | null>(null);
  /** Names of which there is no job. */
  readonly missing = signal<string[]>([]);
  readonly curves = signal<CompareCurve[] | null>(null);
  readonly problem = signal<Problem | null>(null);
  private spec: CompareSpec | null = null;
  private readonly abort = new AbortController();
  private drawing = new AbortController();
  private refetch: number | null = null;
  private readonly off: () => void;

  constructor(private readonly names: readonly string[]) {
    this.off = onLive((event) => {
      const job = event.kind === "job" ? event.data.TrainingJobName : event.kind === "points" ? event.data.job : null;
      if (event.kind === "resync" || (job !== null && names.includes(job))) this.loadSoon();
    });
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.abort.signal.aborted) return;
    setWant({ jobs: [...this.names], kinds: ["points", "job"], after: seq });
    await this.loadRows();
  }

  stop(): void {
    this.abort.abort();
    this.drawing.abort();
    this.off();
    if (this.refetch !== null) window.clearTimeout(this.refetch);
  }

  retry(): void {
    this.problem.value = null;
    void this.loadRows();
  }

  draw(spec: CompareSpec): void {
    this.spec = spec;
    void this.loadCurves();
  }

  private async loadRows(): Promise<void> {
    const missing: string[] = [];
    const ask = async (name: string): Promise<JobRow | null> => {
      try {
        return await getJson<JobRow>(jobPath(name), {}, this.abort.signal);
      } catch (error) {
        const problem = asProblem(error);
        if (problem.status !== 404) throw error;
        missing.push(name);
        return null;
      }
    };
    try {
      const rows: (JobRow | null)[] = [];
      for (let i = 0; i < this.names.length; i += QUERIES_AT_ONCE)
        rows.push(...(await Promise.all(this.names.slice(i, i + QUERIES_AT_ONCE).map(ask))));
      this.missing.value = missing;
      this.rows.value = rows.filter((row) => row !== null);
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
    const asked = (this.rows.value ?? []).flatMap((row) => {
      const metric = metricFor(row, spec.metric)?.metric;
      return metric === undefined ? [] : [{ row, metric, origin: spec.axis === "relative" ? startOf(row) : 0 }];
    });
    try {
      const curves: CompareCurve[] = [];
      for (let i = 0; i < asked.length; i += QUERIES_AT_ONCE) {
        const part = asked.slice(i, i + QUERIES_AT_ONCE);
        const queries = part.map(({ row, metric, origin }) => ({
          job: row.TrainingJobName,
          metric,
          x: spec.axis === "step" ? "step" : "time",
          from: spec.from === null ? undefined : Math.floor(spec.from + origin),
          to: spec.to === null ? undefined : Math.ceil(spec.to + origin),
          buckets: spec.buckets,
        }));
        const reply = await send("POST", "points/query", {}, { queries }, signal);
        const { results } = (await reply.json()) as { results: (PointsReply | { error: { detail: string } })[] };
        results.forEach((result, at) => {
          const one = part[at];
          if (!one || "error" in result) return;
          const buckets = bucketsFromReply(result);
          if (one.origin !== 0) buckets.x = buckets.x.map((x) => x - one.origin);
          curves.push({ job: one.row.TrainingJobName, metric: one.metric, buckets });
        });
      }
      if (!signal.aborted) this.curves.value = curves;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  private loadSoon(): void {
    this.refetch ??= window.setTimeout(() => {
      this.refetch = null;
      void this.loadRows().then(() => this.loadCurves());
    }, REFETCH_MS);
  }
}

const startOf = (row: JobRow): number => (row.TrainingStartTime ?? row.CreationTime ?? 0) * 1000;
