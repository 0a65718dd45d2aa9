// What one types to get somewhere in a log: a line's number or a time.

export type Target = { line: number } | { ms: number };

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?$/;
const AGO = /^-\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d)$/;
const DAY = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{1,2}:\d{2}.*)?$/;
const UNIT_MS: Record<string, number> = { s: 1e3, m: 6e4, min: 6e4, h: 3.6e6, d: 8.64e7 };

/**
 * "40,112" is a line; "14:03" and "14:03:20" the last such time at or before `endMs`, "2026-11-21 14:03" a time, "-10m"
 * ten minutes before `endMs` (the log's last line). Times are local, or UTC when the page shows UTC or the text ends in Z.
 */
export function parseTarget(text: string, endMs: number, isUtc: boolean): Target | null {
  const clean = text.trim();
  const digits = clean.replaceAll(",", "");
  if (/^\d+$/.test(digits)) return { line: Number(digits) };
  const ago = AGO.exec(clean);
  if (ago) return { ms: Math.round(endMs - Number(ago[1]) * (UNIT_MS[ago[2] ?? "s"] ?? 0)) };
  const clock = CLOCK.exec(clean);
  if (clock) return clockBefore(clock.slice(1).map((part) => Number((part ?? "0"))), endMs, isUtc);
  return DAY.test(clean) ? day(clean, isUtc) : null;
}

function clockBefore(parts: number[], endMs: number, isUtc: boolean): Target | null {
  const [hours = 0, minutes = 0, seconds = 0] = parts;
  if (hours > 23 || minutes > 59 || seconds > 59) return null;
  const time = new Date(endMs);
  if (isUtc) time.setUTCHours(hours, minutes, seconds, 0);
  else time.setHours(hours, minutes, seconds, 0);
  if (time.getTime() > endMs) time.setDate(time.getDate() - 1);
  return { ms: time.getTime() };
}

function day(text: string, isUtc: boolean): Target | null {
  const [date = "", clock = "00:00"] = text.split(/[ T]/, 2);
  const hasZone = /(Z|[+-]\d{2}:?\d{2})$/.test(clock);
  const ms = Date.parse(`${date}T${clock.replace(/^(?=\d:)/, "0")}${isUtc && !hasZone ? "Z" : ""}`);
  return Number.isFinite(ms) ? { ms } : null;
}
