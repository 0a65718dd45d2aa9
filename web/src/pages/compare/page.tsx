import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { t, tn, tx } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { aggregate, BANDS, CENTERS, type Band, type Center } from "../../lib/jobs/aggregate";
import { choices, groupJobs, joinNames, MOST_COMPARED, pens, splitNames, type Choice, type Group, type Pen } from "../../lib/jobs/compare";
import { marksOn } from "../../lib/jobs/notes";
import { formatCount } from "../../lib/text/format";
import { buildSearch, jobHref, parseChartState, quoteText, type ChartState } from "../../lib/url/url";
import type { OverlayCurve } from "../../plot/overlay";
import { CompareStore } from "../../state/chart/compare";
import { navigate, patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import "../../styles/charts";
import style from "../../styles/compare.css?inline";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { ChartToolbar } from "../job/chart/toolbar";
import { CompareChart } from "./chart";
import { Differences } from "./differences";
import { CompareTable } from "./table";

adoptStyle(style);

const MOST_BUCKETS = 1000;
const MOST_FACETS = 12;

export function ComparePage({ jobs }: { jobs: string }) {
  const search = query.value["q"];
  const isChosen = splitNames(jobs).length > 0 || search !== undefined;
  const store = useStore(
    () => (isChosen ? new CompareStore(jobs === "" ? { query: search ?? "" } : { names: splitNames(jobs) }) : null),
    [jobs, search],
    (next) => next.start(),
  );
  return (
    <div class="view compare">
      <h1 class="hidden">{t("Compare jobs")}</h1>
      {!isChosen ? <NothingChosen /> : store && <Content key={`${jobs} ${search}`} store={store} />}
    </div>
  );
}

function NothingChosen() {
  return (
    <section class="empty">
      <h2>{t("Nothing is chosen to compare")}</h2>
      <p>
        {tx("Mark jobs in the {list} (the boxes at the left, or {key}), at most {most}, then press Compare. Or write their names, or a search, into the address: {names} or {search}", {
          list: <a href="/jobs">{t("list of jobs")}</a>,
          key: <kbd>x</kbd>,
          most: MOST_COMPARED,
          names: <code>/compare?jobs=a,b,c</code>,
          search: <code>/compare?q=tag.team=nlp</code>,
        })}
      </p>
    </section>
  );
}

const MOST_PANELS = 6;

/** The same jobs, with a panel for each of their first metrics. */
function workspaceHref(names: readonly string[], offered: readonly Choice[]): string {
  const lines = offered.map(({ key }) => (/^[A-Za-z_]\w*$/.test(key) ? key : `"${key}"`)).filter((line) => !/;|".*".*"/.test(line));
  return `/workspace${buildSearch({}, { q: `name in (${names.map(quoteText).join(", ")})`, lines: lines.slice(0, MOST_PANELS).join(";") })}`;
}

const oneOf = <T extends string>(all: readonly T[], text: string | undefined): T | undefined => all.find((one) => one === text);

/** The runs of a group as one curve, named by the setting's value. */
function aggregated(groups: readonly Group[], drawn: readonly OverlayCurve[], center: Center, band: Band): OverlayCurve[] {
  return groups.flatMap((group, i) => {
    const runs = drawn.filter((curve) => group.jobs.includes(curve.name)).map((curve) => curve.buckets);
    if (runs.length === 0) return [];
    return [{ name: group.name || t("all"), pen: { color: i % 8, dash: Math.floor(i / 8) }, buckets: aggregate(runs, center, band), isBand: true }];
  });
}

function rangeOf(curves: readonly OverlayCurve[]): [number, number] | null {
  let range: [number, number] | null = null;
  for (const { buckets } of curves)
    for (const column of [buckets.min, buckets.max]) for (const y of column) if (y !== null) range = range ? [Math.min(range[0], y), Math.max(range[1], y)] : [y, y];
  return range;
}

function Content({ store }: { store: CompareStore }) {
  const rows = store.rows.value;
  const state = parseChartState(query.value);
  const cursor = useSignal<number | null>(null);
  const chosen = useSignal<string | null>(null);
  const width = useSignal(0);
  const problem = store.trouble.value;
  const offered = choices(rows ?? []);
  const asked = query.value["metric"];
  const metric = offered.some((one) => one.key === asked) ? (asked ?? "") : (offered[0]?.key ?? "");
  const { axis, from, to } = state;
  const buckets = Math.min(MOST_BUCKETS, Math.max(50, Math.round((width.value * window.devicePixelRatio) / 150) * 100));
  const names = (rows ?? []).map((row) => row.TrainingJobName);
  const namesKey = names.join("\n");
  const isAll = query.value["settings"] === "all";
  const isSized = useComputed(() => width.value > 0).value;

  useEffect(() => {
    if (isSized && metric !== "") store.draw({ metric, axis, from, to, buckets });
  }, [store, metric, axis, from, to, buckets, isSized, namesKey]);
  useEffect(() => {
    if (names.length > 1) void store.loadComparison(isAll);
  }, [store, namesKey, isAll]);

  const comparison = store.comparison.value;
  const group = query.value["group"] ?? "";
  const hidden = new Set(splitNames(query.value["off"]));
  const groups = useMemo(() => groupJobs(names, comparison, group), [namesKey, comparison, group]);
  // In a group all have its hue, else each its own.
  const penOf = useMemo(() => {
    const own = pens(names);
    const byGroup = groups.length > 1;
    return new Map(names.map((name, i) => [name, byGroup ? { color: groups.findIndex(({ jobs }) => jobs.includes(name)) % 8, dash: Math.floor(i / 8) % 4 } : (own[i] ?? { color: 0, dash: 0 })]));
  }, [namesKey, groups]);
  const title = offered.find((one) => one.key === metric)?.title ?? metric;

  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => store.retry()} />}
      {!rows && !problem && <Skeleton rows={10} />}
      {store.missing.value.length > 0 && <Missing store={store} />}
      {store.total.value > names.length && rows && (
        <p class="missing">{t("{total} jobs are found; the first {shown} are compared.", { total: formatCount(store.total.value), shown: formatCount(names.length) })}</p>
      )}
      {rows && (
        <>
          <ChartToolbar state={state} streams={[]} attempts={1} metrics={[]} job={null}>
            <Metrics offered={offered} metric={metric} jobs={rows.length} />
            <Grouping keys={comparison?.differ.map((one) => one.key) ?? []} />
            <a href={`/wall${buildSearch({}, { jobs: joinNames(names) })}`}>{t("All metrics")}</a>
            <a href={workspaceHref(names, offered)}>{t("As a workspace")}</a>
          </ChartToolbar>
          {store.leftOut.value.map((why) => (
            <p class="missing" key={why}>
              {t("Left out: {why}", { why })}
            </p>
          ))}
          {metric !== "" && (
            <Plots
              store={store}
              title={title}
              names={names}
              groups={groups}
              group={group}
              pens={penOf}
              hidden={hidden}
              state={state}
              cursor={cursor}
              chosen={chosen}
              onWidth={(pixels) => (width.value = pixels)}
            />
          )}
          {metric === "" && rows.length > 0 && <p class="empty">{t("None of these jobs has a metric yet.")}</p>}
          {rows.length === 0 && <p class="empty">{t("No job is found.")}</p>}
          {rows.length > 0 && <CompareTable store={store} rows={rows} pens={penOf} hidden={hidden} metric={metric} state={state} cursor={cursor} chosen={chosen} />}
          {rows.length > 1 && <Differences comparison={comparison} isAll={isAll} />}
        </>
      )}
    </>
  );
}

interface PlotsProps {
  store: CompareStore;
  title: string;
  names: readonly string[];
  groups: readonly Group[];
  group: string;
  pens: ReadonlyMap<string, Pen>;
  hidden: ReadonlySet<string>;
  state: ChartState;
  cursor: Signal<number | null>;
  chosen: Signal<string | null>;
  onWidth(pixels: number): void;
}

/** What changes with every point; the tables around it do not. */
function Plots({ store, title, names, groups, group, pens, hidden, state, cursor, chosen, onWidth }: PlotsProps) {
  const comparison = store.comparison.value;
  const facet = query.value["facet"] ?? "";
  const center = oneOf(CENTERS, query.value["agg"]);
  const band = oneOf(BANDS, query.value["band"]) ?? "minmax";
  const namesKey = names.join("\n");
  const offKey = [...hidden].join("\n");
  const curves = store.curves.value;
  const facets = useMemo(() => groupJobs(names, comparison, facet).slice(0, MOST_FACETS), [namesKey, comparison, facet]);
  const drawn = useMemo(
    () => curves?.filter(({ job }) => !hidden.has(job)).map(({ job, metric, buckets }) => ({ name: job, metric, pen: pens.get(job) ?? { color: 0, dash: 0 }, buckets })) ?? null,
    [curves, pens, offKey],
  );
  const charts = useMemo(
    () =>
      facets.map(({ name, jobs }) => {
        const here = drawn?.filter((curve) => jobs.includes(curve.name)) ?? null;
        return { name, curves: here && center ? aggregated(groups, here, center, band) : here };
      }),
    [facets, drawn, groups, center, band],
  );
  const notes = store.notes.of.value;
  const marks = useMemo(() => (center ? [] : marksOn((curves ?? []).filter(({ job }) => !hidden.has(job)), notes)), [curves, notes, offKey, center]);
  const y = useMemo(() => (charts.length > 1 ? rangeOf(charts.flatMap((one) => one.curves ?? [])) : null), [charts]);
  return (
    <>
      <div class={charts.length > 1 ? "facets" : ""}>
        {charts.map((one) => (
          <CompareChart
            key={one.name}
            title={title}
            facet={facet !== "" && comparison ? `${facet} = ${one.name}` : undefined}
            state={state}
            curves={one.curves}
            notes={marks.filter(({ job }) => one.curves?.some(({ name }) => name === job))}
            y={y}
            cursor={cursor}
            chosen={chosen}
            onPick={(name) => !center && navigate(jobHref(name))}
            onWidth={onWidth}
          />
        ))}
      </div>
      {center && <Legend curves={charts[0]?.curves ?? []} group={group} chosen={chosen} />}
    </>
  );
}

function Legend({ curves, group, chosen }: { curves: readonly OverlayCurve[]; group: string; chosen: { value: string | null } }) {
  return (
    <ul class="legend" aria-label={t("Groups")} onMouseLeave={() => (chosen.value = null)}>
      {curves.map((curve) => (
        <li key={curve.name} onMouseEnter={() => (chosen.value = curve.name)}>
          <i class="hue" style={{ background: `var(--series-${curve.pen.color})` }} aria-hidden="true" />
          {group && `${group} = `}
          {curve.name} <span class="dim">{tn(Math.max(0, ...curve.buckets.count), "{n} run", "{n} runs")}</span>
        </li>
      ))}
    </ul>
  );
}

function Missing({ store }: { store: CompareStore }) {
  const names = store.missing.value;
  const rest = (store.rows.value ?? []).map((row) => row.TrainingJobName);
  return (
    <p class="missing" role="status">
      {t("There is no job {names}.", { names: names.map((name) => `“${name}”`).join(", ") })}{" "}
      <button type="button" onClick={() => patchQuery({ jobs: joinNames(rest) }, true)}>
        {names.length === 1 ? t("Leave it out") : t("Leave them out")}
      </button>
    </p>
  );
}

function Metrics({ offered, metric, jobs }: { offered: Choice[]; metric: string; jobs: number }) {
  return (
    <label>
      <span class="hidden">{t("Metric")}</span>
      <select class="metric" value={metric} onChange={(event) => patchQuery({ metric: event.currentTarget.value, from: undefined, to: undefined })}>
        {offered.map((one) => (
          <option key={one.key} value={one.key}>
            {one.title}
            {one.jobs < jobs ? ` ${t("({n} of {all})", { n: one.jobs, all: jobs })}` : ""}
          </option>
        ))}
      </select>
    </label>
  );
}

/** By which settings the curves are coloured, drawn apart, and put together. */
function Grouping({ keys }: { keys: readonly string[] }) {
  const agg = oneOf(CENTERS, query.value["agg"]) ?? "";
  const choose = (name: string, title: string) => (
    <label>
      {title}{" "}
      <select value={query.value[name] ?? ""} onChange={(event) => patchQuery({ [name]: event.currentTarget.value || undefined })}>
        <option value="">{t("none")}</option>
        {keys.map((key) => (
          <option key={key} value={key}>
            {key}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      {keys.length > 0 && choose("group", t("group by"))}
      {keys.length > 0 && choose("facet", t("split by"))}
      <label>
        <span class="hidden">{t("Curves of a group")}</span>
        <select value={agg} onChange={(event) => patchQuery({ agg: event.currentTarget.value || undefined })}>
          <option value="">{t("each run")}</option>
          <option value="mean">{t("mean of a group")}</option>
          <option value="median">{t("median of a group")}</option>
        </select>
      </label>
      {agg !== "" && (
        <label>
          <span class="hidden">{t("Band")}</span>
          <select value={oneOf(BANDS, query.value["band"]) ?? "minmax"} onChange={(event) => patchQuery({ band: event.currentTarget.value === "minmax" ? undefined : event.currentTarget.value })}>
            <option value="minmax">{t("lowest to highest")}</option>
            <option value="std">{t("standard deviation")}</option>
            <option value="quartiles">{t("quartiles")}</option>
          </select>
        </label>
      )}
    </>
  );
}
