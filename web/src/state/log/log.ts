// One stream's log: the lines that are looked at, loaded by number, and the newest as they come.
import { signal } from "@preact/signals";
import { jobPath, type Problem } from "../../api/client";
import type { LinesEvent, LogsReply } from "../../api/types";
import { Batch } from "../../lib/flow/batch";
import { FoldIndex } from "../../lib/log/folds";
import { openingRange } from "../../lib/log/lineranges";
import { LogPages, PAGE_LINES } from "../../lib/log/logpages";
import { partRows } from "../../lib/log/parts";
import { RowMap } from "../../lib/log/rowmap";
import { pagesOf } from "../../lib/log/vlist";
import { onLive } from "../../live/client";
import { Store } from "../core/store";

const GONE = 410;
const AROUND_LINES = 100;
/** Lines are shown so often at most: a person sees no more, and a page that draws all the time answers nobody. */
const SHOW_MS = 60;
/** More than so many lines at once are a flood, for so long afterwards. */
const CALM_LINES = 2;
const CALM_MS = 5000;

export class LogStore extends Store {
  readonly pages = new LogPages();
  /** Goes up when lines came in; whoever shows lines reads it. */
  readonly version = signal(0);
  readonly total = signal<number | null>(null);
  /** Lines below firstKept were deleted; `why` says when and by which limit. */
  readonly gone = signal<{ firstKept: number; why: string } | null>(null);
  /** So few lines come that they can be read out. */
  readonly isCalm = signal(true);
  private busyMs = -Infinity;
  /** Heads whose folded lines are shown. */
  readonly unfolded = signal<ReadonlySet<number>>(new Set());
  /** Lines that were opened, with the rows below them. */
  readonly parts = signal<ReadonlyMap<number, readonly string[]>>(new Map());
  private readonly folds = new FoldIndex({ rows: (page) => this.pages.rows(page), pages: () => this.pages.held() }, PAGE_LINES);
  private readonly live = new Batch<LinesEvent>(SHOW_MS, (events) => this.append(events));
  private readonly loading = new Set<number>();

  constructor(
    private readonly job: string,
    readonly stream: string,
  ) {
    super();
    this.whenStopped(
      this.live,
      onLive((event) => {
        if (event.kind === "resync") void this.loadTail();
        if (event.kind === "lines" && event.data.job === job && event.data.stream === stream) this.live.add(event.data);
      }),
    );
  }

  async loadTail(): Promise<void> {
    const keptBefore = this.gone.value?.firstKept ?? 0;
    await this.ask(openingRange(null));
    const kept = this.gone.value?.firstKept ?? 0;
    if (kept > keptBefore) await this.ask({ from: kept, limit: PAGE_LINES });
  }

  /** One request shows a line, wherever it is. */
  async loadAt(line: number): Promise<void> {
    await this.ask(openingRange(line));
    if (this.total.value === null || this.gone.value) await this.loadTail();
  }

  /** How lines become rows, as of now. */
  rowMap(isFolding: boolean): RowMap {
    const parts = new Map([...this.parts.value].map(([line, rows]) => [line, rows.length]));
    return new RowMap(this.pages.total, isFolding ? this.folds.all() : [], this.unfolded.value, parts);
  }

  toggleFold(head: number): void {
    const next = new Set(this.unfolded.value);
    if (!next.delete(head)) next.add(head);
    this.unfolded.value = next;
  }

  togglePart(line: number): void {
    const next = new Map(this.parts.value);
    if (!next.delete(line)) next.set(line, partRows(this.pages.line(line)?.text ?? ""));
    this.parts.value = next;
  }

  /** Sees to it that the lines [first, end) are here or on their way. */
  want(first: number, end: number): void {
    const from = Math.max(first, this.gone.value?.firstKept ?? 0);
    const pages = pagesOf(from, end, PAGE_LINES);
    this.pages.touch(pages);
    for (const page of pages) {
      const missing = this.pages.missing(page, from, end);
      if (missing !== null && !this.loading.has(page)) void this.loadPage(page);
    }
  }

  /** The first line at or after a time, else the last before it; null: there is none, or `problem` says why. */
  async lineAt(ms: number): Promise<number | null> {
    const reply = await this.fetch({ around_ms: ms, limit: AROUND_LINES });
    return (reply?.lines.find((line) => line.ts_ms >= ms) ?? reply?.lines.at(-1))?.n ?? null;
  }

  private async loadPage(page: number): Promise<void> {
    this.loading.add(page);
    const end = (page + 1) * PAGE_LINES;
    const keptBefore = this.gone.value?.firstKept ?? 0;
    const from = Math.max(page * PAGE_LINES, keptBefore);
    await this.ask({ from, limit: end - from });
    this.loading.delete(page);
    // The page begins before what was deleted just now and ends behind it.
    const kept = this.gone.value?.firstKept ?? 0;
    if (kept > keptBefore && kept < end) await this.loadPage(page);
  }

  private append(events: readonly LinesEvent[]): void {
    let end = this.pages.total;
    const changed = new Set<number>();
    for (const event of events) {
      for (const page of this.pages.put(event.lines)) changed.add(page);
      end = Math.max(end, event.from + Math.max(event.lines.length, event.count ?? 0));
    }
    this.folds.refresh(changed);
    const now = performance.now();
    if (end - this.pages.total > CALM_LINES || events.some((event) => event.lines.length > CALM_LINES)) this.busyMs = now;
    this.isCalm.value = now - this.busyMs > CALM_MS;
    this.setTotal(Math.max(this.pages.total, end));
  }

  private async ask(range: { from?: number; limit: number }): Promise<void> {
    const reply = await this.fetch(range);
    if (!reply) return;
    this.folds.refresh(this.pages.put(reply.lines));
    this.setTotal(Math.max(this.pages.total, reply.total));
  }

  private fetch(range: { from?: number; around_ms?: number; limit: number }): Promise<LogsReply | null> {
    return this.get<LogsReply>(jobPath(this.job, "/logs"), { stream: this.stream, ...range });
  }

  protected override note(problem: Problem | null): void {
    const firstKept = problem?.facts["first_kept_line"];
    if (problem?.status === GONE && typeof firstKept === "number") {
      this.gone.value = { firstKept, why: problem.detail };
      this.setTotal(Math.max(this.pages.total, firstKept));
    } else super.note(problem);
  }

  private setTotal(total: number): void {
    this.pages.total = total;
    this.total.value = total;
    this.version.value++;
  }
}
