// The jobs of a panel's query with what the panel wants to know of them; panels that want the same share it.
import { signal } from "@preact/signals";
import { getEarly, type Params } from "../../api/client";
import type { JobRow, JobsReply } from "../../api/types";
import { joinNames } from "../../lib/jobs/compare";
import { every } from "../../lib/flow/poll";
import { Store } from "../core/store";

const LOOK_MS = 10_000;
/** A reply longer than this is asked for so many times less often. */
const LONG_REPLY = 1_000_000;
const LESS_OFTEN = 6;
/** As the server's limit of a page. */
export const MOST_RUNS = 1000;

export interface RunsSpec {
  query: string;
  /** null: whole rows, with all metrics. */
  fields: readonly string[] | null;
  most: number;
  sort?: string;
}

const paramsOf = ({ query, fields, most, sort }: RunsSpec): Params => ({ q: query, fields: fields ? joinNames(["name", ...fields]) : undefined, limit: most, total: true, sort });

/** While who shows them is not there yet. */
export const getRunsEarly = (spec: RunsSpec): void => getEarly("jobs", paramsOf(spec));

export class Runs extends Store {
  readonly rows = signal<JobRow[] | null>(null);
  /** How many the query finds, of which the first are here. */
  readonly total = signal(0);
  private before = "";
  private looks = 0;

  constructor(private readonly spec: RunsSpec) {
    super();
    this.whenStopped(every(LOOK_MS, () => this.look()));
  }

  private look(): void {
    this.looks++;
    if (this.before.length < LONG_REPLY || this.looks % LESS_OFTEN === 0) void this.load();
  }

  async load(): Promise<void> {
    const reply = await this.get<JobsReply>("jobs", paramsOf(this.spec));
    if (!reply) return;
    this.total.value = reply.total ?? reply.jobs.length;
    // What is as it was draws nothing anew.
    const text = JSON.stringify(reply.jobs);
    if (text !== this.before) this.rows.value = reply.jobs;
    this.before = text;
  }
}

/** By what is asked for: one store, for as long as somebody wants it. */
export class SharedRuns {
  private readonly held = new Map<string, { runs: Runs; users: number }>();

  take(spec: RunsSpec): { runs: Runs; stop(): void } {
    const key = JSON.stringify(spec);
    const known = this.held.get(key) ?? { runs: new Runs(spec), users: 0 };
    if (!this.held.has(key)) void known.runs.load();
    this.held.set(key, known);
    known.users++;
    return {
      runs: known.runs,
      stop: () => {
        if (--known.users > 0) return;
        known.runs.stop();
        this.held.delete(key);
      },
    };
  }
}
