// The notes at places of a job: those that are there, and those whose deletion can still be taken back.
import { signal } from "@preact/signals";
import { jobPath, send } from "../../api/client";
import type { Note, NotesReply } from "../../api/types";
import { isDeleted, noteBody, orderNotes, type NotePlace } from "../../lib/jobs/notes";
import { serverNow } from "../../lib/flow/skew";
import { Store } from "../core/store";

const PAGE = 1000;

export class NoteList extends Store {
  /** null: not loaded yet. */
  readonly rows = signal<readonly Note[] | null>(null);
  readonly deleted = signal<readonly Note[]>([]);
  /** Goes up with each change made here: a list that was asked for before does not know it. */
  private changes = 0;
  /** Of two lists on their way the one that was asked for later counts. */
  private asked = 0;
  private answered = 0;

  constructor(private readonly job: string) {
    super();
  }

  async load(): Promise<void> {
    const all: Note[] = [];
    const before = this.changes;
    const turn = ++this.asked;
    let after: number | undefined;
    do {
      const reply = await this.get<NotesReply>(jobPath(this.job, "/notes"), { limit: PAGE, deleted: true, after });
      if (!reply) return;
      all.push(...reply.notes);
      after = reply.next_after;
    } while (after !== undefined);
    if (turn < this.answered) return;
    if (before !== this.changes) return this.load();
    this.answered = turn;
    this.show(all);
  }

  /** These throw the server's Problem. */
  add(place: NotePlace, text: string): Promise<Note> {
    return this.change("POST", "", noteBody(place, text, serverNow()));
  }

  edit(note: Note, text: string): Promise<Note> {
    return this.change("PATCH", `/${note.id}`, { text });
  }

  remove(note: Note): Promise<Note> {
    return this.change("DELETE", `/${note.id}`);
  }

  restore(note: Note): Promise<Note> {
    return this.change("PATCH", `/${note.id}`, { deleted: false });
  }

  private async change(method: string, rest: string, body?: object): Promise<Note> {
    const reply = await send(method, jobPath(this.job, `/notes${rest}`), {}, body);
    const note = (await reply.json()) as Note;
    this.changes++;
    this.show([...(this.rows.value ?? []), ...this.deleted.value].filter((one) => one.id !== note.id).concat(note));
    return note;
  }

  private show(all: readonly Note[]): void {
    const ordered = orderNotes(all);
    this.rows.value = ordered.filter((one) => !isDeleted(one));
    this.deleted.value = ordered.filter(isDeleted);
  }
}
