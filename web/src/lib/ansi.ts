import type { Range } from "./matches";

export interface Span {
  text: string;
  /** CSS classes, space separated; empty for plain text. */
  style: string;
  /** A search matched here. */
  isHit?: boolean;
}

interface Pen {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  color: number | null;
}

const plainPen = (): Pen => ({ bold: false, dim: false, italic: false, underline: false, color: null });

// CSI sequences, OSC (titles, links) up to BEL or ST, two-byte escapes, and stray control characters but tab.
const CONTROL =
  /\u001b\[([0-?]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\^_=>()][0-9A-B]?|[\u0000-\u0008\u000b-\u001f\u007f]/g;

/**
 * Splits a line into styled spans. Colours and weights become classes, every other escape is
 * dropped. Of a progress bar's carriage returns the last text that was visible stays. Ranges of
 * the line as it came are marked as hits.
 */
export function parseAnsi(line: string, ranges: readonly Range[] = []): Span[] {
  const body = line.replace(/\r+$/, "");
  const start = body.lastIndexOf("\r") + 1;
  const text = body.slice(start);
  const hits = ranges.map(([from, to]) => [from - start, to - start] as const);
  const spans: Span[] = [];
  let pen = plainPen();
  let from = 0;
  for (const match of text.matchAll(CONTROL)) {
    pushMarked(spans, text, from, match.index, pen, hits);
    from = match.index + match[0].length;
    if (match[2] === "m") pen = applySgr(pen, match[1] ?? "");
  }
  pushMarked(spans, text, from, text.length, pen, hits);
  return spans;
}

export const stripAnsi = (line: string): string =>
  parseAnsi(line)
    .map((span) => span.text)
    .join("");

/** text[from, to), cut where hits begin and end. */
function pushMarked(spans: Span[], text: string, from: number, to: number, pen: Pen, hits: readonly Range[]): void {
  let at = from;
  for (const [start, end] of hits) {
    if (end <= at || start >= to) continue;
    pushSpan(spans, text.slice(at, Math.max(at, start)), pen, false);
    pushSpan(spans, text.slice(Math.max(at, start), Math.min(end, to)), pen, true);
    at = Math.min(end, to);
  }
  pushSpan(spans, text.slice(at, to), pen, false);
}

function pushSpan(spans: Span[], text: string, pen: Pen, isHit: boolean): void {
  if (!text) return;
  const style = penClasses(pen);
  const last = spans[spans.length - 1];
  if (last && last.style === style && (last.isHit ?? false) === isHit) last.text += text;
  else spans.push(isHit ? { text, style, isHit } : { text, style });
}

function penClasses(pen: Pen): string {
  const classes: string[] = [];
  if (pen.bold) classes.push("a-bold");
  if (pen.dim) classes.push("a-dim");
  if (pen.italic) classes.push("a-italic");
  if (pen.underline) classes.push("a-underline");
  if (pen.color !== null) classes.push(`a-${pen.color}`);
  return classes.join(" ");
}

function applySgr(pen: Pen, parameters: string): Pen {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  let next = { ...pen };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) next = plainPen();
    else if (code === 38 || code === 48) {
      const { color, length } = extendedColor(codes, i);
      if (code === 38) next.color = color;
      i += length;
    } else applyCode(next, code);
  }
  return next;
}

function applyCode(pen: Pen, code: number): void {
  if (code === 1) pen.bold = true;
  else if (code === 2) pen.dim = true;
  else if (code === 3) pen.italic = true;
  else if (code === 4) pen.underline = true;
  else if (code === 22) pen.bold = pen.dim = false;
  else if (code === 23) pen.italic = false;
  else if (code === 24) pen.underline = false;
  else if (code === 39) pen.color = null;
  else if (code >= 30 && code <= 37) pen.color = code - 30;
  else if (code >= 90 && code <= 97) pen.color = code - 90;
}

/** 38;5;n and 38;2;r;g;b: the eight base hues are kept, finer ones are not told apart. */
function extendedColor(codes: number[], at: number): { color: number | null; length: number } {
  if (codes[at + 1] === 5) {
    const index = codes[at + 2] ?? 0;
    return { color: index < 16 ? index % 8 : null, length: 2 };
  }
  return { color: null, length: codes[at + 1] === 2 ? 4 : 1 };
}
