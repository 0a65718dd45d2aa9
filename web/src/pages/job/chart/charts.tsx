import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Incident } from "../../../api/types";
import { foldFamilies } from "../../../lib/jobs/families";
import type { Metric } from "../../../lib/jobs/metrics";
import { hiddenMarks, parseChartState } from "../../../lib/url/url";
import type { XMap } from "../../../lib/chart/xmap";
import type { JobStore } from "../../../state/job/job";
import { query } from "../../../state/core/router";
import { useXMap } from "../../../state/chart/xaxis";
import { later, lazy, nextFrame } from "../../../ui/lazy";
import { Skeleton } from "../../../ui/skeleton";
import { Chart } from "./chart";
import { Groups } from "./groups";
import { compareNatural } from "../../../lib/text/natural";

const FamilyChart = lazy(async () => (await later(() => import("./familychart"))).FamilyChart, 8);
const NoMetrics = lazy(async () => (await import("./nometrics")).NoMetrics, 0);
const ChartToolbar = lazy(async () => (await later(() => import("./toolbar"))).ChartToolbar, 0);

type Choose = (incident: Incident) => void;

/** Incidents of a metric stand on its chart; those of the whole job on the first. */
function incidentsOf(incidents: Incident[], metric: Metric, isFirst: boolean, known: ReadonlySet<string>): Incident[] {
  return incidents.filter((one) => {
    const isPlaced = one.metric !== undefined && known.has(one.metric);
    return isPlaced ? one.metric === metric.metric : isFirst;
  });
}

/** More charts than these have headings and a search. */
const FEW = 8;

export function Charts({ store, onChoose }: { store: JobStore; onChoose: Choose }) {
  const state = parseChartState(query.value);
  // Live points change what metrics are at, many times a second: only which there are changes the page.
  const key = useComputed(() => store.metrics.value?.map((one) => `${one.metric}\n${one.role}\n${one.streams.length}`).join("\n\n") ?? null).value;
  const every = useMemo(() => store.metrics.peek(), [key]);
  const metrics = useMemo(() => every && foldFamilies(every, every[0]), [every]);
  const full = query.value["chart"];
  const streams = useMemo(() => [...new Set(every?.flatMap((metric) => metric.streams))].sort(compareNatural), [key]);
  const map = useXMap(store, state.axis);
  const alone = every?.find((one) => one.metric === full) ?? metrics?.find((one) => one.metric === full);
  const draw = (shown: readonly Metric[], lead: Metric | undefined) => <Grid store={store} metrics={shown} lead={lead} map={map} onChoose={onChoose} />;
  return (
    <div class="charts">
      <div class="chartbar">
        <ChartToolbar state={state} streams={streams} attempts={store.doc.value?.attempts ?? 1} metrics={metrics ?? []} job={store.name} axes={store.axes.value} />
      </div>
      <div class={`plots ${alone ? "alone" : ""}`}>
        {!metrics && !store.problem.value && <Skeleton rows={8} />}
        {alone && draw([alone], alone)}
        {!alone && metrics && metrics.length <= FEW && draw(metrics, metrics[0])}
        {!alone && metrics && metrics.length > FEW && <Groups metrics={metrics} draw={draw} />}
        {!alone && metrics?.every((one) => !one.role.endsWith("loss")) && <NoMetrics store={store} />}
      </div>
    </div>
  );
}

/** Charts come and go by so many, a number that fills rows of two, three, four or six. */
const PIECE = 12;
const NARROWEST = 340;
const ROW = 168;
const NEAR = "600px";

interface GridProps {
  store: JobStore;
  metrics: readonly Metric[];
  lead: Metric | undefined;
  map: XMap | null;
  onChoose: Choose;
}

function Grid({ metrics, ...rest }: GridProps) {
  const pieces: (readonly Metric[])[] = [];
  const hasLead = metrics[0] !== undefined && metrics[0] === rest.lead;
  // The lead has a row of its own, so that the rows below it stay full.
  for (let i = 0; i < metrics.length; i += PIECE + Number(hasLead && i === 0)) pieces.push(metrics.slice(i, i + PIECE + Number(hasLead && i === 0)));
  return (
    <>
      {pieces.map((piece, i) => (
        <Piece key={piece[0]?.metric} {...rest} metrics={piece} isSeenAtOnce={i === 0 && hasLead} />
      ))}
    </>
  );
}

/** What is out of sight is not mounted and asks for nothing; its room stays. */
function Piece({ store, metrics, lead, map, onChoose, isSeenAtOnce }: GridProps & { isSeenAtOnce: boolean }) {
  const host = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(isSeenAtOnce);
  /** The lead is drawn first; of the others there is their room, and they ask for their points. */
  const [isTime, setTime] = useState(!isSeenAtOnce);
  const height = useRef(0);
  const state = parseChartState(query.value);
  const hidden = hiddenMarks(query.value);
  const incidents = hidden.has("incident") ? [] : (store.incidents.rows.value ?? []);
  const known = useMemo(() => new Set(store.metrics.peek()?.map((metric) => metric.metric)), [metrics]);

  useEffect(() => void (isTime || nextFrame().then(() => setTime(true))), []);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const isNear = entries[entries.length - 1]?.isIntersecting ?? false;
        if (!isNear) height.current = element.clientHeight;
        setSeen(isNear);
      },
      { rootMargin: NEAR },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const columns = Math.max(1, Math.floor((host.current?.clientWidth ?? 0) / NARROWEST));
  const room = height.current || Math.ceil(metrics.length / columns) * ROW;
  return (
    <div ref={host} class="plotgrid" style={isSeen ? undefined : { height: `${room}px` }}>
      {isSeen &&
        metrics.map((metric) => metric.family ? (
          isTime || metric === lead ? <FamilyChart key={metric.metric} store={store} metric={metric} state={state} map={map} /> : <figure key={`${metric.metric} room`} class="chart" />
        ) : (
          <Chart
            key={metric.metric}
            store={store}
            metric={metric}
            state={state}
            map={map}
            isLead={metric === lead}
            isBare={metric !== lead && !isTime}
            incidents={incidentsOf(incidents, metric, metric === lead, known)}
            onChoose={onChoose}
          />
        ))}
    </div>
  );
}
