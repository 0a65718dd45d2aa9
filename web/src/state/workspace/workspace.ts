// A workspace while it is looked at and changed: what it is made of, what of it is saved, and what can be taken back.
import { computed, signal } from "@preact/signals";
import { asProblem, send, type Problem } from "../../api/client";
import { Soon } from "../../lib/flow/poll";
import { isPacked, packHash, unpackHash } from "../../lib/workspace/address";
import { DocumentError, readWorkspace, type Workspace } from "../../lib/workspace/document";
import { JobNotes } from "../chart/jobnotes";
import { Store } from "../core/store";
import { Hearing } from "./hearing";
import { SharedRuns } from "./runs";

const ADDRESS_MS = 300;
const MOST_UNDONE = 100;

export interface Saved {
  name: string;
  etag: string;
  document: Workspace;
}

function faultOf(document: Workspace): string | null {
  try {
    readWorkspace(document);
    return null;
  } catch (error) {
    if (error instanceof DocumentError) return error.message;
    throw error;
  }
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export class WorkspaceStore extends Store {
  readonly document = signal<Workspace | null>(null);
  readonly saved = signal<Saved | null>(null);
  /** What somebody else has done to the saved one meanwhile. */
  readonly overtaken = signal<"saved" | "deleted" | null>(null);
  /** What of it can be kept neither in the address nor on the server; null: nothing. */
  readonly fault = computed(() => (this.document.value ? faultOf(this.document.value) : null));
  readonly isChanged = computed(() => this.document.value !== null && !same(this.document.value, this.saved.value?.document));
  /** It is not known yet whether there is one. */
  readonly isOpening = signal(true);
  readonly canUndo = signal(false);
  readonly canRedo = signal(false);
  readonly runs = new SharedRuns();
  private past: Workspace[] = [];
  private future: Workspace[] = [];
  private lastKind = "";
  private hash = "";
  private readonly address = new Soon(ADDRESS_MS, () => void this.writeAddress());
  readonly hearing = new Hearing();
  readonly notes = new JobNotes();

  constructor() {
    super();
    const onHash = (): void => {
      if (location.hash !== this.hash && isPacked(location.hash)) void this.readHash();
    };
    window.addEventListener("hashchange", onHash);
    this.whenStopped(this.address, this.hearing, this.notes, () => window.removeEventListener("hashchange", onHash));
  }

  // ---- where it comes from ----

  async open(name: string | undefined, given: Workspace | null): Promise<void> {
    if (name !== undefined) await this.load(name);
    if (isPacked(location.hash)) await this.readHash();
    else if (name === undefined && given) this.document.value = given;
    this.isOpening.value = false;
  }

  private async load(name: string): Promise<void> {
    const reply = await this.request(async () => {
      const got = await send("GET", `workspaces/${encodeURIComponent(name)}`, {}, undefined, this.signal);
      return { name, etag: got.headers.get("ETag") ?? "", document: readWorkspace(await got.json()) };
    });
    if (!reply) return;
    this.saved.value = reply;
    this.document.value = reply.document;
  }

  private async readHash(): Promise<void> {
    this.hash = location.hash;
    const read = await this.request(() => unpackHash(location.hash));
    if (read) this.take(read);
  }

  /** From nothing: the address holds it from now on. */
  begin(next: Workspace): void {
    this.document.value = next;
    void this.writeAddress();
  }

  /** Another document in place of this one, as after an import: it can be taken back. */
  take(next: Workspace): void {
    if (this.document.peek() === null) this.document.value = next;
    else this.edit(() => next);
  }

  // ---- changes ----

  /** kind: what goes on while one types or slides is one change. */
  edit(change: (now: Workspace) => Workspace, kind = ""): void {
    const before = this.document.peek();
    if (!before) return;
    const next = change(before);
    if (same(before, next)) return;
    if (kind === "" || kind !== this.lastKind) this.past = [...this.past, before].slice(-MOST_UNDONE);
    this.lastKind = kind;
    this.future = [];
    this.show(next);
  }

  undo(): boolean {
    return this.step(this.past, this.future);
  }

  redo(): boolean {
    return this.step(this.future, this.past);
  }

  private step(from: Workspace[], to: Workspace[]): boolean {
    const [now, next] = [this.document.peek(), from.pop()];
    if (!now || !next) return false;
    to.push(now);
    this.lastKind = "";
    this.show(next);
    return true;
  }

  private show(next: Workspace): void {
    this.document.value = next;
    this.canUndo.value = this.past.length > 0;
    this.canRedo.value = this.future.length > 0;
    this.address.ask();
  }

  /** The address holds what is not saved. */
  private async writeAddress(): Promise<void> {
    const now = this.document.peek();
    if (!now || this.fault.peek() !== null) return;
    const hash = this.isChanged.peek() ? await packHash(now) : "";
    if (this.signal.aborted || now !== this.document.peek()) return;
    this.hash = hash;
    const search = this.saved.peek() ? `?name=${encodeURIComponent(this.saved.peek()?.name ?? "")}` : hash === "" ? location.search : "";
    history.replaceState(null, "", location.pathname + search + hash);
  }

  // ---- the server's copy ----

  /** Under a new name, or over what this one was read from; `isForced`: whatever somebody else has made of it. */
  async save(name: string, isForced = false): Promise<Problem | null> {
    const document = this.document.peek();
    const before = this.saved.peek();
    if (!document) return null;
    const condition = isForced ? {} : before?.name === name ? { "If-Match": before.etag } : { "If-None-Match": "*" };
    try {
      const reply = await send("PUT", `workspaces/${encodeURIComponent(name)}`, {}, document, this.signal, condition);
      this.saved.value = { name, etag: reply.headers.get("ETag") ?? "", document };
      this.overtaken.value = null;
      await this.writeAddress();
      return null;
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status === 412 && before?.name === name) await this.findOut(name);
      return problem;
    }
  }

  /** The server's copy is another than the one that was read: or there is none any more. */
  private async findOut(name: string): Promise<void> {
    const isGone = await send("GET", `workspaces/${encodeURIComponent(name)}`, {}, undefined, this.signal).then(
      () => false,
      (error: unknown) => asProblem(error).status === 404,
    );
    this.overtaken.value = isGone ? "deleted" : "saved";
  }

  /** What was deleted, as a new one of its name. */
  saveAgain(): Promise<Problem | null> {
    const name = this.saved.peek()?.name ?? "";
    this.saved.value = null;
    this.overtaken.value = null;
    return this.save(name);
  }

  /** What somebody else has saved, in place of what is here; that can be taken back. */
  async loadTheirs(): Promise<void> {
    const [name, mine] = [this.saved.peek()?.name, this.document.peek()];
    if (name === undefined || !mine) return;
    await this.load(name);
    this.past = [...this.past, mine];
    this.overtaken.value = null;
    if (this.document.peek()) this.show(this.document.peek() as Workspace);
  }

  async remove(): Promise<Problem | null> {
    const saved = this.saved.peek();
    if (!saved) return null;
    try {
      await send("DELETE", `workspaces/${encodeURIComponent(saved.name)}`, {}, undefined, this.signal, { "If-Match": saved.etag });
      this.saved.value = null;
      await this.writeAddress();
      return null;
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status === 412) await this.findOut(saved.name);
      return problem;
    }
  }
}
