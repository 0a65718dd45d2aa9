import { effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Incident } from "../../api/types";
import { nearestBucket } from "../../lib/buckets";
import { formatCount, formatValue } from "../../lib/format";
import { layoutMarks, type Mark } from "../../lib/marks";
import type { ChartState } from "../../lib/url";
import { formatX } from "../../plot/axes";
import { readColors } from "../../plot/colors";
import type { IncidentLine } from "../../plot/draw";
import { Plot } from "../../plot/plot";
import type { ChartStore } from "../../state/chart";
import { patchQuery } from "../../state/router";
import { isDark } from "../../state/theme";
import { Marks } from "./marks";
import { describeBucket } from "./readout";

interface Props {
  chart: ChartStore;
  state: ChartState;
  color: number;
  label: string;
  isHidden: boolean;
  incidents: Incident[];
  startMs: number;
  onHover(index: number | null): void;
  onPick(index: number): void;
  onChoose(incident: Incident): void;
}

const SMALLEST = { width: 66, height: 40 };
const MARK_GAP = 14;
const SUMMARY_MS = 10_000;

function incidentX(incident: Incident, axis: ChartState["axis"], startMs: number): number | null {
  if (axis === "step") return incident.opened_step ?? null;
  if (incident.opened_ms === undefined) return null;
  return axis === "relative" ? incident.opened_ms - startMs : incident.opened_ms;
}

/** Holds the canvas: creates the plot when its look changes, feeds it once a frame when data does. */
export function PlotView(props: Props) {
  const { chart, state, color, label, isHidden } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const marks = useSignal<{ left: number; list: Mark[] }>({ left: 0, list: [] });
  const cursor = useSignal<number | null>(null);
  const isDarkNow = isDark();
  const { axis, logScale, smooth } = state;

  useEffect(() => {
    const element = host.current;
    if (!element || isHidden) return;
    let frame = 0;

    const feed = (): void => {
      frame = 0;
      const { incidents, startMs, state: now } = latest.current;
      const lines: IncidentLine[] = [];
      for (const incident of incidents) {
        const x = incidentX(incident, axis, startMs);
        if (x !== null) lines.push({ x, severity: incident.severity });
      }
      const window: [number, number] | null = now.from !== null && now.to !== null ? [now.from, now.to] : null;
      plot.current?.update(chart, lines, window);
    };
    const schedule = (): void => {
      frame ||= requestAnimationFrame(feed);
    };
    schedules.set(element, schedule);

    const layout = (): void => {
      const current = plot.current;
      if (!current) return;
      const placed = latest.current.incidents.flatMap((incident) => {
        const x = incidentX(incident, axis, latest.current.startMs);
        const place = x === null ? null : current.place(x);
        return place?.inside ? [{ left: place.left, incident }] : [];
      });
      const list = layoutMarks(placed, MARK_GAP);
      if (!sameMarks(list, marks.peek().list)) marks.value = { left: current.plotLeft, list };
    };

    const create = (width: number, height: number): void => {
      const window: [number, number] | null = state.from !== null && state.to !== null ? [state.from, state.to] : null;
      const look = { axis, logScale, smooth: latest.current.state.smooth, colors: readColors(element, color), window };
      plot.current = new Plot(element, { width, height }, look, chart.buckets, {
        onHover: (index) => latest.current.onHover(index),
        onPick: (index) => latest.current.onPick(index),
        onZoom: (from, to) => patchQuery({ from: round(from, axis), to: round(to, axis) }),
        onReset: () => patchQuery({ from: undefined, to: undefined }),
        onLayout: layout,
      });
      schedule();
    };

    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      const height = Math.floor(entry?.contentRect.height ?? 0);
      if (width < SMALLEST.width || height < SMALLEST.height) return;
      if (plot.current) plot.current.resize(width, height);
      else create(width, height);
    });
    observer.observe(element);
    const stopWatching = effect(() => {
      void chart.version.value;
      schedule();
    });
    return () => {
      observer.disconnect();
      stopWatching();
      cancelAnimationFrame(frame);
      schedules.delete(element);
      plot.current?.destroy();
      plot.current = null;
    };
    // The plot is made anew for what its options depend on; the rest reaches it through `latest`.
  }, [chart, axis, logScale, color, isDarkNow, isHidden]);

  useEffect(() => plot.current?.setSmooth(smooth), [smooth]);
  useEffect(() => {
    if (host.current) schedules.get(host.current)?.();
  }, [props.incidents, state.from, state.to, props.startMs]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const count = chart.buckets.x.length;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined && count > 0) {
      event.preventDefault();
      cursor.value = Math.min(count - 1, Math.max(0, (cursor.value ?? count - 1) + step));
      plot.current?.pointAt(cursor.value);
    } else if (event.key === "Enter" && event.target === host.current && cursor.value !== null) props.onPick(cursor.value);
    else if (event.key === "Escape" && state.from !== null) patchQuery({ from: undefined, to: undefined });
  };

  const spoken = cursor.value === null ? null : describeBucket(chart, axis, cursor.value);
  return (
    <div class={`plot ${isHidden ? "gone" : ""}`}>
      <div
        ref={host}
        class="canvas"
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label={`${label}. Arrow keys read the values, Enter goes to the log line, Escape resets the zoom.`}
        onKeyDown={onKeyDown}
      />
      <Marks marks={marks.value.list} left={marks.value.left} onChoose={props.onChoose} />
      <p class="hidden" aria-live="polite">
        {spoken && `${spoken.value}, ${spoken.rest}`}
      </p>
      <Summary chart={chart} label={label} axis={axis} />
    </div>
  );
}

/** The way from a prop that changed to the plot's next frame. */
const schedules = new WeakMap<HTMLElement, () => void>();

const round = (x: number, axis: ChartState["axis"]): string =>
  axis === "step" && Math.abs(x) < 10 ? x.toFixed(2) : String(Math.round(x));

function sameMarks(a: Mark[], b: Mark[]): boolean {
  return (
    a.length === b.length &&
    a.every((mark, i) => {
      const other = b[i];
      return (
        other !== undefined &&
        Math.abs(mark.left - other.left) < 0.5 &&
        mark.severity === other.severity &&
        mark.incidents.length === other.incidents.length &&
        mark.incidents.every((incident, k) => incident === other.incidents[k])
      );
    })
  );
}

/** What the curve says, in words, for those who do not see it; renewed calmly. */
function Summary({ chart, label, axis }: { chart: ChartStore; label: string; axis: ChartState["axis"] }) {
  const text = useSignal("");
  const isLoaded = chart.isLoaded.value;
  useEffect(() => {
    const say = (): void => {
      text.value = summarise(chart, label, axis);
    };
    say();
    const timer = window.setInterval(say, SUMMARY_MS);
    return () => window.clearInterval(timer);
  }, [chart, label, axis, isLoaded, text]);
  return <p class="hidden">{text}</p>;
}

function summarise(chart: ChartStore, label: string, axis: ChartState["axis"]): string {
  const { x, min, max, mean, total, nonFinite } = chart.buckets;
  const lastX = x[x.length - 1];
  if (lastX === undefined) return `${label}: no points`;
  const lows = min.filter((value) => value !== null);
  const highs = max.filter((value) => value !== null);
  const lowest = lows.reduce((a, b) => Math.min(a, b), Infinity);
  const highest = highs.reduce((a, b) => Math.max(a, b), -Infinity);
  const last = mean[nearestBucket(x, lastX)] ?? null;
  const bad = nonFinite.filter((bits) => bits !== 0).length;
  const parts = [`${label}: ${formatCount(total)} points up to ${formatX(axis, lastX)}`];
  if (lows.length > 0) parts.push(`last ${formatValue(last)}, lowest ${formatValue(lowest)}, highest ${formatValue(highest)}`);
  if (bad > 0) parts.push(`${bad} places with values that are not finite`);
  return parts.join("; ");
}
