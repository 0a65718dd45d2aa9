// From when on a report tells: since this browser's reader marked the last one as read, or so many hours.
import { signal } from "@preact/signals";

const KEY = "smfleet.report.read";
const HOUR_MS = 3_600_000;
/** Where nobody has marked one yet. */
export const USUAL_HOURS = 12;
/** Ten years. */
export const MOST_HOURS = 87_600;

function stored(): number | null {
  try {
    const value = Number(localStorage.getItem(KEY));
    return value > 0 ? value : null;
  } catch {
    return null; // Storage may be off: a report is then of hours
  }
}

export const readMs = signal<number | null>(stored());

/** All up to there has been read: an older report that is looked at once more takes nothing back. */
export function markRead(upToMs: number): void {
  const ms = Math.max(upToMs, readMs.value ?? 0);
  readMs.value = ms;
  try {
    localStorage.setItem(KEY, String(ms));
  } catch {
    // The mark then lasts as long as the page.
  }
}

export interface ReportSpan {
  from_ms: number;
  /** None: until now. */
  to_ms?: number | undefined;
}

const moment = (text: string | undefined): number | undefined => (text && /^\d{1,15}$/.test(text) && Number(text) > 0 ? Number(text) : undefined);

/** The time that an address states by both its ends, as that of a message does; it wins over hours. */
export function statedSpan({ from_ms, to_ms }: Record<string, string | undefined>): ReportSpan | null {
  const from = moment(from_ms);
  const to = moment(to_ms);
  return from !== undefined && to !== undefined && from <= to ? { from_ms: from, to_ms: to } : null;
}

/** The hours that an address states; null: it states none, or what is no such number. */
export function statedHours(text: string | undefined): number | null {
  const hours = /^\d{1,5}(\.\d{1,3})?$/.test(text ?? "") ? Number(text) : 0;
  return hours > 0 && hours <= MOST_HOURS ? hours : null;
}

/** As the address says; else from behind what was marked as read, whose last millisecond is in the report before. */
export function reportSpan(address: Record<string, string | undefined>, read: number | null, nowMs: number): ReportSpan {
  const hours = statedHours(address["hours"]);
  return statedSpan(address) ?? { from_ms: hours !== null ? nowMs - hours * HOUR_MS : read !== null ? read + 1 : nowMs - USUAL_HOURS * HOUR_MS };
}
