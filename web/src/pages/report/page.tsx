// What happened since one last looked, on one page: what is wrong, what ended and began, the best values, the hours that were lost.
import type { ComponentChildren } from "preact";
import type { Late, Report, ReportJobs, ReportRow } from "../../api/report";
import type { Num } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { incidentTitle, incidentName } from "../../lib/chart/marks";
import { adoptStyle } from "../../lib/jobs/adopt";
import { cutMiddle, formatAmount, formatCount, formatDuration, formatExact, formatTime, formatValue, NONE } from "../../lib/text/format";
import { toNumber } from "../../lib/text/number";
import { jobHref } from "../../lib/url/url";
import { now } from "../../state/core/clock";
import { Resource } from "../../state/core/resource";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { hearIncidents } from "../../state/job/hearincidents";
import { markRead, MOST_HOURS, readMs, reportSpan, statedHours, statedSpan, USUAL_HOURS } from "../../state/fleet/report";
import style from "../../styles/report.css?inline";
import { DataTable, type Column } from "../../ui/datatable";
import { ProblemBox } from "../../ui/problem";
import { SeverityMark } from "../../ui/severity";
import { Skeleton } from "../../ui/skeleton";
import { Status } from "../../ui/status";
import { Age } from "../../ui/time";

adoptStyle(style);

const NAME_LENGTH = 48;
const SPANS = [
  ["", say("since I last looked")],
  ["12", say("12 hours")],
  ["24", say("24 hours")],
  ["168", say("7 days")],
] as const;

export function ReportPage() {
  const { hours = "", q = "", from_ms, to_ms } = query.value;
  const isStated = statedSpan(query.value) !== null;
  const isOfHours = !isStated && statedHours(hours) !== null;
  const read = readMs.value;
  const asked = useStore(
    () => new Resource<Report>("report", { ...reportSpan({ hours, from_ms, to_ms }, read, now.peek()), q: q || undefined }),
    [hours, q, read, from_ms, to_ms],
    (next) => Promise.all([hearIncidents(), next.load()]), // hears nothing of use here but whether the server is there
  );
  const report = asked?.value.value;
  const problem = asked?.problem.value;
  return (
    <div class="view report">
      <div class="viewhead">
        <h1>{t("Report")}</h1>
        <div class="segments" role="group" aria-label={t("Of which time")}>
          {SPANS.map(([value, label]) => (
            <button type="button" key={value} aria-pressed={!isStated && (isOfHours ? hours : "") === value} onClick={() => patchQuery({ hours: value || undefined, from_ms: undefined, to_ms: undefined })}>
              {t(label)}
            </button>
          ))}
        </div>
        {report && (
          <span class="dim">
            {t("from {from} to {to}", { from: formatTime(report.from_ms), to: formatTime(report.to_ms) })}
            {!isStated && !isOfHours && read === null && ` ${t("(the last {n} hours: none was marked as read yet)", { n: USUAL_HOURS })}`}
          </span>
        )}
        {q && (
          <span class="of">
            {t("of the jobs")} <code>{q}</code>{" "}
            <button type="button" onClick={() => patchQuery({ q: undefined })}>
              {t("Take the query away")}
            </button>
          </span>
        )}
        <span class="grow" />
        {report && (
          <button type="button" onClick={() => markRead(report.to_ms)} title={t("The next report begins where this one ends")}>
            {t("Mark as read")}
          </button>
        )}
      </div>
      {!isStated && !isOfHours && hours !== "" && (
        <p class="wrong" role="status">
          {t("“{hours}” is no number of hours from 1 to {most}: this is since you last looked.", { hours: cutMiddle(hours, NAME_LENGTH), most: formatCount(MOST_HOURS) })}
        </p>
      )}
      {problem ? <ProblemBox problem={problem} onRetry={() => void asked?.load()} /> : report ? <Parts report={report} isOfSome={q !== ""} /> : <Skeleton rows={12} />}
    </div>
  );
}

function Parts({ report, isOfSome }: { report: Report; isOfSome: boolean }) {
  const { incidents, failed, ended, started, running, lost } = report;
  return (
    <div class="parts">
      <p class="sum" role="status">
        {[
          tn(incidents.critical, "{n} critical incident", "{n} critical incidents"),
          tn(failed.total, "{n} job failed", "{n} jobs failed"),
          tn(ended.total, "{n} job ended", "{n} jobs ended"),
          tn(started.total, "{n} job started", "{n} jobs started"),
          isOfSome
            ? t("{hours} node-hours lost, of all jobs", { hours: formatAmount(lost.lost_node_hours) })
            : t("{hours} node-hours lost", { hours: formatAmount(lost.lost_node_hours) }),
        ].join(" · ")}
      </p>
      <Jobs title={t("Failed")} found={failed} columns={[name, at, reason, best]} />
      <Incidents incidents={incidents} />
      <Jobs title={t("Ended")} found={ended} columns={[name, at, took, best]} />
      <Jobs title={t("Running")} found={running} columns={[name, step, last, best]} />
      <Jobs title={t("Started")} found={started} columns={[name, begun, last]} />
      <Lost lost={lost} isOfSome={isOfSome} />
    </div>
  );
}

function Part({ title, count, children }: { title: string; count: number; children: ComponentChildren }) {
  return (
    <section aria-label={title}>
      <h2>
        {title} <span class="dim">{formatCount(count)}</span>
      </h2>
      {children}
    </section>
  );
}

function Incidents({ incidents: { total, more, incidents } }: { incidents: Report["incidents"] }) {
  return (
    <Part title={t("Incidents")} count={total}>
      {incidents.length === 0 && <p class="dim">{t("None.")}</p>}
      <ul>
        {incidents.map((row) => (
          <li key={row.id} title={incidentTitle(row)}>
            <SeverityMark severity={row.severity} />
            <a href={`/incidents?id=${row.id}`}>{incidentName(row)}</a>
            <a href={jobHref(row.job, { incident: String(row.id) })}>
              <bdi>{cutMiddle(row.job, NAME_LENGTH)}</bdi>
            </a>
            <span class="dim">
              <Age ms={row.opened_ms} />
            </span>
            <CameLate row={row} />
          </li>
        ))}
      </ul>
      {(more || total > incidents.length) && <Left count={total - incidents.length} isMore={more} />}
    </Part>
  );
}

function Left({ count, isMore = false }: { count: number; isMore?: boolean }) {
  return <p class="dim">{isMore ? t("and more than {n} more", { n: formatCount(count) }) : t("and {n} more", { n: formatCount(count) })}</p>;
}

/** Of what happened before the report's time: when it happened stands before it. */
function CameLate({ row }: { row: Late }) {
  if (!row.late || row.known_ms === undefined) return null;
  return (
    <span class="late" title={t("It happened before this report's time, and the server learned of it at {time}", { time: formatTime(row.known_ms) })}>
      {" "}
      {t("came late")} <Age ms={row.known_ms} />
    </span>
  );
}

type Head = () => Column<ReportRow>;

const field = (row: ReportRow, key: string): Num | string | null | undefined => row.fields?.[key];
const number = (row: ReportRow, key: string): number | null => {
  const value = field(row, key);
  return typeof value === "number" || value === "NaN" || value === "Infinity" || value === "-Infinity" ? toNumber(value) : null;
};
const shown = (value: number | null): string => (value === null ? NONE : formatValue(value));
const exact = (value: number | null): string | undefined => (value === null ? undefined : formatExact(value));
const seconds = (time: number | undefined): number | undefined => (time === undefined ? undefined : time * 1000);

function Moment({ ms, row }: { ms: number | undefined; row: Late }) {
  return (
    <>
      <Age ms={ms} />
      <CameLate row={row} />
    </>
  );
}

const name: Head = () => ({
  title: t("job"),
  isHead: true,
  cellHint: (row) => row.TrainingJobName,
  cell: (row) => (
    <>
      <Status row={row} withText={false} />{" "}
      <a href={jobHref(row.TrainingJobName)}>
        <bdi>{cutMiddle(row.TrainingJobName, NAME_LENGTH)}</bdi>
      </a>
    </>
  ),
});
const reason: Head = () => ({ title: t("why"), cellClass: "why", cellHint: (row) => row.FailureReason, cell: (row) => String(field(row, "reason") ?? row.FailureReason ?? NONE) });
const at: Head = () => ({ title: t("ended"), cell: (row) => <Moment ms={seconds(row.TrainingEndTime)} row={row} /> });
const begun: Head = () => ({ title: t("started"), cell: (row) => <Moment ms={seconds(row.TrainingStartTime)} row={row} /> });
const took: Head = () => ({ title: t("duration"), isNumber: true, cell: (row) => { const value = number(row, "duration"); return value === null ? NONE : formatDuration(value); } });
const step: Head = () => ({ title: t("step"), isNumber: true, cell: (row) => { const value = number(row, "step"); return value === null ? NONE : formatCount(value); } });
const last: Head = () => ({ title: t("loss now"), isNumber: true, cellHint: (row) => exact(number(row, "loss.last")), cell: (row) => shown(number(row, "loss.last")) });
const best: Head = () => ({
  title: t("best loss"),
  isNumber: true,
  cellHint: (row) => exact(number(row, "loss.best")),
  cell: (row) => {
    const where = number(row, "loss.best_step");
    return where === null ? shown(number(row, "loss.best")) : `${shown(number(row, "loss.best"))} @ ${formatCount(where)}`;
  },
});

function Jobs({ title, found, columns }: { title: string; found: ReportJobs; columns: readonly Head[] }) {
  return (
    <Part title={title} count={found.total}>
      {found.jobs.length === 0 && <p class="dim">{t("None.")}</p>}
      {found.jobs.length > 0 && (
        <div class="rows" tabIndex={0} role="group" aria-label={title}>
          <DataTable columns={columns.map((one) => one())} rows={found.jobs} keyOf={(row) => row.TrainingJobName} />
        </div>
      )}
      {found.total > found.jobs.length && <Left count={found.total - found.jobs.length} />}
      {found.partial && <p class="dim">{t("There was no time to look at all jobs.")}</p>}
    </Part>
  );
}

function Lost({ lost, isOfSome }: { lost: Report["lost"]; isOfSome: boolean }) {
  return (
    <Part title={t("What broke off")} count={lost.breaks}>
      {isOfSome && <p class="dim">{t("This is of all jobs: what broke off is not kept by query.")}</p>}
      {lost.causes.length === 0 && <p class="dim">{t("None.")}</p>}
      {lost.causes.length > 0 && (
        <DataTable
          rows={lost.causes}
          keyOf={(row) => row.cause}
          columns={[
            { title: t("cause"), isHead: true, cell: (row) => row.cause },
            { title: t("times"), isNumber: true, cell: (row) => formatCount(row.count) },
            { title: t("node-hours lost"), isNumber: true, cellHint: (row) => formatExact(row.lost_node_hours), cell: (row) => formatAmount(row.lost_node_hours) },
          ]}
        />
      )}
    </Part>
  );
}
