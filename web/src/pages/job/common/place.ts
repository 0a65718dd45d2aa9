// From something that happened to the charts and lines around it.
import type { Incident, Note } from "../../../api/types";
import { evidenceLine, incidentWindow, type JobEvent } from "../../../lib/chart/marks";
import { noteHref } from "../../../lib/jobs/notes";
import { buildSearch, jobHref, parseChartState } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { navigate, query, route } from "../../../state/core/router";

/** Changes what the charts show; from another part of the page one comes back to them. */
export function showCharts(store: JobStore, patch: Record<string, string | undefined>): void {
  const here = route.value;
  const isThere = here.view === "job" && here.part === undefined;
  navigate(jobHref(store.name) + buildSearch(isThere ? query.value : {}, patch));
}

const windowOf = (from: number, to: number): { from: string; to: string } => ({ from: String(Math.round(from)), to: String(Math.round(to)) });

export const lastStepOf = (store: JobStore): number => Math.max(0, ...(store.metrics.value ?? []).map((metric) => metric.lastStep ?? 0));

/** Zooms the charts to an incident and the log to its line. */
export function showIncident(store: JobStore, incident: Incident): void {
  const { axis: shown } = parseChartState(query.value);
  // Incidents know their step and time, not what other axes count by.
  const axis = shown === "time" || shown === "relative" ? shown : "step";
  const last = lastStepOf(store);
  // Of a job that runs with a little room for what comes next.
  const end = store.doc.value?.TrainingJobStatus === "InProgress" ? last * 1.03 : last;
  const window = incidentWindow(incident, axis, store.startMs.value, last, end);
  const line = evidenceLine(incident);
  showCharts(store, {
    incident: undefined,
    ...(window && axis !== shown ? { x: undefined } : {}),
    ...(window ? windowOf(...window) : {}),
    ...(line === null ? {} : { stream: incident.stream, line: String(line) }),
  });
}

/** A stretch of time; charts of steps are then drawn by time, since nobody knows each step's. */
export function showTime(store: JobStore, fromMs: number, toMs: number): void {
  const isRelative = parseChartState(query.value).axis === "relative";
  const origin = isRelative ? store.startMs.value : 0;
  showCharts(store, { x: isRelative ? "relative" : "time", ...windowOf(fromMs - origin, toMs - origin) });
}

const AROUND_MS = 15 * 60_000;

interface At {
  step?: number | undefined;
  ms?: number | undefined;
  stream?: string | undefined;
  line?: number | undefined;
}

/** A note's text is in its tab, with the way back to the charts. */
export function showEvent(store: JobStore, event: JobEvent): void {
  if (event.note === undefined) showAt(store, event);
  else navigate(noteHref(store.name, event.note));
}

export const showNote = (store: JobStore, { step, ts_ms, stream, line }: Note): void => showAt(store, { step: step ?? undefined, ms: ts_ms ?? undefined, stream, line });

function showAt(store: JobStore, { step, ms, stream, line: number }: At): void {
  const { axis } = parseChartState(query.value);
  const room = Math.max(10, Math.round(lastStepOf(store) * 0.03));
  const line = number === undefined ? {} : { stream, line: String(number) };
  if (axis === "step" && step !== undefined) showCharts(store, { ...windowOf(Math.max(0, step - room), step + room), ...line });
  else if (ms !== undefined) {
    showTime(store, ms - AROUND_MS, ms + AROUND_MS);
    if (stream !== undefined) showCharts(store, { stream, ...line });
  } else if (number !== undefined) showCharts(store, line);
}
