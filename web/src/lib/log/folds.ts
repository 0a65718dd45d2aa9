// Which lines of a log are folded away behind another one, page by page as they are known.
import { isFrame, isSetup, isTraceBody, repeatKey, tracebackPrefix, type FoldKind } from "./traces";

/** Lines [from, to) are shown by the line `head`, which stands in front of them. */
export interface Fold {
  head: number;
  from: number;
  to: number;
  kind: FoldKind;
}

/** What a page hands on to the next one. */
export interface Carry {
  head: number;
  kind: FoldKind;
  /** Of repeated lines what they say, of a traceback its prefix. */
  key: string;
}

export interface Folded {
  folds: Fold[];
  carry: Carry | null;
}

const isSameCarry = (a: Carry | null, b: Carry | null): boolean =>
  a === b || (a !== null && b !== null && a.head === b.head && a.kind === b.kind && a.key === b.key);

function goesOn(text: string, group: Carry): boolean {
  if (group.kind === "repeat") return repeatKey(text) === group.key;
  if (group.kind === "trace") return isTraceBody(text, group.key);
  return group.kind === "frames" ? isFrame(text) : isSetup(text);
}

function begin(text: string, n: number): Carry {
  const prefix = tracebackPrefix(text);
  if (prefix !== null) return { head: n, kind: "trace", key: prefix };
  if (isFrame(text)) return { head: n, kind: "frames", key: "" };
  if (isSetup(text)) return { head: n, kind: "setup", key: "" };
  return { head: n, kind: "repeat", key: repeatKey(text) };
}

/** The folds among lines that begin with number `first`; a line that is not known (undefined) ends what goes on. */
export function foldLines(first: number, lines: readonly ({ text: string } | undefined)[], before: Carry | null): Folded {
  const folds: Fold[] = [];
  let group = before;
  let open: Fold | null = null;
  for (let i = 0; i < lines.length; i++) {
    const n = first + i;
    const text = lines[i]?.text;
    if (text === undefined) {
      group = open = null;
      continue;
    }
    if (group !== null && goesOn(text, group)) {
      if (open === null) folds.push((open = { head: group.head, from: n, to: n + 1, kind: group.kind }));
      else open.to = n + 1;
      continue;
    }
    group = begin(text, n);
    open = null;
  }
  return { folds, carry: group };
}

interface PageFolds extends Folded {
  before: Carry | null;
}

export interface PageSource {
  /** The page's rows; undefined: nothing of it is here. */
  rows(page: number): readonly ({ text: string } | undefined)[] | undefined;
  pages(): Iterable<number>;
}

/** Folds of all pages that are here, kept current with them. */
export class FoldIndex {
  private readonly known = new Map<number, PageFolds>();
  private sorted: Fold[] | null = null;

  constructor(
    private readonly source: PageSource,
    private readonly size: number,
  ) {}

  /** What is said anew of these pages changes their folds, and maybe those of the pages behind. */
  refresh(dirty: Iterable<number>): void {
    const here = new Set(this.source.pages());
    for (const page of this.known.keys()) if (!here.has(page)) this.drop(page);
    for (const page of [...dirty].sort((a, b) => a - b)) this.compute(page);
  }

  /** By line. */
  all(): readonly Fold[] {
    this.sorted ??= [...this.known.keys()].sort((a, b) => a - b).flatMap((page) => this.known.get(page)?.folds ?? []);
    return this.sorted;
  }

  private drop(page: number): void {
    this.known.delete(page);
    this.sorted = null;
  }

  private compute(page: number): void {
    for (let at = page; ; at++) {
      const rows = this.source.rows(at);
      if (!rows) return this.drop(at);
      const before = this.known.get(at - 1)?.carry ?? null;
      const old = this.known.get(at);
      if (at > page && old && isSameCarry(old.before, before)) return;
      const isWhole = rows.length >= this.size;
      const folded = foldLines(at * this.size, Array.from(rows), before);
      this.known.set(at, { ...folded, carry: isWhole ? folded.carry : null, before });
      this.sorted = null;
      if (!this.known.has(at + 1)) return;
    }
  }
}
