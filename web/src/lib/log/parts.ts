// What a line can be opened to: the states of its progress bar, its JSON in lines, all of what is too long for one row.
import { statesOf } from "../text/ansi";

export type PartKind = "states" | "json" | "long";

/** A row shows so many characters; a line of a megabyte in one row would take the browser seconds. */
export const ROW_CHARS = 1000;
const PART_CHARS = 160;
const JSON_LEAST = 60;
const JSON_MOST = 200_000;

/** Where a JSON object or array begins that goes on to the line's end, behind some text or none; -1: there is none. */
function jsonStart(text: string): number {
  const end = text.trimEnd();
  if (end.length < JSON_LEAST || end.length > JSON_MOST || !/[}\]]$/.test(end)) return -1;
  const at = end.search(/[{[]\s*["{[\]}\d-]/);
  return at >= 0 && at <= 200 ? at : -1;
}

function parseJson(text: string): unknown {
  const at = jsonStart(text);
  if (at < 0) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(at));
    return typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What the line can be opened to, or null. */
export function partKind(text: string): PartKind | null {
  if (text.includes("\r") && statesOf(text).length > 1) return "states";
  if (parseJson(text) !== undefined) return "json";
  return text.length > ROW_CHARS ? "long" : null;
}

/** The rows that are shown below the line when it is opened. */
export function partRows(text: string): string[] {
  switch (partKind(text)) {
    case "states":
      return statesOf(text).flatMap(chunks);
    case "json":
      return JSON.stringify(parseJson(text), null, 2).split("\n").flatMap(chunks);
    case "long":
      return chunks(text);
    default:
      return [];
  }
}

/** Pieces of one row each; a character of two units stays whole. */
function chunks(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length || pieces.length === 0; ) {
    let to = Math.min(text.length, from + PART_CHARS);
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last < 0xdc00) to++;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

const encoder = new TextEncoder();
export const byteLength = (text: string): number => encoder.encode(text).length;

/** What a row shows of a line: its last state, and of that no more than a row takes. */
export const rowText = (text: string): string => {
  if (text.length <= ROW_CHARS) return text;
  const states = statesOf(text);
  return (states[states.length - 1] ?? "").slice(0, ROW_CHARS);
};
