import type { JobDoc, Transition } from "../../api/types";
import { cutMiddle, formatDuration, formatTime, shortInstance } from "../../lib/format";
import { now } from "../../state/clock";
import { buildSearch, jobHref } from "../../lib/url";
import type { JobStore } from "../../state/job";
import { lazy } from "../../ui/lazy";
import { silentSince, Status } from "../../ui/status";
import { Age } from "../../ui/time";
import { CopyAs } from "./copyas";
import { JobTabs } from "./tabs";

const Orders = lazy(async () => (await import("../nodes/orders")).Orders, 0);

function durationOf(doc: JobDoc, nowMs: number): number | null {
  const start = doc.TrainingStartTime ?? doc.CreationTime;
  if (start === undefined) return null;
  const isRunning = doc.TrainingJobStatus === "InProgress" || doc.TrainingJobStatus === "Stopping";
  const end = doc.TrainingEndTime ?? (isRunning ? nowMs / 1000 : doc.LastModifiedTime);
  return end === undefined ? null : end - start;
}

function instances(doc: JobDoc): string | null {
  const { InstanceType: type, InstanceCount: count } = doc.ResourceConfig ?? {};
  if (type === undefined && count === undefined) return null;
  return `${count ?? 1} × ${shortInstance(type)}`;
}

function Facts({ doc }: { doc: JobDoc }) {
  const facts: string[] = [];
  if (doc.SecondaryStatus) facts.push(doc.SecondaryStatus);
  if ((doc.attempts ?? 1) > 1) facts.push(`attempt ${doc.attempts}`);
  const where = instances(doc);
  if (where) facts.push(where);
  const duration = durationOf(doc, now.value);
  if (duration !== null) facts.push(formatDuration(duration));
  if (doc.goodput !== undefined) facts.push(`goodput ${doc.goodput.toFixed(1)} %`);
  if (doc.cost !== undefined) facts.push(`${doc.cost.toFixed(2)} ${doc.currency}`);
  return <>{facts.map((fact) => <span key={fact} class="fact">{fact}</span>)}</>;
}

function WarmPool({ doc }: { doc: JobDoc }) {
  const { Status: status, ReusedByJob: next } = doc.WarmPoolStatus ?? {};
  if (status === undefined) return null;
  const said = next ? `reused by ${next}` : { InUse: "in use" }[status] ?? status.toLowerCase();
  return (
    <span class="fact" title={`Warm pool: ${said}`}>
      warm pool <a href={`/pools${buildSearch({ job: doc.TrainingJobName })}`}>{cutMiddle(said, 40)}</a>
    </span>
  );
}

function Run({ doc }: { doc: JobDoc }) {
  const next = doc.continued_by ?? [];
  return (
    <>
      {doc.continues && (
        <span class="fact">
          continues <a href={jobHref(doc.continues)}>{cutMiddle(doc.continues, 40)}</a>
        </span>
      )}
      {next.map((job) => (
        <span key={job} class="fact">
          continued by <a href={jobHref(job)}>{cutMiddle(job, 40)}</a>
        </span>
      ))}
    </>
  );
}

export function JobHeader({ store }: { store: JobStore }) {
  const doc = store.doc.value;
  const silent = doc && silentSince(doc, now.value);
  return (
    <header class="jobhead">
      {doc && <Status row={doc} />}
      <h1 title={store.name}>{cutMiddle(store.name, 72)}</h1>
      {doc && <Facts doc={doc} />}
      {doc && <Run doc={doc} />}
      {doc && <WarmPool doc={doc} />}
      <JobTabs name={store.name} part="charts" definitions={store.definitions.value} />
      <span class="grow" />
      {silent && <span class="fact silent">silent since {formatTime(silent)}</span>}
      <CopyAs name={store.name} />
      {doc && <Orders name={store.name} status={doc.TrainingJobStatus} />}
      <span class="fact">
        last line <Age ms={store.lastLineMs.value ?? doc?.last_line_ms} />
      </span>
      {doc?.FailureReason && (
        <p class="reason" title={doc.FailureReason}>
          {doc.FailureReason}
        </p>
      )}
    </header>
  );
}

const SHORTEST_SHARE = 1.5;

/** The job's states side by side, as long as they took. */
export function Ribbon({ transitions }: { transitions: Transition[] }) {
  const parts = transitions.filter((one) => one.StartTime !== undefined);
  const first = parts[0]?.StartTime;
  if (first === undefined) return null;
  const nowSeconds = now.value / 1000;
  const endOf = (part: Transition, i: number): number => part.EndTime ?? parts[i + 1]?.StartTime ?? nowSeconds;
  const whole = Math.max(1, ...parts.map(endOf)) - first;
  return (
    <ol class="ribbon" aria-label="States of the job in time">
      {parts.map((part, i) => {
        const seconds = Math.max(0, endOf(part, i) - (part.StartTime ?? 0));
        const title = `${part.Status} ${formatDuration(seconds)}, from ${formatTime((part.StartTime ?? 0) * 1000)}${part.StatusMessage ? `: ${part.StatusMessage}` : ""}`;
        const share = Math.max(SHORTEST_SHARE, (seconds / whole) * 100);
        return (
          <li key={i} class={`s-${part.Status.toLowerCase()}`} style={{ flexGrow: String(share) }} title={title}>
            <span>{part.Status}</span>
          </li>
        );
      })}
    </ol>
  );
}
