import type { Signal } from "@preact/signals";
import { t } from "../../../i18n/i18n";
import { formatExact } from "../../../lib/text/format";
import { toNumber } from "../../../lib/text/number";
import type { XMap } from "../../../lib/chart/xmap";
import type { Plot } from "../../../plot/plot";
import type { ChosenPoint } from "../../../state/chart/chosenpoint";

interface Props {
  points: readonly ChosenPoint[];
  map: XMap;
  plot: { current: Plot | null };
  /** Changes with the plot's scales. */
  scales: Signal<number>;
}

/** Rings around the points that the line chosen in the log gave: where they are, however coarse the curve is drawn. */
export function ChosenMark({ points, map, plot, scales }: Props) {
  void scales.value;
  const current = plot.current;
  if (!current) return null;
  return (
    <div class="chosenmarks" style={{ left: `${current.plotLeft}px` }}>
      {points.map((point) => {
        const place = current.place(map.fromServer(map.axis === "step" ? point.step : point.ts_ms));
        if (!place.inside) return null;
        const top = current.placeY(toNumber(point.value));
        const title = t("line {n} of {stream}: {value} at step {step}", { n: point.line, stream: point.stream, value: formatExact(point.value), step: point.step });
        return <i key={`${point.line} ${point.step}`} role="img" aria-label={title} title={title} style={{ left: `${place.left}px`, top: `${top}px` }} />;
      })}
    </div>
  );
}
