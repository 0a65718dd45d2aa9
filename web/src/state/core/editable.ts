// A short list on the server whose rows are made, changed and deleted here: rules, webhooks.
import { signal } from "@preact/signals";
import { send } from "../../api/client";
import { Store } from "./store";

export class Editable<Row extends { id: number }, Draft> extends Store {
  readonly rows = signal<Row[] | null>(null);
  readonly isSaving = signal(false);

  constructor(
    /** The path, and the member of its reply. */
    private readonly path: string,
  ) {
    super();
  }

  async load(): Promise<void> {
    const reply = await this.get<Record<string, Row[]>>(this.path);
    if (reply) this.rows.value = reply[this.path] ?? [];
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
