// A log line as styled pieces of text: terminal colours, and marks in the place of what one would not see.
import { cubeColor, readable, type Rgb } from "./ansicolor";
import type { Range } from "./matches";

export interface Span {
  text: string;
  /** CSS classes, space separated; empty for plain text. */
  style: string;
  /** A CSS colour beyond the eight of the theme. */
  color?: string;
  background?: string;
  /** A search matched here. */
  isHit?: boolean;
  /** Which of the places that were given it is part of. */
  place?: number;
  /** The text is a mark for this character of the line. */
  hidden?: string;
}

type Hue = number | Rgb;

interface Pen {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
  color: Hue | null;
  background: Hue | null;
}

const plainPen = (): Pen => ({ bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false, color: null, background: null });

// CSI sequences, OSC (titles, links) up to BEL or ST, two-byte escapes; else what is not to be seen: control characters but tab,
// those that turn the direction of writing, have no width, or end a line for some readers and not for others.
const CONTROL =
  /\u001b\[([0-?]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\^_=>()][0-9A-B]?|([\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff])/g;
const PLAIN = /^[\t\u0020-\u007e\u00a0-\u00ac\u00ae-\u061b\u061d-\u200a\u2010-\u2027\u202f-\u205f\u2070-\ufefe\uff00-\uffff]*$/;

const NAMES: Readonly<Record<number, string>> = {
  0xad: "SHY", 0x61c: "ALM", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS",
  0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI",
  0x2069: "PDI", 0xfeff: "BOM", 0x7f: "DEL",
};

const C0 = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

/** What stands for a character that is not to be seen: ⟨NUL⟩ or ⟨RLO⟩ for one that turns the writing. */
export function markFor(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Not the pictures that Unicode has for these: few fonts do.
  if (code < 0x20) return `⟨${C0[code] ?? ""}⟩`;
  return `⟨${NAMES[code] ?? code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Where the last text of a progress bar begins, that with carriage returns wrote over what was before. */
function lastState(line: string): { start: number; end: number } {
  let end = line.length;
  while (end > 0 && line[end - 1] === "\r") end--;
  return { start: end === 0 ? 0 : line.lastIndexOf("\r", end - 1) + 1, end };
}

/** All states of a progress bar, oldest first; one when the line has no carriage return within. */
export const statesOf = (line: string): string[] => (line.includes("\r") ? line.split("\r").filter((state) => state !== "") : [line]);

/**
 * Splits a line into styled spans. Of a progress bar's carriage returns the last text that was visible stays. Ranges of the
 * line as it came are marked as hits, and its places are spans of their own.
 */
export function parseAnsi(line: string, ranges: readonly Range[] = [], places: readonly Range[] = []): Span[] {
  const { start, end } = lastState(line);
  const text = start === 0 && end === line.length ? line : line.slice(start, end);
  if (ranges.length + places.length === 0 && PLAIN.test(text)) return text === "" ? [] : [{ text, style: "" }];
  const [hits, taken] = [ranges, places].map((all) => all.map(([from, to]) => [from - start, to - start] as const)) as [Range[], Range[]];
  const spans: Span[] = [];
  let pen = plainPen();
  let from = 0;
  for (const match of text.matchAll(CONTROL)) {
    pushMarked(spans, text, from, match.index, pen, hits, taken);
    from = match.index + match[0].length;
    if (match[2] === "m") pen = applySgr(pen, match[1] ?? "");
    else if (match[3] !== undefined) spans.push({ text: markFor(match[3]), style: "a-mark", hidden: match[3] });
  }
  pushMarked(spans, text, from, text.length, pen, hits, taken);
  return spans;
}

export const stripAnsi = (line: string): string =>
  parseAnsi(line)
    .map((span) => (span.hidden === undefined ? span.text : ""))
    .join("");

/** text[from, to), cut where hits and places begin and end. */
function pushMarked(spans: Span[], text: string, from: number, to: number, pen: Pen, hits: readonly Range[], places: readonly Range[]): void {
  const cuts = [...hits, ...places].flat().filter((cut) => cut > from && cut < to);
  let at = from;
  for (const end of [...cuts.sort((a, b) => a - b), to]) {
    const holds = ([start, stop]: Range): boolean => start <= at && end <= stop;
    pushSpan(spans, text.slice(at, end), pen, hits.some(holds), places.findIndex(holds));
    at = end;
  }
}

function pushSpan(spans: Span[], text: string, pen: Pen, isHit: boolean, place: number): void {
  if (!text) return;
  const span = { text, ...penLook(pen), ...(isHit ? { isHit } : {}), ...(place < 0 ? {} : { place }) };
  const last = spans[spans.length - 1];
  if (last && last.hidden === undefined && isAlike(last, span)) last.text += text;
  else spans.push(span);
}

const isAlike = (a: Span, b: Span): boolean =>
  a.style === b.style && a.color === b.color && a.background === b.background && (a.isHit ?? false) === (b.isHit ?? false) && a.place === b.place;

function penLook(pen: Pen): Omit<Span, "text"> {
  const classes: string[] = [];
  if (pen.bold) classes.push("a-bold");
  if (pen.dim) classes.push("a-dim");
  if (pen.italic) classes.push("a-italic");
  if (pen.underline) classes.push("a-underline");
  if (pen.strike) classes.push("a-strike");
  const look: Omit<Span, "text"> = { style: "" };
  // On a ground of its own colour text keeps the theme's: a ground is only tinted, so that it can be read in both themes.
  const [color, ground] = pen.inverse ? [null, pen.color ?? 7] : [pen.color, pen.background];
  if (typeof color === "number") classes.push(`a-${color}`);
  else if (color !== null) look.color = readable(color);
  if (typeof ground === "number") classes.push(`a-on-${ground}`);
  else if (ground !== null) look.background = `rgb(${ground.join(" ")} / 0.3)`;
  look.style = classes.join(" ");
  return look;
}

function applySgr(pen: Pen, parameters: string): Pen {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  let next = { ...pen };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) next = plainPen();
    else if (code === 38 || code === 48 || code === 58) {
      const { hue, length } = extendedColor(codes, i);
      if (code === 38) next.color = hue;
      if (code === 48) next.background = hue;
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
  else if (code === 7) pen.inverse = true;
  else if (code === 9) pen.strike = true;
  else if (code === 22) pen.bold = pen.dim = false;
  else if (code === 23) pen.italic = false;
  else if (code === 24) pen.underline = false;
  else if (code === 27) pen.inverse = false;
  else if (code === 29) pen.strike = false;
  else if (code === 39) pen.color = null;
  else if (code === 49) pen.background = null;
  else if (code >= 30 && code <= 37) pen.color = code - 30;
  else if (code >= 90 && code <= 97) pen.color = code - 90;
  else if (code >= 40 && code <= 47) pen.background = code - 40;
  else if (code >= 100 && code <= 107) pen.background = code - 100;
}

/** 38;5;n and 38;2;r;g;b. */
function extendedColor(codes: number[], at: number): { hue: Hue | null; length: number } {
  if (codes[at + 1] === 5) {
    const index = codes[at + 2] ?? 0;
    return { hue: index < 16 ? index % 8 : cubeColor(index), length: 2 };
  }
  if (codes[at + 1] !== 2) return { hue: null, length: 1 };
  const rgb = [codes[at + 2], codes[at + 3], codes[at + 4]].map((part) => Math.min(255, Math.max(0, Math.round(part ?? 0) || 0)));
  return { hue: [rgb[0] ?? 0, rgb[1] ?? 0, rgb[2] ?? 0], length: 4 };
}
