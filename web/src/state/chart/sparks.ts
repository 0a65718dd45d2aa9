// Small curves of the jobs that are shown: asked for together once the rows rest, and again for those that run.
import { signal } from "@preact/signals";
import { send } from "../../api/client";
import type { JobRow } from "../../api/types";
import { leadMetric } from "../../lib/jobs/lead";
import { Latest } from "../../lib/flow/latest";
import type { SparkColumns } from "../../lib/chart/spark";

const BUCKETS = 32;
const REST_MS = 120;
const AGED_MS = 10_000;
const MOST = 500;
const MOST_AT_ONCE = 60;

interface Held {
  columns: SparkColumns | null;
  /** How many points the metric had when it was asked for. */
  count: number;
  atMs: number;
}

type Reply = { results: ({ columns?: SparkColumns } | { error: unknown })[] };

export class Sparks {
  readonly version = signal(0);
  private readonly held = new Map<string, Held>();
  private readonly latest = new Latest(REST_MS);

  of(name: string): SparkColumns | null | undefined {
    return this.held.get(name)?.columns;
  }

  want(rows: readonly JobRow[]): void {
    const nowMs = Date.now();
    const missing = rows.filter((row) => this.isDue(row, nowMs)).slice(0, MOST_AT_ONCE);
    if (missing.length === 0) return;
    this.latest.ask(async (abort) => {
      try {
        const queries = missing.map((row) => ({
          job: row.TrainingJobName,
          metric: leadMetric(row)?.metric,
          buckets: BUCKETS,
          columns: ["x", "min", "max", "last", "non_finite"],
        }));
        const reply = await send("POST", "points/query", {}, { queries }, abort);
        const { results } = (await reply.json()) as Reply;
        missing.forEach((row, i) => this.keep(row, results[i]));
        this.version.value++;
      } catch {
        // Curves are an ornament: the next scroll asks again.
      }
    });
  }

  stop(): void {
    this.latest.stop();
  }

  private isDue(row: JobRow, nowMs: number): boolean {
    const metric = leadMetric(row);
    if (!metric) return false;
    const held = this.held.get(row.TrainingJobName);
    return !held || (held.count !== metric.count && nowMs - held.atMs > AGED_MS);
  }

  private keep(row: JobRow, result: Reply["results"][number] | undefined): void {
    if (this.held.size > MOST) this.held.delete(this.held.keys().next().value ?? "");
    const columns = result && "columns" in result ? (result.columns ?? null) : null;
    this.held.set(row.TrainingJobName, { columns, count: leadMetric(row)?.count ?? 0, atMs: Date.now() });
  }
}
