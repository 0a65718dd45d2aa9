import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { formatCount, formatValue } from "../../../lib/text/format";
import type { Num } from "../../../api/types";
import type { Metric } from "../../../lib/jobs/metrics";
import type { ChartState } from "../../../lib/url/url";
import { formatX } from "../../../plot/axes";
import type { ChartStore } from "../../../state/chart/chart";
import { every } from "../../../lib/flow/poll";

const SUMMARY_MS = 10_000;

interface Props {
  chart: ChartStore;
  label: string;
  state: ChartState;
  current(): Metric | undefined;
}

/** What the curve says, in words, for those who do not see it; renewed calmly. */
export function Summary({ chart, label, state, current }: Props) {
  const text = useSignal("");
  const isLoaded = chart.isLoaded.value;
  useEffect(() => {
    const tell = (): void => {
      text.value = summarise(chart, label, state, current());
    };
    tell();
    return every(SUMMARY_MS, tell);
  }, [chart, label, state.axis, state.to, state.stream, isLoaded, text]);
  return <p class="hidden">{text}</p>;
}

/** The last value as it stands beside the curve; where that is out of view, or of another stream, the last bucket's. */
function lastOf({ map, buckets }: ChartStore, { to, stream }: ChartState, metric: Metric | undefined): { x: number | undefined; value: Num | null | undefined } {
  const at = metric && map?.fromServer((map.axis === "step" ? metric.lastStep : metric.lastMs) ?? NaN);
  const x = buckets.x[buckets.x.length - 1];
  const isShown = at !== undefined && x !== undefined && at >= x && (to === null || at <= to) && (stream === null || stream === metric?.lastStream);
  return isShown ? { x: at, value: metric?.last } : { x, value: buckets.last[buckets.last.length - 1] };
}

function summarise(chart: ChartStore, label: string, state: ChartState, metric: Metric | undefined): string {
  const { min, max, total, nonFinite } = chart.buckets;
  const { x: lastX, value } = lastOf(chart, state, metric);
  if (lastX === undefined) return t("{name}: no points", { name: label });
  const lowest = min.reduce<number>((a, b) => Math.min(a, b ?? Infinity), Infinity);
  const highest = max.reduce<number>((a, b) => Math.max(a, b ?? -Infinity), -Infinity);
  const bad = nonFinite.filter((bits) => bits !== 0).length;
  const parts = [t("{name}: {count} points up to {x}", { name: label, count: formatCount(total), x: formatX(state.axis, lastX) })];
  if (lowest <= highest) {
    const last = formatValue(value);
    parts.push(t("last {last}, lowest {lowest}, highest {highest}", { last, lowest: formatValue(lowest), highest: formatValue(highest) }));
  }
  if (bad > 0) parts.push(t("{n} places with values that are not finite", { n: formatCount(bad) }));
  return parts.join("; ");
}
