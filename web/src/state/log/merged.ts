// All streams of a job, or some of them, in one list by time: a window of it that grows at both ends.
import { signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { LinesEvent, MergedReply, StreamLine } from "../../api/types";
import { Batch } from "../../lib/flow/batch";
import { MergedTail } from "../../lib/log/merge";
import { buildList } from "../../lib/log/logurl";
import { onLive } from "../../live/client";
import { Store } from "../core/store";

const PAGE = 300;
/** Grown so long by new lines, the list begins anew at its end. */
const MOST = 20_000;
const SHOW_MS = 60;

export class MergedStore extends Store {
  private readonly tail = new MergedTail();
  /** Goes up when lines came in; whoever shows lines reads it. */
  readonly version = signal(0);
  readonly isLoaded = signal(false);
  /** How many lines have been put before the first ones: the reader's place moves by as many rows. */
  readonly added = signal(0);
  /** New lines since somebody followed, or since the list was opened; they are in it if it reaches to the end. */
  readonly unseen = signal(0);
  private atMs: number | null = null;
  private older: string | null = null;
  /** Of what comes behind the list; null: it reaches to the end. */
  newer: string | null = null;
  private isBusy = false;
  private readonly live = new Batch<LinesEvent>(SHOW_MS, (events) => this.append(events));

  constructor(
    private readonly job: string,
    /** Of these streams alone; none: of all. */
    readonly streams: readonly string[],
  ) {
    super();
    const only = streams.length > 0 ? new Set(streams) : null;
    this.whenStopped(
      this.live,
      onLive((event) => {
        if (event.kind === "resync") void this.load();
        if (event.kind === "lines" && event.data.job === job && (!only || only.has(event.data.stream))) this.live.add(event.data);
      }),
    );
  }

  get lines(): readonly StreamLine[] {
    return this.tail.lines;
  }

  /** Opens at a time (null: at the newest line), unless the line is here already. */
  async show(atMs: number | null, stream: string | null, n: number | null): Promise<void> {
    const isHere = n !== null && this.lines.some((line) => line.n === n && line.stream === stream);
    const isSame = this.isLoaded.value && atMs === this.atMs && (atMs !== null || this.newer === null);
    if (isHere || isSame) return;
    this.atMs = atMs;
    this.unseen.value = 0;
    await this.load();
  }

  async load(): Promise<void> {
    const reply = await this.ask(this.atMs === null ? {} : { around_ms: this.atMs });
    if (!reply) return;
    this.tail.reset(reply.lines);
    this.older = reply.previous_cursor ?? null;
    this.newer = reply.next_cursor ?? null;
    this.isLoaded.value = true;
    this.version.value++;
  }

  async loadOlder(): Promise<void> {
    if (this.older === null) return;
    const reply = await this.ask({ cursor: this.older });
    if (!reply) return;
    this.older = reply.previous_cursor ?? null;
    this.tail.putBefore(reply.lines);
    this.added.value += reply.lines.length;
    this.version.value++;
  }

  async loadNewer(): Promise<void> {
    if (this.newer === null) return;
    const reply = await this.ask({ cursor: this.newer });
    if (!reply) return;
    this.newer = reply.next_cursor ?? null;
    this.tail.reset([...this.lines, ...reply.lines]);
    this.version.value++;
  }

  private append(events: readonly LinesEvent[]): void {
    if (!this.isLoaded.value) return;
    const count = events.reduce((sum, event) => sum + Math.max(event.lines.length, event.count ?? 0), 0);
    const isBurst = events.some((event) => event.lines.length < (event.count ?? 0));
    const reloads = isBurst || this.lines.length > MOST;
    const before = this.lines.length;
    if (this.newer !== null || reloads) this.unseen.value += count;
    if (this.newer !== null) return;
    if (reloads) void this.load();
    else if (this.tail.add(events.flatMap((event) => event.lines.map((line) => ({ ...line, stream: event.stream }))))) {
      this.unseen.value += this.lines.length - before;
      this.version.value++;
    }
  }

  private async ask(extra: Record<string, string | number>): Promise<MergedReply | null> {
    if (this.isBusy) return null;
    this.isBusy = true;
    const reply = await this.get<MergedReply>(jobPath(this.job, "/logs"), { merge: true, limit: PAGE, streams: buildList(this.streams), ...extra });
    this.isBusy = false;
    return reply;
  }
}
