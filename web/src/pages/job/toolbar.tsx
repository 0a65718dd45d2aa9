import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Axis, ChartState } from "../../lib/url";
import { patchQuery } from "../../state/router";

const AXES: readonly Axis[] = ["step", "time", "relative"];
const SLIDE_MS = 150;

/** What holds for all charts of the page. */
interface Props {
  state: ChartState;
  streams: string[];
  attempts: number;
  /** What a page has to choose before all else. */
  children?: ComponentChildren;
}

export function ChartToolbar({ state, streams, attempts, children }: Props) {
  const isZoomed = state.from !== null;
  return (
    <div class="toolbar" role="toolbar" aria-label="Charts">
      {children}
      <div class="segments" role="group" aria-label="Horizontal axis">
        {AXES.map((axis) => (
          <button
            key={axis}
            type="button"
            aria-pressed={state.axis === axis}
            onClick={() => patchQuery({ x: axis === "step" ? undefined : axis, from: undefined, to: undefined })}
          >
            {axis}
          </button>
        ))}
      </div>
      <button type="button" aria-pressed={state.logScale} onClick={() => patchQuery({ scale: state.logScale ? undefined : "log" })}>
        log y
      </button>
      <Smoothing value={state.smooth} />
      {streams.length > 1 && (
        <label>
          <span class="hidden">Stream</span>
          <select value={state.stream ?? ""} onChange={(event) => patchQuery({ series: event.currentTarget.value || undefined })}>
            <option value="">all {streams.length} streams</option>
            {streams.map((stream) => (
              <option key={stream} value={stream}>
                {stream}
              </option>
            ))}
          </select>
        </label>
      )}
      {streams.length > 1 && state.stream === null && (
        <div class="segments" role="group" aria-label="Nodes">
          <button type="button" aria-pressed={!state.byNode} title="One curve: the mean of all nodes within their lowest and highest" onClick={() => patchQuery({ nodes: undefined })}>
            fold
          </button>
          <button type="button" aria-pressed={state.byNode} title="A curve a node" onClick={() => patchQuery({ nodes: "each" })}>
            by node
          </button>
        </div>
      )}
      {attempts > 1 && (
        <button
          type="button"
          aria-pressed={state.superseded}
          title="Also show the points that a restart has superseded"
          onClick={() => patchQuery({ attempts: state.superseded ? undefined : "all" })}
        >
          superseded
        </button>
      )}
      <span class="grow" />
      <button
        type="button"
        class={isZoomed ? "" : "gone"}
        title="Also by a double click on a chart"
        onClick={() => patchQuery({ from: undefined, to: undefined })}
      >
        reset zoom
      </button>
    </div>
  );
}

/** The address follows when the hand rests, so that sliding does not fill the history. */
function Smoothing({ value }: { value: number }) {
  const shown = useSignal(value);
  useEffect(() => {
    shown.value = value;
  }, [value, shown]);
  const current = shown.value;
  useEffect(() => {
    if (current === value) return;
    const timer = window.setTimeout(() => patchQuery({ smooth: current > 0 ? String(current) : undefined }, true), SLIDE_MS);
    return () => window.clearTimeout(timer);
  }, [current, value]);
  return (
    <label class="smooth" title="Exponential moving average; the raw curve stays visible behind">
      smooth
      <input
        type="range"
        min="0"
        max="0.99"
        step="0.01"
        value={current}
        onInput={(event) => (shown.value = Number(event.currentTarget.value))}
      />
      <output>{current.toFixed(2).replace(/^0/, "")}</output>
    </label>
  );
}
