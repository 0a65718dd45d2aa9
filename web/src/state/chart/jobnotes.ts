// The notes of the jobs whose curves a view draws over each other.
import { signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { Note, NotesReply } from "../../api/types";
import { Soon } from "../../lib/flow/poll";
import { Store } from "../core/store";

/** Of so many jobs a picture has the notes, too. */
const MOST_NOTED = 20;
const MOST_NOTES = 1000;
const AGAIN_MS = 3000;
const BUSY = 429;

export class JobNotes extends Store {
  readonly of = signal<ReadonlyMap<string, readonly Note[]>>(new Map());
  private readonly asked = new Set<string>();
  /** They did not come: without them the curves are still there to see. */
  private missed = new Set<string>();
  private readonly again = new Soon(AGAIN_MS, () => {
    const { missed } = this;
    this.missed = new Set();
    this.load([...missed]);
  });

  constructor() {
    super();
    this.whenStopped(this.again);
  }

  /** Once a job, and again if the server could not say just then. */
  load(jobs: readonly string[]): void {
    for (const job of jobs.slice(0, MOST_NOTED)) if (!this.asked.has(job)) void this.loadOf(job);
  }

  /** What is asked for next is asked for anew. */
  forget(): void {
    this.asked.clear();
    this.missed.clear();
  }

  private async loadOf(job: string): Promise<void> {
    this.asked.add(job);
    const reply = await this.get<NotesReply>(jobPath(job, "/notes"), { limit: MOST_NOTES }, (problem) => {
      if (!problem) return;
      this.asked.delete(job);
      if (problem.status !== 0 && problem.status !== BUSY && problem.status < 500) return;
      this.missed.add(job);
      this.again.ask();
    });
    if (reply && (reply.notes.length > 0 || this.of.peek().has(job))) this.of.value = new Map(this.of.peek()).set(job, reply.notes);
  }
}
