// One stream's log: the lines that are looked at, loaded by number, and the newest as they come.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, type Problem } from "../api/client";
import type { LinesEvent, LogsReply } from "../api/types";
import { LogPages, PAGE_LINES } from "../lib/logpages";
import { pagesOf } from "../lib/vlist";
import { onLive } from "../live/client";

export class LogStore {
  readonly pages = new LogPages();
  /** Goes up when lines came in; whoever shows lines reads it. */
  readonly version = signal(0);
  readonly total = signal<number | null>(null);
  readonly problem = signal<Problem | null>(null);
  private readonly loading = new Set<number>();
  private readonly abort = new AbortController();
  private readonly off: () => void;

  constructor(
    private readonly job: string,
    readonly stream: string,
  ) {
    this.off = onLive((event) => {
      if (event.kind === "resync") void this.loadTail();
      if (event.kind === "lines" && event.data.job === job && event.data.stream === stream) this.append(event.data);
    });
  }

  stop(): void {
    this.abort.abort();
    this.off();
  }

  async loadTail(): Promise<void> {
    await this.ask({ limit: PAGE_LINES });
  }

  /** Sees to it that the lines [first, end) are here or on their way. */
  want(first: number, end: number): void {
    const pages = pagesOf(first, end, PAGE_LINES);
    this.pages.touch(pages);
    for (const page of pages) {
      const missing = this.pages.missing(page, first, end);
      if (missing !== null && !this.loading.has(page)) void this.loadPage(page);
    }
  }

  private async loadPage(page: number): Promise<void> {
    this.loading.add(page);
    await this.ask({ from: page * PAGE_LINES, limit: PAGE_LINES });
    this.loading.delete(page);
  }

  private append(event: LinesEvent): void {
    this.pages.put(event.lines);
    const end = event.from + Math.max(event.lines.length, event.count ?? 0);
    this.setTotal(Math.max(this.pages.total, end));
  }

  private async ask(range: { from?: number; limit: number }): Promise<void> {
    try {
      const params = { stream: this.stream, ...range };
      const reply = await getJson<LogsReply>(jobPath(this.job, "/logs"), params, this.abort.signal);
      this.pages.put(reply.lines);
      this.problem.value = null;
      this.setTotal(Math.max(this.pages.total, reply.total));
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  private setTotal(total: number): void {
    this.pages.total = total;
    this.total.value = total;
    this.version.value++;
  }
}
