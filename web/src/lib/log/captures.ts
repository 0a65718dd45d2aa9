// What definitions captured on a line, as pieces of its text.
import type { Capture, TrialLine } from "../../api/types";
import { formatExact } from "../text/format";
import { rangesFromBytes, type Range } from "../text/matches";

export type PaintKind = "value" | "step" | "name";

export interface Paint {
  text: string;
  /** null: no definition captured this. */
  kind: PaintKind | null;
  /** Index of the definition as it was sent. */
  definition: number;
  title: string;
}

interface Claim {
  range: Range;
  kind: PaintKind;
  capture: Capture;
}

/** A value wins over a step, a step over a name, an earlier definition over a later one. */
const KINDS: readonly PaintKind[] = ["value", "step", "name"];

/** The whole text in pieces, cut where captures begin and end. */
export function paintLine({ text, captures }: Pick<TrialLine, "text" | "captures">, names: readonly string[]): Paint[] {
  const claims = captures.flatMap(claimsOf).sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const units = unitsOf(text, claims);
  const cuts = [...new Set([0, text.length, ...units.flat()])].sort((a, b) => a - b);
  const pieces: Paint[] = [];
  for (let i = 1; i < cuts.length; i++) {
    const [from = 0, to = 0] = [cuts[i - 1], cuts[i]];
    const at = units.findIndex(([start, end]) => start <= from && to <= end);
    pieces.push(pieceOf(text.slice(from, to), claims[at], names));
  }
  return pieces;
}

function claimsOf(capture: Capture): Claim[] {
  const claims: Claim[] = [];
  const claim = (kind: PaintKind, start: number | undefined, end: number | undefined): void => {
    if (start !== undefined && end !== undefined && end > start) claims.push({ kind, capture, range: [start, end] });
  };
  claim("value", capture.start, capture.end);
  claim("step", capture.step_start, capture.step_end);
  claim("name", capture.name_start, capture.name_end);
  return claims;
}

/** Bytes to UTF-16 units, which want to be asked for in rising order. */
function unitsOf(text: string, claims: readonly Claim[]): Range[] {
  const bytes = [...new Set(claims.flatMap((claim) => claim.range))].sort((a, b) => a - b);
  const places = rangesFromBytes(text, bytes.map((byte) => [byte, byte] as const));
  const unit = new Map(bytes.map((byte, i) => [byte, places[i]?.[0] ?? 0]));
  return claims.map(({ range: [start, end] }) => [unit.get(start) ?? 0, unit.get(end) ?? 0]);
}

function pieceOf(text: string, claim: Claim | undefined, names: readonly string[]): Paint {
  if (!claim) return { text, kind: null, definition: -1, title: "" };
  const { capture, kind } = claim;
  const name = capture.metric || names[capture.definition] || `definition ${capture.definition + 1}`;
  return { text, kind, definition: capture.definition, title: titleOf(kind, name, capture) };
}

function titleOf(kind: PaintKind, name: string, capture: Capture): string {
  if (kind === "name") return `${name}: its name`;
  if (kind === "step") return `step ${capture.step ?? ""} of ${name}`;
  if (capture.value === undefined) return `${name}: this is no number`;
  const step = capture.step === undefined ? "" : ` at step ${capture.step}`;
  return `${name} = ${formatExact(capture.value)}${step}`;
}

export type Show = "all" | "matching" | "other";

export const parseShow = (text: string | undefined): Show => (text === "matching" || text === "other" ? text : "all");

/** The lines to show; with a definition chosen, matching means that it matched. */
export function chooseLines(lines: readonly TrialLine[], show: Show, chosen: number | null): TrialLine[] {
  if (show === "all") return [...lines];
  const isHit = (line: TrialLine): boolean =>
    line.captures.some((capture) => chosen === null || capture.definition === chosen);
  return lines.filter((line) => isHit(line) === (show === "matching"));
}

export interface PreviewPoint {
  x: number;
  y: number;
}

export interface PreviewCurve {
  points: PreviewPoint[];
  hasSteps: boolean;
  /** The series that is drawn, and how many there are: an expression may capture their names. */
  metric: string;
  series: number;
}

/** What a definition's points would look like over these lines: by step, else in the order of the lines. */
export function previewOf(lines: readonly TrialLine[], definition: number): PreviewCurve {
  const numeric = lines.flatMap((line) => line.captures.filter((one) => one.definition === definition && typeof one.value === "number"));
  const groups = new Map<string, Capture[]>();
  for (const one of numeric) groups.set(one.metric ?? "", [...(groups.get(one.metric ?? "") ?? []), one]);
  const [metric, most] = [...groups].reduce((best, group) => (group[1].length > best[1].length ? group : best), ["", [] as Capture[]]);
  const hasSteps = most.length > 0 && most.every((one) => one.step !== undefined);
  const points = most.map((one, i) => ({ x: hasSteps ? (one.step ?? 0) : i, y: one.value as number }));
  return { points, hasSteps, metric, series: groups.size };
}
