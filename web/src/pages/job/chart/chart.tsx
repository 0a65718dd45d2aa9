import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Incident } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { lineOf } from "../../../lib/chart/buckets";
import { seriesIndex } from "../../../lib/chart/color";
import type { Metric } from "../../../lib/jobs/metrics";
import { nodesToDraw } from "../../../lib/jobs/nodes";
import { hiddenMarks, lookOf, type ChartState } from "../../../lib/url/url";
import type { XMap } from "../../../lib/chart/xmap";
import { ChartStore } from "../../../state/chart/chart";
import type { JobStore } from "../../../state/job/job";
import { patchQuery, query } from "../../../state/core/router";
import { useStore } from "../../../state/core/store";
import { later, lazy, useAwaited } from "../../../ui/lazy";
import { ProblemBox } from "../../../ui/problem";
import { PlotView } from "./plotview";

const Nodes = lazy(async () => (await later(() => import("./nodes"))).Nodes, 0);
const DerivedTag = lazy(async () => (await later(() => import("./nodes"))).DerivedTag, 0);
const ChartTable = lazy(async () => (await import("./charttable")).ChartTable, 4);
const Kept = lazy(async () => (await later(() => import("./kept"))).Kept, 0);
const Readout = lazy(async () => (await later(() => import("./readout"))).Readout, 0);
const ChartMenu = lazy(async () => (await later(() => import("./chartmenu"))).ChartMenu, 0);

interface Props {
  store: JobStore;
  metric: Metric;
  /** Of all charts; what the address says of this one alone is added here. */
  state: ChartState;
  /** null: it is not known yet. */
  map: XMap | null;
  isLead: boolean;
  /** It asks for its points, and shows nothing yet. */
  isBare: boolean;
  incidents: Incident[];
  onChoose(incident: Incident): void;
}

const AXIS_WIDTH = 78;
const FEWEST_BUCKETS = 50;
const MOST_BUCKETS = 10_000;
const PIXELS_A_BUCKET = 1.5;

/** How many buckets are asked for, by the plot's width in device pixels; known before there is a plot. */
export function useBuckets(host: { current: HTMLElement | null }): number {
  const [buckets, setBuckets] = useState(0);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const measure = (): void => {
      const pixels = (element.clientWidth - AXIS_WIDTH) * window.devicePixelRatio;
      const wanted = Math.min(MOST_BUCKETS, Math.max(FEWEST_BUCKETS, Math.round(pixels / PIXELS_A_BUCKET)));
      // A pane that is dragged a little does not need other buckets.
      setBuckets((now) => (Math.abs(wanted - now) > now * 0.2 ? wanted : now));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [host]);
  return buckets;
}

export function Chart({ store, metric, state: all, map, isLead, isBare, incidents, onChoose }: Props) {
  const name = metric.metric;
  /** As live points have changed it. */
  const current = (): Metric => store.metrics.value?.find((one) => one.metric === name) ?? metric;
  const host = useRef<HTMLElement>(null);
  const buckets = useBuckets(host);
  const chart = useStore(() => new ChartStore(store.name, name), [store, name]);
  const hover = useSignal<number | null>(null);
  const isTable = useSignal(false);
  const state = lookOf(all, query.value, name);

  const { axis, from, to, stream, superseded } = state;
  const isFolded = stream === null && metric.streams.length > 1;
  const nodes = isFolded && state.byNode ? nodesToDraw(metric) : [];
  const nodesKey = JSON.stringify(nodes);
  useLayoutEffect(() => {
    if (!chart || !map || buckets === 0) return;
    void chart.load({ map, from, to, stream, superseded, nodes, buckets });
  }, [chart, map, from, to, stream, superseded, nodesKey, buckets]);

  const problem = chart?.problem.value;
  const hasDrawn = useAwaited(!!problem || isTable.value);

  const pick = (index: number, y: number | null = null): void => {
    const line = chart ? lineOf(chart.buckets, index, y, stream !== null || metric.streams.length === 1) : null;
    if (line === null) return;
    const owner = chart?.buckets.lineStream[index] ?? stream ?? metric.streams[0];
    patchQuery({ stream: owner, line: String(line) });
  };

  if (isBare) return <figure ref={host} class="chart" />;
  return (
    <figure ref={host} class={`chart ${isLead ? "lead" : ""}`} aria-label={name}>
      <figcaption>
        <h2 title={name}>{name}</h2>
        {metric.derived && <DerivedTag derived={metric.derived} />}
        {chart && <Readout chart={chart} current={current} axis={axis} hover={hover} />}
        <button type="button" class="quiet" aria-pressed={isTable.value} onClick={() => (isTable.value = !isTable.value)}>
          {t("table")}
        </button>
        {chart && <ChartMenu job={store.name} chart={chart} metric={name} state={state} all={all} host={host} hover={hover} onPick={pick} />}
      </figcaption>
      {chart && problem && <ProblemBox problem={problem} onRetry={() => chart.retry()} />}
      {chart && isTable.value && <ChartTable chart={chart} axis={axis} onPick={pick} />}
      {chart?.isLoaded.value && map ? (
        <PlotView
          chart={chart}
          state={state}
          map={map}
          color={seriesIndex(isLead ? store.name : name)}
          label={name}
          unit={metric.unit}
          current={current}
          isHidden={isTable.value}
          incidents={incidents}
          events={store.events.value}
          hidden={hiddenMarks(query.value)}
          onEvent={(event) => void import("../common/place").then((place) => place.showEvent(store, event))}
          onDrawn={hasDrawn}
          onHover={(index) => (hover.value = index)}
          onPick={pick}
          onChoose={onChoose}
        />
      ) : (
        <div class="plot" />
      )}
      <div class="underplot">
        {chart && isFolded && <Nodes metric={metric} drawn={nodes} chart={chart} hover={hover} />}
        {chart && <Kept chart={chart} state={state} current={current} />}
      </div>
    </figure>
  );
}
