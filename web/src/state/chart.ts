// The points of one chart: loaded at the plot's resolution, then kept current without a fetch.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, send, type Problem } from "../api/client";
import type { LiveSeries, PointsReply } from "../api/types";
import { addPoint, bucketsFromReply, emptyBuckets, type Buckets } from "../lib/buckets";
import { SeenPoints } from "../lib/dedupe";
import { compareSeq } from "../lib/seq";
import type { Axis } from "../lib/url";
import { onLive } from "../live/client";

export interface ChartSpec {
  axis: Axis;
  from: number | null;
  to: number | null;
  stream: string | null;
  superseded: boolean;
  /** Streams that get a curve of their own; none: the fold alone. */
  nodes: readonly string[];
  /** Plot width in pixels: a chart costs its width, not its points. */
  buckets: number;
  /** Relative time counts from here; it is asked for as time. */
  startMs: number;
}

/** An older attempt's curve past the step at which a later attempt began again. */
export interface Ghost {
  attempt: number;
  x: number[];
  y: (number | null)[];
}

/** One stream's own curve. */
export interface NodeCurve {
  stream: string;
  buckets: Buckets;
}

const REFETCH_MS = 400;
const MAX_GHOSTS = 8;
const NODE_BUCKETS = 800;

export class ChartStore {
  buckets: Buckets = emptyBuckets();
  ghosts: Ghost[] = [];
  nodes: NodeCurve[] = [];
  readonly version = signal(0);
  readonly isLoaded = signal(false);
  readonly problem = signal<Problem | null>(null);

  private spec: ChartSpec | null = null;
  private seq: string | null = null;
  private attempt = 0;
  private refetch: number | null = null;
  private abort = new AbortController();
  private readonly seen = new SeenPoints();
  private readonly off: () => void;

  constructor(
    private readonly job: string,
    private readonly metric: string,
  ) {
    this.off = onLive((event) => {
      const isReplaced = event.kind === "backfill" && event.data.job === job && event.data.state === "done";
      if (event.kind === "resync" || isReplaced) {
        this.seen.clear();
        this.loadSoon();
      }
      if (event.kind !== "points" || event.data.job !== job || this.isStale(event.id)) return;
      for (const series of event.data.series) if (series.metric === metric) this.append(series);
    });
  }

  stop(): void {
    this.abort.abort();
    this.off();
    if (this.refetch !== null) window.clearTimeout(this.refetch);
  }

  async load(spec: ChartSpec): Promise<void> {
    this.spec = spec;
    this.abort.abort();
    this.abort = new AbortController();
    const signal = this.abort.signal;
    try {
      const [reply, nodes] = await Promise.all([this.ask(spec, "live", signal), this.askNodes(spec, signal)]);
      const ghosts = spec.superseded ? await this.askGhosts(spec, reply, signal) : [];
      if (signal.aborted) return;
      this.buckets = shift(bucketsFromReply(reply), originOf(spec));
      this.ghosts = ghosts;
      this.nodes = nodes;
      this.seq = reply.seq ?? null;
      this.attempt = Math.max(this.attempt, ...(reply.attempts ?? []).map((one) => one.attempt));
      this.problem.value = null;
      this.isLoaded.value = true;
      this.version.value++;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  retry(): void {
    if (this.spec) void this.load(this.spec);
  }

  private ask(spec: ChartSpec, attempts: string, signal: AbortSignal): Promise<PointsReply> {
    const params = { ...this.params(spec), stream: spec.stream ?? undefined, buckets: spec.buckets, attempts };
    return getJson<PointsReply>(jobPath(this.job, "/points"), params, signal);
  }

  private params(spec: ChartSpec): { metric: string; x: string; from: number | undefined; to: number | undefined } {
    const origin = originOf(spec);
    // Steps and times are whole numbers: a window drawn between two of them takes both in.
    return {
      metric: this.metric,
      x: spec.axis === "step" ? "step" : "time",
      from: spec.from === null ? undefined : Math.floor(spec.from + origin),
      to: spec.to === null ? undefined : Math.ceil(spec.to + origin),
    };
  }

  private async askNodes(spec: ChartSpec, signal: AbortSignal): Promise<NodeCurve[]> {
    if (spec.nodes.length === 0) return [];
    const common = { job: this.job, ...this.params(spec), buckets: Math.min(spec.buckets, NODE_BUCKETS) };
    const queries = spec.nodes.map((stream) => ({ ...common, stream }));
    const reply = await send("POST", "points/query", {}, { queries }, signal);
    const { results } = (await reply.json()) as { results: (PointsReply | { error: unknown })[] };
    return results.flatMap((result, i) =>
      "error" in result ? [] : [{ stream: spec.nodes[i] ?? "", buckets: shift(bucketsFromReply(result), originOf(spec)) }],
    );
  }

  private async askGhosts(spec: ChartSpec, live: PointsReply, signal: AbortSignal): Promise<Ghost[]> {
    const older = (live.attempts ?? []).map((one) => one.attempt).sort((a, b) => a - b).slice(0, -1);
    return Promise.all(
      older.slice(-MAX_GHOSTS).map(async (attempt) => {
        const reply = await this.ask(spec, String(attempt), signal);
        const buckets = shift(bucketsFromReply(reply), originOf(spec));
        return { attempt, x: buckets.x, y: buckets.mean };
      }),
    );
  }

  private append(series: LiveSeries): void {
    const spec = this.spec;
    if (!spec || !this.isLoaded.value || (spec.stream !== null && spec.stream !== series.stream)) return;
    let changed = false;
    for (const [step, ts, value, line, attempt] of series.points) {
      if (attempt > this.attempt && this.attempt > 0) this.loadSoon();
      this.attempt = Math.max(this.attempt, attempt);
      if (!this.seen.take(series.stream, series.metric, line, step)) continue;
      const x = spec.axis === "step" ? step : ts - originOf(spec);
      if (spec.from !== null && spec.to !== null && (x < spec.from || x > spec.to)) continue;
      const point = { x, value, line, stream: series.stream };
      const node = this.nodes.find((one) => one.stream === series.stream);
      if (node) addPoint(node.buckets, point);
      changed = addPoint(this.buckets, point) || changed;
    }
    if (changed) this.version.value++;
    // Twice as many buckets as pixels: let the server fold them.
    if (this.buckets.x.length > spec.buckets * 2) this.loadSoon();
  }

  /** A frame that was folded into what is loaded already, replayed for another page. */
  private isStale(id: string): boolean {
    if (this.seq === null || id === "") return false;
    const order = compareSeq(id, this.seq);
    return order !== undefined && order <= 0;
  }

  private loadSoon(): void {
    this.refetch ??= window.setTimeout(() => {
      this.refetch = null;
      this.retry();
    }, REFETCH_MS);
  }
}

const originOf = (spec: ChartSpec): number => (spec.axis === "relative" ? spec.startMs : 0);

function shift(buckets: Buckets, origin: number): Buckets {
  if (origin !== 0) buckets.x = buckets.x.map((x) => x - origin);
  return buckets;
}
