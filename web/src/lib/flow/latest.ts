// Requests while somebody types: one when the hand rests, and only the last one's reply counts.

export class Latest {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private abort: AbortController | null = null;

  constructor(private readonly delayMs: number) {}

  /** `run` starts after the delay unless it is asked again; what ran before is aborted at once. */
  ask(run: (signal: AbortSignal) => Promise<void>, delayMs = this.delayMs): void {
    this.stop();
    const abort = new AbortController();
    this.abort = abort;
    this.timer = setTimeout(() => {
      this.timer = null;
      void run(abort.signal);
    }, delayMs);
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.abort?.abort();
    this.abort = null;
  }
}
