// The list of jobs as a table with a scroll bar over all of them: pages at places, kept current by live rows.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, type Params, type Problem } from "../../api/client";
import type { JobRow, JobsReply } from "../../api/types";
import { PAGE_ROWS, pagesFor, pagesToDrop } from "../../lib/jobs/jobpages";
import { onLive, setWant } from "../../live/client";
import type { LiveEvent } from "../../live/protocol";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
import { noteRows } from "../job/knownrows";
import { Soon } from "../../lib/flow/poll";
import { noteQueryProblem } from "../core/queryproblem";

/** Rows of a page at a place may not be fetched while one still drags the scroll bar over them. */
const REST_MS = 60;
const SHOW_MS = 250;
const LOOK_MS = 3000;
const RETRY_MS = 3000;
const AT_ONCE = 2;
/** With any field asked for, rows come without what no table shows. */
const ANY_FIELD = "tag.team";

interface Page {
  rows: JobRow[];
  cursor: string | null;
}

export class JobTable extends Store {
  /** null: not known yet. */
  readonly total = signal<number | null>(null);
  /** Goes up with whatever the rows come to. */
  readonly version = signal(0);
  /** Jobs that have come since the rows were asked for. */
  readonly fresh = signal(0);
  private pages = new Map<number, Page>();
  private problems = new Map<number, Problem>();
  private readonly loading = new Map<number, AbortController>();
  private readonly timers = new Set<number>();
  private window: [number, number] = [0, PAGE_ROWS];
  private changed = new Map<string, JobRow>();
  private rest: number | null = null;
  private show: number | null = null;
  private readonly look = new Soon(LOOK_MS, () => void this.lookForOthers());
  private isLoaded = false;
  /** A query that looks through logs has pages by cursor only: all rows before must be there. */
  private hasPlaces = true;

  constructor(
    private readonly search: string,
    private readonly sort: string,
    private readonly fields: string,
    /** Whether rows may come and go by themselves, because nobody points at one. */
    private readonly isFree: () => boolean,
    /** The list on the screen, whose rows stay there until better ones have come. */
    before: JobTable | null,
  ) {
    super();
    this.total.value = before?.total.value ?? null;
    this.pages = new Map(before?.pages);
    this.whenStopped(
      () => this.loading.forEach((one) => one.abort()),
      () => this.timers.forEach((timer) => window.clearTimeout(timer)),
      this.look,
      onLive((event) => this.take(event)),
    );
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.signal.aborted) return;
    setWant({ jobs: null, kinds: ["job", "incident"], after: seq });
    await this.reload();
  }

  /** Of the window that is shown; what is on the screen stays until the new rows are here. */
  async reload(): Promise<void> {
    this.loading.forEach((one) => one.abort());
    this.loading.clear();
    this.problems.clear();
    const page = this.hasPlaces ? Math.floor(this.window[0] / PAGE_ROWS) : 0;
    try {
      const reply = await this.ask({ ...this.place(page), total: true }, this.signal);
      this.isLoaded = true;
      this.pages = new Map([[page, toPage(reply)]]);
      this.total.value = this.hasPlaces ? (reply.total ?? reply.jobs.length) : this.countKnown();
      this.fresh.value = 0;
      this.note(null);
      this.render();
      this.fetchMissing();
    } catch (error) {
      if (isAbort(error)) return;
      const problem = asProblem(error);
      if (problem.facts["field"] === "offset" && this.hasPlaces) {
        this.hasPlaces = false;
        await this.reload();
        return;
      }
      if (!this.isLoaded) this.total.value = null;
      this.note(problem);
    }
  }

  rowAt(index: number): JobRow | undefined {
    return this.pages.get(Math.floor(index / PAGE_ROWS))?.rows[index % PAGE_ROWS];
  }

  problemAt(index: number): Problem | undefined {
    return this.problems.get(Math.floor(index / PAGE_ROWS));
  }

  indexOf(name: string): number {
    for (const [page, { rows }] of this.pages) {
      const at = rows.findIndex((row) => row.TrainingJobName === name);
      if (at >= 0) return page * PAGE_ROWS + at;
    }
    return -1;
  }

  /** The rows that are shown, and some around them. */
  want(first: number, end: number): void {
    this.window = [first, end];
    const isNear = pagesFor(first, end).some((page) => this.pages.has(page));
    if (this.rest !== null) window.clearTimeout(this.rest);
    if (isNear) this.fetchMissing();
    else this.rest = this.later(REST_MS, () => this.fetchMissing());
  }

  /** Waits for all rows of a stretch; null when some could not be had. */
  async rowsOf(first: number, end: number): Promise<JobRow[] | null> {
    for (const page of pagesFor(first, end)) if (!this.pages.has(page)) await this.load(page);
    const rows: JobRow[] = [];
    for (let i = first; i < end; i++) {
      const row = this.rowAt(i);
      if (!row) return null;
      rows.push(row);
    }
    return rows;
  }

  retry(index: number): void {
    this.problems.delete(Math.floor(index / PAGE_ROWS));
    this.render();
    this.fetchMissing();
  }

  private fetchMissing(): void {
    if (!this.isLoaded) return;
    const wanted = this.hasPlaces ? pagesFor(...this.window) : this.pagesUpTo(this.window[1]);
    for (const [page, one] of this.loading) if (!wanted.includes(page)) one.abort();
    for (const page of wanted) {
      if (this.loading.size >= AT_ONCE) return;
      if (!this.pages.has(page) && !this.loading.has(page) && !this.problems.has(page)) void this.load(page);
    }
  }

  /** By cursor one page leads to the next. */
  private pagesUpTo(end: number): number[] {
    const next = this.pages.size;
    const isMore = this.pages.get(next - 1)?.cursor !== null;
    return isMore && end > this.countKnown() - PAGE_ROWS ? [next] : [];
  }

  private place(page: number): Params {
    const cursor = this.pages.get(page - 1)?.cursor;
    if (cursor) return { cursor };
    return page > 0 ? { offset: page * PAGE_ROWS } : {};
  }

  private async load(page: number): Promise<void> {
    const own = new AbortController();
    this.loading.set(page, own);
    try {
      const reply = await this.ask(this.place(page), own.signal);
      if (own.signal.aborted) return;
      this.pages.set(page, toPage(reply));
      for (const far of this.hasPlaces ? pagesToDrop(this.pages.keys(), page) : []) this.pages.delete(far);
      if (!this.hasPlaces) this.total.value = this.countKnown();
    } catch (error) {
      if (isAbort(error) || own.signal.aborted) return;
      this.fail(page, asProblem(error));
    } finally {
      if (this.loading.get(page) === own) this.loading.delete(page);
      if (!this.signal.aborted) {
        this.render();
        this.fetchMissing();
      }
    }
  }

  /** The rows say so in their place; what passes by itself is tried again by itself. */
  private fail(page: number, problem: Problem): void {
    this.problems.set(page, problem);
    const mayPass = problem.status === 0 || problem.status === 429 || problem.status >= 500;
    if (mayPass) this.later(RETRY_MS, () => this.problems.get(page) === problem && this.retry(page * PAGE_ROWS));
  }

  private countKnown(): number {
    let count = 0;
    this.pages.forEach((page) => (count += page.rows.length));
    return count;
  }

  private async ask(params: Params, abort: AbortSignal): Promise<JobsReply> {
    const shared = { q: this.search, sort: this.sort, fields: this.fields || ANY_FIELD, limit: PAGE_ROWS };
    const reply = await getJson<JobsReply>("jobs", { ...shared, ...params }, abort);
    noteRows(reply.jobs);
    return reply;
  }

  protected override note(problem: Problem | null): void {
    super.note(problem);
    noteQueryProblem(this.search, problem);
  }

  private render(): void {
    this.version.value++;
  }

  private later(ms: number, run: () => void): number {
    const timer = window.setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
    return timer;
  }

  private take(event: LiveEvent): void {
    if (event.kind === "resync") void this.reload();
    if (event.kind !== "job") return;
    this.changed.set(event.data.TrainingJobName, event.data);
    this.show ??= this.later(SHOW_MS, () => this.showChanged());
  }

  /** Rows of which news came in the meantime, in their places; of jobs that are not here only the number of all tells. */
  private showChanged(): void {
    this.show = null;
    let isShown = false;
    for (const { rows } of this.pages.values()) {
      for (const [i, old] of rows.entries()) {
        const row = this.changed.get(old.TrainingJobName);
        if (!row) continue;
        rows[i] = keepFields(old, row);
        isShown = true;
        this.changed.delete(old.TrainingJobName);
      }
    }
    const areOthers = this.changed.size > 0;
    this.changed = new Map();
    if (isShown) this.render();
    if (areOthers) this.look.ask();
  }

  private async lookForOthers(): Promise<void> {
    try {
      const known = this.total.value;
      if (!this.hasPlaces || known === null) return;
      const reply = await this.ask({ limit: 1, total: true }, this.signal);
      const now = reply.total ?? known;
      if (now === known) return;
      if (this.isFree() && this.window[0] === 0) await this.reload();
      else if (now > known) this.fresh.value = now - known;
    } catch {
      // The next event asks again.
    }
  }
}

const toPage = (reply: JobsReply): Page => ({ rows: reply.jobs, cursor: reply.next_cursor ?? null });

/** A live row has all that a job's own row has; what only a page says stays as it was. */
function keepFields(old: JobRow, row: JobRow): JobRow {
  const isCalm = row.open_incidents === old.open_incidents;
  const incidents = isCalm ? old.incidents : row.open_incidents ? old.incidents : undefined;
  const next: JobRow = { ...row };
  if (old.fields) next.fields = old.fields;
  if (incidents) next.incidents = incidents;
  return next;
}
