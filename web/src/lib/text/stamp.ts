// When something was: as an age, and as the time of a line in a log.
import { localClock, NONE, pad, type TimeMode } from "./format";

/** One unit only, for columns: "3 d", "9 min", "2 s". */
export function formatAge(ageMs: number): string {
  if (!Number.isFinite(ageMs)) return NONE;
  const seconds = Math.max(0, Math.floor(ageMs / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** A line's time in a log: 14:03:09 here or in UTC, or what has passed since the job's first line: +1:02:03. */
export function formatStamp(ms: number, mode: TimeMode, startMs: number): string {
  if (mode === "local") return localClock(ms);
  if (mode === "hidden") return "";
  if (mode === "UTC") return new Date(ms).toISOString().slice(11, 19);
  const seconds = Math.round(Math.abs(ms - startMs) / 1000);
  const clock = `${Math.floor(seconds / 3600)}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
  return `${ms < startMs ? "−" : "+"}${clock}`;
}
