// Lines that an address names: #L120, #L120-L140.

export interface Lines {
  from: number;
  to: number;
}

const OPEN_LINES = 100;

const FORM = /^#L(\d{1,15})(?:-L?(\d{1,15}))?$/;

export function parseLines(hash: string): Lines | null {
  const found = FORM.exec(hash);
  if (!found) return null;
  const [a, b] = [Number(found[1]), Number(found[2] ?? found[1])];
  return { from: Math.min(a, b), to: Math.max(a, b) };
}

export const linesHash = ({ from, to }: Lines): string => (from === to ? `#L${from}` : `#L${from}-L${to}`);

/** What is loaded at first: the newest lines, or those around a line, as many before it as behind it. */
export const openingRange = (line: number | null): { from?: number; limit: number } =>
  line === null ? { limit: 2 * OPEN_LINES } : { from: Math.max(0, line - OPEN_LINES), limit: 2 * OPEN_LINES };

/** Where a range goes to when one clicks with Shift: the end that was clicked first stays. */
export function extendLines(anchor: number, line: number): Lines {
  return { from: Math.min(anchor, line), to: Math.max(anchor, line) };
}
