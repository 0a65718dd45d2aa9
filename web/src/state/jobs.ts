// The list of jobs: pages of search results, kept current by live rows.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, type Problem } from "../api/client";
import type { JobRow, JobsReply } from "../api/types";
import { noteQueryProblem } from "./queryproblem";
import { onLive, setWant } from "../live/client";
import type { LiveEvent } from "../live/protocol";
import { freshSeq } from "./info";
import { knownRows } from "./known";

const PAGE = 100;
const LARGEST_PAGE = 1000;
const RELOAD_MS = 2000;

export class JobList {
  readonly rows = signal<JobRow[] | null>(null);
  readonly total = signal<number | null>(null);
  readonly cursor = signal<string | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly isLoading = signal(false);
  private abort = new AbortController();
  private reload: number | null = null;
  private isLoaded = false;
  private readonly off: () => void;

  constructor(
    private readonly search: string,
    private readonly sort: string,
    /** The rows on the screen, which stay there until better ones have come. */
    before: JobRow[] | null,
  ) {
    this.rows.value = before;
    this.off = onLive((event) => this.take(event));
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.abort.signal.aborted) return;
    setWant({ jobs: null, kinds: ["job", "incident"], after: seq });
    await this.load(PAGE);
  }

  async retry(): Promise<void> {
    this.problem.value = null;
    await this.start();
  }

  async more(): Promise<void> {
    const cursor = this.cursor.value;
    if (!cursor || this.isLoading.value) return;
    const reply = await this.ask({ limit: PAGE, cursor });
    if (!reply) return;
    this.rows.value = [...(this.rows.value ?? []), ...reply.jobs];
    this.cursor.value = reply.next_cursor ?? null;
  }

  stop(): void {
    this.abort.abort();
    this.off();
    if (this.reload !== null) window.clearTimeout(this.reload);
  }

  private async load(limit: number): Promise<void> {
    const reply = await this.ask({ limit, total: true });
    if (!reply && !this.isLoaded) this.rows.value = null;
    if (!reply) return;
    this.isLoaded = true;
    this.rows.value = reply.jobs;
    this.cursor.value = reply.next_cursor ?? null;
    this.total.value = reply.total ?? null;
  }

  private note(problem: Problem | null): void {
    this.problem.value = problem;
    noteQueryProblem(this.search, problem);
  }

  private async ask(params: Record<string, string | number | boolean>): Promise<JobsReply | null> {
    this.isLoading.value = true;
    try {
      const reply = await getJson<JobsReply>("jobs", { q: this.search, sort: this.sort, ...params }, this.abort.signal);
      for (const row of reply.jobs) knownRows.set(row.TrainingJobName, row);
      this.note(null);
      return reply;
    } catch (error) {
      if (!isAbort(error)) this.note(asProblem(error));
      return null;
    } finally {
      this.isLoading.value = false;
    }
  }

  private take(event: LiveEvent): void {
    if (event.kind === "resync") this.reloadSoon();
    if (event.kind !== "job") return;
    const row = event.data;
    knownRows.set(row.TrainingJobName, row);
    const rows = this.rows.value;
    const at = rows?.findIndex((other) => other.TrainingJobName === row.TrainingJobName) ?? -1;
    if (!rows || at < 0) {
      // Whether and where a new row belongs is the server's to say.
      this.reloadSoon();
      return;
    }
    const next = rows.slice();
    next[at] = row;
    this.rows.value = next;
  }

  private reloadSoon(): void {
    this.reload ??= window.setTimeout(() => {
      this.reload = null;
      const shown = this.rows.value?.length ?? 0;
      void this.load(Math.min(LARGEST_PAGE, Math.max(PAGE, shown)));
    }, RELOAD_MS);
  }
}
