// What became of the commands to those who send a job, what its machines measured, and how its streams stand beside each other.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, type Problem } from "../../api/client";
import type { Command, HeatReply, NodeRow } from "../../api/types";
import { isAnswered } from "../../lib/jobs/commands";
import { onLive } from "../../live/client";
import type { JobStore } from "./job";
import { Soon } from "../../lib/flow/poll";

const RELOAD_MS = 3000;
const HEAT_RELOAD_MS = 10_000;
const COLUMNS = 240;

/** Goes up with every command that is given on the page. */
export const ordersGiven = signal(0);

export class NodeStore {
  readonly commands = signal<Command[]>([]);
  readonly machines = signal<readonly NodeRow[]>([]);
  readonly problem = signal<Problem | null>(null);
  private readonly abort = new AbortController();
  private readonly offs: (() => void)[];
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(private readonly store: JobStore) {
    this.offs = [
      onLive((event) => {
        if (event.kind === "resync" || (event.kind === "job" && event.data.TrainingJobName === store.name)) this.soon.ask();
      }),
      ordersGiven.subscribe((count) => count > 0 && void this.load()),
    ];
  }

  stop(): void {
    this.abort.abort();
    for (const off of this.offs) off();
    this.soon.cancel();
  }

  async load(): Promise<void> {
    const get = <T>(rest: string): Promise<T> => getJson<T>(jobPath(this.store.name, rest), {}, this.abort.signal);
    try {
      const [{ commands }, { nodes }] = await Promise.all([get<{ commands: Command[] }>("/commands"), get<{ nodes: NodeRow[] }>("/nodes"), this.store.reloadStreams()]);
      this.commands.value = commands.sort((a, b) => b.id - a.id);
      this.machines.value = nodes;
      this.problem.value = null;
      // No event tells that a command was answered.
      if (commands.some((one) => one.streams.length > 0 && !isAnswered(one))) this.soon.ask();
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }
}

export class HeatStore {
  readonly heat = signal<HeatReply | null>(null);
  /** There is no such metric to compare by. */
  readonly isMissing = signal(false);
  readonly problem = signal<Problem | null>(null);
  private readonly abort = new AbortController();
  private readonly off: () => void;
  private readonly soon = new Soon(HEAT_RELOAD_MS, () => void this.load());

  constructor(
    private readonly job: string,
    private readonly metric: string,
    private readonly axis: "step" | "time",
  ) {
    this.off = onLive((event) => {
      if (event.kind === "resync" || (event.kind === "points" && event.data.job === job)) this.soon.ask();
    });
  }

  stop(): void {
    this.abort.abort();
    this.off();
    this.soon.cancel();
  }

  async load(): Promise<void> {
    try {
      const params = { metric: this.metric, x: this.axis, buckets: COLUMNS, attempts: this.axis === "time" ? "all" : undefined };
      this.heat.value = await getJson<HeatReply>(jobPath(this.job, "/heat"), params, this.abort.signal);
      this.isMissing.value = false;
      this.problem.value = null;
    } catch (error) {
      if (isAbort(error)) return;
      const problem = asProblem(error);
      this.isMissing.value = problem.status === 404;
      this.problem.value = problem.status === 404 ? null : problem;
    }
  }
}
