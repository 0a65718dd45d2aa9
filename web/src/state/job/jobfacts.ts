// What of a job is worked out elsewhere than in its lines: goodput, checkpoints, its run, and what people noted. Loaded when somebody shows it, again
// when the job has moved.
import { effect, signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { Checkpoint, Goodput, JobRow, RunReply } from "../../api/types";
import { eventsOf } from "../../lib/jobs/jobevents";
import { noteEvent } from "../../lib/jobs/notes";
import { onLive } from "../../live/client";
import { Store } from "../core/store";
import type { JobStore } from "./job";
import { NoteList } from "./notes";
import { Soon } from "../../lib/flow/poll";

const RELOAD_MS = 15_000;
const CHECKPOINTS = 1000;

export class JobFacts extends Store {
  readonly goodput = signal<Goodput | null>(null);
  readonly checkpoints = signal<Checkpoint[]>([]);
  /** Of which somebody says that work cannot go on from them. */
  readonly denied = signal<Checkpoint[]>([]);
  readonly notes: NoteList;
  readonly run = signal<RunReply | null>(null);
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(private readonly store: JobStore) {
    super();
    this.notes = new NoteList(store.name);
    this.whenStopped(
      this.soon,
      this.notes,
      onLive((event) => {
        const isOurs = event.kind === "job" ? event.data.TrainingJobName === store.name : event.kind === "incident" && event.data.job === store.name;
        if (event.kind === "resync" || isOurs) this.soon.ask();
        if (event.kind === "job" && isOurs) this.dropTakenBack(event.data);
      }),
      effect(() => {
        const events = eventsOf(this.goodput.value, !!store.doc.value?.TrainingEndTime, this.checkpoints.value, store.streams.value ?? []);
        store.events.value = [...events, ...(this.notes.rows.value ?? []).map(noteEvent)];
      }),
    );
    document.addEventListener("visibilitychange", this.look, { signal: this.signal });
    void this.load();
  }

  /** No event tells that a job was deleted: who comes back to the page is told. */
  private readonly look = (): void => {
    if (!document.hidden) void this.load();
  };

  /** What was just changed here is to be seen at once. */
  reload(): Promise<void> {
    return this.load();
  }

  /** An event has the whole row: what was set by hand and is not in it was taken back. */
  private dropTakenBack(row: JobRow): void {
    const { by_hand: old, ...doc } = this.store.doc.value ?? row;
    if (old && !row.by_hand) this.store.doc.value = doc;
  }

  private async load(): Promise<void> {
    const { name } = this.store;
    // None of these is what the page is for: it goes without what does not come.
    const ask = async <T>(rest: string, use: (reply: T) => void, params = {}): Promise<void> => {
      await this.getFor<T>(jobPath(name, rest), use, params, (problem) => {
        // The document's own request tells of a server that does not answer, and of a job that was deleted.
        if (problem?.status === 404 && rest === "/goodput") void this.store.reloadDoc();
      });
    };
    await Promise.all([
      ask<Goodput>("/goodput", (reply) => (this.goodput.value = reply)),
      ask<{ checkpoints: Checkpoint[]; denied: Checkpoint[] }>(
        "/checkpoints",
        (reply) => {
          this.checkpoints.value = reply.checkpoints;
          this.denied.value = reply.denied;
        },
        { limit: CHECKPOINTS },
      ),
      this.notes.load(),
      ask<RunReply>("/run", (reply) => (this.run.value = reply)),
    ]);
  }
}

const known = new WeakMap<JobStore, JobFacts>();

export function factsOf(store: JobStore): JobFacts {
  let facts = known.get(store);
  if (!facts) {
    const made = new JobFacts(store);
    known.set(store, made);
    store.whenStopped(made);
    facts = made;
  }
  return facts;
}
