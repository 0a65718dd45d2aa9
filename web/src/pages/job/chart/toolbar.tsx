import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { say, t, tn } from "../../../i18n/i18n";
import type { Metric } from "../../../lib/jobs/metrics";
import type { Axes } from "../../../api/types";
import { isWork, parseChartState, type Axis, type ChartState, type Smoothing } from "../../../lib/url/url";
import { patchQuery, query } from "../../../state/core/router";
import { useKeys } from "../../../state/core/keys";
import { formatValue } from "../../../lib/text/format";
import { adoptStyle } from "../../../lib/jobs/adopt";
import style from "../../../styles/chartmenu.css?inline";

adoptStyle(style);

const AXIS_NAMES: Record<Axis, { name: string; title: string }> = {
  step: { name: say("step"), title: say("By step") },
  time: { name: say("time"), title: say("By the clock") },
  relative: { name: say("relative"), title: say("By the time since the start") },
  rstep: { name: say("rel. step"), title: say("By the steps since the first one") },
  tokens: { name: say("tokens"), title: say("By the tokens that were seen") },
  flops: { name: "FLOPs", title: say("By the arithmetic that was done: 6 × parameters × tokens") },
};
const SMOOTHINGS: Record<Smoothing, string> = { ema: say("exponential"), gauss: say("Gaussian"), mean: say("mean") };
const SLIDE_MS = 150;
const SMOOTH_KEY = 0.9;

interface Props {
  state: ChartState;
  streams: string[];
  attempts: number;
  metrics: readonly Metric[];
  /** Of which job; null: of several. */
  job: string | null;
  /** Which of the axes of work the job has; absent: of several jobs, which are asked for when one is chosen. */
  axes?: Axes | null;
  /** What a page has to choose before all else. */
  children?: ComponentChildren;
}

/** What the axis is worked out from, a line each. */
const madeOf = (axis: Axes["flops"] | undefined): string[] => [
  ...(axis?.tokens === undefined ? [] : [t("tokens: {metric}", { metric: axis.tokens })]),
  ...(axis?.parameters ? [t("parameters: {n} ({from})", { n: formatValue(axis.parameters.value), from: axis.parameters.from })] : []),
];

const now = (): ChartState => parseChartState(query.peek());
const toggleLog = (): void => patchQuery({ scale: now().logScale ? undefined : "log" });
const toggleLogX = (): void => patchQuery({ xscale: now().logX ? undefined : "log" });
const toggleClip = (): void => patchQuery({ clip: now().clip ? undefined : "1" });
const resetZoom = (): void => patchQuery({ from: undefined, to: undefined });

/** Those that keys can read. */
function toChart(): boolean {
  const charts = [...document.querySelectorAll<HTMLElement>("#main .canvas[tabindex]")];
  const next = charts[(charts.indexOf(document.activeElement as HTMLElement) + 1) % charts.length];
  next?.focus();
  return next !== undefined;
}

/** As in charts.tsx. */
const FEW = 8;

/** What holds for all charts of the page. */
export function ChartToolbar({ state, streams, attempts, metrics, job, axes, children }: Props) {
  useKeys(say("Charts"), [
    { on: "0", does: say("reset the zoom"), run: () => now().from !== null && resetZoom() },
    { on: "s", does: say("smooth, and back"), run: () => patchQuery({ smooth: now().smooth > 0 ? undefined : String(SMOOTH_KEY) }) },
    { on: "y", does: say("logarithmic y axis"), run: toggleLog },
    { on: "X", does: say("logarithmic x axis"), run: toggleLogX },
    { on: "o", does: say("leave outliers out of the axis"), run: toggleClip },
    { on: ["ArrowLeft", "ArrowRight"], does: say("read the values of the chart that has the focus; with Shift: move its window") },
    { on: ["+", "-"], does: say("zoom the chart that has the focus") },
    ...(job === null ? [] : [{ on: "c", does: say("to the first chart, and on to the next one"), run: toChart }, { on: "m", does: say("write a note at the value that the chart reads out") }]),
  ]);
  const isOffered = (axis: Axis): boolean => {
    if (axis === state.axis || axis === "step" || axis === "time" || axis === "relative") return true;
    return job === null || (isWork(axis) && axes?.[axis].tokens !== undefined);
  };
  return (
    <div class="toolbar" role="toolbar" aria-label={t("Charts")}>
      {children}
      <div class="segments" role="group" aria-label={t("Horizontal axis")}>
        {(Object.keys(AXIS_NAMES) as Axis[]).filter(isOffered).map((axis) => (
          <button
            key={axis}
            type="button"
            title={[t(AXIS_NAMES[axis].title), ...(isWork(axis) ? madeOf(axes?.[axis]) : [])].join("\n")}
            aria-pressed={state.axis === axis}
            onClick={() => patchQuery({ x: axis === "step" ? undefined : axis, from: undefined, to: undefined })}
          >
            {t(AXIS_NAMES[axis].name)}
          </button>
        ))}
      </div>
      <button type="button" aria-pressed={state.logScale} onClick={toggleLog}>
        {t("log y")}
      </button>
      {state.axis !== "time" && (
        <button type="button" aria-pressed={state.logX} onClick={toggleLogX}>
          {t("log x")}
        </button>
      )}
      <button type="button" aria-pressed={state.clip} title={t("The axis leaves outliers out; each is marked at the edge")} onClick={toggleClip}>
        {t("clip")}
      </button>
      <Smooth value={state.smooth} by={state.smoothing} onChange={(smooth, smoothing) => patchQuery({ smooth, smoothing }, true)} />
      {streams.length > 1 && <Streams state={state} streams={streams} />}
      {attempts > 1 && (
        <button
          type="button"
          aria-pressed={state.superseded}
          title={t("Also show the points that a restart has superseded")}
          onClick={() => patchQuery({ attempts: state.superseded ? undefined : "all" })}
        >
          {t("superseded")}
        </button>
      )}
      {metrics.length > FEW && <Search />}
      <span class="grow" />
      {job !== null && query.value["chart"] !== undefined && (
        <button type="button" onClick={() => patchQuery({ chart: undefined })}>
          {t("all charts")}
        </button>
      )}
      <button type="button" class={state.from === null ? "gone" : ""} title={t("Also by a double click on a chart")} onClick={resetZoom}>
        {t("reset zoom")}
      </button>
    </div>
  );
}

function Streams({ state, streams }: { state: ChartState; streams: string[] }) {
  return (
    <>
      <label>
        <span class="hidden">{t("Stream")}</span>
        <select value={state.stream ?? ""} onChange={(event) => patchQuery({ series: event.currentTarget.value || undefined })}>
          <option value="">{tn(streams.length, "all {n} streams", "all {n} streams")}</option>
          {streams.map((stream) => (
            <option key={stream} value={stream}>
              {stream}
            </option>
          ))}
        </select>
      </label>
      {state.stream === null && (
        <div class="segments" role="group" aria-label={t("Nodes")}>
          <button
            type="button"
            aria-pressed={!state.byNode}
            title={t("One curve: the mean of all nodes within their lowest and highest")}
            onClick={() => patchQuery({ nodes: undefined })}
          >
            {t("fold")}
          </button>
          <button type="button" aria-pressed={state.byNode} title={t("A curve a node")} onClick={() => patchQuery({ nodes: "each" })}>
            {t("by node")}
          </button>
        </div>
      )}
    </>
  );
}

/** The address follows when the hand rests, so that typing does not fill it. */
function Search() {
  const text = query.value["metrics"] ?? "";
  const typed = useSignal(text);
  useEffect(() => {
    typed.value = text;
  }, [text, typed]);
  const current = typed.value;
  useEffect(() => {
    if (current === text) return;
    const timer = window.setTimeout(() => patchQuery({ metrics: current || undefined }, true), SLIDE_MS);
    return () => window.clearTimeout(timer);
  }, [current, text]);
  return (
    <input
      type="search"
      class="metricsearch"
      placeholder={t("find a metric")}
      aria-label={t("Find a metric")}
      value={current}
      onInput={(event) => (typed.value = event.currentTarget.value)}
    />
  );
}

interface SmoothProps {
  value: number;
  by: Smoothing;
  onChange(smooth: string | undefined, smoothing: string | undefined): void;
}

/** The address follows when the hand rests, so that sliding does not fill the history. */
export function Smooth({ value, by, onChange }: SmoothProps) {
  const shown = useSignal(value);
  useEffect(() => {
    shown.value = value;
  }, [value, shown]);
  const current = shown.value;
  const tell = (weight: number, kind: Smoothing): void => onChange(weight > 0 ? String(weight) : undefined, kind === "ema" ? undefined : kind);
  useEffect(() => {
    if (current === value) return;
    const timer = window.setTimeout(() => tell(current, by), SLIDE_MS);
    return () => window.clearTimeout(timer);
  }, [current, value]);
  return (
    <span class="smooth" title={t("The raw curve stays visible behind")}>
      <label>
        {t("smooth")}
        <input type="range" min="0" max="0.99" step="0.01" value={current} onInput={(event) => (shown.value = Number(event.currentTarget.value))} />
      </label>
      <output>{current.toFixed(2).replace(/^0/, "")}</output>
      <select aria-label={t("How to smooth")} value={by} onChange={(event) => tell(current, event.currentTarget.value as Smoothing)}>
        {(Object.keys(SMOOTHINGS) as Smoothing[]).map((kind) => (
          <option key={kind} value={kind}>
            {t(SMOOTHINGS[kind])}
          </option>
        ))}
      </select>
    </span>
  );
}
