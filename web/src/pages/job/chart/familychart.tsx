import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { nearestBucket } from "../../../lib/chart/buckets";
import { SERIES_COLORS } from "../../../lib/chart/color";
import type { XMap } from "../../../lib/chart/xmap";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { familyOf } from "../../../lib/jobs/families";
import type { Metric } from "../../../lib/jobs/metrics";
import { formatExact, formatValue } from "../../../lib/text/format";
import { lookOf, type ChartState } from "../../../lib/url/url";
import type { OverlayCurve } from "../../../plot/overlay";
import { formatX } from "../../../plot/axes";
import { useOverlay } from "../../../plot/useoverlay";
import { ChartStore, type ChartSpec } from "../../../state/chart/chart";
import { patchQuery, query } from "../../../state/core/router";
import { Store, useStore } from "../../../state/core/store";
import type { JobStore } from "../../../state/job/job";
import style from "../../../styles/family.css?inline";
import { ProblemBox } from "../../../ui/problem";
import { resetZoom, round } from "./plotview";

adoptStyle(style);

interface Props {
  store: JobStore;
  metric: Metric;
  state: ChartState;
  map: XMap | null;
}

/** A chart's points for each member. */
class FamilyStore extends Store {
  readonly charts: readonly ChartStore[];

  constructor(job: string, members: readonly Metric[]) {
    super();
    this.charts = members.map((one) => new ChartStore(job, one.metric));
    this.whenStopped(...this.charts);
  }

  load(spec: ChartSpec): void {
    for (const chart of this.charts) void chart.load(spec);
  }
}

const labelOf = (metric: Metric): string => familyOf(metric.metric)?.member ?? metric.metric;

/** Metrics of one family over each other, and a list with what each comes to and has under the cursor. */
export function FamilyChart({ store, metric, state: all, map }: Props) {
  const members = metric.family ?? [];
  const key = members.map((one) => one.metric).join("\n");
  const state = lookOf(all, query.value, metric.metric);
  const { axis, from, to, stream, superseded } = state;
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const family = useStore(() => new FamilyStore(store.name, members), [store, key]);
  const cursor = useSignal<number | null>(null);
  const chosen = useSignal<string | null>(null);
  const buckets = Math.max(50, Math.round(width / 100) * 100);

  useLayoutEffect(() => {
    if (family && map && width > 0) family.load({ map, from, to, stream, superseded, nodes: [], buckets });
  }, [family, map, from, to, stream, superseded, buckets, width > 0]);

  const version = family?.charts.map((chart) => (chart.isLoaded.value ? chart.version.value : -1)).join(" ");
  const curves = useMemo<OverlayCurve[] | null>(() => {
    if (!family?.charts.some((chart) => chart.isLoaded.peek())) return null;
    return family.charts.map((chart, i) => ({
      name: labelOf(members[i] ?? metric),
      metric: members[i]?.metric ?? "",
      unit: metric.unit,
      pen: { color: i % SERIES_COLORS, dash: Math.floor(i / SERIES_COLORS) },
      buckets: chart.buckets,
    }));
  }, [family, version]);
  const show = (name: string): void => {
    const one = members.find((member) => labelOf(member) === name);
    if (one) patchQuery({ chart: one.metric });
  };
  useOverlay(host, {
    look: state,
    curves,
    window: from !== null && to !== null ? [from, to] : null,
    chosen,
    onWidth: setWidth,
    events: {
      onHover: (x, name) => {
        cursor.value = x;
        chosen.value = name;
      },
      onPick: show,
      onZoom: (low, high) => patchQuery({ from: round(low, high - low), to: round(high, high - low) }),
      onReset: resetZoom,
    },
  });
  const problem = family?.charts.find((chart) => chart.problem.value);
  return (
    <div class="family" role="group" aria-label={metric.metric}>
      {problem?.problem.value && <ProblemBox problem={problem.problem.value} onRetry={() => family?.charts.forEach((chart) => chart.retry())} />}
      <figure class="chart" aria-label={metric.metric}>
        <figcaption>
          <h2 title={metric.metric}>{metric.metric}</h2>
        </figcaption>
        <div class="plot">
          <div ref={host} class="canvas" role="img" aria-label={t("{metric} of {n} curves; the table below has the values.", { metric: metric.metric, n: members.length })} />
        </div>
      </figure>
      <FamilyTable members={members} curves={curves ?? []} at={cursor.value} axis={axis} chosen={chosen.value} onShow={show} />
    </div>
  );
}

interface TableProps {
  members: readonly Metric[];
  curves: readonly OverlayCurve[];
  /** Where the cursor is. */
  at: number | null;
  axis: ChartState["axis"];
  chosen: string | null;
  onShow(name: string): void;
}

function FamilyTable({ members, curves, at, axis, chosen, onShow }: TableProps) {
  const xs = curves.find(({ buckets }) => buckets.x.length > 0)?.buckets.x ?? [];
  const nearest = at === null ? undefined : xs[nearestBucket(xs, at)];
  return (
    <div class="familylist">
      <table>
        <thead>
          <tr>
            <td />
            <th class="num">{t("min")}</th>
            <th class="num">{t("max")}</th>
            <th class="num">{nearest === undefined ? t("last") : formatX(axis, nearest)}</th>
          </tr>
        </thead>
        <tbody>
          {members.map((one, i) => {
            const { name, pen, buckets } = curves[i] ?? { name: labelOf(one), pen: { color: i % SERIES_COLORS, dash: 0 }, buckets: null };
            const value = at === null || !buckets ? one.last : buckets.mean[nearestBucket(buckets.x, at)];
            return (
              <tr key={one.metric} class={name === chosen ? "chosen" : ""}>
                <th scope="row">
                  <button type="button" class="quiet" title={t("{name} alone", { name: one.metric })} onClick={() => onShow(name)}>
                    <i class={`swatch ${pen.dash === 0 ? "" : "dashed"}`} style={{ "--hue": `var(--series-${pen.color})` }} aria-hidden="true" />
                    {name}
                  </button>
                </th>
                <td class="num" title={formatExact(one.min)}>{formatValue(one.min)}</td>
                <td class="num" title={formatExact(one.max)}>{formatValue(one.max)}</td>
                <td class="num now" title={formatExact(value)}>{formatValue(value)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
