// An incident: a sentence, the chart and the lines around it, what to do, who was told.
import { useSignal } from "@preact/signals";
import type { Delivery } from "../../api/alerts";
import { apiUrl, jobPath } from "../../api/client";
import type { Incident, LogLine, Num } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { cutMiddle, formatCompact, formatCount, formatDuration, formatExact, formatTime, formatValue } from "../../lib/text/format";
import { stepOf } from "../../lib/chart/incidentstep";
import { evidenceLine, incidentName, incidentWindow, isOpen } from "../../lib/chart/marks";
import { changeOf, deedOf, likelyOf, sentenceOf } from "../../lib/jobs/sentence";
import { logsHref } from "../../lib/log/logurl";
import { jobHref } from "../../lib/url/url";
import { IncidentStore, lineStream } from "../../state/job/incident";
import { now } from "../../state/core/clock";
import { useKeys } from "../../state/core/keys";
import { navigate, patchQuery } from "../../state/core/router";
import { isDark } from "../../state/core/theme";
import { useStore } from "../../state/core/store";
import { ProblemBox } from "../../ui/problem";
import { SeverityMark } from "../../ui/severity";
import { Skeleton } from "../../ui/skeleton";
import { DeliveryTable } from "./deliveries";

export function IncidentDetail({ id }: { id: string }) {
  const store = useStore(() => new IncidentStore(id), [id], (next) => next.load());
  if (!store) return null;
  const { problem, incident } = store;
  return (
    <article class="alertdetail" aria-label={t("The incident")}>
      {problem.value && <ProblemBox problem={problem.value} onRetry={() => void store.load()} />}
      {!incident.value && !problem.value && <Skeleton rows={8} />}
      {incident.value && <Content store={store} incident={incident.value} />}
    </article>
  );
}

/** The job's page, zoomed to it. */
function placeOf(incident: Incident): string {
  const line = evidenceLine(incident);
  return jobHref(incident.job, {
    incident: String(incident.id),
    stream: lineStream(incident),
    line: line === null ? undefined : String(line),
  });
}

/** The errors of all nodes, each message once. */
const firstErrorOf = (incident: Incident): string => logsHref(incident.job, { merged: "1", errors: "1" });

function Content({ store, incident }: { store: IncidentStore; incident: Incident }) {
  useKeys(say("This incident"), [
    { on: "Enter", does: say("open it in its job"), run: () => navigate(placeOf(incident)) },
    { on: "w", does: say("what failed first, over all nodes"), run: () => navigate(firstErrorOf(incident)) },
    { on: "a", does: say("acknowledge it"), run: () => void store.act("ack", {}) },
  ]);
  const change = changeOf(incident);
  const deed = deedOf(incident);
  const cause = textOf(incident, "cause");
  const likely = likelyOf(incident);
  return (
    <>
      <header>
        <h2>
          <SeverityMark severity={incident.severity} withText /> {incidentName(incident)}
        </h2>
        <button type="button" class="quiet" onClick={() => patchQuery({ id: undefined })} aria-label={t("Close the incident")}>
          ✕
        </button>
      </header>
      <p class="sentence">
        {sentenceOf(incident)} {change !== null && Math.abs(change) >= 0.005 && <b>{percent(change)}</b>}
      </p>
      {cause && <p>{cause}</p>}
      {likely && <p>{likely}</p>}
      <p>
        <a href={placeOf(incident)} title={incident.job}>
          <bdi>{cutMiddle(incident.job, 60)}</bdi>
        </a>
        {" · "}
        <a href={firstErrorOf(incident)} aria-keyshortcuts="w" title={t("What failed first: the errors of all nodes, each message once (w)")}>
          {t("first error over all nodes")}
        </a>
      </p>
      <Actions store={store} incident={incident} />
      {store.refusal.value && <ProblemBox problem={store.refusal.value} onRetry={() => (store.refusal.value = null)} />}
      <Failure store={store} incident={incident} />
      <ChartAround incident={incident} />
      <LinesAround incident={incident} lines={store.lines.value} />
      {deed && (
        <section>
          <h3>{t("What to do")}</h3>
          <p>{deed}</p>
        </section>
      )}
      <Figures incident={incident} />
      <Others rows={store.others.value} />
      <Told rows={store.deliveries.value} />
    </>
  );
}

const percent = (share: number): string => `${share < 0 ? "−" : "+"}${formatCompact(Math.abs(share) * 100)} %`;

function textOf(incident: Incident, key: string): string | null {
  const value = incident.evidence?.[key];
  return typeof value === "string" && value !== "" ? value : null;
}

const MUTES = [
  [3600, say("for an hour")],
  [8 * 3600, say("for eight hours")],
  [86_400, say("for a day")],
  [0, say("for good")],
] as const;

function Actions({ store, incident }: { store: IncidentStore; incident: Incident }) {
  const isMuted = incident.muted_until_ms !== undefined && incident.muted_until_ms > now.value;
  return (
    <div class="actions">
      {incident.acknowledged_ms === undefined ? (
        <button type="button" class="primary" onClick={() => void store.act("ack", {})}>
          {t("Acknowledge")}
        </button>
      ) : (
        <span class="dim">{t("Acknowledged {time}", { time: formatTime(incident.acknowledged_ms) })}</span>
      )}
      <label title={t("No messages about it, nor about its like in this job")}>
        <span class="hidden">{t("Mute")}</span>
        <select value="" onChange={(event) => void store.act("mute", { for_s: Number(event.currentTarget.value) })}>
          <option value="" disabled>
            {t("Mute")}
          </option>
          {MUTES.map(([seconds, label]) => (
            <option key={seconds} value={seconds}>
              {t(label)}
            </option>
          ))}
        </select>
      </label>
      {isMuted && <span class="dim">{mutedText(incident.muted_until_ms ?? 0)}</span>}
    </div>
  );
}

/** What is muted for good ends when numbers end. */
const LAST_MS = 8.64e15;

const mutedText = (untilMs: number): string =>
  untilMs >= LAST_MS ? t("muted for good") : t("muted until {time}", { time: formatTime(untilMs) });

/** What evidence says of a line that named the fault. */
interface Fault {
  title?: string;
  signature?: string;
  stream?: string;
  line?: number;
  text?: string;
}

/** Of a job that failed: its reason, the line that named the fault, and the last ones. */
function Failure({ store, incident }: { store: IncidentStore; incident: Incident }) {
  const reason = store.reason.value;
  const last = store.last.value;
  const fault = incident.evidence?.["fault"] as Fault | undefined;
  if (reason === null && last.length === 0 && !fault) return null;
  return (
    <section>
      <h3>{t("Why it failed")}</h3>
      {reason !== null && <p lang="en">{reason}</p>}
      {fault?.signature && (
        <p>
          <code>{fault.signature}</code> <span lang="en">{fault.title}</span>{" "}
          {fault.stream && fault.line !== undefined && (
            <a href={`${logsHref(incident.job, { stream: fault.stream })}#L${fault.line}`}>
              {fault.stream} · {t("line {n}", { n: formatCount(fault.line) })}
            </a>
          )}
        </p>
      )}
      {last.length > 0 && (
        <ol class="around" tabIndex={0} aria-label={t("The last lines of all nodes")}>
          {last.map((line) => (
            <li key={`${line.stream} ${line.n}`}>
              <span class="dim">{line.stream}</span> <bdi>{line.text.slice(0, LINE_SHOWN)}</bdi>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function ChartAround({ incident }: { incident: Incident }) {
  const isGone = useSignal(false);
  if (!incident.metric || isGone.value) return null;
  const window = incidentWindow(incident, "step", 0, incident.last_step ?? incident.opened_step ?? 0);
  const source = apiUrl(jobPath(incident.job, "/chart.svg"), {
    metric: incident.metric,
    stream: incident.stream || undefined,
    from: window?.[0],
    to: window?.[1],
    width: 640,
    height: 240,
    theme: isDark() ? "dark" : "light",
  });
  // A series that a back-fill or a deletion has taken has no chart; all else about the incident stands.
  return (
    <figure>
      <img src={source} width={640} height={240} alt={t("{metric} around step {step}", { metric: incident.metric, step: formatCount(incident.opened_step) })} onError={() => (isGone.value = true)} />
    </figure>
  );
}

function LinesAround({ incident, lines }: { incident: Incident; lines: LogLine[] | null }) {
  if (!lines || lines.length === 0) return null;
  const at = evidenceLine(incident);
  return (
    <section>
      <h3>{t("Lines of {stream}", { stream: lineStream(incident) ?? "" })}</h3>
      <ol class="around" tabIndex={0} aria-label={t("The lines around it")}>
        {lines.map((line) => (
          <li key={line.n} class={line.n === at ? "at" : ""}>
            <span class="dim">{formatCount(line.n)}</span> <bdi>{line.text.slice(0, LINE_SHOWN)}</bdi>
          </li>
        ))}
      </ol>
    </section>
  );
}

const LINE_SHOWN = 2000;

const FIGURES: readonly (readonly [string, string])[] = [
  ["value", say("value")],
  ["expected", say("usual")],
  ["spread", say("spread")],
  ["score", say("spreads away")],
  ["worst", say("worst")],
  ["worst_step", say("at step")],
  ["count", say("lines")],
  ["signature", say("signature")],
  ["host", say("machine")],
  ["last_checkpoint", say("last checkpoint")],
];

function Figures({ incident }: { incident: Incident }) {
  const evidence = incident.evidence ?? {};
  const from = incident.opened_ms;
  const isOver = incident.closed_ms !== undefined;
  const hasStep = stepOf(incident) !== undefined;
  // What is not of a series has figures that are all zero.
  const shown = FIGURES.filter(([key]) => evidence[key] !== undefined && (incident.metric || !isFigure(key)));
  return (
    <section>
      <h3>{t("Figures")}</h3>
      <dl class="figures">
        <dt>{t("opened")}</dt>
        <dd>{formatTime(from)}</dd>
        {isOver && <dt>{t("over after")}</dt>}
        {isOver && <dd>{formatDuration(((incident.closed_ms ?? 0) - (from ?? 0)) / 1000)}</dd>}
        {!isOver && isOpen(incident) && from !== undefined && <dt>{t("open for")}</dt>}
        {!isOver && isOpen(incident) && from !== undefined && <dd>{formatDuration((now.value - from) / 1000)}</dd>}
        {hasStep && <dt>{t("steps")}</dt>}
        {hasStep && (
          <dd>
            {formatCount(incident.first_step)} – {formatCount(incident.last_step)}
          </dd>
        )}
        {(incident.streams?.length ?? 0) > 1 && <dt>{t("nodes")}</dt>}
        {(incident.streams?.length ?? 0) > 1 && <dd>{(incident.streams ?? []).join(", ")}</dd>}
        {shown.map(([key, label]) => [<dt key={key}>{t(label)}</dt>, <dd key={`${key} is`}>{key === "host" ? <a href={`/nodes?host=${encodeURIComponent(String(evidence[key]))}`}>{String(evidence[key])}</a> : figure(evidence[key])}</dd>])}
      </dl>
    </section>
  );
}

const isFigure = (key: string): boolean => !["count", "signature", "host", "last_checkpoint"].includes(key);

function figure(value: unknown) {
  if (typeof value === "object" && value !== null) return figure((value as Record<string, unknown>)["step"] ?? JSON.stringify(value));
  if (typeof value === "number" || value === "NaN" || value === "Infinity" || value === "-Infinity") {
    return <span title={formatExact(value as Num)}>{formatValue(value as Num)}</span>;
  }
  return String(value);
}

function Others({ rows }: { rows: Incident[] }) {
  if (rows.length === 0) return null;
  return (
    <section>
      <h3>{tn(rows.length, "{n} other of the same cause", "{n} others of the same cause")}</h3>
      <ul>
        {rows.map((one) => (
          <li key={one.id}>
            <a href={`/incidents?id=${encodeURIComponent(one.id)}`}>
              <SeverityMark severity={one.severity} /> {incidentName(one)}
            </a>{" "}
            <span class="dim">
              {[one.metric, one.stream].filter(Boolean).join(" · ")} {stepOf(one) === undefined ? "" : formatCount(one.opened_step)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Told({ rows }: { rows: Delivery[] }) {
  return (
    <section>
      <h3>{t("Messages")}</h3>
      {rows.length === 0 ? <p class="dim">{t("No webhook was told of it.")}</p> : <DeliveryTable rows={rows} withWebhook />}
    </section>
  );
}
