import type { StreamLine } from "../api/types";

/** New lines put into a list by time, each once: behind all that is not newer, a stream's own lines in their order. */
export function mergeTail(lines: readonly StreamLine[], fresh: readonly StreamLine[]): StreamLine[] {
  const newest = new Map<string, number>();
  for (const line of lines) newest.set(line.stream, Math.max(line.n, newest.get(line.stream) ?? -1));
  const added = fresh.filter((line) => line.n > (newest.get(line.stream) ?? -1));
  if (added.length === 0) return [...lines];
  const firstMs = Math.min(...added.map((line) => line.ts_ms));
  let from = lines.length;
  while (from > 0 && (lines[from - 1]?.ts_ms ?? 0) > firstMs) from--;
  const tail = [...lines.slice(from), ...added].sort((a, b) => a.ts_ms - b.ts_ms);
  return [...lines.slice(0, from), ...tail];
}
