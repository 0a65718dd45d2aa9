import type { StreamLine } from "../../api/types";

/** A list of many streams' lines by time, to which new ones are added: behind all that is not newer, a stream's own in their order. */
export class MergedTail {
  private list: StreamLine[] = [];
  private readonly newest = new Map<string, number>();

  get lines(): readonly StreamLine[] {
    return this.list;
  }

  reset(lines: readonly StreamLine[]): void {
    this.list = [...lines];
    this.newest.clear();
    for (const line of lines) this.note(line);
  }

  putBefore(lines: readonly StreamLine[]): void {
    this.list = [...lines, ...this.list];
    for (const line of lines) this.note(line);
  }

  /** Each line once; false: all were here. The cost is that of what is added, not of the list. */
  add(fresh: readonly StreamLine[]): boolean {
    const added = fresh.filter((line) => {
      if (line.n <= (this.newest.get(line.stream) ?? -1)) return false;
      this.note(line);
      return true;
    });
    if (added.length === 0) return false;
    const firstMs = added.reduce((ms, line) => Math.min(ms, line.ts_ms), Infinity);
    let from = this.list.length;
    while (from > 0 && (this.list[from - 1]?.ts_ms ?? 0) > firstMs) from--;
    const tail = [...this.list.splice(from), ...added].sort((a, b) => a.ts_ms - b.ts_ms);
    for (const line of tail) this.list.push(line);
    return true;
  }

  private note(line: StreamLine): void {
    this.newest.set(line.stream, Math.max(line.n, this.newest.get(line.stream) ?? -1));
  }
}
