// The notes of the jobs whose curves a view draws over each other.
import { signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { Note, NotesReply } from "../../api/types";
import { Store } from "../core/store";

/** Of so many jobs a picture has the notes, too. */
const MOST_NOTED = 20;
const MOST_NOTES = 1000;

export class JobNotes extends Store {
  readonly of = signal<ReadonlyMap<string, readonly Note[]>>(new Map());
  private readonly asked = new Set<string>();

  /** Once a job, and again if they did not come: without them its curve is still there to see. */
  load(jobs: readonly string[]): void {
    for (const job of jobs.slice(0, MOST_NOTED)) if (!this.asked.has(job)) void this.loadOf(job);
  }

  /** What is asked for next is asked for anew. */
  forget(): void {
    this.asked.clear();
  }

  private async loadOf(job: string): Promise<void> {
    this.asked.add(job);
    const reply = await this.get<NotesReply>(jobPath(job, "/notes"), { limit: MOST_NOTES }, () => undefined);
    if (!reply) this.asked.delete(job);
    if (reply && (reply.notes.length > 0 || this.of.peek().has(job))) this.of.value = new Map(this.of.peek()).set(job, reply.notes);
  }
}
