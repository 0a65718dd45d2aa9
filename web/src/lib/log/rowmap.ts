// Lines of a log and rows of the list that shows them: a folded line has none, an opened one several.
import type { Fold } from "./folds";

/** A row: a line, or the `part`-th row below it that was opened. */
export interface Place {
  line: number;
  part: number;
}

interface Step {
  /** From this line on … */
  line: number;
  /** … so many more rows than lines; what is in between comes from `isFold`. */
  shift: number;
}

export class RowMap {
  /** Sorted by line; steps[i].shift holds for the lines from steps[i].line on. */
  private readonly steps: Step[] = [];
  readonly folds: ReadonlyMap<number, { count: number; kind: Fold["kind"] }>;
  readonly rows: number;

  /** `folds` in order of lines; those whose head is in `opened` are not folded. `parts`: rows below a line. */
  constructor(
    readonly total: number,
    folds: readonly Fold[],
    readonly opened: ReadonlySet<number>,
    private readonly parts: ReadonlyMap<number, number>,
  ) {
    const counts = new Map<number, { count: number; kind: Fold["kind"] }>();
    const changes: { line: number; by: number }[] = [];
    for (const { head, from, to, kind } of folds) {
      const end = Math.min(to, total);
      if (end <= from) continue;
      counts.set(head, { count: (counts.get(head)?.count ?? 0) + end - from, kind });
      if (!opened.has(head)) changes.push({ line: end, by: from - end });
    }
    for (const [line, count] of parts) if (line < total && !this.isIn(folds, line)) changes.push({ line: line + 1, by: count });
    changes.sort((a, b) => a.line - b.line);
    let shift = 0;
    for (const { line, by } of changes) {
      shift += by;
      const last = this.steps[this.steps.length - 1];
      if (last?.line === line) last.shift = shift;
      else this.steps.push({ line, shift });
    }
    this.folds = counts;
    this.rows = total + shift;
    this.hidden = folds.filter((fold) => !opened.has(fold.head));
  }

  private readonly hidden: readonly Fold[];

  private isIn(folds: readonly Fold[], line: number): boolean {
    return folds.some((fold) => !this.opened.has(fold.head) && line >= fold.from && line < fold.to);
  }

  /** The line behind which the given one is folded away, or null. */
  headOf(line: number): number | null {
    const at = upper(this.hidden, (fold) => fold.from <= line) - 1;
    const fold = this.hidden[at];
    return fold && line < fold.to ? fold.head : null;
  }

  /** The row of a line; of one that is folded away that of the line it is folded behind. */
  rowOf(line: number): number {
    const head = this.headOf(line);
    const shown = head ?? line;
    return shown + this.shiftAt(shown);
  }

  placeAt(row: number): Place {
    // The last line whose row is not behind the asked one.
    let low = 0;
    let high = this.steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const step = this.steps[middle];
      if (step && step.line + step.shift <= row) low = middle + 1;
      else high = middle;
    }
    const before = this.steps[low - 1];
    const next = this.steps[low];
    const line = row - (before?.shift ?? 0);
    // Rows between a line's own and the next step's first one are parts of the line in front of that step.
    if (next && line >= next.line) return { line: next.line - 1, part: line - (next.line - 1) };
    const fold = this.headOf(line);
    if (fold === null) return { line, part: 0 };
    return { line: fold, part: 0 };
  }

  private shiftAt(line: number): number {
    return this.steps[upper(this.steps, (step) => step.line <= line) - 1]?.shift ?? 0;
  }

  partsOf(line: number): number {
    return this.parts.get(line) ?? 0;
  }
}

/** How many items in front hold; those that do come first. */
function upper<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = list[middle];
    if (item !== undefined && holds(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
