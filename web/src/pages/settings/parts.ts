// What the settings read and write; each part is loaded by itself, so that one that is refused leaves the others.
import { signal } from "@preact/signals";
import { send } from "../../api/client";
import { Resource } from "../../state/core/resource";

/** A document of the server with what became of the last attempt to read or write it. */
export class Part<T> extends Resource<T> {
  /** What was done last, for who hears the page. */
  readonly said = signal("");

  /** Whether it went well; `done` is said then, else what went wrong. */
  async attempt(act: () => Promise<void>, done: string): Promise<boolean> {
    const isDone = await this.request(() => act().then(() => true));
    if (isDone) this.said.value = done;
    return isDone === true;
  }

  /** A PUT gives the new document; after anything else it is read again. */
  change(method: "PUT" | "DELETE", rest: string, body: unknown, done: string): Promise<boolean> {
    return this.attempt(async () => {
      const reply = await send(method, this.path + rest, {}, body);
      if (method === "PUT") this.value.value = (await reply.json()) as T;
      else await this.load();
    }, done);
  }
}

export interface Token {
  name: string;
  scope: "read" | "write" | "admin";
  team: string;
  created_ms: number;
}

export interface Limits {
  max_age_days?: number;
  max_bytes?: number;
}

export interface Retention extends Limits {
  teams: (Limits & { team: string })[];
  log_bytes: number;
  /** null: nobody has looked yet. */
  used_bytes: number | null;
  used_at_ms: number | null;
  /** null: the database is another machine's, which does not say. */
  disk_free_bytes: number | null;
  forecast: {
    growth_bytes_a_day?: number;
    days_left?: number;
    next: { job: string; ended_ms: number; text_bytes: number; stored_bytes: number }[];
  };
}

export interface Price {
  instance: string;
  per_hour: number;
  from?: string;
  source?: string;
}

export interface Prices {
  currency: string;
  prices: Price[];
}

export interface Option {
  name: string;
  kind: "flag" | "text" | "number" | "bytes" | "milliseconds";
  value?: string | number | boolean | string[];
  default?: string;
  /** "default", "--listen", "SMFLEET_LISTEN", "/etc/smfleet.conf:12", "not set" */
  source: string;
  help: string;
}
