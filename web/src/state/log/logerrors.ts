// Errors in a log, wherever they are: lines in which a program says that something failed (errors=true), and lines of incidents.
import { signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { LogHit, LogSearchReply } from "../../api/types";
import { Store } from "../core/store";
import { ticksOfReply, type Ticks } from "./hits";

/** A log so long is not looked through unasked. */
const UNASKED_LINES = 1_000_000;
/** So many nodes may say the same in one millisecond. */
const OF_ONE_TIME = 1000;

export class ErrorStore extends Store {
  readonly ticks = signal<Ticks | null>(null);
  readonly isBusy = signal(false);
  /** What a step came to, where there was none: said once. */
  readonly isEnd = signal<"" | "last" | "first">("");
  private isCounted = false;

  constructor(
    private readonly job: string,
    /** null: all streams, by time. */
    private readonly stream: string | null,
  ) {
    super();
  }

  /** Marks along the scroll bar; of a very long log only once somebody asks for errors. */
  async count(total: number, isAsked: boolean): Promise<void> {
    if (this.stream === null || this.isCounted || total === 0 || (total > UNASKED_LINES && !isAsked)) return;
    this.isCounted = true;
    const reply = await this.ask({ limit: 1, ticks: this.stream });
    if (reply) this.ticks.value = ticksOfReply(reply);
  }

  /** The next error below a line (by > 0) or above it, among what the log says and where incidents are. */
  async near(line: number, by: number, incidents: readonly number[]): Promise<number | null> {
    this.isBusy.value = true;
    const where = by > 0 ? { from_line: line + 1, order: "oldest" } : { to_line: line };
    const reply = by < 0 && line <= 0 ? null : await this.ask({ limit: 1, histogram: false, ...where });
    this.isBusy.value = false;
    const lines = [...incidents, ...(reply?.hits.map((hit) => hit.n) ?? [])].filter((one) => (by > 0 ? one > line : one < line));
    const found = lines.length === 0 ? null : by > 0 ? Math.min(...lines) : Math.max(...lines);
    this.isEnd.value = found !== null ? "" : by > 0 ? "last" : "first";
    return found;
  }

  /** The same among the lines of all streams; without a line from the first one on, or from the last. */
  async nearOfAll(from: { stream: string; n: number; ts_ms: number } | null, by: number): Promise<LogHit | null> {
    this.isBusy.value = true;
    const order = by > 0 ? "oldest" : "newest";
    const where = from === null ? {} : by > 0 ? { from_ms: from.ts_ms } : { to_ms: from.ts_ms };
    const reply = await this.ask({ limit: OF_ONE_TIME, histogram: false, order, ...where });
    this.isBusy.value = false;
    const hits = reply?.hits ?? [];
    const at = from === null ? -1 : hits.findIndex((hit) => hit.n === from.n && hit.stream === from.stream);
    const next = at >= 0 || from === null ? hits[at + 1] : (hits.find((hit) => hit.ts_ms !== from.ts_ms) ?? hits[0]);
    this.isEnd.value = next ? "" : by > 0 ? "last" : "first";
    return next ?? null;
  }

  private ask(extra: Record<string, string | number | boolean>): Promise<LogSearchReply | null> {
    return this.get<LogSearchReply>(jobPath(this.job, "/logs/search"), { errors: true, stream: this.stream ?? undefined, ...extra });
  }
}
