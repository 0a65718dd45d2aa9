// How far this machine's clock is from the server's.

// A clock that is a little off is left alone: the header counts whole seconds, and a reply is on its way for a while.
const TOLERANCE_MS = 3000;

let skewMs = 0;

/** The server's time, which ages are reckoned by. */
export const serverNow = (): number => Date.now() + skewMs;

/** From the Date of a reply that was asked for at `askedMs` and came at `cameMs`. */
export function noteServerTime(header: string | null, askedMs: number, cameMs: number): void {
  const offMs = Date.parse(header ?? "") + 500 - (askedMs + cameMs) / 2;
  if (!Number.isFinite(offMs)) return;
  // Once it is known to be off, by how much changes only when a clock is set anew.
  if (Math.abs(offMs) <= TOLERANCE_MS) skewMs = 0;
  else if (Math.abs(offMs - skewMs) > TOLERANCE_MS) skewMs = offMs;
}
