import { t, tn } from "../../../i18n/i18n";
import { formatCount } from "../../../lib/text/format";
import type { ChartState } from "../../../lib/url/url";
import type { ChartStore } from "../../../state/chart/chart";

/** How much is drawn of how much there is, and what has no place on a logarithmic axis. */
export function Kept({ chart, state }: { chart: ChartStore; state: ChartState }) {
  void chart.version.value;
  const { x, max, total } = chart.buckets;
  if (!chart.isLoaded.value) return <p class="kept">&nbsp;</p>;
  const counts = { shown: formatCount(x.length), total: formatCount(total) };
  const off = (state.logScale ? max : []).filter((value) => value !== null && value <= 0).length + (state.logX ? x.filter((at) => at <= 0).length : 0);
  return (
    <p class="kept" title={t("Each bucket keeps its lowest and highest value: a spike never disappears. Drag to see finer.")}>
      {off > 0 && <b>{t("{n} not above 0, no place on a log axis", { n: formatCount(off) })} · </b>}
      {total > x.length ? t("{shown} of {total} points, nothing hidden", counts) : tn(total, "{n} point", "{n} points", { n: counts.total })}
    </p>
  );
}
