// All streams of a job in one list, by time: a window of it that grows at both ends.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, type Problem } from "../api/client";
import type { LinesEvent, MergedReply, StreamLine } from "../api/types";
import { mergeTail } from "../lib/merge";
import { onLive } from "../live/client";

const PAGE = 300;
/** Grown so long by new lines, the list begins anew at its end. */
const MOST = 20_000;

export class MergedStore {
  readonly lines = signal<StreamLine[] | null>(null);
  readonly problem = signal<Problem | null>(null);
  /** How many lines have been put before the first ones: the reader's place moves by as many rows. */
  readonly added = signal(0);
  private atMs: number | null = null;
  private older: string | null = null;
  private newer: string | null = null;
  private isBusy = false;
  private readonly abort = new AbortController();
  private readonly off: () => void;

  constructor(private readonly job: string) {
    this.off = onLive((event) => {
      if (event.kind === "resync") void this.load();
      if (event.kind === "lines" && event.data.job === job) this.append(event.data);
    });
  }

  stop(): void {
    this.abort.abort();
    this.off();
  }

  /** Opens at a time (null: at the newest line), unless the line is here already. */
  async show(atMs: number | null, stream: string | null, n: number | null): Promise<void> {
    const lines = this.lines.value;
    const isHere = n !== null && lines?.some((line) => line.n === n && line.stream === stream);
    const isSame = lines !== null && atMs === this.atMs && (atMs !== null || this.newer === null);
    if (isHere || isSame) return;
    this.atMs = atMs;
    await this.load();
  }

  async load(): Promise<void> {
    const reply = await this.ask(this.atMs === null ? {} : { around_ms: this.atMs });
    if (!reply) return;
    this.lines.value = reply.lines;
    this.older = reply.previous_cursor ?? null;
    this.newer = reply.next_cursor ?? null;
  }

  async loadOlder(): Promise<void> {
    if (this.older === null) return;
    const reply = await this.ask({ cursor: this.older });
    if (!reply) return;
    this.older = reply.previous_cursor ?? null;
    this.lines.value = [...reply.lines, ...(this.lines.value ?? [])];
    this.added.value += reply.lines.length;
  }

  async loadNewer(): Promise<void> {
    if (this.newer === null) return;
    const reply = await this.ask({ cursor: this.newer });
    if (!reply) return;
    this.newer = reply.next_cursor ?? null;
    this.lines.value = [...(this.lines.value ?? []), ...reply.lines];
  }

  private append(event: LinesEvent): void {
    const lines = this.lines.value;
    if (lines === null || this.newer !== null) return;
    const isBurst = event.lines.length < (event.count ?? 0);
    if (isBurst || lines.length > MOST) void this.load();
    else this.lines.value = mergeTail(lines, event.lines.map((line) => ({ ...line, stream: event.stream })));
  }

  private async ask(extra: Record<string, string | number>): Promise<MergedReply | null> {
    if (this.isBusy) return null;
    this.isBusy = true;
    try {
      const params = { merge: true, limit: PAGE, ...extra };
      const reply = await getJson<MergedReply>(jobPath(this.job, "/logs"), params, this.abort.signal);
      this.problem.value = null;
      return reply;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
      return null;
    } finally {
      this.isBusy = false;
    }
  }
}
