// All metrics of chosen jobs on one wall: by prefix, searched as one types, read with one tooltip, and which setting goes with which.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { say, t, tn, tx } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { joinNames, MOST_COMPARED, pens, splitNames, type Pen } from "../../lib/jobs/compare";
import { marksOn } from "../../lib/jobs/notes";
import { formatCount } from "../../lib/text/format";
import { jobHref, parseChartState, quoteText, type ChartState } from "../../lib/url/url";
import type { Node } from "../../lib/workspace/expression";
import { groupWall, searchWall, wallMetrics, type WallGroup, type WallMetric } from "../../lib/workspace/wall";
import type { JobRow } from "../../api/types";
import { useKeys } from "../../state/core/keys";
import { navigate, patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { JobNotes } from "../../state/chart/jobnotes";
import { PanelCurves } from "../../state/workspace/curves";
import { Hearing } from "../../state/workspace/hearing";
import { Runs } from "../../state/workspace/runs";
import "../../styles/charts";
import style from "../../styles/workspace.css?inline";
import wallStyle from "../../styles/wall.css?inline";
import { lazy } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Swatch } from "../../ui/swatch";
import { ChartToolbar } from "../job/chart/toolbar";
import { round } from "../job/chart/plotview";
import { CurvesPlot, Left, type Cursor } from "../workspace/plot";
import { useSeen } from "../workspace/useseen";

adoptStyle(style);
adoptStyle(wallStyle);

const Correlations = lazy(async () => (await import("./correlations")).Correlations, 0);

const USUAL_JOBS = 20;
/** With more metrics than these groups are closed until one opens them. */
const MANY = 200;
const MOST_FOUND = 300;
const MOST_BUCKETS = 600;
const BUCKETS_A_PIXEL = 0.4;

export function WallPage() {
  const { jobs = "", q } = query.value;
  const names = splitNames(jobs);
  const search = names.length > 0 ? `name in (${names.map(quoteText).join(", ")})` : (q ?? "");
  const most = names.length > 0 ? MOST_COMPARED : USUAL_JOBS;
  const runs = useStore(() => new Runs({ query: search, fields: null, most }), [search, most], (next) => next.load());
  const hearing = useStore(() => new Hearing(), []);
  const notes = useStore(() => new JobNotes(), []);
  const rows = runs?.rows.value ?? null;
  const problem = runs?.problem.value;
  return (
    <div class="view wall">
      <div class="viewhead">
        <h1>{t("All metrics")}</h1>
        {names.length === 0 && <Which q={q ?? ""} />}
      </div>
      {problem && <ProblemBox problem={problem} onRetry={() => void runs?.load()} />}
      {!rows && !problem && <Skeleton rows={10} />}
      {rows && <Missing names={names.filter((name) => !rows.some((row) => row.TrainingJobName === name))} />}
      {rows?.length === 0 && <p class="nothing">{t("No job is found.")}</p>}
      {rows && rows.length > 0 && hearing && notes && <Content rows={rows} total={runs?.total.value ?? 0} hearing={hearing} notes={notes} />}
    </div>
  );
}

/** Jobs that the address names and the server does not have. */
function Missing({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p class="nothing" role="status">
      {t("Not found, deleted perhaps: {names}", { names: names.join(", ") })}
    </p>
  );
}

function Which({ q }: { q: string }) {
  return (
    <form
      class="which"
      onSubmit={(event) => {
        event.preventDefault();
        patchQuery({ q: String(new FormData(event.currentTarget).get("q")).trim() || undefined });
      }}
    >
      <input type="search" name="q" class="mono" aria-label={t("Which jobs, as a query")} placeholder={t("Which jobs, as a query")} autocomplete="off" spellcheck={false} defaultValue={q} key={q} />
    </form>
  );
}

function Content({ rows, total, hearing, notes }: { rows: JobRow[]; total: number; hearing: Hearing; notes: JobNotes }) {
  const state = parseChartState(query.value);
  const cursor = useSignal<Cursor>({ x: null, owner: null });
  const find = useRef<HTMLInputElement>(null);
  const jobs = rows.map((row) => row.TrainingJobName);
  const jobsKey = jobs.join("\n");
  const namesKey = rows.map((row) => row.metrics?.length ?? 0).join();
  const all = useMemo(() => wallMetrics(rows), [jobsKey, namesKey]);
  const text = useSignal(query.value["metrics"] ?? "");
  const found = useMemo(() => searchWall(all, text.value), [all, text.value]);
  const groups = useMemo(() => groupWall(text.value === "" ? found : found.slice(0, MOST_FOUND)), [found]);
  const off = new Set(splitNames(query.value["off"]));
  const penOf = useMemo(() => new Map(pens(jobs).map((pen, i) => [jobs[i] ?? "", pen])), [jobsKey]);
  const shown = rows.filter((row) => !off.has(row.TrainingJobName));
  useKeys(say("All metrics"), [
    { on: "f", does: say("find a metric"), run: () => find.current?.focus() },
    { on: "Escape", does: say("all metrics again"), inFields: true, run: () => text.value !== "" && ((text.value = ""), patchQuery({ metrics: undefined }, true)) },
  ]);
  return (
    <>
      <ChartToolbar state={state} streams={[]} attempts={1} metrics={[]} job={null}>
        <input
          ref={find}
          type="search"
          class="metricsearch"
          aria-label={t("Find a metric")}
          placeholder={t("find a metric")}
          value={text}
          onInput={(event) => (text.value = event.currentTarget.value)}
          onChange={() => patchQuery({ metrics: text.peek() || undefined }, true)}
        />
        <span role="status" class="dim">
          {text.value === ""
            ? t("{metrics} of {jobs}", { metrics: tn(all.length, "{n} metric", "{n} metrics"), jobs: tn(rows.length, "{n} job", "{n} jobs") })
            : tx(t("{found} of {n} metrics"), { n: formatCount(all.length), found: formatCount(found.length) })}
          {total > rows.length && ` ${t("(the first {n} of {total})", { n: formatCount(rows.length), total: formatCount(total) })}`}
        </span>
      </ChartToolbar>
      <Legend jobs={jobs} pens={penOf} off={off} />
      {all.length === 0 && <p class="nothing">{t("None of these jobs has a metric yet.")}</p>}
      {all.length > 0 && found.length === 0 && <p class="nothing">{t("No metric holds these words.")}</p>}
      {groups.map((group) => (
        <Group key={group.prefix} group={group} isOpen={all.length <= MANY || text.value !== "" || group.prefix === ""} rows={shown} pens={penOf} state={state} cursor={cursor} hearing={hearing} notes={notes} />
      ))}
      {text.value !== "" && found.length > MOST_FOUND && <p class="nothing">{t("The first {n} are shown; another word narrows it.", { n: MOST_FOUND })}</p>}
      {rows.length > 1 && all.length > 0 && <Correlations rows={rows} metrics={all} />}
    </>
  );
}

/** Click: show or hide. */
function Legend({ jobs, pens: penOf, off }: { jobs: readonly string[]; pens: ReadonlyMap<string, Pen>; off: ReadonlySet<string> }) {
  const toggle = (job: string): void => patchQuery({ off: joinNames(off.has(job) ? [...off].filter((one) => one !== job) : [...off, job]) || undefined }, true);
  return (
    <ul class="runs" aria-label={t("Jobs")}>
      {jobs.map((job) => (
        <li key={job}>
          <button type="button" class="quiet" aria-pressed={!off.has(job)} title={t("Click: show or hide")} onClick={() => toggle(job)}>
            <Swatch pen={penOf.get(job) ?? { color: 0, dash: 0 }} />
            <bdi>{job}</bdi>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface GroupProps {
  group: WallGroup;
  isOpen: boolean;
  rows: readonly JobRow[];
  pens: ReadonlyMap<string, Pen>;
  state: ChartState;
  cursor: Signal<Cursor>;
  hearing: Hearing;
  notes: JobNotes;
}

function Group({ group, isOpen, ...rest }: GroupProps) {
  const open = useSignal(isOpen);
  useEffect(() => void (open.value = isOpen), [isOpen]);
  const id = `wall-${group.prefix}`;
  return (
    <section>
      <h2>
        <button type="button" class="quiet" aria-expanded={open.value} aria-controls={id} onClick={() => (open.value = !open.value)}>
          <span aria-hidden="true">{open.value ? "▾" : "▸"}</span> {group.prefix === "" ? t("without a common prefix") : <bdi>{group.prefix}</bdi>}{" "}
          <span class="dim">{tn(group.metrics.length, "{n} metric", "{n} metrics")}</span>
        </button>
      </h2>
      <div class="charts" id={id}>
        {open.value && group.metrics.map((metric) => <Chart key={metric.name} metric={metric} prefix={group.prefix} {...rest} />)}
      </div>
    </section>
  );
}

interface ChartProps extends Omit<GroupProps, "group" | "isOpen"> {
  metric: WallMetric;
  prefix: string;
}

function Chart({ metric, prefix, ...rest }: ChartProps) {
  const host = useRef<HTMLElement>(null);
  const isSeen = useSeen(host);
  return (
    <figure class="panel" ref={host} aria-label={metric.name}>
      <figcaption title={metric.name}>
        {prefix !== "" && <span class="hidden">{prefix}</span>}
        <bdi>{metric.name.slice(prefix.length)}</bdi>
      </figcaption>
      <div class="body">{isSeen && <Curves metric={metric} {...rest} />}</div>
    </figure>
  );
}

function Curves({ metric, rows, pens: penOf, state, cursor, hearing, notes }: Omit<ChartProps, "prefix">) {
  const drawn = useStore(() => new PanelCurves(notes), []);
  const width = useSignal(0);
  const { axis, from, to } = state;
  const buckets = Math.min(MOST_BUCKETS, Math.max(50, Math.round((width.value * window.devicePixelRatio * BUCKETS_A_PIXEL) / 50) * 50));
  const own = rows.filter((row) => row.metrics?.some((one) => one.metric === metric.name));
  const key = own.map((row) => row.TrainingJobName).join("\n");
  const isSized = width.value > 0;
  useLayoutEffect(() => {
    if (!drawn || !isSized) return;
    const node: Node = { kind: "metric", name: metric.name, at: 1 };
    const spec = { rows: own, expressions: [{ text: metric.name, node }], axis, each: "job" as const, from, to, buckets };
    void hearing.hear(drawn, key.split("\n")).then(() => (drawn.signal.aborted ? undefined : drawn.draw(spec)));
  }, [drawn, key, axis, from, to, buckets, isSized]);
  useEffect(() => () => void (drawn && hearing.forget(drawn)), [drawn]);
  const curves = drawn?.curves.value ?? null;
  const overlays = useMemo(() => curves?.map(({ job, buckets: of }) => ({ name: job, pen: penOf.get(job) ?? { color: 0, dash: 0 }, buckets: of })) ?? null, [curves, penOf]);
  const noted = notes.of.value;
  const marks = useMemo(() => marksOn(curves ?? [], noted), [curves, noted]);
  const problem = drawn?.problem.value;
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => drawn?.retry()} />}
      <CurvesPlot
        title={metric.name}
        look={state}
        curves={overlays}
        notes={marks}
        window={from !== null && to !== null ? [from, to] : null}
        cursor={cursor}
        onWidth={(pixels) => (width.value = pixels)}
        onPick={(name) => navigate(jobHref(name))}
        onZoom={(low, high) => patchQuery({ from: round(low, high - low), to: round(high, high - low) })}
        onReset={() => patchQuery({ from: undefined, to: undefined })}
      />
      <Left undrawn={drawn?.undrawn.value ?? []} />
    </>
  );
}
