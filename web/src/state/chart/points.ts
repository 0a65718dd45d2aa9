// Points of many charts in one request: what charts ask for at the same moment is sent together.
import { asProblem, getJson, isAbort, jobPath, Problem, readJson, send } from "../../api/client";
import type { PointsReply } from "../../api/types";
import type { WorkAxis } from "../../lib/url/url";
import { earlyPoints } from "./preload";

export { CURVE } from "./preload";

export interface PointsQuery {
  job: string;
  metric: string;
  stream?: string | undefined;
  x: "step" | "time" | "relative" | WorkAxis;
  from?: number | undefined;
  to?: number | undefined;
  buckets: number;
  attempts?: string | undefined;
  /** Absent: all. */
  columns?: readonly string[] | undefined;
  /** Of an embedded chart: what lets it ask. */
  sig?: string | undefined;
}

/** Of one curve among many with its extremes: what is drawn and read off, no lines of the log. */
export const DRAWN = ["x", "min", "max", "mean", "count", "non_finite", "inf", "neg_inf"] as const;

/** Of one curve among many: its line alone. */
export const LINE = ["x", "mean", "count"] as const;

interface Asked {
  query: PointsQuery;
  signal: AbortSignal;
  resolve(reply: PointsReply): void;
  reject(error: unknown): void;
}

/** These are answered at once. */
const FEW = 32;
/** Below the server's own --max-chart-queries and --max-chart-buckets; where these are set to less, it says so. */
const QUERIES_AT_ONCE = 64;
const BUCKETS_AT_ONCE = 100_000;
const TOO_LARGE = 413;
/** What a server took less of is not asked of it again. */
let queriesAtOnce = QUERIES_AT_ONCE;

let waiting: Asked[] = [];

/** What the shell has asked for already, for the job's first curve. */
async function takeEarly(query: PointsQuery): Promise<PointsReply | null> {
  const kept = earlyPoints.get(query.job);
  const isPlain = query.x === "step" && query.from === undefined && query.to === undefined && query.stream === undefined && query.attempts === "live";
  if (!kept || !isPlain) return null;
  const reply = await kept;
  if (reply?.metric !== query.metric) return null;
  earlyPoints.delete(query.job);
  return reply;
}

export async function askPoints(query: PointsQuery, signal: AbortSignal): Promise<PointsReply> {
  const kept = await takeEarly(query);
  if (kept) return kept;
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setTimeout(flush, 0);
    waiting.push({ query, signal, resolve, reject });
  });
}

function flush(): void {
  const asked = waiting.filter((one) => !one.signal.aborted && one.query.sig === undefined);
  for (const one of waiting) if (!one.signal.aborted && one.query.sig !== undefined) void answer([one]);
  for (const one of waiting) if (one.signal.aborted) one.reject(new DOMException("nobody waits for it any more", "AbortError"));
  waiting = [];
  for (let most = asked.length > FEW ? 1 : Infinity; asked.length > 0; most = Infinity) void answer(asked.splice(0, howMany(asked, most)));
}

/**
 * So many go into one request. Of several charts whole ones: one whose curves come in two replies is drawn twice. `most`: charts; where
 * there are many queries the first chart's go alone, so that it is drawn while the server works on the others.
 */
function howMany(asked: readonly Asked[], most: number): number {
  let count = 0;
  let whole = 0;
  let buckets = 0;
  for (let charts = 0; count < asked.length && count < queriesAtOnce && charts < most; ) {
    buckets += asked[count]?.query.buckets ?? 0;
    if (count > 0 && buckets > BUCKETS_AT_ONCE) break;
    count++;
    if (asked[count]?.query.metric === asked[count - 1]?.query.metric) continue;
    whole = count;
    charts++;
  }
  return whole || count;
}

async function answer(part: Asked[]): Promise<void> {
  const abort = new AbortController();
  // When nobody waits any more the server need not go on.
  for (const one of part) one.signal.addEventListener("abort", () => part.every(({ signal }) => signal.aborted) && abort.abort());
  try {
    const replies = await fetchAll(part.map((one) => one.query), abort.signal);
    part.forEach((one, i) => {
      const reply = replies[i];
      if (one.signal.aborted) one.reject(new DOMException("nobody waits for it any more", "AbortError"));
      else if (!reply || "error" in reply) one.reject(new Problem(reply?.error.status ?? 0, "The points cannot be had", reply?.error.detail ?? "", { field: reply?.error.field }));
      else one.resolve(reply);
    });
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === TOO_LARGE && part.length > 1) answerHalves(part);
    else for (const one of part) one.reject(isAbort(error) ? error : problem);
  }
}

function answerHalves(part: Asked[]): void {
  const middle = Math.ceil(part.length / 2);
  queriesAtOnce = Math.min(queriesAtOnce, middle);
  void answer(part.slice(0, middle));
  void answer(part.slice(middle));
}

type Result = PointsReply | { error: { status: number; detail: string; field?: string } };

async function fetchAll(queries: PointsQuery[], signal: AbortSignal): Promise<Result[]> {
  const [only] = queries;
  // A signature is of one chart's address.
  if (only?.sig !== undefined) {
    const { job, columns: _, ...params } = only;
    return [await getJson<PointsReply>(jobPath(job, "/points"), params, signal)];
  }
  const reply = await send("POST", "points/query", {}, { queries }, signal);
  return (await readJson<{ results: Result[] }>(reply, signal)).results;
}
