import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Incident } from "../../api/types";
import { t, tx } from "../../i18n/i18n";
import { FEW, groupCharts, groupTitle, searchMetrics } from "../../lib/groups";
import type { Metric } from "../../lib/metrics";
import { compareNatural } from "../../lib/metrics";
import { definitionsHref, parseChartState } from "../../lib/url";
import type { XMap } from "../../lib/xmap";
import type { JobStore } from "../../state/job";
import { patchQuery, query } from "../../state/router";
import { useXMap } from "../../state/xaxis";
import { lazy } from "../../ui/lazy";
import { Skeleton } from "../../ui/skeleton";
import { Chart } from "./chart";

const ChartToolbar = lazy(async () => (await import("./toolbar")).ChartToolbar, 0);

type Choose = (incident: Incident) => void;

/** Incidents of a metric stand on its chart; those of the whole job on the first. */
function incidentsOf(incidents: Incident[], metric: Metric, isFirst: boolean, known: ReadonlySet<string>): Incident[] {
  return incidents.filter((one) => {
    const isPlaced = one.metric !== undefined && known.has(one.metric);
    return isPlaced ? one.metric === metric.metric : isFirst;
  });
}

/** The list for a key in the address: a,b. */
const listOf = (text: string | undefined): string[] => (text ?? "").split(",").filter((one) => one !== "");

export function Charts({ store, onChoose }: { store: JobStore; onChoose: Choose }) {
  const state = parseChartState(query.value);
  // Live points change what metrics are at, many times a second: only which there are changes the page.
  const key = useComputed(() => store.metrics.value?.map((one) => `${one.metric}\n${one.role}\n${one.streams.length}`).join("\n\n") ?? null).value;
  const metrics = store.metrics.peek();
  const search = query.value["metrics"] ?? "";
  const full = query.value["chart"];
  const streams = useMemo(() => [...new Set(metrics?.flatMap((metric) => metric.streams))].sort(compareNatural), [key]);
  const groups = useMemo(() => groupCharts(searchMetrics(metrics ?? [], search)), [key, search]);
  const map = useXMap(store, state.axis);
  const folded = new Set(listOf(query.value["fold"]));
  const alone = metrics?.find((one) => one.metric === full);
  const isGrouped = (metrics?.length ?? 0) > FEW;
  const first = groups[0]?.metrics[0];

  const fold = (group: string): void => {
    const next = new Set(folded);
    if (!next.delete(group)) next.add(group);
    patchQuery({ fold: [...next].join(",") || undefined }, true);
  };
  const draw = (shown: readonly Metric[]) => (
    <Grid store={store} metrics={shown} lead={search === "" || alone ? (alone ?? first) : undefined} map={map} onChoose={onChoose} />
  );
  return (
    <div class="charts">
      <div class="chartbar">
        <ChartToolbar state={state} streams={streams} attempts={store.doc.value?.attempts ?? 1} metrics={metrics ?? []} job={store.name} />
      </div>
      <div class={`plots ${alone ? "alone" : ""}`}>
        {!metrics && !store.problem.value && <Skeleton rows={8} />}
        {metrics?.length === 0 && (
          <section class="empty">
            <h2>{t("No metrics yet")}</h2>
            <p>
              {tx("No line of this job has matched a metric definition so far. The log shows what it prints; {definitions} can be tried on it.", {
                definitions: <a href={definitionsHref(store.name)}>{t("definitions")}</a>,
              })}
            </p>
          </section>
        )}
        {alone && draw([alone])}
        {!alone && !isGrouped && groups[0] && draw(groups.flatMap((group) => group.metrics))}
        {!alone &&
          isGrouped &&
          groups.map((group) => (
            <section key={group.key} class="chartgroup" aria-label={groupTitle(group.key)}>
              <h2>
                <button type="button" class="quiet" aria-expanded={!folded.has(group.key)} onClick={() => fold(group.key)}>
                  {folded.has(group.key) ? "▸" : "▾"} {groupTitle(group.key)} <span class="dim">{group.metrics.length}</span>
                </button>
              </h2>
              {!folded.has(group.key) && draw(group.metrics)}
            </section>
          ))}
        {!alone && isGrouped && groups.length === 0 && <p class="empty">{t("No metric is called so.")}</p>}
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
  const height = useRef(0);
  const state = parseChartState(query.value);
  const hidden = new Set(listOf(query.value["hide"]));
  const incidents = hidden.has("incident") ? [] : (store.incidents.rows.value ?? []);
  const known = useMemo(() => new Set(store.metrics.peek()?.map((metric) => metric.metric)), [metrics]);

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
        metrics.map((metric) => (
          <Chart
            key={metric.metric}
            store={store}
            metric={metric}
            state={state}
            map={map}
            isLead={metric === lead}
            incidents={incidentsOf(incidents, metric, metric === lead, known)}
            onChoose={onChoose}
          />
        ))}
    </div>
  );
}
