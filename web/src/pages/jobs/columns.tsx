// What each column of the list of jobs shows, how the server sorts by it, and how wide it is.
import type { ComponentChildren } from "preact";
import type { JobRow, MetricSummary, Num } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { isField } from "../../lib/jobs/columns";
import { cutMiddle, formatCompact, formatCount, formatDuration, formatExact, formatValue, NONE } from "../../lib/text/format";
import { shortInstance } from "../../lib/text/units";
import { stepOf } from "../../lib/jobs/figures";
import { bestOf, lossOf, mainMetric } from "../../lib/jobs/lead";
import { kindTitle } from "../../lib/chart/marks";
import { toNumber } from "../../lib/text/number";
import { jobHref } from "../../lib/url/url";
import { now } from "../../state/core/clock";
import { SeverityMark } from "../../ui/severity";
import { Status } from "../../ui/status";
import { Age } from "../../ui/time";

export interface Column {
  key: string;
  /** In English, marked by say(); of a property its own name. */
  title: string;
  /** The server's sort key; columns without one cannot be sorted by. */
  sort?: string;
  /** The direction that a first click asks for. */
  descending?: boolean;
  class?: string;
  /** Pixels, or as CSS says it. */
  width: number | string;
  cell(row: JobRow): ComponentChildren;
}

const NAME_LENGTH = 64;

function Value({ metric, best = false }: { metric: MetricSummary | undefined; best?: boolean }) {
  if (!metric) return <span class="dim">{NONE}</span>;
  const value = best ? bestOf(metric) : metric.last;
  const isBad = value !== undefined && !Number.isFinite(toNumber(value));
  const title = `${metric.metric} ${formatExact(value)}${metric.unit ? ` ${metric.unit}` : ""}, ${t("step {step}", { step: formatCount(metric.last_step) })}`;
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
      <bdi>{cutMiddle(name, NAME_LENGTH)}</bdi>
    </a>
  );
}

/** The newest open incidents in words, then the user's own labels. */
function Labels({ row }: { row: JobRow }) {
  const [newest] = row.incidents ?? [];
  const open = row.open_incidents ?? 0;
  const count = tn(open, "{n} open incident", "{n} open incidents");
  const text = newest ? `${kindTitle(newest.kind)}${newest.opened_step ? ` @ ${formatCount(newest.opened_step)}` : ""}` : count;
  return (
    <>
      {open > 0 && (
        <span class="trouble" title={newest ? `${text} (${count})` : count}>
          {newest ? <SeverityMark severity={newest.severity} /> : <SeverityMark severity="warning" />}
          {text}
          {newest && open > 1 && <span class="dim"> +{formatCount(open - 1)}</span>}{" "}
        </span>
      )}
      {(row.Labels ?? []).filter((label) => typeof label === "string").map((label) => (
        <bdi key={label} class="label">
          {label}
        </bdi>
      ))}
    </>
  );
}

function Throughput({ row }: { row: JobRow }) {
  const metric = mainMetric(row, "throughput");
  const value = toNumber(metric?.last);
  if (!metric || !Number.isFinite(value)) return <Value metric={metric} />;
  return <span title={`${metric.metric} ${formatExact(metric.last)} ${metric.unit ?? ""}`}>{formatCompact(value)}</span>;
}

const seconds = (value: number | undefined): number | undefined => (value === undefined ? undefined : value * 1000);

const lastStep = (row: JobRow): number | undefined =>
  stepOf((row.metrics ?? []).map((one) => ({ role: one.role, isMain: one.is_main, step: one.last_step }))) ?? undefined;

function Step({ row }: { row: JobRow }) {
  const step = lastStep(row);
  if (!row.total_steps || step === undefined) return <>{formatCount(step)}</>;
  return (
    <span title={`${formatCount(step)} / ${formatCount(row.total_steps)}`}>
      {formatCount(step)}
      <span class="dim">/{formatCompact(row.total_steps)}</span>
    </span>
  );
}

function Share({ value }: { value: number | undefined }) {
  return value === undefined ? <span class="dim">{NONE}</span> : <span title={`${formatExact(value)} %`}>{value.toFixed(1)} %</span>;
}

function Money({ row }: { row: JobRow }) {
  if (typeof row.cost !== "number") return <span class="dim" title={row.unpriced_types && t("no price: {types}", { types: row.unpriced_types.join(", ") })}>{NONE}</span>;
  return (
    <span title={`${formatExact(row.cost)} ${row.currency ?? ""}${row.cost_estimated ? ` · ${t("estimated: nodes are counted, not stated")}` : ""}`}>
      {row.cost_estimated && "≈ "}
      {row.cost >= 1000 ? formatCompact(row.cost) : row.cost.toFixed(2)} <span class="dim">{row.currency}</span>
    </span>
  );
}

function Duration({ row }: { row: JobRow }) {
  const from = row.TrainingStartTime;
  if (from === undefined) return <span class="dim">{NONE}</span>;
  const until = (row.worked_until_ms ?? now.value) / 1000;
  const whole = row.TrainingEndTime === undefined ? until - from : (row.TrainingTimeInSeconds ?? row.TrainingEndTime - from);
  return whole ? <>{formatDuration(whole)}</> : <span class="dim">{NONE}</span>;
}

function Eta({ ms }: { ms: number | undefined }) {
  return ms === undefined ? <span class="dim">{NONE}</span> : <>{formatDuration((ms - now.value) / 1000)}</>;
}

const Text = ({ text }: { text: string | undefined }) => (text ? <bdi title={text}>{text}</bdi> : <span class="dim">{NONE}</span>);

const FIXED: readonly Column[] = [
  { key: "status", title: say("state"), sort: "status", width: "clamp(42px, calc((100vw - 720px) * 999), 104px)", class: "state", cell: (row) => <Status row={row} /> },
  { key: "name", title: say("name"), sort: "name", width: "min(212px, 42vw, max(180px, 100vw - 1100px))", class: "name", cell: (row) => <Name row={row} /> },
  { key: "spark", title: say("loss"), width: 92, class: "spark", cell: () => null },
  { key: "loss", title: say("loss now"), sort: "loss", width: 84, class: "num", cell: (row) => <Value metric={lossOf(row)} /> },
  { key: "best", title: say("best"), sort: "loss.best", width: 84, class: "num dim2", cell: (row) => <Value metric={lossOf(row)} best /> },
  { key: "throughput", title: say("throughput"), sort: "throughput", descending: true, width: 90, class: "num", cell: (row) => <Throughput row={row} /> },
  { key: "step", title: say("step"), sort: "loss.step", descending: true, width: 116, class: "num", cell: (row) => <Step row={row} /> },
  { key: "age", title: say("age"), width: 68, class: "num", cell: (row) => <Age ms={row.last_heard_ms ?? row.last_line_ms} /> },
  {
    key: "nodes",
    title: say("nodes"),
    sort: "instances",
    descending: true,
    width: 62,
    class: "num",
    cell: (row) => <span title={tn(row.streams ?? 0, "{n} log stream", "{n} log streams")}>{formatCount(row.nodes ?? row.ResourceConfig?.InstanceCount ?? row.streams)}</span>,
  },
  { key: "type", title: say("type"), sort: "instance", width: 120, class: "mono", cell: (row) => shortInstance(row.by_hand?.instance_type ?? row.ResourceConfig?.InstanceType) },
  { key: "started", title: say("started"), sort: "started", descending: true, width: 72, class: "num", cell: (row) => <Age ms={seconds(row.TrainingStartTime ?? row.CreationTime)} /> },
  { key: "cost", title: say("cost"), sort: "cost", descending: true, width: 100, class: "num", cell: (row) => <Money row={row} /> },
  { key: "labels", title: say("incident, labels"), width: 144, class: "labels", cell: (row) => <Labels row={row} /> },
  { key: "goodput", title: say("goodput"), sort: "goodput", width: 86, class: "num", cell: (row) => <Share value={row.goodput} /> },
  { key: "team", title: say("team"), sort: "team", width: 100, cell: (row) => <Text text={row.team ?? fieldText(row, "tag.team")} /> },
  { key: "created", title: say("created"), sort: "created", descending: true, width: 78, class: "num", cell: (row) => <Age ms={seconds(row.CreationTime)} /> },
  { key: "ended", title: say("ended"), sort: "ended", descending: true, width: 76, class: "num", cell: (row) => <Age ms={seconds(row.TrainingEndTime)} /> },
  { key: "duration", title: say("duration"), sort: "duration", descending: true, width: 96, class: "num", cell: (row) => <Duration row={row} /> },
  { key: "secondary", title: say("secondary state"), sort: "secondary", width: 130, cell: (row) => <Text text={row.SecondaryStatus} /> },
  { key: "streams", title: say("streams"), width: 76, class: "num", cell: (row) => formatCount(row.streams) },
  { key: "lines", title: say("lines"), width: 104, class: "num", cell: (row) => formatCount(row.lines) },
  { key: "eta", title: say("time left"), width: 96, class: "num", cell: (row) => <Eta ms={row.eta_ms} /> },
];

const BY_KEY = new Map(FIXED.map((column) => [column.key, column]));

const FIGURE = /^(?:metric\.)?"?(.+?)"?\.(last|min|max|mean|count|step|best|final)$/;

/** What the row's own metrics say is newer than what its page said. */
function figureOf(row: JobRow, key: string): Num | undefined {
  const [, name, aggregate] = FIGURE.exec(key) ?? [];
  if (!name || /^(hp|tag|env|label)\./.test(key)) return undefined;
  const metric = row.metrics?.find((one) => one.metric === name) ?? (key.startsWith("metric.") ? undefined : mainMetric(row, name));
  return metric?.[(aggregate === "step" ? "last_step" : aggregate) as "last"];
}

function fieldOf(row: JobRow, key: string): Num | string | null | undefined {
  const asked = figureOf(row, key) ?? row.fields?.[key];
  if (asked !== undefined) return asked;
  // A row that came live has all that it has, and no fields.
  const family = /^(hp|tag)\.(.*)$/.exec(key);
  const own = family?.[1] === "hp" ? row.HyperParameters?.[family[2] ?? ""] : row.Tags?.find((tag) => tag.Key === family?.[2])?.Value;
  return typeof own === "string" || typeof own === "number" ? own : undefined;
}

function fieldText(row: JobRow, key: string): string | undefined {
  const value = fieldOf(row, key);
  return value === undefined || value === null ? undefined : String(value);
}

function Field({ row, name }: { row: JobRow; name: string }) {
  const value = fieldOf(row, name);
  if (value === undefined || value === null) return <span class="dim">{NONE}</span>;
  if (typeof value === "number") return <span title={`${name} ${formatExact(value)}`}>{formatValue(value)}</span>;
  return <bdi title={`${name} ${value}`}>{value}</bdi>;
}

/** Of a property, whatever it is. */
const fieldColumn = (key: string): Column => ({
  key,
  title: key,
  sort: key,
  width: Math.min(200, Math.max(96, 30 + key.length * 7)),
  class: /^(tag|env|label)\./.test(key) ? "" : "num",
  cell: (row) => <Field row={row} name={key} />,
});

/** The column that shows what the server sorts by. */
export const columnOfSort = (sort: string): string => FIXED.find((column) => column.sort === sort)?.key ?? sort;

export const columnFor = (key: string): Column => BY_KEY.get(key) ?? fieldColumn(key);

export const columnTitle = (column: Column): string => (isField(column.key) ? column.title : t(column.title));
