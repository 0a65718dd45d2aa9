// What a search of a job's log has found: hits of all streams by time, kept current by a filtered live stream.
import { signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { LinesEvent, LogBucket, LogHit, LogLine, LogSearchReply } from "../../api/types";
import { findLiteral, rangesFromBytes, type Range } from "../../lib/text/matches";
import type { Find } from "../../lib/log/logurl";
import { liveUrl } from "../../live/liveurl";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";

/** A hit as the page shows it. */
export interface Hit extends Omit<LogHit, "matches"> {
  ranges: Range[];
  /** The ranges within the whole line, of which `text` may be a part. */
  lineRanges: (line: string) => Range[];
}

const PAGE = 100;
/** Live hits beyond it push the oldest out: they are asked for again when one scrolls there. */
const MOST = 5000;
const RETRY_MS = 5000;

export interface Ticks {
  /** Lines that a tick stands for. */
  lines: number;
  /** Each the first line of a tick. */
  from: readonly number[];
}

export function ticksOfReply(reply: LogSearchReply): Ticks | null {
  return reply.ticks ? { lines: reply.tick_lines ?? 1, from: reply.ticks.map((tick) => tick.from_line) } : null;
}

const keyOf = (stream: string, n: number): string => `${n} ${stream}`;

export class HitStore extends Store {
  readonly hits = signal<Hit[] | null>(null);
  readonly total = signal<number | null>(null);
  readonly histogram = signal<LogBucket[] | null>(null);
  readonly isBusy = signal(true);
  /** The search ran out of time: the hits go on behind the cursor; so did the count. */
  readonly isPartial = signal(false);
  readonly isCountPartial = signal(false);
  readonly limited = signal(0);
  /** New lines that came too fast for the live filter to look at. */
  readonly unread = signal(0);
  readonly cursor = signal<string | null>(null);
  /** Where the hits of `ticksOf` lie among its lines. */
  readonly ticks = signal<Ticks | null>(null);
  private ticksOf: string | null = null;
  private readonly known = new Map<string, Hit>();
  private source: EventSource | null = null;
  private retry = 0;
  private lastId: string | null = null;

  constructor(
    private readonly job: string,
    readonly find: Find,
  ) {
    super();
    this.whenStopped(() => {
      document.removeEventListener("visibilitychange", this.follow);
      this.disconnect();
    });
  }

  async start(): Promise<void> {
    this.lastId = await freshSeq();
    if (this.signal.aborted) return;
    await this.load();
    if (this.signal.aborted || this.problem.value) return;
    document.addEventListener("visibilitychange", this.follow);
    this.follow();
  }

  /** The first page of hits: it is there before the whole log is counted. */
  async load(): Promise<void> {
    this.unread.value = 0;
    this.isBusy.value = true;
    const reply = await this.ask({ limit: PAGE, histogram: false, ...this.order });
    this.isBusy.value = false;
    if (!reply) return;
    this.known.clear();
    this.hits.value = [];
    this.take(reply);
    await this.count();
  }

  /** Counts hits of this stream along its lines, too. */
  async tick(stream: string | null): Promise<void> {
    if (stream === this.ticksOf) return;
    this.ticksOf = stream;
    this.ticks.value = null;
    if (this.total.value !== null) await this.count();
  }

  private async count(): Promise<void> {
    const stream = this.ticksOf;
    const whole = await this.ask({ limit: 1, histogram: true, ...(stream === null ? {} : { ticks: stream }) });
    if (!whole) return;
    if (stream === this.ticksOf) this.ticks.value = ticksOfReply(whole);
    this.histogram.value = whole.histogram ?? null;
    this.total.value = whole.total ?? null;
    this.isCountPartial.value = whole.partial === true;
    this.limited.value = whole.limited ?? 0;
  }

  async more(): Promise<void> {
    if (this.cursor.value === null || this.isBusy.value) return;
    this.isBusy.value = true;
    const reply = await this.ask({ limit: PAGE, histogram: false, cursor: this.cursor.value, ...this.order });
    this.isBusy.value = false;
    if (reply) this.take(reply);
  }

  /** The first hit in a part of the histogram. */
  async firstBetween(fromMs: number, toMs: number): Promise<LogHit | null> {
    const reply = await this.ask({ limit: 1, histogram: false, order: "oldest", from_ms: fromMs, to_ms: toMs });
    return reply?.hits[0] ?? null;
  }

  /** The next hit of a stream in the order of the list: before a line, or behind it. */
  async near(stream: string, line: number, by: number): Promise<LogHit | null> {
    const isBefore = this.find.isOldest ? by < 0 : by > 0;
    if (isBefore && line === 0) return null;
    const where = isBefore ? { to_line: line } : { from_line: line + 1, order: "oldest" };
    const reply = await this.ask({ stream, limit: 1, histogram: false, ...where });
    return reply?.hits[0] ?? null;
  }

  indexOf(stream: string | null, line: number | null): number {
    return this.hits.value?.findIndex((hit) => hit.n === line && hit.stream === stream) ?? -1;
  }

  /** Where a line of the log matches, as far as the page knows. */
  rangesOf(stream: string, line: LogLine): Range[] {
    const hit = this.known.get(keyOf(stream, line.n));
    return hit ? hit.lineRanges(line.text) : this.literal(line.text);
  }

  private literal(text: string): Range[] {
    return this.find.isRegex ? [] : findLiteral(text, this.find.text, !this.find.matchesCase);
  }

  private take(reply: LogSearchReply): void {
    const fresh = reply.hits.filter((hit) => !this.known.has(keyOf(hit.stream, hit.n))).map(hitOfReply);
    for (const hit of fresh) this.known.set(keyOf(hit.stream, hit.n), hit);
    this.hits.value = [...(this.hits.value ?? []), ...fresh];
    this.cursor.value = reply.next_cursor ?? null;
    this.isPartial.value = reply.partial === true;
  }

  private takeLive(event: LinesEvent): void {
    if (event.job !== this.job || this.hits.value === null) return;
    this.unread.value += event.unread ?? 0;
    this.limited.value += event.limited ?? 0;
    const fresh = event.lines
      .filter((line) => !this.known.has(keyOf(event.stream, line.n)))
      .map((line): Hit => {
        const lineRanges = (text: string): Range[] => this.literal(text);
        return { stream: event.stream, n: line.n, ts_ms: line.ts_ms, text: line.text, ranges: lineRanges(line.text), lineRanges };
      });
    if (this.total.value !== null) this.total.value += fresh.length;
    // From the oldest on, what is new stands behind pages that are not here yet.
    if (fresh.length === 0 || (this.find.isOldest && this.cursor.value !== null)) return;
    for (const hit of fresh) this.known.set(keyOf(hit.stream, hit.n), hit);
    this.hits.value = this.find.isOldest ? [...this.hits.value, ...fresh] : [...fresh.reverse(), ...this.hits.value].slice(0, MOST);
    if (this.known.size > 2 * MOST) this.forget(this.hits.value);
  }

  /** What is no longer among the hits is not held for as long as lines come. */
  private forget(kept: readonly Hit[]): void {
    this.known.clear();
    for (const hit of kept) this.known.set(keyOf(hit.stream, hit.n), hit);
  }

  private get order(): { order?: string } {
    return this.find.isOldest ? { order: "oldest" } : {};
  }

  private ask(extra: Record<string, string | number | boolean>): Promise<LogSearchReply | null> {
    const { text, isRegex, matchesCase } = this.find;
    const params = { q: text, regex: isRegex || undefined, ignore_case: !matchesCase || undefined, ...extra };
    return this.get<LogSearchReply>(jobPath(this.job, "/logs/search"), params);
  }

  /** A connection of its own, since the shared one has every line; given back while nobody looks. */
  private readonly follow = (): void => {
    this.disconnect();
    if (document.hidden || this.signal.aborted) return;
    const source = new EventSource(liveUrl([this.job], ["lines"], this.lastId, this.find));
    this.source = source;
    source.addEventListener("lines", (message) => {
      this.lastId = message.lastEventId;
      this.takeLive(JSON.parse(message.data as string) as LinesEvent);
    });
    source.addEventListener("resync", (message) => {
      this.lastId = message.lastEventId;
      void this.load();
    });
    source.onerror = () => {
      // What the browser does not try again by itself: a refusal, as of a pattern that the search names, too.
      if (source.readyState === EventSource.CLOSED) this.retry = window.setTimeout(this.follow, RETRY_MS);
    };
  };

  private disconnect(): void {
    window.clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }
}

function hitOfReply(hit: LogHit): Hit {
  const from = hit.text_from ?? 0;
  return {
    ...hit,
    ranges: rangesFromBytes(hit.text, hit.matches),
    lineRanges: (line) => rangesFromBytes(line, hit.matches.map(([start, end]) => [start + from, end + from] as const)),
  };
}
