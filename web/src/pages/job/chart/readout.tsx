import type { Signal } from "@preact/signals";
import { t } from "../../../i18n/i18n";
import { formatCount, formatExact, formatValue } from "../../../lib/text/format";
import type { Metric } from "../../../lib/jobs/metrics";
import { nonFiniteText } from "../../../lib/chart/nonfinite";
import type { Axis } from "../../../lib/url/url";
import { formatX } from "../../../plot/axes";
import type { ChartStore } from "../../../state/chart/chart";

/** The value under the cursor, else the last one: always in the same place. */
interface Props {
  chart: ChartStore;
  current: () => Metric;
  axis: Axis;
  hover: Signal<number | null>;
}

export function Readout({ chart, current, axis, hover }: Props) {
  void chart.version.value;
  const metric = current();
  const index = hover.value;
  const text = index === null ? null : describeBucket(chart, axis, index);
  if (text) {
    return (
      <span class="readout" title={`${text.exact} · ${text.rest}`}>
        <b>{text.value}</b> {text.rest}
      </span>
    );
  }
  return (
    <span class="readout" title={formatExact(metric.last)}>
      <b>{formatValue(metric.last)}</b> {metric.unit}
    </span>
  );
}

/** Of the bucket that keys have come to. */
export function Spoken({ chart, axis, index }: { chart: ChartStore; axis: Axis; index: number }) {
  const text = describeBucket(chart, axis, index);
  return text && <>{`${text.value}, ${text.rest}`}</>;
}

interface BucketText {
  value: string;
  rest: string;
  exact: string;
}

function describeBucket(chart: ChartStore, axis: Axis, index: number): BucketText | null {
  const { x, min, max, mean, count, line, lineStream, nonFinite } = chart.buckets;
  const at = x[index];
  if (at === undefined) return null;
  const bad = nonFiniteText(nonFinite[index] ?? 0);
  const isMany = (count[index] ?? 1) > 1;
  const parts = [formatX(axis, at)];
  if (isMany && min[index] !== null) parts.push(`${formatValue(min[index])} … ${formatValue(max[index])}`);
  if (isMany) parts.push(t("{n} points", { n: formatCount(count[index]) }));
  if (bad && mean[index] !== null) parts.push(bad);
  const where = line[index];
  if (where !== null && where !== undefined) parts.push(`${lineStream[index] ? `${lineStream[index]} ` : ""}${t("line {n}", { n: formatCount(where) })}`);
  return {
    value: mean[index] === null ? bad || "–" : formatValue(mean[index]),
    rest: parts.join(" · "),
    exact: formatExact(mean[index]),
  };
}
