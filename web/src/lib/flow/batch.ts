// What comes in many pieces is taken in few: at most once in so many milliseconds.

export interface Clock {
  set(run: () => void, ms: number): number;
  clear(id: number): void;
  now(): number;
}

const browserClock: Clock = {
  set: (run, ms) => Number(globalThis.setTimeout(run, ms)),
  clear: (id) => globalThis.clearTimeout(id),
  now: () => performance.now(),
};

export class Batch<T> {
  private waiting: T[] = [];
  private timer: number | null = null;
  private lastMs = -Infinity;

  constructor(
    private readonly everyMs: number,
    private readonly take: (items: T[]) => void,
    private readonly clock: Clock = browserClock,
  ) {}

  /** The first one after a pause is taken at once. */
  add(item: T): void {
    this.waiting.push(item);
    const now = this.clock.now();
    if (this.timer !== null) return;
    const wait = this.lastMs + this.everyMs - now;
    if (wait <= 0) this.flush();
    else this.timer = this.clock.set(() => this.flush(), wait);
  }

  stop(): void {
    if (this.timer !== null) this.clock.clear(this.timer);
    this.timer = null;
    this.waiting = [];
  }

  private flush(): void {
    if (this.timer !== null) this.clock.clear(this.timer);
    this.timer = null;
    this.lastMs = this.clock.now();
    const items = this.waiting;
    this.waiting = [];
    this.take(items);
  }
}
