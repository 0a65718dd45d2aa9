// Warm pools, page by page, and the turns of those that are listed.
import { computed, signal } from "@preact/signals";
import type { PoolsReply, PoolTurn, WarmPool } from "../../api/types";
import { onLive, setWant } from "../../live/client";
import { now } from "../core/clock";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
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

export class PoolList extends Store {
  readonly rows = signal<WarmPool[] | null>(null);
  readonly turns = signal<ReadonlyMap<number, Turns>>(new Map());
  readonly cursor = signal<string | null>(null);
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(private readonly state: string) {
    super();
    this.whenStopped(
      this.soon,
      onLive((event) => (event.kind === "job" || event.kind === "resync") && this.reloadSoon()),
    );
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.signal.aborted) return;
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
    // Of many requests one that goes well says nothing of the others.
    const reply = await this.get<{ jobs: PoolTurn[] }>(`warm-pools/${pool.id}`, {}, (problem) => problem && this.note(problem));
    if (reply) this.turns.value = new Map(this.turns.value).set(pool.id, { of: signature(pool), turns: reply.jobs });
  }

  private ask(params: { limit: number; cursor?: string | undefined }): Promise<PoolsReply | null> {
    return this.get<PoolsReply>("warm-pools", { state: this.state, ...params });
  }
}
