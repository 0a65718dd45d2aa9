import { DASHES } from "../lib/chart/color";
import type { Pen } from "../lib/jobs/compare";

/** A piece of a curve's line beside its name. */
export function Swatch({ pen }: { pen: Pen }) {
  return (
    <svg class="swatch" viewBox="0 0 24 8" aria-hidden="true">
      <line x1="0" y1="4" x2="24" y2="4" style={{ stroke: `var(--series-${pen.color})` }} stroke-dasharray={DASHES[pen.dash % DASHES.length]?.join(" ")} />
    </svg>
  );
}
