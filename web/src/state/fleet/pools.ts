// Warm pools, page by page, and the turns of those that are listed.
import { computed, signal } from "@preact/signals";
import { asProblem, getJson, isAbort, type Problem } from "../../api/client";
import type { PoolsReply, PoolTurn, WarmPool } from "../../api/types";
import { onLive, setWant } from "../../live/client";
import { now } from "../core/clock";
import { freshSeq } from "../core/info";
import { Soon } from "../../lib/flow/poll";

const PAGE = 30;
const LARGEST_PAGE = 1000;
/** Jobs tell of themselves all the time; pools change when one begins or ends. */
const RELOAD_MS = 5000;

const LANES_MS = 10_000;

/** The time for lanes: chains of hundreds of jobs need not be drawn anew every second. */
export const lanesNow = computed(() => Math.ceil(now.value / LANES_MS) * LANES_MS);

interface Turns {
  /** What the list said of the pool when its turns were asked for. */
  of: string;
  turns: PoolTurn[];
}

const signature = (pool: WarmPool): string => `${pool.state} ${pool.jobs.length} ${pool.expires_ms ?? ""}`;

export class PoolList {
  readonly rows = signal<WarmPool[] | null>(null);
  readonly turns = signal<ReadonlyMap<number, Turns>>(new Map());
  readonly cursor = signal<string | null>(null);
  readonly problem = signal<Problem | null>(null);
  private readonly abort = new AbortController();
  private readonly off: () => void;
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(private readonly state: string) {
    this.off = onLive((event) => (event.kind === "job" || event.kind === "resync") && this.reloadSoon());
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.abort.signal.aborted) return;
    setWant({ jobs: null, kinds: ["job"], after: seq });
    await this.load();
  }

  async more(): Promise<void> {
    const reply = await this.ask({ limit: PAGE, cursor: this.cursor.value ?? undefined });
    if (reply) this.show([...(this.rows.value ?? []), ...reply.pools], reply.next_cursor);
  }

  /** Also when a pool's time is over, which no job tells. */
  reloadSoon(): void {
    this.soon.ask();
  }

  stop(): void {
    this.abort.abort();
    this.off();
    this.soon.cancel();
  }

  private async load(): Promise<void> {
    const shown = this.rows.value?.length ?? 0;
    const reply = await this.ask({ limit: Math.min(LARGEST_PAGE, Math.max(PAGE, shown)) });
    if (reply) this.show(reply.pools, reply.next_cursor);
  }

  private show(pools: WarmPool[], cursor: string | undefined): void {
    this.rows.value = pools;
    this.cursor.value = cursor ?? null;
    for (const pool of pools) if (this.turns.value.get(pool.id)?.of !== signature(pool)) void this.loadTurns(pool);
  }

  private async loadTurns(pool: WarmPool): Promise<void> {
    try {
      const { jobs } = await getJson<{ jobs: PoolTurn[] }>(`warm-pools/${pool.id}`, {}, this.abort.signal);
      this.turns.value = new Map(this.turns.value).set(pool.id, { of: signature(pool), turns: jobs });
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  private async ask(params: { limit: number; cursor?: string | undefined }): Promise<PoolsReply | null> {
    try {
      const reply = await getJson<PoolsReply>("warm-pools", { state: this.state, ...params }, this.abort.signal);
      this.problem.value = null;
      return reply;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
      return null;
    }
  }
}
