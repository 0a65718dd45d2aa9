// Metric definitions that the server proposes for a job's own lines, and what became of those that one took.
import { signal } from "@preact/signals";
import { jobPath, send } from "../../api/client";
import type { Backfill, Capture, Definition } from "../../api/types";
import { Soon } from "../../lib/flow/poll";
import { onLive } from "../../live/client";
import type { LiveEvent } from "../../live/protocol";
import { Store } from "../core/store";

export interface Shape {
  /** Lines of this shape among those that were looked at. */
  count: number;
  /** The example's number in its stream. */
  line: number;
  text: string;
  captures: Capture[];
  definitions: Definition[];
  /** The whole body of a PUT: what the job has is kept. */
  put: { definitions: Definition[] };
}

export interface ProposalsReply {
  stream: string;
  missing: "metrics" | "loss" | "";
  lines: number;
  /** Lines that were looked at. */
  lines_read: number;
  /** A job that runs has fewer lines than these yet. */
  lines_needed?: number;
  shapes: Shape[];
}

const AGAIN_MS = 5000;

export class Proposals extends Store {
  readonly reply = signal<ProposalsReply | null>(null);
  /** Which shape was taken, and how far its back-fill is. */
  readonly used = signal<number | null>(null);
  readonly backfill = signal<Backfill | null>(null);
  readonly isAsking = signal(false);

  /** Lines that come may make shapes where there were none. */
  private readonly again = new Soon(AGAIN_MS, () => void this.load());

  constructor(readonly name: string) {
    super();
    this.whenStopped(
      this.again,
      onLive((event) => this.take(event)),
    );
  }

  async load(): Promise<void> {
    const reply = await this.get<ProposalsReply>(jobPath(this.name, "/definitions/proposals"));
    // What one reads or has taken must not change under the hand.
    if (reply && this.used.value === null && !this.reply.value?.shapes.length) this.reply.value = reply;
  }

  /** One click: the definitions are the job's, and its whole log is read again. */
  async use(index: number): Promise<boolean> {
    const shape = this.reply.value?.shapes[index];
    if (!shape || this.isAsking.value || this.backfill.value?.state === "running") return false;
    this.isAsking.value = true;
    this.backfill.value = { state: "running" };
    const reply = await this.request(() => send("PUT", jobPath(this.name, "/definitions"), { backfill: true }, shape.put, this.signal));
    this.isAsking.value = false;
    if (reply) this.used.value = index;
    else this.backfill.value = null;
    return reply !== null;
  }

  private take(event: LiveEvent): void {
    if (event.kind === "backfill" && event.data.job === this.name && this.backfill.value) this.takeBackfill(event.data);
    else if (event.kind === "lines" && event.data.job === this.name && !this.reply.value?.shapes.length) this.again.ask();
  }

  /** What the job has is another now, and with it what the next one has to keep. */
  private takeBackfill(next: Backfill): void {
    const isOver = this.backfill.value?.state === "running" && next.state !== "running";
    this.backfill.value = next;
    if (!isOver) return;
    this.used.value = null;
    this.reply.value = null;
    void this.load();
  }
}
