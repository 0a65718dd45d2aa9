// A panel of curves: its expressions over the jobs of its query.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { t } from "../../i18n/i18n";
import { pens } from "../../lib/jobs/compare";
import { formatCount } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import type { LinePanel, Workspace } from "../../lib/workspace/document";
import { figuresOf, parseExpression, type Node } from "../../lib/workspace/expression";
import type { OverlayCurve } from "../../plot/overlay";
import { MOST_CURVES, PanelCurves, type PanelCurve } from "../../state/workspace/curves";
import { navigate } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import type { WorkspaceStore } from "../../state/workspace/workspace";
import { Skeleton } from "../../ui/skeleton";
import { ProblemBox } from "../../ui/problem";
import { round } from "../job/chart/plotview";
import { Empty, Faults, readAll } from "./faults";
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
  const { expressions, each = "job", most = USUAL_MOST } = panel;
  const key = JSON.stringify(expressions);
  const { read, faults } = useMemo(() => readAll(expressions.filter((one) => one.trim() !== ""), (text) => parseExpression(text, "curve")), [key]);
  if (faults.length > 0) return <Faults faults={faults} />;
  if (read.length === 0) return <Empty>{t("Write an expression, as loss or ema(loss, 0.99).")}</Empty>;
  return <Lines key={each} store={store} workspace={workspace} panel={panel} cursor={cursor} read={read} most={most} />;
}

function Lines({ store, workspace, panel, cursor, read, most }: Props & { read: { text: string; node: Node }[]; most: number }) {
  const { x: axis = "step" } = workspace;
  const figures = useMemo(() => [...new Set(read.flatMap(({ node }) => figuresOf(node)))].sort(), [read]);
  const runs = useRuns(store, { query: panel.query ?? workspace.query ?? "", fields: figures, most });
  const drawn = useStore(() => new PanelCurves(), []);
  const width = useSignal(0);
  const buckets = Math.min(MOST_BUCKETS, Math.max(50, Math.round((width.value * window.devicePixelRatio * BUCKETS_A_PIXEL) / 50) * 50));
  const rows = runs?.rows.value ?? null;
  const shown = windowOf(workspace, Math.floor(Date.now() / 60_000) * 60_000);
  const [from, to] = shown ?? [null, null];
  const jobs = rows?.map((row) => row.TrainingJobName) ?? [];
  const jobsKey = jobs.join("\n");
  const isSized = width.value > 0;

  useEffect(() => {
    if (!drawn || !rows || !isSized) return;
    const own = drawn;
    void store.hearing.hear(own, jobs).then(() => (own.signal.aborted ? undefined : own.draw({ rows, expressions: read, axis, each: panel.each ?? "job", from, to, buckets })));
  }, [drawn, figures.length > 0 ? rows : jobsKey, read, axis, panel.each, from, to, buckets, isSized]);
  useEffect(() => () => void (drawn && store.hearing.forget(drawn)), [drawn]);

  const curves = drawn?.curves.value ?? null;
  const overlays = useMemo(() => curves && overlaysOf(curves, jobs, read.map((one) => one.text)), [curves, jobsKey, read]);
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
        window={shown}
        cursor={cursor}
        onWidth={(pixels) => (width.value = pixels)}
        onPick={(name) => navigate(jobHref(curveJob(name, jobs)))}
        onZoom={(low, high) => store.edit((now) => zoomed(now, [round(low, high - low), round(high, high - low)].map(Number) as [number, number]))}
        onReset={() => store.edit((now) => zoomed(now, null))}
      />
      {!curves && !problem && rows?.length !== 0 && <Skeleton rows={3} />}
      {(rows?.length === 0 || curves?.length === 0) && <Empty>{rows?.length === 0 ? t("No job is found.") : t("None of these jobs has it.")}</Empty>}
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

/** A job has one hue in all panels; expressions and parts of it are told apart by dashes, or by hue where there is but one job. */
function overlaysOf(curves: readonly PanelCurve[], jobs: readonly string[], texts: readonly string[]): OverlayCurve[] {
  const own = new Map(pens(jobs).map((pen, i) => [jobs[i] ?? "", pen]));
  const count = new Map<string, number>();
  return curves.map(({ job, expression, part, buckets }) => {
    const at = count.get(job) ?? 0;
    count.set(job, at + 1);
    const pen = own.get(job) ?? { color: 0, dash: 0 };
    const name = [job, texts.length > 1 ? (texts[expression] ?? "") : "", part].filter((text) => text !== "").join(BETWEEN);
    return { name, pen: jobs.length === 1 ? { color: (pen.color + at) % 8, dash: Math.floor(at / 8) % 4 } : { color: pen.color, dash: (pen.dash + at) % 4 }, buckets };
  });
}
