// Nothing is asked for while nobody looks: whatever happens again and again on this page goes through here.

/** Runs at each interval while the page is visible, and at once when it is so again after one went by. Returns what ends it. */
export function every(ms: number, run: () => void): () => void {
  let lastMs = performance.now();
  const act = (): void => {
    lastMs = performance.now();
    run();
  };
  const timer = window.setInterval(() => document.hidden || act(), ms);
  const look = (): void => {
    if (!document.hidden && performance.now() - lastMs >= ms) act();
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    window.clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Runs once, `ms` after the first of several calls; while the page is hidden it waits until somebody looks. */
export class Soon {
  private timer: number | null = null;
  private isDue = false;

  constructor(
    private readonly ms: number,
    private readonly run: () => void,
  ) {}

  ask(): void {
    if (this.isDue) return;
    this.timer ??= window.setTimeout(() => {
      this.timer = null;
      this.isDue = true;
      document.addEventListener("visibilitychange", this.look);
      this.look();
    }, this.ms);
  }

  stop(): void {
    if (this.timer !== null) window.clearTimeout(this.timer);
    this.timer = null;
    this.isDue = false;
    document.removeEventListener("visibilitychange", this.look);
  }

  private readonly look = (): void => {
    if (document.hidden) return;
    this.stop();
    this.run();
  };
}
