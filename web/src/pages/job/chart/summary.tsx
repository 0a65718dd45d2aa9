import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { formatCount, formatValue } from "../../../lib/text/format";
import type { Axis } from "../../../lib/url/url";
import { formatX } from "../../../plot/axes";
import type { ChartStore } from "../../../state/chart/chart";
import { every } from "../../../lib/flow/poll";

const SUMMARY_MS = 10_000;

/** What the curve says, in words, for those who do not see it; renewed calmly. */
export function Summary({ chart, label, axis }: { chart: ChartStore; label: string; axis: Axis }) {
  const text = useSignal("");
  const isLoaded = chart.isLoaded.value;
  useEffect(() => {
    const tell = (): void => {
      text.value = summarise(chart, label, axis);
    };
    tell();
    return every(SUMMARY_MS, tell);
  }, [chart, label, axis, isLoaded, text]);
  return <p class="hidden">{text}</p>;
}

function summarise(chart: ChartStore, label: string, axis: Axis): string {
  const { x, min, max, mean, total, nonFinite } = chart.buckets;
  const lastX = x[x.length - 1];
  if (lastX === undefined) return t("{name}: no points", { name: label });
  const lowest = min.reduce<number>((a, b) => Math.min(a, b ?? Infinity), Infinity);
  const highest = max.reduce<number>((a, b) => Math.max(a, b ?? -Infinity), -Infinity);
  const bad = nonFinite.filter((bits) => bits !== 0).length;
  const parts = [t("{name}: {count} points up to {x}", { name: label, count: formatCount(total), x: formatX(axis, lastX) })];
  if (lowest <= highest) {
    const last = formatValue(mean[mean.length - 1] ?? null);
    parts.push(t("last {last}, lowest {lowest}, highest {highest}", { last, lowest: formatValue(lowest), highest: formatValue(highest) }));
  }
  if (bad > 0) parts.push(t("{n} places with values that are not finite", { n: formatCount(bad) }));
  return parts.join("; ");
}
