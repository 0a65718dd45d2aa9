// What the panels of a view want to hear of, together.
import { setWant } from "../../live/client";
import { freshSeq } from "../core/info";

/** A live connection that names more jobs has a longer address than some proxies take. */
const MOST_LIVE = 100;
/** The server has kept the events of this long, and more, for who asks again. */
const FRESH_MS = 5000;

export class Hearing {
  private readonly panels = new Map<object, readonly string[]>();
  private wanting: Promise<void> | null = null;
  /** Where the view began to hear: what it shows of first is found a moment later, and heard of from there on, too. */
  private begin: { seq: string | null; untilMs: number } | null = null;
  private isStopped = false;

  stop(): void {
    this.isStopped = true;
  }

  /** What a panel draws is heard of from before it asks for it. */
  async hear(panel: object, jobs: readonly string[]): Promise<void> {
    const known = new Set([...this.panels.values()].flat());
    this.panels.set(panel, jobs);
    if (this.wanting === null && jobs.length > 0 && jobs.every((job) => known.has(job))) return;
    this.wanting ??= this.want();
    await this.wanting;
  }

  forget(panel: object): void {
    this.panels.delete(panel);
  }

  private async want(): Promise<void> {
    const known = this.begin && performance.now() < this.begin.untilMs ? this.begin.seq : freshSeq();
    const after = await known; // panels that come together are heard of together
    this.begin ??= { seq: after, untilMs: performance.now() + FRESH_MS };
    this.wanting = null;
    const jobs = [...new Set([...this.panels.values()].flat())].slice(0, MOST_LIVE);
    if (!this.isStopped) setWant(jobs.length > 0 ? { jobs, kinds: ["points", "backfill"], after } : { jobs: null, kinds: ["incident"], after });
  }
}
