// All machines that ever sent a line, by name, and which of them the next job should do without.
import { signal } from "@preact/signals";
import type { Machine, MachinesReply } from "../../api/machines";
import { Store } from "../core/store";

const PAGE = 100;

export class MachineList extends Store {
  readonly rows = signal<Machine[] | null>(null);
  readonly drain = signal<readonly { host: string; why: string[] }[]>([]);
  readonly cursor = signal<string | null>(null);

  /** part: of the name. */
  constructor(private readonly part: string, private readonly isOnlyTroubled: boolean) {
    super();
  }

  async load(): Promise<void> {
    await this.getFor<MachinesReply>("nodes", (reply) => {
      this.rows.value = reply.nodes;
      this.drain.value = reply.drain ?? [];
      this.cursor.value = reply.next_cursor ?? null;
    }, this.params);
  }

  async more(): Promise<void> {
    if (this.cursor.value === null) return;
    await this.getFor<MachinesReply>("nodes", (reply) => {
      const known = new Set(this.rows.value?.map((one) => one.host));
      this.rows.value = [...(this.rows.value ?? []), ...reply.nodes.filter((one) => !known.has(one.host))];
      this.cursor.value = reply.next_cursor ?? null;
    }, { ...this.params, cursor: this.cursor.value });
  }

  private get params(): Record<string, string | number | undefined> {
    return { limit: PAGE, q: this.part || undefined, in_trouble: this.isOnlyTroubled ? "true" : undefined };
  }
}
