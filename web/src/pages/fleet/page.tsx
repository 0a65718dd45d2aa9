// The whole fleet on one screen: what runs, what is wrong, how fast it goes, what it costs, and whether the server keeps up.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Fleet, FleetSums, Incident, PacesReply, Quota, WarmPool } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { cutMiddle, formatCompact, formatCount, formatDuration, formatExact, NONE } from "../../lib/text/format";
import { formatBytes, shortInstance } from "../../lib/text/units";
import { incidentTitle, incidentName } from "../../lib/chart/marks";
import { formatLeft } from "../../lib/jobs/pools";
import { trackedHref } from "../../lib/url/tracked";
import { buildSearch, jobHref } from "../../lib/url/url";
import { now } from "../../state/core/clock";
import { FleetWatch } from "../../state/fleet/fleet";
import { info } from "../../state/core/info";
import { navigate } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import style from "../../styles/fleet.css?inline";
import { lazy } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { SeverityMark } from "../../ui/severity";
import { Age } from "../../ui/time";

adoptStyle(style);

const FirstLine = lazy(async () => (await import("../jobs/empty")).FirstLine, 6);
const NAME_LENGTH = 40;

export function FleetPage() {
  const watch = useStore(() => new FleetWatch(), [], (next) => next.start());
  const fleet = watch?.fleet.value ?? null;
  const problem = watch?.problem.value;
  useEffect(() => {
    const tracked = trackedHref(window.location.hash);
    if (tracked) navigate(tracked, true);
  }, []);
  return (
    <div class="view">
      <h1 class="hidden">{t("Fleet")}</h1>
      {problem && <ProblemBox problem={problem} onRetry={() => void watch?.ask()} />}
      {fleet?.jobs["total"] === 0 ? <FirstLine /> : <Sections fleet={fleet} watch={watch} />}
    </div>
  );
}

function Sections({ fleet, watch }: { fleet: Fleet | null; watch: FleetWatch | null }) {
  const currency = watch?.currency.value ?? "";
  return (
    <div class="fleet" aria-busy={!fleet}>
      <States fleet={fleet} />
      <Incidents fleet={fleet} rows={watch?.incidents.value ?? null} />
      <Silent fleet={fleet} />
      <Paces paces={watch?.paces.value ?? null} />
      <Money fleet={fleet} currency={currency} />
      <Pools fleet={fleet} waiting={watch?.pools.value ?? []} />
      <Quotas fleet={fleet} />
      <Ingest fleet={fleet} />
    </div>
  );
}

const jobsHref = (q: string): string => `/jobs${buildSearch({}, { q })}`;

function Part({ name, title, more, children }: { name: string; title: string; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class={name} aria-labelledby={`fleet-${name}`}>
      <header>
        <h2 id={`fleet-${name}`}>{title}</h2>
        {more}
      </header>
      {children}
    </section>
  );
}

const STATES = [
  { status: "InProgress", look: "running", glyph: "●", title: say("running"), q: "status:inprogress" },
  { status: "silent", look: "silent", glyph: "◌", title: say("silent"), q: "" },
  { status: "Stopping", look: "stopping", glyph: "◐", title: say("stopping"), q: "status:stopping" },
  { status: "Failed", look: "failed", glyph: "✕", title: say("failed"), q: "status:failed" },
  { status: "Completed", look: "completed", glyph: "✓", title: say("completed"), q: "status:completed" },
  { status: "Stopped", look: "stopped", glyph: "■", title: say("stopped"), q: "status=stopped" },
] as const;

/** As a query says it: 10m. */
const silentQuery = (): string => `silent>${Math.round((info.value?.limits?.silent_after_ms ?? 600_000) / 1000)}s`;

function States({ fleet }: { fleet: Fleet | null }) {
  const total = fleet?.jobs["total"];
  return (
    <section class="states" aria-label={t("Jobs by state")}>
      {STATES.map(({ status, look, glyph, title, q }) => (
        <a key={status} href={jobsHref(q || silentQuery())} class={`state ${look}`}>
          <b>{fleet ? formatCount(fleet.jobs[status] ?? 0) : NONE}</b>
          <span>
            <span class="glyph" aria-hidden="true">
              {glyph}
            </span>
            {t(title)}
          </span>
        </a>
      ))}
      <a href="/jobs" class="state">
        <b>{total === undefined ? NONE : formatCount(total)}</b>
        <span>{t("all jobs")}</span>
      </a>
      <a href={jobsHref("status:inprogress")} class="state">
        <b title={fleet?.nodes.estimated_in_jobs ? t("estimated: nodes are counted, not stated") : undefined}>
          {fleet?.nodes.estimated_in_jobs ? "≈ " : ""}
          {fleet ? formatCount(fleet.nodes.in_jobs) : NONE}
        </b>
        <span>{t("nodes at work")}</span>
      </a>
    </section>
  );
}

/** Lines of the height that a list will have, so that nothing moves when it comes. */
const Waiting = ({ rows }: { rows: number }) => (
  <ul class="waiting" aria-hidden="true">
    {Array.from({ length: rows }, (_, i) => (
      <li key={i} />
    ))}
  </ul>
);

function JobLink({ name, query = {} }: { name: string; query?: Record<string, string | undefined> }) {
  return (
    <a class="jobname" href={jobHref(name, query)} title={name}>
      <bdi>{cutMiddle(name, NAME_LENGTH)}</bdi>
    </a>
  );
}

const SEVERITIES = { critical: say("critical"), warning: say("warning"), info: say("info") };

function Incidents({ fleet, rows }: { fleet: Fleet | null; rows: Incident[] | null }) {
  const counts = fleet?.open_incidents;
  const more = counts && (
    <>
      <a href="/report" title={t("What happened since I last looked")}>
        {t("Report")}
      </a>
      <a href="/incidents?state=open">
        {(["critical", "warning", "info"] as const).map((severity) => (
          <span key={severity} class="count" title={t(SEVERITIES[severity])}>
            <SeverityMark severity={severity} />
            {formatCount(counts[severity])}
          </span>
        ))}
      </a>
    </>
  );
  return (
    <Part name="incidents" title={t("Open incidents")} more={more}>
      {!rows && <Waiting rows={8} />}
      {rows?.length === 0 && <p class="dim">{t("None. What a job's log or curve says of trouble is listed here.")}</p>}
      <ul>
        {rows?.map((row) => (
          <li key={row.id} title={incidentTitle(row)}>
            <SeverityMark severity={row.severity} />
            <span class="what">{incidentName(row)}</span>
            <JobLink name={row.job} query={{ incident: String(row.id) }} />
            <span class="num">
              <Age ms={row.opened_ms} />
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Silent({ fleet }: { fleet: Fleet | null }) {
  const rows = fleet?.silent_jobs;
  const count = fleet?.jobs["silent"] ?? 0;
  return (
    <Part name="quiet" title={t("Silent jobs")} more={count > 0 && <a href={jobsHref(silentQuery())}>{tn(count, "{n} job", "{n} jobs")}</a>}>
      {!rows && <Waiting rows={4} />}
      {rows?.length === 0 && <p class="dim">{t("None: all running jobs were heard of lately.")}</p>}
      <ul>
        {rows?.map((row) => (
          <li key={row.job}>
            <span class="silent glyph" aria-hidden="true">
              ◌
            </span>
            <JobLink name={row.job} />
            <span class="num">
              <Age ms={row.last_heard_ms} />
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function signed(percent: number): string {
  const text = Math.abs(percent).toFixed(Math.abs(percent) < 9.95 ? 1 : 0);
  return `${Number(text) === 0 ? "" : percent > 0 ? "+" : "−"}${text} %`;
}

function Paces({ paces }: { paces: PacesReply | null }) {
  return (
    <Part name="paces" title={t("Throughput against what is usual")}>
      {!paces && <Waiting rows={8} />}
      {paces?.jobs.length === 0 && <p class="dim">{t("Not known yet: a job's own pace is known after some fifty values of its throughput or step time.")}</p>}
      <ul>
        {paces?.jobs.map((pace) => {
          const change = pace.percent_of_usual - 100;
          const look = change < -20 ? "critical" : change < -5 ? "warning" : "";
          const unit = pace.unit || (pace.is_step_time ? t("s a step") : "");
          return (
            <li key={pace.job} title={`${pace.metric}: ${t("now {now}, usually {usual} {unit}", { now: formatExact(pace.now), usual: formatExact(pace.usual), unit })}`}>
              <JobLink name={pace.job} />
              <span class="num">
                {formatCompact(pace.now)} <span class="dim">{unit}</span>
              </span>
              <span class={`pace ${look}`} aria-hidden="true">
                <i style={{ width: `${Math.min(100, pace.percent_of_usual / 1.25)}%` }} />
              </span>
              <span class={`num severity ${look}`}>{signed(change)}</span>
            </li>
          );
        })}
      </ul>
    </Part>
  );
}

const percent = (sums: FleetSums | undefined): string => (sums?.goodput === null || sums?.goodput === undefined ? NONE : `${sums.goodput.toFixed(1)} %`);

function Figure({ title, children, hint }: { title: string; children: ComponentChildren; hint?: string | undefined }) {
  return (
    <div title={hint}>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Money({ fleet, currency }: { fleet: Fleet | null; currency: string }) {
  const cost = (sums: FleetSums | undefined, of: "cost" | "lost_cost"): string => {
    const value = sums?.[of];
    return typeof value !== "number" ? NONE : `${sums?.estimated_node_hours ? "≈ " : ""}${value >= 10_000 ? formatCompact(value) : value.toFixed(2)} ${currency}`;
  };
  const isEstimated = (sums: FleetSums | undefined): string | undefined => (sums?.estimated_node_hours ? t("estimated: nodes are counted, not stated") : undefined);
  const today = fleet?.today;
  const month = fleet?.last_30_days;
  const unpriced = fleet?.unpriced_types ?? [];
  return (
    <Part name="money" title={t("Goodput and cost")} more={<span class="dim">{t("days are of UTC")}</span>}>
      <dl>
        <Figure title={t("goodput today")} hint={t("Of the node-hours that were measured")}>
          {percent(today)}
        </Figure>
        <Figure title={t("in 30 days")} hint={t("Of the node-hours that were measured")}>
          {percent(month)}
        </Figure>
        <Figure title={t("cost today")} hint={currency ? isEstimated(today) : t("There is a cost where the list of prices has the instance type")}>
          {cost(today, "cost")}
        </Figure>
        <Figure title={t("lost of it")} hint={t("Steps made again, restarts, stalls")}>
          {cost(today, "lost_cost")}
        </Figure>
        <Figure title={t("cost in 30 days")} hint={isEstimated(month)}>
          {cost(month, "cost")}
        </Figure>
        <Figure title={t("lost of it")}>{cost(month, "lost_cost")}</Figure>
      </dl>
      {unpriced.length > 0 && (
        <p class="dim">
          <a href="/settings#prices" title={unpriced.join(", ")}>
            {tn(unpriced.length, "no price for {n} type: set prices", "no price for {n} types: set prices")}
          </a>
        </p>
      )}
    </Part>
  );
}

function Pools({ fleet, waiting }: { fleet: Fleet | null; waiting: WarmPool[] }) {
  const pools = fleet?.warm_pools;
  const count = (value: number | undefined): string => (value === undefined ? NONE : formatCount(value));
  return (
    <Part name="warm" title={t("Warm pools")} more={<a href="/pools">{t("all pools")}</a>}>
      <dl>
        <Figure title={t("in use")}>
          <a href="/pools?state=inuse">{count(pools?.InUse)}</a>
        </Figure>
        <Figure title={t("waiting")}>
          <a href="/pools?state=available">{count(pools?.Available)}</a>
        </Figure>
        <Figure title={t("nodes in them")}>{count(fleet?.nodes.in_waiting_pools)}</Figure>
        <Figure title={t("ended")}>
          <a href="/pools?state=terminated">{count(pools?.Terminated)}</a>
        </Figure>
      </dl>
      <ul>
        {waiting.map((pool) => (
          <li key={pool.id}>
            <a class="jobname" href={`/pools${buildSearch({}, { state: "available", job: pool.jobs[pool.jobs.length - 1] })}`}>
              {t("pool {n}", { n: pool.id })} · {pool.InstanceCount ?? "1"} × {shortInstance(pool.InstanceType)}
            </a>
            <span class="dim">{t("idle for {time}", { time: formatDuration(pool.idle_seconds) })}</span>
            <span class="num">{pool.expires_ms === undefined ? NONE : t("{time} left", { time: formatLeft(pool.expires_ms - now.value) })}</span>
          </li>
        ))}
      </ul>
    </Part>
  );
}

const QUOTAS: Record<string, string> = {
  longest_run_seconds: say("longest run"),
  instances: say("instances"),
  instances_per_job: say("instances of one job"),
  instances_per_type: say("instances"),
  warm_pool_instances: say("instances in pools"),
};

const quotaValue = (quota: Quota, value: number): string => (quota.quota === "longest_run_seconds" ? formatDuration(value) : formatCount(value));

const QUOTAS_SHOWN = 10;

/** Those with a limit first, and of these the fullest. */
function Quotas({ fleet }: { fleet: Fleet | null }) {
  const fill = (quota: Quota): number => (quota.configured === undefined ? -1 : quota.used / Math.max(1, quota.configured));
  const rows = fleet && [...fleet.quotas].sort((a, b) => fill(b) - fill(a)).slice(0, QUOTAS_SHOWN);
  return (
    <Part name="quotas" title={t("Quotas")}>
      {!rows && <Waiting rows={5} />}
      <ul>
        {rows?.map((quota) => {
          const share = fill(quota);
          const look = share >= 1 ? "critical" : share >= 0.9 ? "warning" : "";
          const title = t(QUOTAS[quota.quota] ?? quota.quota);
          return (
            <li key={`${quota.quota} ${quota.instance_type ?? ""}`} title={t("highest {n}", { n: quotaValue(quota, quota.highest) })}>
              <span class="what">
                {title} {quota.instance_type && <bdi class="mono">{cutMiddle(quota.instance_type, 28)}</bdi>}
              </span>
              {share >= 0 && (
                <span class={`pace ${look}`} aria-hidden="true">
                  <i style={{ width: `${Math.min(100, share * 100)}%` }} />
                </span>
              )}
              <span class="num">
                {quotaValue(quota, quota.used)}
                <span class="dim"> / {quota.configured === undefined ? t("no limit") : quotaValue(quota, quota.configured)}</span>
              </span>
            </li>
          );
        })}
      </ul>
    </Part>
  );
}

function Ingest({ fleet }: { fleet: Fleet | null }) {
  const ingest = fleet?.ingest;
  const count = (value: number | undefined): string => (value === undefined ? NONE : formatCount(value));
  const bad = (value: number | undefined): string => (value ? "bad" : "");
  return (
    <Part name="ingest" title={t("Health of the server")}>
      <dl>
        <Figure title={t("lines/s")}>{ingest ? (ingest.lines_per_s < 1000 ? formatCount(ingest.lines_per_s) : formatCompact(ingest.lines_per_s)) : NONE}</Figure>
        <Figure title={t("behind")} hint={t("Commits whose points and incidents are still to come")}>
          {ingest ? tn(ingest.commits_behind, "{n} commit", "{n} commits") : NONE}
        </Figure>
        <Figure title={t("lag")} hint={t("What the slowest line of the last second took from its arrival until its points were known")}>
          {info.value?.lag_ms === undefined ? NONE : `${formatCount(info.value.lag_ms)} ms`}
        </Figure>
        <Figure title={t("journal")} hint={t("Text that is stored and not yet in its place")}>
          {ingest ? formatBytes(ingest.journal_bytes) : NONE}
        </Figure>
        <Figure title={t("turned away")} hint={t("Uploads that were told to come again, because a queue or the journal was full")}>
          {count(ingest?.refused_busy)}
        </Figure>
        <Figure title={t("points left out")} hint={t("Of streams that have --max-series series already")}>
          <span class={bad(ingest?.refused_points)}>{count(ingest?.refused_points)}</span>
        </Figure>
        <Figure title={t("lines lost")} hint={t("Acknowledged, but their record is damaged")}>
          <span class={bad(ingest?.lost_lines)}>{count(ingest?.lost_lines)}</span>
        </Figure>
        <Figure title={t("odd times")} hint={t("Lines with a time before 1990 or after 2200")}>
          {count(ingest?.bad_times)}
        </Figure>
        <Figure title={t("disk left")}>
          <span class={ingest?.disk_low ? "bad" : ""}>{typeof ingest?.disk_free_bytes === "number" ? formatBytes(ingest.disk_free_bytes) : NONE}</span>
        </Figure>
      </dl>
    </Part>
  );
}
