// A time as an <input type="datetime-local"> has it: in the zone in which the page shows times.
import { isUtc } from "./format";

export function fieldTime(ms: number): string {
  const shiftMs = isUtc.value ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - shiftMs).toISOString().slice(0, 19);
}

/** NaN: it is none. */
export const timeOf = (text: string): number => Date.parse(isUtc.value ? `${text}Z` : text);
