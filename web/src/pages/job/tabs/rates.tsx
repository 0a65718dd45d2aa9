import type { Schedule } from "../../../api/training";
import { t } from "../../../i18n/i18n";
import { formatCount } from "../../../lib/text/format";
import { rateText } from "../../../lib/text/rate";

const WIDTH = 640, HEIGHT = 140, LEFT = 66, BOTTOM = 18, TOP = 6;

type Row = Schedule["observed"][number];

/** The declared rate dashed, the one of the log upon it. Both from 0 on, so that a tenth looks like a tenth. */
export function Rates({ rows }: { rows: readonly Row[] }) {
  const first = rows[0]?.step ?? 0;
  const last = rows[rows.length - 1]?.step ?? 0;
  const most = rows.reduce((so, one) => Math.max(so, one.observed, one.declared ?? 0), 0);
  const x = (step: number): number => LEFT + (last > first ? (step - first) / (last - first) : 0) * (WIDTH - LEFT - 6);
  const y = (rate: number): number => TOP + (most > 0 ? 1 - rate / most : 1) * (HEIGHT - TOP - BOTTOM);
  const line = (rateOf: (row: Row) => number | null): string =>
    rows
      .flatMap((row) => {
        const rate = rateOf(row);
        return rate === null ? [] : [`${x(row.step).toFixed(1)} ${y(rate).toFixed(1)}`];
      })
      .map((place, i) => `${i ? "L" : "M"}${place}`)
      .join("");
  return (
    <figure class="rates">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t("Learning rate by step: the declared one, and the one of the log")}>
        <path class="axis" d={`M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH}`} />
        <path class="declared" d={line((row) => row.declared)} />
        <path class="observed" d={line((row) => row.observed)} />
        <text x={LEFT - 6} y={TOP + 8} text-anchor="end">{rateText(most)}</text>
        <text x={LEFT - 6} y={HEIGHT - BOTTOM} text-anchor="end">0</text>
        <text x={LEFT} y={HEIGHT - 4}>{formatCount(first)}</text>
        <text x={WIDTH} y={HEIGHT - 4} text-anchor="end">{formatCount(last)}</text>
      </svg>
      <figcaption class="dim">
        <i class="declared" aria-hidden="true" /> {t("declared")} <i class="observed" aria-hidden="true" /> {t("of the log")}
      </figcaption>
    </figure>
  );
}
