// Which values of the lines that one looks at are points: the server says so.
import { signal } from "@preact/signals";
import { getJson, jobPath } from "../../api/client";
import type { CapturesReply, LineCapture } from "../../api/types";
import { Latest } from "../../lib/flow/latest";
import { Store } from "../core/store";

const REST_MS = 250;
const MOST_LINES = 200;
const MOST_KEPT = 5000;

export class CaptureStore extends Store {
  readonly version = signal(0);
  private readonly known = new Map<number, LineCapture[]>();
  /** Of these no more will be said. */
  private readonly settled = new Set<number>();
  private readonly latest = new Latest(REST_MS);
  private asked = "";

  constructor(
    private readonly job: string,
    private readonly stream: string,
  ) {
    super();
    this.whenStopped(this.latest);
  }

  of(line: number): LineCapture[] | undefined {
    return this.known.get(line);
  }

  /** Asks for the lines [first, end) once the list rests. */
  want(first: number, end: number): void {
    let [from, to] = [first, Math.min(end, first + MOST_LINES)];
    while (from < to && this.settled.has(from)) from++;
    while (to > from && this.settled.has(to - 1)) to--;
    const key = `${from} ${to}`;
    if (from === to || key === this.asked) return;
    this.asked = key;
    this.latest.ask((signal) => this.load(from, to, signal));
  }

  private async load(from: number, to: number, signal: AbortSignal): Promise<void> {
    const params = { stream: this.stream, from, limit: to - from };
    const reply = await this.request(() => getJson<CapturesReply>(jobPath(this.job, "/logs/captures"), params, signal));
    this.asked = "";
    if (!reply) return;
    if (this.settled.size > MOST_KEPT) {
      this.known.clear();
      this.settled.clear();
    }
    for (const { n, captures } of reply.lines) this.known.set(n, captures);
    for (let n = from; n < Math.min(to, reply.open_from ?? to, reply.next_from ?? to); n++) this.settled.add(n);
    this.version.value++;
  }
}
