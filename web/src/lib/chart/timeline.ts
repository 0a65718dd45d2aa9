// A job's life on one axis of time: its states, and what happened in them.
import type { JobDoc, Incident, Severity } from "../../api/types";
import type { JobEvent, MarkKind } from "./marks";

export interface Segment {
  status: string;
  attempt: number;
  fromMs: number;
  toMs: number;
  message: string;
  /** It still lasts. */
  isOpen: boolean;
  /** So many states that are too short to be drawn one by one. */
  folded: number;
}

const isOver = (doc: JobDoc): boolean => doc.TrainingJobStatus !== "InProgress" && doc.TrainingJobStatus !== "Stopping";

/** A browser whose clock is behind the server's must not end a job before its last line. */
function endOf(doc: JobDoc, nowMs: number): number {
  const ended = doc.TrainingEndTime ?? (isOver(doc) ? doc.LastModifiedTime : undefined);
  if (ended !== undefined) return Math.max(ended * 1000, isOver(doc) ? 0 : nowMs);
  return Math.max(nowMs, doc.last_heard_ms ?? 0, doc.last_line_ms ?? 0);
}

function attemptAt(doc: JobDoc, ms: number): number {
  const started = (doc.attempt_list ?? []).filter((one) => one.start_ms <= ms + 1);
  return Math.max(1, ...started.map((one) => one.attempt));
}

/** The states in their order; each ends where the next one begins. */
export function segmentsOf(doc: JobDoc, nowMs: number): Segment[] {
  const parts = (doc.SecondaryStatusTransitions ?? []).filter((one) => one.StartTime !== undefined);
  const end = endOf(doc, nowMs);
  return parts.map((part, i) => {
    const fromMs = (part.StartTime ?? 0) * 1000;
    const next = parts[i + 1]?.StartTime;
    const toMs = part.EndTime !== undefined ? part.EndTime * 1000 : next !== undefined ? next * 1000 : end;
    const isOpen = i === parts.length - 1 && part.EndTime === undefined && !isOver(doc);
    return { status: part.Status, attempt: attemptAt(doc, fromMs), fromMs, toMs: Math.max(fromMs, toMs), message: part.StatusMessage ?? "", isOpen, folded: 1 };
  });
}

/** States shorter than a share of the whole become one with their short neighbours: a job of a thousand restarts is still drawn. */
export function foldShort(segments: readonly Segment[], share: number): Segment[] {
  const [from, to] = spanOf(segments);
  const isShort = (one: Segment): boolean => one.toMs - one.fromMs < (to - from) * share;
  const folded: Segment[] = [];
  for (const one of segments) {
    const last = folded[folded.length - 1];
    const fits = last !== undefined && isShort(one) && (last.folded > 1 || isShort(last)) && last.attempt !== one.attempt;
    if (fits) Object.assign(last, { toMs: Math.max(last.toMs, one.toMs), folded: last.folded + 1, isOpen: one.isOpen });
    else folded.push({ ...one });
  }
  return folded;
}

const STEPS = 400;

/** The time that the axis ends at while a job runs: in steps, so that nothing moves under the pointer each second. */
export function calmNow(fromMs: number, nowMs: number): number {
  const step = Math.max(1000, (nowMs - fromMs) / STEPS);
  // A power of two, else the steps would grow with the job and all would move.
  const width = 1000 * 2 ** Math.ceil(Math.log2(step / 1000));
  return Math.ceil(nowMs / width) * width;
}

/** From the first moment to the last one; of no length at all there is none. */
export function spanOf(segments: readonly Segment[]): [number, number] {
  const from = segments.reduce((low, one) => Math.min(low, one.fromMs), Infinity);
  const to = segments.reduce((high, one) => Math.max(high, one.toMs), -Infinity);
  return from <= to ? [from, Math.max(to, from + 1)] : [0, 1];
}

export interface TimeMark {
  kind: MarkKind;
  ms: number;
  text: string;
  severity: Severity | null;
  incident: Incident | null;
  event: JobEvent | null;
}

export interface MarkGroup {
  /** Pixels from the left. */
  left: number;
  marks: TimeMark[];
  /** The one that speaks for the group. */
  lead: TimeMark;
}

const RANK: Record<MarkKind, number> = { incident: 3, node: 2, restart: 1, note: 1, checkpoint: 0 };
const SEVERITY_RANK: Record<Severity, number> = { info: 0, warning: 1, critical: 2 };
const weight = (mark: TimeMark): number => (mark.severity === null ? RANK[mark.kind] / 2 : 2 + SEVERITY_RANK[mark.severity]);

/** Marks nearer to each other than `gap` pixels become one, at the place of the gravest. */
export function groupMarks(marks: readonly TimeMark[], [from, to]: readonly [number, number], width: number, gap: number): MarkGroup[] {
  const placed = marks
    .map((mark) => ({ mark, left: ((mark.ms - from) / (to - from)) * width }))
    .filter(({ left }) => left >= 0 && left <= width)
    .sort((a, b) => a.left - b.left);
  const groups: MarkGroup[] = [];
  let begin = -Infinity;
  for (const { mark, left } of placed) {
    const last = groups[groups.length - 1];
    if (!last || left - begin >= gap) {
      groups.push({ left, marks: [mark], lead: mark });
      begin = left;
      continue;
    }
    last.marks.push(mark);
    if (weight(mark) > weight(last.lead)) Object.assign(last, { lead: mark, left });
  }
  return groups;
}
