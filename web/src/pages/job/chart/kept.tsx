import { t, tn } from "../../../i18n/i18n";
import type { Metric } from "../../../lib/jobs/metrics";
import { formatCount, formatExact, formatValue } from "../../../lib/text/format";
import type { ChartState } from "../../../lib/url/url";
import type { ChartStore } from "../../../state/chart/chart";

/** How much is drawn of how much there is, and what has no place on a logarithmic axis. */
export function Kept({ chart, state, current }: { chart: ChartStore; state: ChartState; current?: () => Metric }) {
  void chart.version.value;
  const metric = current?.();
  const { x, max, total } = chart.buckets;
  if (!chart.isLoaded.value) return <p class="kept">&nbsp;</p>;
  const counts = { shown: formatCount(x.length), total: formatCount(total) };
  const off = (state.logScale ? max : []).filter((value) => value !== null && value <= 0).length + (state.logX ? x.filter((at) => at <= 0).length : 0);
  const low = least(chart.buckets.min);
  const high = most(max);
  return (
    <>
      {metric && low !== null && high !== null && (
        <p class="range" title={t("In view: lowest {min}, highest {max}; the last value is {last}", { min: formatExact(low), max: formatExact(high), last: formatExact(metric.last) })}>
          {t("min {min} · max {max} · last {last}", { min: formatValue(low), max: formatValue(high), last: formatValue(metric.last) })}
        </p>
      )}
      <p class="kept" title={t("Each bucket keeps its lowest and highest value: a spike never disappears. Drag to see finer.")}>
        {off > 0 && <b>{t("{n} not above 0, no place on a log axis", { n: formatCount(off) })} · </b>}
        {total > x.length ? t("{shown} of {total} points, nothing hidden", counts) : tn(total, "{n} point", "{n} points", { n: counts.total })}
      </p>
    </>
  );
}

const known = (values: readonly (number | null)[]): number[] => values.filter((value) => value !== null);
const least = (values: readonly (number | null)[]): number | null => known(values).reduce<number | null>((low, value) => (low === null || value < low ? value : low), null);
const most = (values: readonly (number | null)[]): number | null => known(values).reduce<number | null>((high, value) => (high === null || value > high ? value : high), null);
