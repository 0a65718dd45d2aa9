// A job's metrics: one entry a name, folded over the streams that print it.
import type { Derived, LivePoint, LiveSeries, MetricSummary, Num, SeriesInfo } from "../../api/types";
import { toNumber } from "../text/number";
import { roleRank } from "./roles";
import { compareNatural } from "../text/natural";

export interface Metric {
  metric: string;
  role: string;
  /** It answers for its role, as the server says. */
  isMain: boolean;
  unit: string;
  /** In natural order. */
  streams: string[];
  count: number;
  /** Of the stream that is furthest, of those at one step the latest, as the server says it of the job. */
  last: Num | undefined;
  lastStream: string | undefined;
  firstStep: number | undefined;
  lastStep: number | undefined;
  lastMs: number | undefined;
  min: number | undefined;
  max: number | undefined;
  higher: boolean | undefined;
  derived: Derived | undefined;
  /** What each stream's own values come to, as they were loaded. */
  nodes: Node[];
  /** Of several that are one chart (families.ts): they themselves. */
  family?: readonly Metric[];
}

export interface Node {
  stream: string;
  /** Of finite values; undefined: there are none. */
  mean: number | undefined;
  last: Num | undefined;
}

export function groupMetrics(series: readonly SeriesInfo[]): Metric[] {
  const groups = new Map<string, Metric>();
  const ordered = [...series].sort((a, b) => compareNatural(a.stream ?? "", b.stream ?? ""));
  for (const one of ordered) {
    const group = groups.get(one.metric);
    if (!group) {
      groups.set(one.metric, newMetric(one));
      continue;
    }
    if (one.stream) {
      group.streams.push(one.stream);
      group.nodes.push(nodeOf(one, one.stream));
    }
    setLast(group, one.stream, one.last_step, one.last_ts_ms, one.last);
    group.count += one.count ?? 0;
    group.firstStep = lower(group.firstStep, one.first_step);
    group.min = lower(group.min, finite(one.min));
    group.max = higher(group.max, finite(one.max));
  }
  return sortMetrics([...groups.values()]);
}

function newMetric(one: SeriesInfo): Metric {
  return {
    metric: one.metric,
    role: one.role ?? "other",
    isMain: one.is_main ?? false,
    unit: one.unit ?? "",
    streams: one.stream ? [one.stream] : [],
    count: one.count ?? 0,
    last: one.last,
    lastStream: one.stream,
    firstStep: one.first_step,
    lastStep: one.last_step,
    lastMs: one.last_ts_ms,
    min: finite(one.min),
    max: finite(one.max),
    higher: one.higher,
    derived: one.derived,
    nodes: one.stream ? [nodeOf(one, one.stream)] : [],
  };
}

const nodeOf = (one: SeriesInfo, stream: string): Node => ({ stream, mean: finite(one.mean), last: one.last });

const sortMetrics = (metrics: Metric[]): Metric[] =>
  metrics.sort((a, b) => roleRank(a.role) - roleRank(b.role) || compareNatural(a.metric, b.metric));

/** With what a row of the job says of which ones answer for their roles; the same metrics, when that is known. */
export function markMains(metrics: Metric[], row: readonly MetricSummary[]): Metric[] {
  const mains = new Set(row.filter((one) => one.is_main).map((one) => one.metric));
  if (mains.size === 0 || metrics.every((one) => one.isMain === mains.has(one.metric))) return metrics;
  return metrics.map((one) => (one.isMain === mains.has(one.metric) ? one : { ...one, isMain: !one.isMain }));
}

/** The metrics after new points came; metrics that had none before are added. Those without a point are the same objects. */
export function applyPoints(metrics: readonly Metric[], series: readonly LiveSeries[]): Metric[] {
  const next = [...metrics];
  const places = new Map(metrics.map((metric, i) => [metric.metric, i]));
  const own = new Set<number>();
  for (const one of series) {
    let at = places.get(one.metric);
    if (at === undefined) {
      at = next.length;
      places.set(one.metric, at);
      next.push(newMetric({ metric: one.metric, stream: one.stream, ...(one.role ? { role: one.role } : {}) }));
    } else if (!own.has(at)) next[at] = { ...(next[at] as Metric) };
    own.add(at);
    const metric = next[at] as Metric;
    if (!metric.streams.includes(one.stream)) metric.streams = [...metric.streams, one.stream].sort(compareNatural);
    for (const point of one.points) applyPoint(metric, one.stream, point);
  }
  return next.length > metrics.length ? sortMetrics(next) : next;
}

function applyPoint(metric: Metric, stream: string, [step, ms, value]: LivePoint): void {
  metric.count++;
  metric.min = lower(metric.min, finite(value));
  metric.max = higher(metric.max, finite(value));
  setLast(metric, stream, step, ms, value);
}

function setLast(metric: Metric, stream: string | undefined, step: number | undefined, ms: number | undefined, value: Num | undefined): void {
  const further = (step ?? -Infinity) - (metric.lastStep ?? -Infinity);
  // A stream's own points come in order, whatever its clock says.
  if (further > 0 || (!(further < 0) && (stream === metric.lastStream || (ms ?? 0) > (metric.lastMs ?? 0)))) Object.assign(metric, { last: value, lastStream: stream, lastStep: step, lastMs: ms });
}

function finite(value: Num | undefined): number | undefined {
  const number = toNumber(value);
  return Number.isFinite(number) ? number : undefined;
}

const lower = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

const higher = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
