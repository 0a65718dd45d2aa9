// Where a search matched within a line.

/** [start, end) in UTF-16 units. */
export type Range = readonly [start: number, end: number];

const ASCII = /^[\x00-\x7f]*$/;

const bytesOf = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

/** The server counts bytes of UTF-8, JavaScript units of UTF-16. Ranges are in order. */
export function rangesFromBytes(text: string, ranges: readonly Range[]): Range[] {
  if (ASCII.test(text)) return [...ranges];
  let byte = 0;
  let unit = 0;
  const unitAt = (wanted: number): number => {
    while (byte < wanted && unit < text.length) {
      const code = text.codePointAt(unit) ?? 0;
      byte += bytesOf(code);
      unit += code > 0xffff ? 2 : 1;
    }
    return unit;
  };
  return ranges.map(([start, end]) => [unitAt(start), unitAt(end)]);
}

/** Where a literal text stands; a regular expression of the server's kind is matched by the server alone. */
export function findLiteral(text: string, wanted: string, ignoresCase: boolean): Range[] {
  if (wanted === "") return [];
  const source = wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(source, ignoresCase ? "gi" : "g");
  return Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);
}

interface Part {
  text: string;
  isHit?: boolean;
}

/** Without most of what stands before the first hit, so that a narrow row shows it. */
export function trimToHit<T extends Part>(parts: readonly T[], before: number): T[] {
  const first = parts.findIndex((part) => part.isHit);
  const head = parts.slice(0, Math.max(0, first));
  let spare = head.reduce((sum, part) => sum + part.text.length, 0) - before;
  if (spare <= 1) return [...parts];
  const kept: T[] = [];
  for (const part of head) {
    const cut = Math.min(spare, part.text.length);
    spare -= cut;
    if (cut < part.text.length) kept.push({ ...part, text: (kept.length === 0 ? "…" : "") + part.text.slice(cut) });
  }
  return [...kept, ...parts.slice(first)];
}
