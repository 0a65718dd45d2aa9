// A curve of few points as an SVG path.

const MARGIN = 4;

/** The path that fills a box of this size; a lone point becomes a dash that is seen. */
export function curvePath(points: readonly { x: number; y: number }[], width: number, height: number): string {
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const first = sorted[0];
  const last = sorted[sorted.length - 1];
  if (!first || !last) return "";
  const low = sorted.reduce((min, one) => Math.min(min, one.y), Infinity);
  const high = sorted.reduce((max, one) => Math.max(max, one.y), -Infinity);
  const place = (value: number, from: number, to: number, size: number): number =>
    MARGIN + (to > from ? (value - from) / (to - from) : 0.5) * (size - 2 * MARGIN);
  const at = ({ x, y }: { x: number; y: number }): string =>
    `${place(x, first.x, last.x, width).toFixed(1)} ${(height - place(y, low, high, height)).toFixed(1)}`;
  if (first.x === last.x) return `M${at(first)}h3`;
  return `M${sorted.map(at).join("L")}`;
}
