// One machine: its faults by kind and one by one, its jobs, and what is to be expected of the next week.
import { useSignal } from "@preact/signals";
import { asProblem, jobPath, send, type Problem } from "../../api/client";
import type { Forecast, MachineFault, MachineHistory } from "../../api/machines";
import { t, tn } from "../../i18n/i18n";
import { cutMiddle, formatCompact, formatCount, formatTime, NONE } from "../../lib/text/format";
import { logsHref } from "../../lib/log/logurl";
import { jobHref } from "../../lib/url/url";
import { Resource } from "../../state/core/resource";
import { patchQuery } from "../../state/core/router";
import { mayWrite } from "../../state/core/session";
import { useStore } from "../../state/core/store";
import { DataTable } from "../../ui/datatable";
import { Dialog } from "../../ui/dialog";
import { Inputs } from "../../ui/inputs";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Age } from "../../ui/time";

export function MachineDetail({ host }: { host: string }) {
  const own = useStore(() => new Resource<MachineHistory>(`nodes/${encodeURIComponent(host)}`), [host], (next) => next.load());
  const one = own?.value.value;
  return (
    <article class="machine" aria-label={t("The machine")}>
      <header>
        <h2 class="mono">
          <bdi>{host}</bdi>
        </h2>
        {one?.repeat_offender && <span class="failed">{t("the same fault came again")}</span>}
        <span class="grow" />
        <button type="button" class="quiet" aria-label={t("Close the machine")} onClick={() => patchQuery({ host: undefined })}>
          ✕
        </button>
      </header>
      {own?.problem.value && <ProblemBox problem={own.problem.value} onRetry={() => void own.load()} />}
      {!one && !own?.problem.value && <Skeleton rows={6} />}
      {one && <Content one={one} reload={() => own.load()} />}
    </article>
  );
}

function Content({ one, reload }: { one: MachineHistory; reload: () => Promise<void> }) {
  return (
    <>
      {one.why.length > 0 && (
        <p lang="en">
          <span class="severity critical" aria-hidden="true">
            ◆
          </span>{" "}
          {one.why.join("; ")}
        </p>
      )}
      <p class="dim">{forecastText(one.expected_interruptions.host)}</p>
      <ForecastInputs all={one.expected_interruptions} />
      <div class="halves">
        <section>
          <h3>{t("Faults by kind")}</h3>
          {one.fault_kinds.length === 0 && <p class="dim">{t("None in the last 30 days.")}</p>}
          {one.fault_kinds.length > 0 && (
            <DataTable
              class="ledger"
              rows={one.fault_kinds}
              keyOf={({ signature }) => signature}
              columns={[
                { title: t("fault"), isHead: true, cell: ({ signature }) => <code>{signature}</code> },
                { title: t("times"), isNumber: true, cell: ({ times }) => formatCount(times) },
                { title: t("lines"), isNumber: true, cell: ({ lines }) => formatCount(lines) },
                { title: t("jobs"), isNumber: true, cell: ({ job_count }) => formatCount(job_count) },
                { title: t("days"), isNumber: true, cell: ({ days }) => formatCount(days) },
                { title: t("last"), isNumber: true, cell: ({ last_ms }) => <Age ms={last_ms} /> },
              ]}
            />
          )}
          <FaultLines rows={one.fault_list} reload={reload} />
          {one.cleared_faults.length > 0 && (
            <>
              <h3>{t("Not the machine's, as somebody said")}</h3>
              <FaultLines rows={one.cleared_faults} reload={reload} />
            </>
          )}
        </section>
        <section>
          <h3>{t("Jobs that ran there")}</h3>
          <DataTable
            class="ledger"
            rows={one.jobs}
            keyOf={({ job, stream }) => `${job} ${stream}`}
            columns={[
              { title: t("job"), isHead: true, cell: ({ job, stream }) => <a href={jobHref(job, { stream })}><bdi>{cutMiddle(job, 40)}</bdi></a> },
              { title: t("node"), cellClass: "mono", cell: ({ stream }) => cutMiddle(stream, 32) },
              { title: t("state"), cell: ({ status }) => <span lang="en">{status}</span> },
              { title: t("last line"), isNumber: true, cell: ({ last_ms }) => <Age ms={last_ms} /> },
            ]}
          />
          {one.job_count > one.jobs.length && <p class="dim">{t("The last {n} of {all}.", { n: one.jobs.length, all: formatCount(one.job_count) })}</p>}
        </section>
      </div>
    </>
  );
}

const LINES_SHOWN = 20;

/** Each with the line that said it, and what sets it right. */
function FaultLines({ rows, reload }: { rows: MachineFault[]; reload: () => Promise<void> }) {
  if (rows.length === 0) return null;
  return (
    <ol class="faultlines">
      {rows.slice(0, LINES_SHOWN).map((one) => (
        <li key={`${one.job} ${one.stream} ${one.line} ${one.signature}`}>
          <time title={formatTime(one.ts_ms)}>{formatTime(one.ts_ms)}</time> <code>{one.signature}</code>{" "}
          {one.job === "" || one.stream === undefined ? <span class="dim">{t("its job was deleted")}</span> : <a href={`${logsHref(one.job, { stream: one.stream })}#L${one.line}`}>{t("line {n}", { n: formatCount(one.line) })}</a>}
          <SetRight one={one} reload={reload} />
          <bdi class="mono dim">{one.text}</bdi>
          {one.why !== undefined && <bdi>{one.why}</bdi>}
        </li>
      ))}
    </ol>
  );
}

/** by_hand of its job, which has the fault. */
function SetRight({ one, reload }: { one: MachineFault; reload: () => Promise<void> }) {
  const why = useSignal<string | null>(null); // null: nobody is asked
  const problem = useSignal<Problem | null>(null);
  if (one.job === "" || one.stream === undefined || !mayWrite()) return null;
  const put = async (text: string | null): Promise<void> => {
    try {
      await send("PATCH", jobPath(one.job), {}, { by_hand: { faults: { [`${one.stream}:${one.line}`]: text } } });
      why.value = null;
      await reload();
    } catch (error) {
      problem.value = asProblem(error);
    }
  };
  return (
    <>
      {" "}
      <button type="button" class="quiet" onClick={() => (one.why === undefined ? (why.value = "") : void put(null))}>
        {one.why === undefined ? t("Not the machine's…") : t("It is: count it again")}
      </button>
      {problem.value && why.value === null && <span role="alert">{problem.value.message}</span>}
      {why.value !== null && (
        <Dialog title={t("Not the machine's")} closesOutside onClose={() => (why.value = null)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void put((why.value ?? "").trim());
            }}
          >
            <p>{t("The fault counts for no machine then: it is not drained for it. The job's log and incident stay.")}</p>
            <label>
              {t("Why")} <input name="why" required maxLength={500} value={why.value} onInput={(event) => (why.value = event.currentTarget.value)} />
            </label>
            <p class="error" role="alert">
              {problem.value?.message}
            </p>
            <div class="actions">
              <button type="button" onClick={() => (why.value = null)}>
                {t("Leave as it is")}
              </button>
              <button type="submit" class="primary">
                {t("Set it right")}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}

/** What the expected number can be worked out again from. */
function ForecastInputs({ all }: { all: MachineHistory["expected_interruptions"] }) {
  const { fleet, host, charged, formula } = all;
  if (host.expected === null) return null;
  return (
    <Inputs
      class="ledger"
      formula={formula}
      rows={[
        ["events", host.events],
        ["machine_days", host.machine_days],
        ["fleet.machine_days", fleet.machine_days],
        ["charged", charged],
        ["shape", host.shape],
        ["exposure", host.exposure],
        ["ahead", host.ahead],
      ]}
    />
  );
}

function forecastText({ expected, low, high, events, machine_days }: Forecast): string {
  const past = t("{events} in {days} machine-days", { events: tn(events, "{n} interruption", "{n} interruptions"), days: formatCompact(machine_days) });
  if (expected === null) return `${past}. ${t("Too few of the fleet to say what the next week brings.")}`;
  return `${past}. ${t("Of the next week {expected} are to be expected, in 90 of 100 cases {low} to {high}.", { expected: formatCompact(expected), low: low ?? NONE, high: high ?? NONE })}`;
}
