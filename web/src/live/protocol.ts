// What the page and the worker that holds the connection say to each other.
import type { BackfillEvent, Incident, JobRow, LinesEvent, PointsEvent } from "../api/types";

export type Kind = "points" | "lines" | "job" | "incident" | "backfill";

export interface Want {
  /** null: every job (then no lines). */
  jobs: string[] | null;
  kinds: Kind[];
  /** The sequence of what the page has loaded. */
  after: string | null;
}

export type ToHub =
  | { type: "want"; want: Want | null }
  | { type: "visible"; visible: boolean }
  | { type: "retry" }
  | { type: "bye" };

export type LiveState = "live" | "connecting" | "offline";

export type LiveEvent =
  | { kind: "points"; id: string; data: PointsEvent }
  | { kind: "lines"; id: string; data: LinesEvent }
  | { kind: "job"; id: string; data: JobRow }
  | { kind: "incident"; id: string; data: Incident }
  | { kind: "backfill"; id: string; data: BackfillEvent }
  | { kind: "resync"; id: string };

export type FromHub = { type: "event"; event: LiveEvent } | { type: "state"; state: LiveState };

export const KINDS: readonly Kind[] = ["points", "lines", "job", "incident", "backfill"];

/** Pages say that they are visible this often; one that stops has gone without a word. */
export const PING_MS = 15_000;
export const SILENT_MS = 60_000;
/** How long the connection outlives the last visible page. */
export const LINGER_MS = 30_000;

/** Reads one server-sent event; null when it is not one of ours. */
export function decodeEvent(type: string, id: string, text: string): LiveEvent | null {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof data !== "object" || data === null) return null;
  if (type === "resync") {
    const seq = (data as { seq?: unknown }).seq;
    return { kind: "resync", id: typeof seq === "string" || typeof seq === "number" ? String(seq) : id };
  }
  if (!KINDS.includes(type as Kind)) return null;
  return { kind: type as Kind, id, data } as LiveEvent;
}

/** The job an event is about, or null for one that concerns them all. */
export function jobOf(event: LiveEvent): string | null {
  if (event.kind === "resync") return null;
  if (event.kind === "job") return event.data.TrainingJobName;
  return event.data.job;
}

export function isWanted(want: Want, event: LiveEvent): boolean {
  if (event.kind === "resync") return true;
  const job = jobOf(event);
  return want.kinds.includes(event.kind) && (want.jobs === null || (job !== null && want.jobs.includes(job)));
}
