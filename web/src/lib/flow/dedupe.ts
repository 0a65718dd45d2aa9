/**
 * Remembers which live points were taken, so that a replay after a reconnect adds nothing twice.
 * Bounded: a series forgets its oldest keys, which are older than anything the server replays.
 */
export class SeenPoints {
  private readonly bySeries = new Map<string, Set<string>>();

  constructor(private readonly limit = 8192) {}

  /** True the first time a (stream, metric, line, step) comes. */
  take(stream: string, metric: string, line: number | null, step: number): boolean {
    const series = `${stream}\n${metric}`;
    let keys = this.bySeries.get(series);
    if (!keys) this.bySeries.set(series, (keys = new Set()));
    const key = `${line ?? ""}:${step}`;
    if (keys.has(key)) return false;
    keys.add(key);
    if (keys.size > this.limit) {
      for (const oldest of keys) {
        keys.delete(oldest);
        break;
      }
    }
    return true;
  }

  clear(): void {
    this.bySeries.clear();
  }
}
