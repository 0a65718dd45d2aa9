import type { Signal } from "@preact/signals";
import type { JobRow } from "../../api/types";
import { nearestBucket } from "../../lib/buckets";
import { joinNames, metricFor, pens, type Pen } from "../../lib/compare";
import { cutMiddle, formatCount, formatValue, NONE, shortInstance } from "../../lib/format";
import { toNumber } from "../../lib/number";
import { jobHref, type ChartState } from "../../lib/url";
import { formatX } from "../../plot/axes";
import type { CompareStore } from "../../state/compare";
import { patchQuery } from "../../state/router";
import { Status } from "../../ui/status";
import { bestOf } from "../../lib/lead";
import "../../styles/table";

interface Props {
  store: CompareStore;
  rows: JobRow[];
  metric: string;
  state: ChartState;
  cursor: Signal<number | null>;
  chosen: Signal<string | null>;
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

function Swatch({ pen }: { pen: Pen }) {
  return (
    <svg class="swatch" viewBox="0 0 24 8" aria-hidden="true">
      <line x1="0" y1="4" x2="24" y2="4" style={{ stroke: `var(--series-${pen.color})` }} stroke-dasharray={DASHES[pen.dash % DASHES.length]} />
    </svg>
  );
}

function valueAt(store: CompareStore, job: string, x: number | null): number | null {
  const buckets = store.curves.value?.find((curve) => curve.job === job)?.buckets;
  const at = buckets?.x.length ? nearestBucket(buckets.x, x ?? Infinity) : -1;
  const first = buckets?.x[0] ?? 0;
  const last = buckets?.x[buckets.x.length - 1] ?? 0;
  if (!buckets || at < 0 || (x !== null && (x < first || x > last))) return null;
  return buckets.mean[at] ?? null;
}

export function CompareTable({ store, rows, metric, state, cursor, chosen }: Props) {
  const names = rows.map((row) => row.TrainingJobName);
  const pen = pens(names);
  const x = cursor.value;
  return (
    <table class="jobs compared" onMouseLeave={() => (chosen.value = null)}>
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">curve</span>
          </th>
          <th scope="col" class="name">
            name
          </th>
          <th scope="col">state</th>
          <th scope="col" class="num at">
            {x === null ? "last" : formatX(state.axis, Math.round(x))}
          </th>
          <th scope="col" class="num">
            best
          </th>
          <th scope="col" class="num">
            step
          </th>
          <th scope="col">metric</th>
          <th scope="col">type</th>
          <th scope="col">
            <span class="hidden">leave out</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => {
          const name = row.TrainingJobName;
          const own = metricFor(row, metric);
          return (
            <tr key={name} class={chosen.value === name ? "chosen" : ""} onMouseEnter={() => (chosen.value = name)} onFocusCapture={() => (chosen.value = name)}>
              <td>{pen[i] && <Swatch pen={pen[i]} />}</td>
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
                {row.ResourceConfig?.InstanceCount ? `${row.ResourceConfig.InstanceCount} × ` : ""}
                {shortInstance(row.ResourceConfig?.InstanceType)}
              </td>
              <td>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Leave ${name} out`}
                  title="Leave out"
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
