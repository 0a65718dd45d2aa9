// What the job's definitions capture on the lines that one looks at. The server's expressions are the only ones that count.
import { signal } from "@preact/signals";
import { send } from "../../api/client";
import type { Capture, Definition, TrialReply } from "../../api/types";
import { Latest } from "../../lib/flow/latest";
import { Store } from "../core/store";

const REST_MS = 250;
const MOST_LINES = 200;
const MOST_KEPT = 5000;

export interface LineCaptures {
  /** The text that the captures' places count in. */
  text: string;
  captures: Capture[];
}

export class CaptureStore extends Store {
  readonly version = signal(0);
  private readonly known = new Map<number, LineCaptures>();
  private readonly latest = new Latest(REST_MS);
  private asked = "";

  constructor(
    private readonly job: string,
    private readonly stream: string,
    readonly definitions: readonly Definition[],
  ) {
    super();
    this.whenStopped(this.latest);
  }

  of(line: number): LineCaptures | undefined {
    return this.known.get(line);
  }

  nameOf(capture: Capture): string {
    return capture.metric || (this.definitions[capture.definition]?.Name ?? "");
  }

  /** Asks for the lines [first, end) once the list rests. */
  want(first: number, end: number): void {
    let [from, to] = [first, Math.min(end, first + MOST_LINES)];
    while (from < to && this.known.has(from)) from++;
    while (to > from && this.known.has(to - 1)) to--;
    const key = `${from} ${to}`;
    if (from === to || key === this.asked) return;
    this.asked = key;
    this.latest.ask((signal) => this.load(from, to, signal));
  }

  private async load(from: number, to: number, signal: AbortSignal): Promise<void> {
    const body = { MetricDefinitions: this.definitions, job: this.job, stream: this.stream, from, limit: to - from };
    const reply = await this.request(async () => (await (await send("POST", "definitions/test", {}, body, signal)).json()) as TrialReply);
    this.asked = "";
    if (!reply) return;
    if (this.known.size > MOST_KEPT) this.known.clear();
    for (const line of reply.lines) this.known.set(from + line.index, line);
    this.version.value++;
  }
}
