// From when on a report tells: since this browser's reader marked the last one as read, or so many hours.
import { signal } from "@preact/signals";

const KEY = "smfleet.report.read";
const HOUR_MS = 3_600_000;
/** Where nobody has marked one yet. */
export const USUAL_HOURS = 12;

function stored(): number | null {
  try {
    const value = Number(localStorage.getItem(KEY));
    return value > 0 ? value : null;
  } catch {
    return null; // Storage may be off: a report is then of hours
  }
}

export const readMs = signal<number | null>(stored());

/** All up to there has been read. */
export function markRead(ms: number): void {
  readMs.value = ms;
  try {
    localStorage.setItem(KEY, String(ms));
  } catch {
    // The mark then lasts as long as the page.
  }
}

/** hours: as the address says, or none. */
export const reportFrom = (hours: number, read: number | null, nowMs: number): number => (hours > 0 ? nowMs - hours * HOUR_MS : (read ?? nowMs - USUAL_HOURS * HOUR_MS));
