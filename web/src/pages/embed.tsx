// One chart without anything around it, for frames in other pages.
import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { bucketsFromReply } from "../lib/chart/buckets";
import { seriesIndex } from "../lib/chart/color";
import { isWork, jobHref, parseChartState, type Axis } from "../lib/url/url";
import { shifted, STEPS, TIMES, type XMap } from "../lib/chart/xmap";
import { setWant } from "../live/client";
import { ChartStore } from "../state/chart/chart";
import { freshSeq } from "../state/core/info";
import { askPoints } from "../state/chart/points";
import { query } from "../state/core/router";
import { useStore } from "../state/core/store";
import "../styles/charts";
import style from "../styles/chartmenu.css?inline";
import { hasDrawn } from "../ui/lazy";
import { ProblemBox } from "../ui/problem";
import { useBuckets } from "./job/chart/chart";
import { Kept } from "./job/chart/kept";
import { PlotView } from "./job/chart/plotview";
import { every } from "../lib/flow/poll";

adoptStyle(style);

/** A signature lets it ask for points, not hear of new ones. */
const ASK_AGAIN_MS = 30_000;

async function findMap(axis: Axis, job: string, metric: string, sig: string | undefined): Promise<XMap> {
  if (axis === "time") return TIMES;
  if (axis === "step") return STEPS;
  if (isWork(axis)) return (await import("../state/chart/work")).loadWork(job, metric, axis, new AbortController().signal, sig);
  const on = axis === "rstep" ? "step" : "time";
  const reply = await askPoints({ job, metric, x: on, buckets: 1, sig }, new AbortController().signal);
  return shifted(on, bucketsFromReply(reply).x[0] ?? 0);
}

export function EmbedPage({ job, metric }: { job: string; metric: string }) {
  const sig = query.value["sig"];
  const state = parseChartState(query.value);
  const host = useRef<HTMLElement>(null);
  const buckets = useBuckets(host);
  const chart = useStore(() => new ChartStore(job, metric, sig), [job, metric, sig]);
  const [map, setMap] = useState<XMap | null>(null);
  const problem = useSignal<string | null>(null);
  const { axis, from, to, stream, superseded } = state;

  useEffect(() => {
    document.title = `${metric} · ${job}`;
    if (sig === undefined) void freshSeq().then((after) => setWant({ jobs: [job], kinds: ["points"], after }));
  }, [job, metric, sig]);

  useEffect(() => (sig === undefined ? undefined : every(ASK_AGAIN_MS, () => chart?.retry())), [chart, sig]);

  useEffect(() => {
    findMap(axis, job, metric, sig).then(setMap, (error: unknown) => (problem.value = String(error)));
  }, [axis, job, metric, sig]);

  useEffect(() => {
    if (chart && map && buckets > 0) void chart.load({ map, from, to, stream, superseded, nodes: [], buckets });
  }, [chart, map, from, to, stream, superseded, buckets]);

  return (
    <main class="embed">
      <figure ref={host} class="chart" aria-label={metric}>
        <figcaption>
          <h2>
            <a href={jobHref(job)} target="_blank" rel="noopener">
              {metric} · {job}
            </a>
          </h2>
        </figcaption>
        {chart?.problem.value && <ProblemBox problem={chart.problem.value} onRetry={() => chart.retry()} />}
        {problem.value && <p class="empty">{t("This chart cannot be shown: {why}", { why: problem.value })}</p>}
        {chart?.isLoaded.value && map ? (
          <PlotView
            chart={chart}
            state={state}
            map={map}
            color={seriesIndex(job)}
            label={metric}
            isHidden={false}
            incidents={[]}
            onDrawn={() => hasDrawn()}
            onHover={() => undefined}
            onPick={() => undefined}
            onChoose={() => undefined}
          />
        ) : (
          <div class="plot" />
        )}
        <div class="underplot">{chart && <Kept chart={chart} state={state} />}</div>
      </figure>
    </main>
  );
}
