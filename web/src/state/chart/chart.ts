// The points of one chart: loaded at the plot's resolution, then kept current without a fetch.
import { signal } from "@preact/signals";
import { asProblem, isAbort } from "../../api/client";
import type { LiveSeries, PointsReply } from "../../api/types";
import { addPoint, bucketsFromReply, emptyBuckets, type Buckets } from "../../lib/chart/buckets";
import { SeenPoints } from "../../lib/flow/dedupe";
import { compareSeq } from "../../lib/flow/seq";
import type { Ghost, NodeCurve } from "../../lib/chart/curves";
import type { XMap } from "../../lib/chart/xmap";
import { onLive } from "../../live/client";
import { Store } from "../core/store";
import { askPoints, CURVE, LINE, type PointsQuery } from "./points";
import { insist } from "../../ui/lazy";
import { Soon } from "../../lib/flow/poll";

export interface ChartSpec {
  /** From the chart's axis to the server's. */
  map: XMap;
  from: number | null;
  to: number | null;
  stream: string | null;
  superseded: boolean;
  /** Streams that get a curve of their own; none: the fold alone. */
  nodes: readonly string[];
  /** A chart costs its width, not its points. */
  buckets: number;
  /** Of each bucket; absent: what a chart alone needs. */
  columns?: readonly string[];
}

const REFETCH_MS = 400;
const NODE_BUCKETS = 800;

export class ChartStore extends Store {
  /** Attempts before the last one, where a later one has taken their place. */
  ghosts: Ghost[] = [];
  /** Steps at which attempts after the first began. */
  restarts: number[] = [];
  readonly version = signal(0);
  readonly isLoaded = signal(false);

  private spec: ChartSpec | null = null;
  private newest: Promise<void> | null = null;
  /** What `raw` was asked for by. */
  private loaded: ChartSpec | null = null;
  /** Live points that came while a request was under way: its reply may be of before them. */
  private meanwhile: { id: string; series: LiveSeries }[] | null = null;
  /** By the server's axis, as live points come; `buckets` is the same on the chart's. */
  private raw: Buckets = emptyBuckets();
  private rawNodes: NodeCurve[] = [];
  private placed: { version: number; buckets: Buckets; nodes: NodeCurve[] } | null = null;
  private seq: string | null = null;
  private attempt = 0;
  private readonly refetch = new Soon(REFETCH_MS, () => this.retry());
  private loading = new AbortController();
  private readonly seen = new SeenPoints();

  constructor(
    private readonly job: string,
    private readonly metric: string,
    private readonly signature?: string,
  ) {
    super();
    this.whenStopped(
      () => this.loading.abort(),
      this.refetch,
      onLive((event) => {
        const isReplaced = event.kind === "backfill" && event.data.job === job && event.data.state === "done";
        if (event.kind === "resync" || isReplaced) {
          this.seen.clear();
          this.refetch.ask();
        }
        if (event.kind !== "points" || event.data.job !== job || this.isStale(event.id)) return;
        for (const series of event.data.series) {
          if (series.metric !== metric) continue;
          this.meanwhile?.push({ id: event.id, series });
          this.append(series);
        }
      }),
    );
  }

  get buckets(): Buckets {
    return this.place().buckets;
  }

  get nodes(): NodeCurve[] {
    return this.place().nodes;
  }

  /** The axis of what is drawn. */
  get map(): XMap | undefined {
    return this.loaded?.map;
  }

  private place(): { buckets: Buckets; nodes: NodeCurve[] } {
    const version = this.version.peek();
    if (this.placed?.version === version) return this.placed;
    const map = this.loaded?.map;
    const on = (raw: Buckets): Buckets => (!map || map.isPlain ? raw : { ...raw, x: raw.x.map(map.fromServer) });
    this.placed = { version, buckets: on(this.raw), nodes: this.rawNodes.map(({ stream, buckets }) => ({ stream, buckets: on(buckets) })) };
    return this.placed;
  }

  /** Over when the newest of those asked for is: one that gives way to another has come when that one has. */
  async load(spec: ChartSpec): Promise<void> {
    this.newest = this.read(spec);
    for (let waited: Promise<void> | null = null; waited !== this.newest; ) await (waited = this.newest);
  }

  private async read(spec: ChartSpec): Promise<void> {
    this.spec = spec;
    this.loading.abort();
    this.loading = new AbortController();
    const { signal } = this.loading;
    this.meanwhile ??= [];
    try {
      const [reply, nodes] = await Promise.all([this.ask(spec, {}, signal), this.askNodes(spec, signal)]);
      const ghosts = spec.superseded ? await (await insist(() => import("./ghosts"))).askGhosts(reply, spec.map, (attempts) => this.ask(spec, { attempts, columns: LINE }, signal)) : [];
      if (signal.aborted) return;
      this.raw = bucketsFromReply(reply);
      this.restarts = (reply.attempts ?? []).slice(1).map((one) => one.first_step);
      this.ghosts = ghosts;
      this.rawNodes = nodes;
      this.seq = reply.seq ?? null;
      this.loaded = spec;
      this.attempt = Math.max(this.attempt, ...(reply.attempts ?? []).map((one) => one.attempt));
      this.problem.value = null;
      this.isLoaded.value = true;
      this.seen.clear(); // what is not newer than the reply is known by its sequence
      for (const { id, series } of this.meanwhile ?? []) if (!this.isStale(id)) this.append(series, true);
      this.meanwhile = null;
      this.version.value++;
    } catch (error) {
      if (isAbort(error)) return;
      this.problem.value = asProblem(error);
      // Until the next try what comes is added to what there is, and that try's reply has it all.
      this.meanwhile = null;
    }
  }

  retry(): void {
    if (this.spec) void this.load(this.spec);
  }

  private async ask(spec: ChartSpec, more: Partial<PointsQuery>, signal: AbortSignal): Promise<PointsReply> {
    const { map } = spec;
    const query: PointsQuery = {
      job: this.job,
      metric: this.metric,
      x: map.axis,
      // Steps and times are whole numbers: a window drawn between two of them takes both in.
      from: spec.from === null ? undefined : Math.floor(map.toServer(spec.from)),
      to: spec.to === null ? undefined : Math.ceil(map.toServer(spec.to)),
      stream: spec.stream ?? undefined,
      buckets: spec.buckets,
      attempts: "live",
      columns: spec.columns ?? CURVE,
      sig: this.signature,
      ...more,
    };
    return askPoints(query, signal);
  }

  private askNodes(spec: ChartSpec, signal: AbortSignal): Promise<NodeCurve[]> {
    const buckets = Math.min(spec.buckets, NODE_BUCKETS);
    const one = async (stream: string): Promise<NodeCurve[]> => {
      try {
        return [{ stream, buckets: bucketsFromReply(await this.ask(spec, { stream, buckets, columns: LINE }, signal)) }];
      } catch (error) {
        // A stream without the metric is none to draw.
        if (isAbort(error)) throw error;
        return [];
      }
    };
    return Promise.all(spec.nodes.map(one)).then((all) => all.flat());
  }

  /** `isAgain`: the point is known, but what it was added to has been replaced. */
  private append(series: LiveSeries, isAgain = false): void {
    const spec = this.loaded;
    if (!spec || (spec.stream !== null && spec.stream !== series.stream)) return;
    let changed = false;
    const from = spec.from === null ? -Infinity : spec.map.toServer(spec.from);
    const to = spec.to === null ? Infinity : spec.map.toServer(spec.to);
    for (const [step, ts, value, line, attempt] of series.points) {
      if (attempt > this.attempt && this.attempt > 0) this.refetch.ask();
      this.attempt = Math.max(this.attempt, attempt);
      if (!this.seen.take(series.stream, series.metric, line, step) && !isAgain) continue;
      const x = spec.map.axis === "step" ? step : ts;
      if (x < from || x > to) continue;
      const point = { x, value, line, stream: series.stream };
      const node = this.rawNodes.find((one) => one.stream === series.stream);
      if (node) addPoint(node.buckets, point);
      changed = addPoint(this.raw, point) || changed;
    }
    if (changed) this.version.value++;
    // Twice as many buckets as pixels: let the server fold them.
    if (this.raw.x.length > spec.buckets * 2) this.refetch.ask();
  }

  /** A frame that was folded into what is loaded already, replayed for another page. */
  private isStale(id: string): boolean {
    if (this.seq === null || id === "") return false;
    const order = compareSeq(id, this.seq);
    return order !== undefined && order <= 0;
  }
}
