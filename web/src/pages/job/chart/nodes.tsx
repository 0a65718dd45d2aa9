import type { Signal } from "@preact/signals";
import type { Derived, Num } from "../../../api/types";
import { t, tx } from "../../../i18n/i18n";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { nearestBucket } from "../../../lib/chart/buckets";
import { SERIES_COLORS } from "../../../lib/chart/color";
import { formatCount, formatValue } from "../../../lib/text/format";
import type { Metric } from "../../../lib/jobs/metrics";
import { worstNode, type Worst } from "../../../lib/jobs/worst";
import type { ChartStore } from "../../../state/chart/chart";
import { patchQuery } from "../../../state/core/router";
import style from "../../../styles/nodes.css?inline";

adoptStyle(style);

/** Under a chart that many nodes feed: which does worst, and whose curve is whose. */
export function Nodes({ metric, drawn, chart, hover }: { metric: Metric; drawn: readonly string[]; chart: ChartStore; hover: Signal<number | null> }) {
  const x = hover.value === null ? undefined : chart.buckets.x[hover.value];
  const at = (stream: string): string => {
    const own = x === undefined ? undefined : chart.nodes.find((one) => one.stream === stream)?.buckets;
    const value = own && x !== undefined ? own.mean[nearestBucket(own.x, x)] : undefined;
    return value === undefined ? "" : ` ${formatValue(value)}`;
  };
  const worst = worstNode(metric);
  const said = worst && describe(worst, metric.unit);
  const show = (stream: string): void => patchQuery({ series: stream });
  return (
    <div class="nodeline">
      {worst && said && (
        <button type="button" class="quiet" title={t("{stream} does worst: {why}. Click to show it alone.", { stream: worst.stream, why: said.title })} onClick={() => show(worst.stream)}>
          {tx("worst {stream}", { stream: <b>{worst.stream}</b> })} {said.text}
        </button>
      )}
      {drawn.length > 0 && (
        <ul aria-label={t("Nodes")}>
          {drawn.map((stream, i) => (
            <li key={stream}>
              <button type="button" class="quiet" title={t("Show {stream} alone", { stream })} onClick={() => show(stream)}>
                <i class={`swatch ${i < SERIES_COLORS ? "" : "dashed"}`} style={{ "--hue": `var(--series-${i % SERIES_COLORS})` }} aria-hidden="true" />
                {stream}
                <b>{at(stream)}</b>
              </button>
            </li>
          ))}
          {drawn.length < metric.streams.length && (
            <li class="dim">
              {worst
                ? t("{n} of {all}, the worst", { n: drawn.length, all: metric.streams.length })
                : t("{n} of {all}", { n: drawn.length, all: metric.streams.length })}
            </li>
          )}
        </ul>
      )}
    </div>
  );
}

function percent(away: number): string {
  const size = Math.abs(away) * 100;
  return `${away > 0 ? "+" : "−"}${size >= 10 ? size.toFixed(0) : size.toFixed(1)} %`;
}

function describe({ mean, away }: Worst, unit: string): { text: string; title: string } {
  if (mean === undefined) return { text: t("no finite value"), title: t("it has no finite value") };
  const value = `${formatValue(mean)}${unit && ` ${unit}`}`;
  if (away === null) return { text: t("not finite"), title: t("its last value is not finite; its finite ones have the mean {value}", { value }) };
  return { text: `${value} ${percent(away)}`, title: t("its mean is {value}, {percent} against the mean of the others", { value, percent: percent(away) }) };
}

const inputText = (value: Num | undefined): string =>
  typeof value === "number" && Number.isInteger(value) ? formatCount(value) : formatValue(value);

/** No line printed this series: how it was made is said where it stands. */
export function DerivedTag({ derived }: { derived: Derived }) {
  const inputs = Object.entries(derived.inputs ?? {});
  const said = [t("Derived: {formula}", { formula: derived.formula }), ...inputs.map(([name, { value, from }]) => `${name} = ${inputText(value)}${from ? ` (${from})` : ""}`)];
  return (
    <span class="derived">
      <button type="button" class="quiet" aria-label={said.join("; ")} onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}>
        {t("derived")}
      </button>
      <span class="tip" aria-hidden="true">
        <code>{derived.formula}</code>
        {inputs.length > 0 && (
          <dl>
            {inputs.map(([name, { value, from }]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {inputText(value)} {from && <span class="dim">{from}</span>}
                </dd>
              </div>
            ))}
          </dl>
        )}
      </span>
    </span>
  );
}
