// A pool's turns as bars on a line of time: jobs that used its cluster, and what it waited between them.
import type { PoolTurn, WarmPool } from "../../api/types";

export interface Bar {
  kind: "job" | "wait" | "left";
  job: string;
  from_ms: number;
  to_ms: number;
}

export interface TimeSpan {
  from_ms: number;
  to_ms: number;
}

/** In order of time. What is left of a pool that waits is a bar of its own. */
export function poolBars(turns: readonly PoolTurn[], expiresMs: number | undefined, nowMs: number): Bar[] {
  const bars: Bar[] = [];
  turns.forEach((turn, i) => {
    const { job, begun_ms, ended_ms } = turn;
    bars.push({ kind: "job", job, from_ms: begun_ms, to_ms: ended_ms ?? Math.max(nowMs, begun_ms) });
    if (ended_ms === undefined) return;
    const isWaiting = i === turns.length - 1 && expiresMs !== undefined;
    const end = isWaiting ? Math.min(nowMs, expiresMs) : ended_ms + turn.retained_seconds * 1000;
    if (end > ended_ms) bars.push({ kind: "wait", job, from_ms: ended_ms, to_ms: end });
    if (isWaiting && expiresMs > nowMs) bars.push({ kind: "left", job, from_ms: Math.max(nowMs, ended_ms), to_ms: expiresMs });
  });
  return bars;
}

const SPANS_MS: Record<string, number> = { "6h": 6 * 3_600_000, "1d": 86_400_000, "7d": 7 * 86_400_000 };

/** The time that the lanes of all these pools share; `asked` cuts off what is older. */
export function sharedSpan(pools: readonly WarmPool[], asked: string, nowMs: number): TimeSpan {
  const first = Math.min(nowMs - 60_000, ...pools.map((pool) => pool.begun_ms));
  const length = SPANS_MS[asked];
  return {
    from_ms: length === undefined ? first : nowMs - length,
    to_ms: Math.max(nowMs, ...pools.map((pool) => pool.expires_ms ?? nowMs)),
  };
}

/** Where a bar stands in a span, as shares of its width; null: outside. */
export function place(bar: Bar, span: TimeSpan): { left: number; width: number } | null {
  const from = Math.max(bar.from_ms, span.from_ms);
  const to = Math.min(bar.to_ms, span.to_ms);
  const whole = span.to_ms - span.from_ms;
  if (to < from || whole <= 0) return null;
  return { left: (from - span.from_ms) / whole, width: (to - from) / whole };
}

/** From so much on the time idle, of which whole seconds are known, says to three digits what an hour costs. */
const LEAST_IDLE_S = 300;

/** What an hour of waiting costs, at the price of what it has waited so far; null: that is not known, or not yet. */
export function costPerHour({ idle_seconds: seconds, idle_cost: cost }: Pick<WarmPool, "idle_seconds" | "idle_cost">): number | null {
  return typeof cost === "number" && cost > 0 && seconds >= LEAST_IDLE_S ? Number(((cost / (seconds + 0.5)) * 3600).toPrecision(3)) : null;
}

/** What stops a job from taking a pool: its fields, pool by pool, nearest first as the server has them. */
export function groupNear<Near extends { pool: number }>(near: readonly Near[]): Near[][] {
  const groups = new Map<number, Near[]>();
  for (const one of near) {
    const group = groups.get(one.pool);
    if (group) group.push(one);
    else groups.set(one.pool, [one]);
  }
  return [...groups.values()];
}

/** A countdown that moves every second: 1:02:03, 4:05. */
export function formatLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const rest = String(seconds % 60).padStart(2, "0");
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
