import { effect, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Incident } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { placeOf } from "../../../lib/chart/incidentstep";
import type { JobEvent } from "../../../lib/chart/marks";
import type { Metric } from "../../../lib/jobs/metrics";
import type { ChartState } from "../../../lib/url/url";
import type { XMap } from "../../../lib/chart/xmap";
import { readColors } from "../../../plot/colors";
import type { UprightLine } from "../../../plot/draw";
import { Plot } from "../../../plot/plot";
import type { ChartStore } from "../../../state/chart/chart";
import { chosenPoints } from "../../../state/chart/chosenpoint";
import { patchQuery } from "../../../state/core/router";
import { isDark } from "../../../state/core/theme";
import { insist, later, lazy } from "../../../ui/lazy";

const Marks = lazy(async () => (await later(() => import("./marks"))).Marks, 0);
const EventMarks = lazy(async () => (await later(() => import("./eventmarks"))).EventMarks, 0);
const Spoken = lazy(async () => (await import("./readout")).Spoken, 0);
const Summary = lazy(async () => (await later(() => import("./summary"))).Summary, 0);
const ChosenMark = lazy(async () => (await later(() => import("./chosenmark"))).ChosenMark, 0);

interface Props {
  chart: ChartStore;
  state: ChartState;
  map: XMap;
  color: number;
  label: string;
  unit?: string;
  current?(): Metric;
  isHidden: boolean;
  incidents: Incident[];
  events?: readonly JobEvent[];
  /** Kinds of marks that are switched off. */
  hidden?: ReadonlySet<string>;
  onEvent?(event: JobEvent): void;
  /** Its curve is there for the first time. */
  onDrawn?(): void;
  onHover(index: number | null): void;
  onPick(index: number, y: number | null): void;
  onChoose(incident: Incident): void;
}

const SMALLEST = { width: 66, height: 40 };
const KEYS = /^(Arrow(Left|Right)|Page(Up|Down)|Home|End|Enter|Escape|[-+=])$/;

function incidentX(incident: Incident, map: XMap): number | null {
  const at = placeOf(incident, map.axis);
  return at === undefined ? null : map.fromServer(at);
}

/** What is drawn first, then what can be done with it. */
async function addGestures(plot: Plot, unit: string, isGone: () => boolean): Promise<void> {
  const [{ gestures }, { clip }, { drawTitles }] = await later(() => insist(() => Promise.all([import("../../../plot/gestures"), import("../../../plot/clip"), import("../../../plot/titles"), import("./plotkeys")])));
  if (isGone()) return;
  plot.use(gestures);
  plot.use({ draw: ({ look }, u) => drawTitles(u, look.axis, unit, look.colors.text) });
  plot.use(clip);
}

export const resetZoom = (): void => patchQuery({ from: undefined, to: undefined });

/** Holds the canvas: creates the plot when its look changes, feeds it once a frame when data does. */
export function PlotView(props: Props) {
  const { chart, state, map, color, label, isHidden } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  /** Goes up when the plot's scales change. */
  const scales = useSignal(0);
  const cursor = useSignal<number | null>(null);
  const placed = useRef<{ x: number; incident: Incident }[]>([]);
  placed.current = props.incidents.flatMap((incident) => {
    const x = incidentX(incident, map);
    return x === null ? [] : [{ x, incident }];
  });
  const linesKey = placed.current.map(({ x, incident }) => `${x} ${incident.severity}`).join();
  const chosen = chosenPoints.value.filter((point) => point.metric === label);
  const isDarkNow = isDark();
  const { axis, logScale, logX, smooth, smoothing, clip } = state;

  useLayoutEffect(() => {
    const element = host.current;
    if (!element || isHidden) return;
    let frame = 0;
    let fedVersion = -1;

    const feed = (): void => {
      frame = 0;
      fedVersion = chart.version.peek();
      const { hidden, state: now } = latest.current;
      const lines: UprightLine[] = placed.current.map(({ x, incident }) => ({ x, severity: incident.severity }));
      if (map.axis === "step" && !hidden?.has("restart")) for (const step of chart.restarts) lines.push({ x: map.fromServer(step), severity: null });
      plot.current?.update(chart, lines, windowOf(now));
    };
    const schedule = (): void => {
      frame ||= requestAnimationFrame(feed);
    };
    schedules.set(element, schedule);

    const create = (width: number, height: number): void => {
      const now = latest.current.state;
      const look = { axis, logScale, logX, smooth: now.smooth, smoothing: now.smoothing, clip: now.clip, colors: readColors(element, color, isDarkNow), window: windowOf(now) };
      const made = new Plot(element, { width, height }, look, chart.buckets, {
        onHover: (index) => latest.current.onHover(index),
        onPick: (index, y) => latest.current.onPick(index, y),
        onZoom: (from, to) => patchQuery({ from: round(from, to - from), to: round(to, to - from) }),
        onReset: resetZoom,
        onLayout: () => scales.value++,
      });
      plot.current = made;
      // Without them, since the server is away, the curve is still there to see.
      addGestures(made, latest.current.unit ?? "", () => plot.current !== made).catch(() => undefined);
      feed();
      latest.current.onDrawn?.();
    };

    // Sizes as the browser has them at the end of its layout: to ask here would make it lay the page out once a chart.
    const observer = new ResizeObserver(([entry]) => {
      const [width, height] = [Math.round(entry?.contentRect.width ?? 0), Math.round(entry?.contentRect.height ?? 0)];
      if (width < SMALLEST.width || height < SMALLEST.height) return;
      if (!plot.current) create(width, height);
      else if (width !== plot.current.uplot.width || height !== plot.current.uplot.height) plot.current.resize(width, height);
    });
    observer.observe(element);
    const stopWatching = effect(() => {
      if (chart.version.value !== fedVersion) schedule();
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
  }, [chart, map, axis, logScale, logX, color, isDarkNow, isHidden]);

  useEffect(() => plot.current?.setLook({ smooth, smoothing, clip }), [smooth, smoothing, clip]);
  const hasMounted = useRef(false);
  useEffect(() => {
    if (hasMounted.current && host.current) schedules.get(host.current)?.();
    hasMounted.current = true;
  }, [linesKey, props.hidden?.has("restart"), state.from, state.to]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== host.current || event.ctrlKey || event.altKey || event.metaKey) return;
    const isIdle = { Escape: state.from === null, Enter: cursor.value === null }[event.key] ?? chart.buckets.x.length === 0;
    if (!plot.current || !KEYS.test(event.key) || isIdle) return;
    event.preventDefault();
    const keyed = { cursor, isZoomed: state.from !== null, onPick: props.onPick };
    // Not by insist(): a key is not to work minutes later, when the server is back. The plot may be another one by then: it shows the same.
    void import("./plotkeys").then(
      ({ pressKey }) => plot.current && pressKey(event.key, event.shiftKey, { plot: plot.current, ...keyed }),
      () => undefined,
    );
  };

  return (
    <div class={`plot ${isHidden ? "gone" : ""}`}>
      <div
        ref={host}
        class="canvas"
        tabIndex={0}
        role="application"
        aria-roledescription={t("chart")}
        aria-label={t("{name}. Arrow keys read the values, with Shift they move the window, + and − zoom, Enter goes to the log line, Escape resets the zoom.", { name: label })}
        onKeyDown={onKeyDown}
      />
      {placed.current.length > 0 && <Marks incidents={placed.current} plot={plot} scales={scales} onChoose={props.onChoose} />}
      {chosen.length > 0 && <ChosenMark points={chosen} map={map} plot={plot} scales={scales} />}
      {props.events && props.events.length > 0 && props.onEvent && (
        <EventMarks events={props.events} hidden={props.hidden} map={map} plot={plot} scales={scales} onChoose={props.onEvent} />
      )}
      <p class="hidden" aria-live="polite">
        {cursor.value !== null && <Spoken chart={chart} axis={axis} index={cursor.value} />}
      </p>
      <Summary chart={chart} label={label} state={state} current={() => latest.current.current?.()} />
    </div>
  );
}

/** The way from a prop that changed to the plot's next frame. */
const schedules = new WeakMap<HTMLElement, () => void>();

const windowOf = ({ from, to }: ChartState): [number, number] | null => (from !== null && to !== null ? [from, to] : null);

/** As many digits as the window needs. */
export const round = (x: number, width: number): string => (width >= 100 ? String(Math.round(x)) : String(Number(x.toPrecision(12))));
