// What became of the commands to those who send a job, what its machines measured, and how its streams stand beside each other.
import { signal } from "@preact/signals";
import type { MachinesReply } from "../../api/machines";
import { getJson, jobPath, type Problem } from "../../api/client";
import type { Command, HeatReply, NodeRow } from "../../api/types";
import { isAnswered } from "../../lib/jobs/commands";
import { onLive } from "../../live/client";
import { Resource } from "../core/resource";
import { Store } from "../core/store";
import type { JobStore } from "./job";
import { Soon } from "../../lib/flow/poll";

const RELOAD_MS = 3000;
const HEAT_RELOAD_MS = 10_000;
const COLUMNS = 240;

/** Goes up with every command that is given on the page. */
export const ordersGiven = signal(0);

export class NodeStore extends Store {
  readonly commands = signal<Command[]>([]);
  readonly machines = signal<readonly NodeRow[]>([]);
  /** Machines that should be drained, and why. */
  readonly drain = signal<ReadonlyMap<string, string>>(new Map());
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(private readonly store: JobStore) {
    super();
    this.whenStopped(
      this.soon,
      onLive((event) => {
        if (event.kind === "resync" || (event.kind === "job" && event.data.TrainingJobName === store.name)) this.soon.ask();
      }),
      ordersGiven.subscribe((count) => count > 0 && void this.load()),
    );
  }

  async load(): Promise<void> {
    const get = <T>(rest: string): Promise<T> => getJson<T>(jobPath(this.store.name, rest), {}, this.signal);
    // The ledger is of all machines: without it the job's own are shown all the same.
    void this.get<MachinesReply>("nodes", { limit: 1 }, () => undefined).then((reply) => {
      if (reply) this.drain.value = new Map(reply.drain?.map(({ host, why }) => [host, why.join("; ")]));
    });
    await this.request(async () => {
      const [{ commands }, { nodes }] = await Promise.all([get<{ commands: Command[] }>("/commands"), get<{ nodes: NodeRow[] }>("/nodes"), this.store.reloadStreams()]);
      if (this.signal.aborted) return;
      this.commands.value = commands.sort((a, b) => b.id - a.id);
      this.machines.value = nodes;
      // No event tells that a command was answered.
      if (commands.some((one) => one.streams.length > 0 && !isAnswered(one))) this.soon.ask();
    });
  }
}

export class HeatStore extends Resource<HeatReply> {
  /** There is no such metric to compare by. */
  readonly isMissing = signal(false);
  private readonly soon = new Soon(HEAT_RELOAD_MS, () => void this.load());

  constructor(job: string, metric: string, axis: "step" | "time") {
    super(jobPath(job, "/heat"), { metric, x: axis, buckets: COLUMNS, attempts: axis === "time" ? "all" : undefined });
    this.whenStopped(
      this.soon,
      onLive((event) => {
        if (event.kind === "resync" || (event.kind === "points" && event.data.job === job)) this.soon.ask();
      }),
    );
  }

  protected override note(problem: Problem | null): void {
    this.isMissing.value = problem?.status === 404;
    super.note(this.isMissing.value ? null : problem);
  }
}
