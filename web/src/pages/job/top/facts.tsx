import type { ComponentChildren } from "preact";
import type { JobDoc, RunReply } from "../../../api/types";
import { t, tn, tx } from "../../../i18n/i18n";
import { lastStep, remainingMs } from "../../../lib/jobs/figures";
import { cutMiddle, formatDuration, formatTime } from "../../../lib/text/format";
import { instancesOf } from "../../../lib/jobs/instances";
import { buildSearch, jobHref, partHref } from "../../../lib/url/url";
import { now } from "../../../state/core/clock";
import type { JobStore } from "../../../state/job/job";
import type { JobFacts } from "../../../state/job/jobfacts";
import { silentSince } from "../../../ui/status";
import { ByHandMark } from "../common/byhandmark";

function durationOf(doc: JobDoc, nowMs: number): number | null {
  const start = doc.TrainingStartTime ?? doc.CreationTime;
  if (start === undefined) return null;
  const isRunning = doc.TrainingJobStatus === "InProgress" || doc.TrainingJobStatus === "Stopping";
  const end = doc.TrainingEndTime ?? (isRunning ? (doc.worked_until_ms ?? nowMs) / 1000 : doc.LastModifiedTime);
  // All of one moment: how long it took is not known.
  return end === undefined || end === doc.TrainingStartTime ? null : Math.max(0, end - start);
}

/** In one line what the job is and how it stands. */
export function Facts({ store, doc, facts }: { store: JobStore; doc: JobDoc; facts: JobFacts }) {
  const silent = silentSince(doc, now.value);
  const duration = durationOf(doc, now.value);
  const step = lastStep(store.metrics.value ?? []);
  const left = remainingMs(doc, step, facts.goodput.value?.steps?.step_seconds, now.value, silent !== null);
  const where = instancesOf(doc);
  const goodput = facts.goodput.value?.goodput ?? doc.goodput;
  return (
    <>
      {doc.SecondaryStatus && <span class="fact">{doc.SecondaryStatus}</span>}
      {(doc.attempts ?? 1) > 1 && <span class="fact">{t("attempt {n}", { n: doc.attempts ?? 1 })}</span>}
      {where && <span class="fact">{where}</span>}
      <ByHandMark store={store} doc={doc} />
      {duration !== null && (
        <span class="fact" title={t("since {time}", { time: formatTime((doc.TrainingStartTime ?? doc.CreationTime ?? 0) * 1000) })}>
          {formatDuration(duration)}
        </span>
      )}
      {goodput !== undefined && goodput !== null && (
        <span class="fact">
          <a href={partHref(doc.TrainingJobName, "goodput")}>{t("goodput {n} %", { n: goodput.toFixed(1) })}</a>
        </span>
      )}
      {left !== null && (
        <span class="fact" title={t("its last step at about {time}, at the pace of the last ones", { time: formatTime(now.value + left) })}>
          {t("ETA {time}", { time: formatDuration(left / 1000) })}
        </span>
      )}
      {silent !== null && <span class="fact silent">{t("silent since {time}", { time: formatTime(silent) })}</span>}
      <Run doc={doc} run={facts.run.value} />
      <WarmPool doc={doc} />
    </>
  );
}

const AROUND = 2;

const link = (job: string): ComponentChildren => (
  <a href={jobHref(job)} title={job}>
    {cutMiddle(job, 32)}
  </a>
);

/** The chain of jobs that this one is a link of: its neighbours by name, the others by number. */
function Run({ doc, run }: { doc: JobDoc; run: RunReply | null }) {
  const name = doc.TrainingJobName;
  const chain = run?.jobs.map((one) => one.TrainingJobName) ?? [];
  const at = chain.indexOf(name);
  if (chain.length < 2 || at < 0) {
    const proposed = run?.proposed?.find((one) => one.TrainingJobName === name);
    return proposed ? (
      <span class="fact" title={proposed.reason}>
        {tx("seems to continue {job}", { job: link(proposed.continues) })}
      </span>
    ) : null;
  }
  const shown = chain.slice(Math.max(0, at - AROUND), at + AROUND + 1);
  const hidden = chain.length - shown.length;
  return (
    <span class="fact run">
      {t("run")}{" "}
      <ol aria-label={t("Jobs of this run")}>
        {shown.map((job) => (
          <li key={job}>{job === name ? <b aria-current="true">{t("this job")}</b> : link(job)}</li>
        ))}
      </ol>
      {hidden > 0 && <span class="dim"> {tn(hidden, "and {n} other", "and {n} others")}</span>}
    </span>
  );
}

function WarmPool({ doc }: { doc: JobDoc }) {
  const { Status: status, ReusedByJob: next } = doc.WarmPoolStatus ?? {};
  if (status === undefined) return null;
  const known: Record<string, string> = { InUse: t("in use"), Available: t("available"), Terminated: t("terminated") };
  const said = next ? t("reused by {job}", { job: next }) : (known[status] ?? status);
  const href = `/pools${buildSearch({ job: doc.TrainingJobName })}`;
  return (
    <span class="fact" title={said}>
      {tx("warm pool {link}", { link: <a href={href}>{cutMiddle(said, 40)}</a> })}
    </span>
  );
}
