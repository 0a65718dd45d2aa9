import { signal } from "@preact/signals";
import type { Params } from "../../api/client";
import { Store } from "./store";

/** One document of the server. */
export class Resource<T> extends Store {
  readonly value = signal<T | null>(null);

  constructor(
    readonly path: string,
    private readonly params: Params = {},
  ) {
    super();
  }

  async load(): Promise<void> {
    await this.getFor<T>(this.path, (reply) => (this.value.value = reply), this.params);
  }
}
