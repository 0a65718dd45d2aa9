// What each column of the list of jobs shows, and how the server sorts by it.
import type { ComponentChildren } from "preact";
import type { JobRow, MetricSummary } from "../../api/types";
import { cutMiddle, formatCompact, formatCount, formatExact, formatValue, NONE, shortInstance } from "../../lib/format";
import { toNumber } from "../../lib/number";
import { higherIsBetter, roleRank } from "../../lib/roles";
import { jobHref } from "../../lib/url";
import { Status } from "../../ui/status";
import { Age } from "../../ui/time";

export interface Column {
  key: string;
  title: string;
  /** The server's sort key; columns without one cannot be sorted by. */
  sort?: string;
  /** The direction that a first click asks for. */
  descending?: boolean;
  class?: string;
  cell(row: JobRow): ComponentChildren;
}

const NAME_LENGTH = 56;

export const mainMetric = (row: JobRow, role: string): MetricSummary | undefined =>
  row.metrics?.find((metric) => metric.role === role);

export function bestOf(metric: MetricSummary): number | undefined {
  const best = toNumber(higherIsBetter(metric.role) ? metric.max : metric.min);
  return Number.isFinite(best) ? best : undefined;
}

/** The job's loss, or whatever metric stands in for it. */
function leadMetric(row: JobRow): MetricSummary | undefined {
  return [...(row.metrics ?? [])].sort((a, b) => roleRank(a.role) - roleRank(b.role))[0];
}

function Value({ metric, best = false }: { metric: MetricSummary | undefined; best?: boolean }) {
  if (!metric) return <span class="dim">{NONE}</span>;
  const value = best ? bestOf(metric) : metric.last;
  const isBad = value !== undefined && !Number.isFinite(toNumber(value));
  const title = `${metric.metric} ${best ? "best" : "last"} ${formatExact(value)}${metric.unit ? ` ${metric.unit}` : ""}, step ${formatCount(metric.last_step)}`;
  return (
    <span class={isBad ? "bad" : ""} title={title}>
      {formatValue(value)}
    </span>
  );
}

function Name({ row }: { row: JobRow }) {
  const name = row.TrainingJobName;
  return (
    <a href={jobHref(name)} title={name} tabIndex={-1}>
      {cutMiddle(name, NAME_LENGTH)}
    </a>
  );
}

function Incidents({ row }: { row: JobRow }) {
  if (!row.open_incidents) return null;
  const title = `${row.open_incidents} open ${row.open_incidents === 1 ? "incident" : "incidents"}`;
  return (
    <span class="severity warning" title={title}>
      <span class="glyph" aria-hidden="true">
        ▲
      </span>
      {row.open_incidents}
      <span class="hidden"> open incidents</span>
    </span>
  );
}

function Throughput({ row }: { row: JobRow }) {
  const metric = mainMetric(row, "throughput");
  const value = toNumber(metric?.last);
  if (!metric || !Number.isFinite(value)) return <Value metric={metric} />;
  return <span title={`${metric.metric} ${formatExact(metric.last)} ${metric.unit ?? ""}`}>{formatCompact(value)}</span>;
}

const seconds = (value: number | undefined): number | undefined => (value === undefined ? undefined : value * 1000);

const lastStep = (row: JobRow): number | undefined => {
  const steps = (row.metrics ?? []).map((metric) => metric.last_step).filter((step) => step !== undefined);
  return leadMetric(row)?.last_step ?? (steps.length > 0 ? Math.max(...steps) : undefined);
};

export const COLUMNS: readonly Column[] = [
  { key: "status", title: "state", sort: "status", cell: (row) => <Status row={row} /> },
  { key: "name", title: "name", sort: "name", class: "name", cell: (row) => <Name row={row} /> },
  { key: "loss", title: "loss now", sort: "loss", class: "num", cell: (row) => <Value metric={leadMetric(row)} /> },
  { key: "best", title: "best", class: "num dim2", cell: (row) => <Value metric={leadMetric(row)} best /> },
  { key: "throughput", title: "throughput", class: "num", cell: (row) => <Throughput row={row} /> },
  { key: "step", title: "step", class: "num", cell: (row) => formatCount(lastStep(row)) },
  { key: "age", title: "age", class: "num", cell: (row) => <Age ms={row.last_heard_ms ?? row.last_line_ms} /> },
  {
    key: "nodes",
    title: "nodes",
    class: "num",
    cell: (row) => (
      <span title={`${formatCount(row.streams)} log streams`}>
        {formatCount(row.ResourceConfig?.InstanceCount ?? row.streams)}
      </span>
    ),
  },
  { key: "type", title: "type", class: "mono", cell: (row) => shortInstance(row.ResourceConfig?.InstanceType) },
  {
    key: "started",
    title: "started",
    sort: "started",
    descending: true,
    class: "num",
    cell: (row) => <Age ms={seconds(row.TrainingStartTime ?? row.CreationTime)} />,
  },
  { key: "incidents", title: "incidents", cell: (row) => <Incidents row={row} /> },
];
