import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Incident } from "../../api/types";
import { seriesIndex } from "../../lib/color";
import { formatCount } from "../../lib/format";
import type { Metric } from "../../lib/metrics";
import { nodesToDraw } from "../../lib/nodes";
import type { ChartState } from "../../lib/url";
import { ChartStore } from "../../state/chart";
import type { JobStore } from "../../state/job";
import { patchQuery } from "../../state/router";
import { lazy } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { PlotView } from "./plotview";
import { Readout } from "./readout";

const Nodes = lazy(async () => (await import("./nodes")).Nodes, 0);
const DerivedTag = lazy(async () => (await import("./nodes")).DerivedTag, 0);
const ChartTable = lazy(async () => (await import("./charttable")).ChartTable, 4);

interface Props {
  store: JobStore;
  metric: Metric;
  state: ChartState;
  isLead: boolean;
  incidents: Incident[];
  onChoose(incident: Incident): void;
}

/** Charts out of sight cost nothing: their points are asked for when they are scrolled to. */
function useSeen(host: { current: HTMLElement | null }, isSeenAtOnce: boolean): boolean {
  const [isSeen, setSeen] = useState(isSeenAtOnce);
  useEffect(() => {
    if (!host.current || isSeen) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true), {
      rootMargin: "200px",
    });
    observer.observe(host.current);
    return () => observer.disconnect();
  }, [host, isSeen]);
  return isSeen;
}

const AXIS_WIDTH = 78;
const FEWEST_BUCKETS = 50;
const MOST_BUCKETS = 10_000;

/** The plot's width in pixels, which is how many buckets are asked for; known before there is a plot. */
function useBuckets(host: { current: HTMLElement | null }): number {
  const [buckets, setBuckets] = useState(0);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const measure = (): void => {
      const pixels = Math.min(MOST_BUCKETS, Math.max(FEWEST_BUCKETS, element.clientWidth - AXIS_WIDTH));
      // A pane that is dragged a little does not need other buckets.
      setBuckets((now) => (Math.abs(pixels - now) > now * 0.2 ? pixels : now));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [host]);
  return buckets;
}

export function Chart({ store, metric, state, isLead, incidents, onChoose }: Props) {
  const name = metric.metric;
  const host = useRef<HTMLElement>(null);
  const isSeen = useSeen(host, isLead);
  const buckets = useBuckets(host);
  const [chart, setChart] = useState<ChartStore | null>(null);
  const hover = useSignal<number | null>(null);
  const isTable = useSignal(false);

  useEffect(() => {
    const next = new ChartStore(store.name, name);
    setChart(next);
    return () => next.stop();
  }, [store, name]);

  const { axis, from, to, stream, superseded } = state;
  // Relative time needs the job's first line, the other axes do not wait for it.
  const startMs = useComputed(() => (axis === "relative" ? store.startMs.value : 0)).value;
  const isFolded = stream === null && metric.streams.length > 1;
  const nodes = isFolded && state.byNode ? nodesToDraw(metric) : [];
  const nodesKey = JSON.stringify(nodes);
  useEffect(() => {
    if (!chart || !isSeen || buckets === 0 || (axis === "relative" && startMs === 0)) return;
    void chart.load({ axis, from, to, stream, superseded, nodes, buckets, startMs });
  }, [chart, isSeen, axis, from, to, stream, superseded, nodesKey, buckets, startMs]);

  const pick = (index: number): void => {
    const line = chart?.buckets.line[index] ?? null;
    if (line === null) return;
    const owner = chart?.buckets.lineStream[index] ?? stream ?? metric.streams[0];
    patchQuery({ stream: owner, line: String(line) });
  };

  return (
    <figure ref={host} class={`chart ${isLead ? "lead" : ""}`} aria-label={name}>
      <figcaption>
        <h2 title={name}>{name}</h2>
        {metric.derived && <DerivedTag derived={metric.derived} />}
        {chart && <Readout chart={chart} metric={metric} axis={axis} hover={hover} />}
        <button type="button" class="quiet" aria-pressed={isTable.value} onClick={() => (isTable.value = !isTable.value)}>
          table
        </button>
      </figcaption>
      {chart?.problem.value && <ProblemBox problem={chart.problem.value} onRetry={() => chart.retry()} />}
      {chart && isTable.value && <ChartTable chart={chart} axis={axis} onPick={pick} />}
      {chart?.isLoaded.value ? (
        <PlotView
          chart={chart}
          state={state}
          color={seriesIndex(isLead ? store.name : name)}
          label={name}
          isHidden={isTable.value}
          incidents={incidents}
          startMs={store.startMs.value}
          onHover={(index) => (hover.value = index)}
          onPick={pick}
          onChoose={onChoose}
        />
      ) : (
        <div class="plot" />
      )}
      <div class="underplot">
        {chart && isFolded && <Nodes metric={metric} drawn={nodes} />}
        {chart && <Kept chart={chart} />}
      </div>
    </figure>
  );
}

function Kept({ chart }: { chart: ChartStore }) {
  void chart.version.value;
  const { x, total } = chart.buckets;
  if (!chart.isLoaded.value) return <p class="kept">&nbsp;</p>;
  return (
    <p class="kept" title="Each pixel keeps its lowest and highest value: a spike never disappears. Drag to see finer.">
      {total > x.length ? `${formatCount(x.length)} of ${formatCount(total)} points, all kept` : `${formatCount(total)} points`}
    </p>
  );
}
