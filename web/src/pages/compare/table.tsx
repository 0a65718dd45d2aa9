import type { Signal } from "@preact/signals";
import type { JobRow } from "../../api/types";
import { nearestBucket } from "../../lib/chart/buckets";
import { joinNames, metricFor, type Pen } from "../../lib/jobs/compare";
import { t } from "../../i18n/i18n";
import { cutMiddle, formatCount, formatValue, NONE } from "../../lib/text/format";
import { instancesOf } from "../../lib/jobs/instances";
import { toNumber } from "../../lib/text/number";
import { jobHref, type ChartState } from "../../lib/url/url";
import { formatX } from "../../plot/axes";
import type { CompareStore } from "../../state/chart/compare";
import { patchQuery } from "../../state/core/router";
import { Swatch } from "../../ui/swatch";
import { Status } from "../../ui/status";
import { bestOf } from "../../lib/jobs/lead";
import "../../styles/table";

interface Props {
  store: CompareStore;
  rows: JobRow[];
  pens: ReadonlyMap<string, Pen>;
  /** Jobs whose curves are not drawn. */
  hidden: ReadonlySet<string>;
  metric: string;
  state: ChartState;
  cursor: Signal<number | null>;
  chosen: Signal<string | null>;
}

function valueAt(store: CompareStore, job: string, x: number | null): number | null {
  const buckets = store.curves.value?.find((curve) => curve.job === job)?.buckets;
  const at = buckets?.x.length ? nearestBucket(buckets.x, x ?? Infinity) : -1;
  const first = buckets?.x[0] ?? 0;
  const last = buckets?.x[buckets.x.length - 1] ?? 0;
  if (!buckets || at < 0 || (x !== null && (x < first || x > last))) return null;
  return buckets.mean[at] ?? null;
}

export function CompareTable({ store, rows, pens, hidden, metric, state, cursor, chosen }: Props) {
  const names = rows.map((row) => row.TrainingJobName);
  const draw = (off: readonly string[]): void => patchQuery({ off: joinNames(off) || undefined }, true);
  const toggle = (name: string): void => draw(hidden.has(name) ? [...hidden].filter((one) => one !== name) : [...hidden, name]);
  // Alone, or, where it is alone already, with all others again.
  const solo = (name: string): void => draw(hidden.size === names.length - 1 && !hidden.has(name) ? [] : names.filter((one) => one !== name));
  const x = cursor.value;
  return (
    <table class="jobs compared" onMouseLeave={() => (chosen.value = null)}>
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">{t("curve")}</span>
          </th>
          <th scope="col" class="name">
            {t("name")}
          </th>
          <th scope="col">{t("state")}</th>
          <th scope="col" class="num at">
            {x === null ? t("last") : formatX(state.axis, Math.round(x))}
          </th>
          <th scope="col" class="num">
            {t("best")}
          </th>
          <th scope="col" class="num">
            {t("step")}
          </th>
          <th scope="col">{t("metric")}</th>
          <th scope="col">{t("type")}</th>
          <th scope="col">
            <span class="hidden">{t("leave out")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const name = row.TrainingJobName;
          const own = metricFor(row, metric);
          return (
            <tr key={name} class={`${chosen.value === name ? "chosen" : ""} ${hidden.has(name) ? "off" : ""}`} onMouseEnter={() => (chosen.value = name)} onFocusCapture={() => (chosen.value = name)}>
              <td>
                <button
                  type="button"
                  class="quiet curve"
                  aria-pressed={!hidden.has(name)}
                  aria-label={t("Draw the curve of {name}", { name })}
                  title={t("Click: show or hide. Shift or double click: this one alone")}
                  onClick={(event) => (event.shiftKey ? solo(name) : event.detail < 2 && toggle(name))}
                  onDblClick={() => solo(name)}
                >
                  <Swatch pen={pens.get(name) ?? { color: 0, dash: 0 }} />
                </button>
              </td>
              <td class="name">
                <a href={jobHref(name)} title={name}>
                  {cutMiddle(name, 56)}
                </a>
              </td>
              <td>
                <Status row={row} />
              </td>
              <td class={`num at ${x === null && !Number.isFinite(toNumber(own?.last ?? 0)) ? "bad" : ""}`}>{formatValue(x === null ? own?.last : valueAt(store, name, x))}</td>
              <td class="num">{formatValue(own && bestOf(own))}</td>
              <td class="num">{formatCount(own?.last_step)}</td>
              <td class="mono">{own?.metric ?? NONE}</td>
              <td class="mono">
                {instancesOf(row) ?? NONE}
              </td>
              <td>
                <button
                  type="button"
                  class="quiet"
                  aria-label={t("Leave {name} out", { name })}
                  title={t("Leave out")}
                  onClick={() => patchQuery({ jobs: joinNames(names.filter((other) => other !== name)) })}
                >
                  ✕
                </button>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
