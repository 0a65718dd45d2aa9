// Log lines by number, held in pages; the oldest unused pages are forgotten.
import type { LogLine } from "../../api/types";

export const PAGE_LINES = 500;
const MAX_PAGES = 40;

export class LogPages {
  private readonly pages = new Map<number, (LogLine | undefined)[]>();
  total = 0;

  line(n: number): LogLine | undefined {
    return this.pages.get(Math.floor(n / PAGE_LINES))?.[n % PAGE_LINES];
  }

  /** What is here of a page; rows that are not leave a hole. */
  rows(page: number): readonly (LogLine | undefined)[] | undefined {
    return this.pages.get(page);
  }

  held(): Iterable<number> {
    return this.pages.keys();
  }

  /** Gives the pages that changed. */
  put(lines: readonly LogLine[]): Set<number> {
    const changed = new Set<number>();
    for (const line of lines) {
      const page = Math.floor(line.n / PAGE_LINES);
      changed.add(page);
      let rows = this.pages.get(page);
      if (!rows) this.pages.set(page, (rows = []));
      rows[line.n % PAGE_LINES] = line;
      this.total = Math.max(this.total, line.n + 1);
    }
    this.forget();
    return changed;
  }

  /** The first line in [first, end) of a page that is not here, or null when all are. */
  missing(page: number, first: number, end: number): number | null {
    const from = Math.max(first, page * PAGE_LINES);
    const to = Math.min(end, (page + 1) * PAGE_LINES, this.total);
    for (let n = from; n < to; n++) if (!this.line(n)) return n;
    return null;
  }

  /** Marks pages as used, so that they are the last to be forgotten. */
  touch(pages: readonly number[]): void {
    for (const page of pages) {
      const rows = this.pages.get(page);
      if (!rows) continue;
      this.pages.delete(page);
      this.pages.set(page, rows);
    }
  }

  clear(): void {
    this.pages.clear();
    this.total = 0;
  }

  private forget(): void {
    for (const page of this.pages.keys()) {
      if (this.pages.size <= MAX_PAGES) return;
      this.pages.delete(page);
    }
  }
}
