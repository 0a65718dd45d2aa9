// A panel of curves: its expressions over the jobs of its query.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo } from "preact/hooks";
import { t } from "../../i18n/i18n";
import { DASHES } from "../../lib/chart/color";
import { pens, type Pen } from "../../lib/jobs/compare";
import { marksOn } from "../../lib/jobs/notes";
import { formatCount } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import { HUES, type Hue, type LinePanel, type Workspace } from "../../lib/workspace/document";
import { figuresOf, parseExpression } from "../../lib/workspace/expression";
import type { OverlayCurve } from "../../plot/overlay";
import { MOST_CURVES, PanelCurves, type PanelCurve } from "../../state/workspace/curves";
import type { RunsSpec } from "../../state/workspace/runs";
import { navigate } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { Swatch } from "../../ui/swatch";
import { Skeleton } from "../../ui/skeleton";
import { ProblemBox } from "../../ui/problem";
import { round } from "../job/chart/plotview";
import { Empty, Faults, readAll, type Read } from "./faults";
import { CurvesPlot, Left, type Cursor } from "./plot";
import { useRuns } from "./useruns";

export const USUAL_MOST = 20;
const BUCKETS_A_PIXEL = 0.4;
const MOST_BUCKETS = 1000;
const HOUR_MS = 3_600_000;

interface Props {
  store: WorkspaceStore;
  workspace: Workspace;
  panel: LinePanel;
  cursor: Signal<Cursor>;
}

/** What of the axis is shown: as it was zoomed, else the last hours of a clock. */
export function windowOf({ x = "step", ranges, last_hours }: Workspace, nowMs: number): [number, number] | null {
  const chosen = ranges?.[x];
  if (chosen) return chosen;
  return x === "time" && last_hours !== undefined ? [nowMs - last_hours * HOUR_MS, nowMs] : null;
}

export function zoomed(workspace: Workspace, range: [number, number] | null): Workspace {
  const { x = "step", ranges, ...rest } = workspace;
  const next = { ...ranges };
  delete next[x];
  if (range) next[x] = range;
  return { ...rest, ...(workspace.x ? { x } : {}), ...(Object.keys(next).length > 0 ? { ranges: next } : {}) };
}

export function LineBody({ store, workspace, panel, cursor }: Props) {
  const { expressions, each = "job" } = panel;
  const key = JSON.stringify(expressions);
  const { read, faults } = useMemo(() => readPanel(expressions), [key]);
  if (faults.length > 0) return <Faults faults={faults} />;
  if (read.length === 0) return <Empty>{t("Write an expression, as loss or ema(loss, 0.99).")}</Empty>;
  return <Lines key={each} store={store} workspace={workspace} panel={panel} cursor={cursor} read={read} />;
}

export const readPanel = (expressions: readonly string[]) => readAll(expressions.filter((one) => one.trim() !== ""), (text) => parseExpression(text, "curve"));

const figuresIn = (read: readonly Read[]): string[] => [...new Set(read.flatMap(({ node }) => figuresOf(node)))].sort();

/** What the panel asks for: who asks for the same shares its reply. */
export const runsOf = (workspace: Workspace, { query, most = USUAL_MOST }: LinePanel, read: readonly Read[]): RunsSpec => ({ query: query ?? workspace.query ?? "", fields: figuresIn(read), most });

function Lines({ store, workspace, panel, cursor, read }: Props & { read: Read[] }) {
  const { x: axis = "step" } = workspace;
  const runs = useRuns(store, runsOf(workspace, panel, read));
  const hasFigures = useMemo(() => figuresIn(read).length > 0, [read]);
  const drawn = useStore(() => new PanelCurves(store.notes), []);
  const width = useSignal(0);
  const buckets = Math.min(MOST_BUCKETS, Math.max(50, Math.round((width.value * window.devicePixelRatio * BUCKETS_A_PIXEL) / 50) * 50));
  const rows = runs?.rows.value ?? null;
  const shown = windowOf(workspace, Math.floor(Date.now() / 60_000) * 60_000);
  const [from, to] = shown ?? [null, null];
  const jobs = rows?.map((row) => row.TrainingJobName) ?? [];
  const jobsKey = jobs.join("\n");
  const isSized = width.value > 0;

  useLayoutEffect(() => {
    if (!drawn || !rows || !isSized) return;
    const own = drawn;
    void store.hearing.hear(own, jobs).then(() => (own.signal.aborted ? undefined : own.draw({ rows, expressions: read, axis, each: panel.each ?? "job", from, to, buckets })));
  }, [drawn, hasFigures ? rows : jobsKey, read, axis, panel.each, from, to, buckets, isSized]);
  useEffect(() => () => void (drawn && store.hearing.forget(drawn)), [drawn]);

  const curves = drawn?.curves.value ?? null;
  const overlays = useMemo(() => curves && overlaysOf(curves, jobs, read.map((one) => one.text), panel.colors), [curves, jobsKey, read, JSON.stringify(panel.colors)]);
  const noted = store.notes.of.value;
  const marks = useMemo(() => marksOn(curves ?? [], noted), [curves, noted]);
  const problem = runs?.problem.value ?? drawn?.problem.value;
  const { smooth: ofAll = 0 } = workspace;
  const look = useMemo(() => ({ axis, logScale: panel.scale === "log", logX: false, smooth: panel.smooth ?? ofAll, smoothing: "ema" as const, clip: false }), [axis, panel.scale, panel.smooth, ofAll]);
  const title = panel.title || panel.expressions.join(", ");
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => (void runs?.load(), drawn?.retry())} />}
      <CurvesPlot
        title={title}
        look={look}
        curves={overlays}
        notes={marks}
        window={shown}
        cursor={cursor}
        onWidth={(pixels) => (width.value = pixels)}
        onPick={(name) => navigate(jobHref(curveJob(name, jobs)))}
        onZoom={(low, high) => store.edit((now) => zoomed(now, [round(low, high - low), round(high, high - low)].map(Number) as [number, number]))}
        onReset={() => store.edit((now) => zoomed(now, null))}
      />
      {!curves && !problem && rows?.length !== 0 && <Skeleton rows={3} />}
      {(rows?.length === 0 || curves?.length === 0) && <Empty>{rows?.length === 0 ? t("No job is found.") : t("None of these jobs has it.")}</Empty>}
      <p class="groups">
        {overlays?.map(({ name, pen }) => (
          <span key={name}>
            <Swatch pen={pen} />
            <bdi>{name}</bdi>
          </span>
        ))}
      </p>
      <Left undrawn={drawn?.undrawn.value ?? []} />
      <Note total={runs?.total.value ?? 0} jobs={jobs.length} asked={drawn?.asked.value ?? 0} />
    </>
  );
}

function Note({ total, jobs, asked }: { total: number; jobs: number; asked: number }) {
  const parts = [
    total > jobs && jobs > 0 ? t("the first {n} of {total} jobs", { n: formatCount(jobs), total: formatCount(total) }) : "",
    asked > MOST_CURVES ? t("the first {n} of {total} curves", { n: formatCount(MOST_CURVES), total: formatCount(asked) }) : "",
  ].filter((text) => text !== "");
  return parts.length > 0 ? <p class="note dim">{parts.join(" · ")}</p> : null;
}

const BETWEEN = " · ";
const curveJob = (name: string, jobs: readonly string[]): string => jobs.find((job) => name === job || name.startsWith(job + BETWEEN)) ?? name;

/**
 * A job has one hue in all panels; expressions and parts of it are told apart by dashes, or by hue where there is but one job. `colors`:
 * those that somebody chose, of jobs before those of expressions.
 */
function overlaysOf(curves: readonly PanelCurve[], jobs: readonly string[], texts: readonly string[], colors: LinePanel["colors"] = {}): OverlayCurve[] {
  const chosen = (name: string): number | null => (Object.hasOwn(colors, name) ? HUES.indexOf(colors[name] as Hue) : null);
  const own = new Map(pens(jobs, chosen).map((pen, i) => [jobs[i] ?? "", pen]));
  const taken = texts.map(chosen);
  const count = new Map<string, number>();
  const given = new Set<string>();
  /** The first dash from this one on that no other curve of the hue has. */
  const penOf = (color: number, from: number): Pen => {
    const dash = DASHES.map((_, n) => (from + n) % DASHES.length).find((one) => !given.has(`${color} ${one}`)) ?? from % DASHES.length;
    given.add(`${color} ${dash}`);
    return { color, dash };
  };
  return curves.map(({ job, expression, part, buckets }) => {
    const text = texts[expression] ?? "";
    const name = [job, texts.length > 1 ? text : "", part].filter((one) => one !== "").join(BETWEEN);
    const byText = chosen(job) === null ? taken[expression] : null;
    if (typeof byText === "number") return { name, pen: penOf(byText, 0), buckets };
    const at = count.get(job) ?? 0;
    count.set(job, at + 1);
    const { color, dash } = own.get(job) ?? { color: 0, dash: 0 };
    if (jobs.length > 1 || chosen(job) !== null) return { name, pen: penOf(color, dash + at), buckets };
    const free = HUES.map((_, i) => (color + i) % HUES.length).filter((hue) => !taken.includes(hue));
    return { name, pen: penOf(free[at % free.length] ?? color, Math.floor(at / Math.max(1, free.length))), buckets };
  });
}
