// A short list on the server whose rows are made, changed and deleted here: rules, webhooks.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, send, type Problem } from "../../api/client";

export class Editable<Row extends { id: number }, Draft> {
  readonly rows = signal<Row[] | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly isSaving = signal(false);
  readonly abort = new AbortController();

  constructor(
    /** The path, and the member of its reply. */
    private readonly path: string,
  ) {}

  stop(): void {
    this.abort.abort();
  }

  async load(): Promise<void> {
    try {
      const reply = await getJson<Record<string, Row[]>>(this.path, {}, this.abort.signal);
      this.rows.value = reply[this.path] ?? [];
      this.problem.value = null;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  /** What the server said to it; throws its Problem. */
  async save(id: number | null, draft: Draft): Promise<Record<string, unknown>> {
    this.isSaving.value = true;
    try {
      const reply = await (id === null ? send("POST", this.path, {}, draft) : send("PUT", `${this.path}/${id}`, {}, draft));
      const said = reply.status === 204 ? {} : ((await reply.json()) as Record<string, unknown>);
      await this.load();
      return said;
    } finally {
      this.isSaving.value = false;
    }
  }

  async remove(id: number): Promise<void> {
    await send("DELETE", `${this.path}/${id}`);
    await this.load();
  }
}
