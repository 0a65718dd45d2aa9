// Who sends a job's log, how each ended, and what became of the commands to them.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, type Problem } from "../api/client";
import type { Command, JobDoc, StreamInfo } from "../api/types";
import { compareNatural } from "../lib/metrics";
import { isAnswered } from "../lib/commands";
import { onLive, setWant } from "../live/client";
import { freshSeq } from "./info";

const RELOAD_MS = 3000;

/** Goes up with every command that is given on the page. */
export const ordersGiven = signal(0);

export class NodeStore {
  readonly doc = signal<JobDoc | null>(null);
  readonly streams = signal<StreamInfo[] | null>(null);
  readonly commands = signal<Command[]>([]);
  readonly problem = signal<Problem | null>(null);
  private readonly abort = new AbortController();
  private readonly offs: (() => void)[];
  private reload: number | null = null;

  constructor(readonly name: string) {
    this.offs = [
      onLive((event) => {
        if (event.kind === "resync" || (event.kind === "job" && event.data.TrainingJobName === name)) this.reloadSoon();
      }),
      ordersGiven.subscribe((count) => count > 0 && void this.load()),
    ];
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.abort.signal.aborted) return;
    setWant({ jobs: [this.name], kinds: ["job"], after: seq });
    await this.load();
  }

  stop(): void {
    this.abort.abort();
    for (const off of this.offs) off();
    if (this.reload !== null) window.clearTimeout(this.reload);
  }

  private async load(): Promise<void> {
    const get = <T>(rest: string): Promise<T> => getJson<T>(jobPath(this.name, rest), {}, this.abort.signal);
    try {
      const [doc, { streams }, { commands }] = await Promise.all([
        get<JobDoc>(""),
        get<{ streams: StreamInfo[] }>("/streams"),
        get<{ commands: Command[] }>("/commands"),
      ]);
      this.doc.value = doc;
      this.streams.value = streams.sort((a, b) => compareNatural(a.stream, b.stream));
      this.commands.value = commands.sort((a, b) => b.id - a.id);
      this.problem.value = null;
      // No event tells that a command was answered.
      if (commands.some((one) => one.streams.length > 0 && !isAnswered(one))) this.reloadSoon();
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  /** Nothing is asked for while nobody looks. */
  private reloadSoon(): void {
    this.reload ??= window.setTimeout(() => {
      this.reload = null;
      if (document.hidden) this.reloadSoon();
      else void this.load();
    }, RELOAD_MS);
  }
}
