import { say, t } from "../../i18n/i18n";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { PoolState, PoolTurn, WarmPool } from "../../api/types";
import { cutMiddle, formatDuration, formatTime, NONE } from "../../lib/text/format";
import { shortInstance } from "../../lib/text/units";
import { costPerHour, formatLeft, place, poolBars, type Bar, type TimeSpan } from "../../lib/jobs/pools";
import { jobHref } from "../../lib/url/url";
import { now } from "../../state/core/clock";
import { lanesNow } from "../../state/fleet/pools";
import "../../styles/table";

type Turns = ReadonlyMap<number, { turns: PoolTurn[] }>;

interface Props {
  rows: WarmPool[];
  turns: Turns;
  span: TimeSpan;
  /** The job that one came from, whose pool is to be seen first. */
  job: string;
}

export function PoolsTable({ rows, turns, span, job }: Props) {
  const body = useRef<HTMLTableElement>(null);
  useEffect(() => {
    if (job) body.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }, [job]);
  return (
    <table class="jobs pools" ref={body}>
      <thead>
        <tr>
          <th scope="col">{t("pool")}</th>
          <th scope="col">{t("state")}</th>
          <th scope="col">{t("instances")}</th>
          <th scope="col" class="num">
            {t("left")}
          </th>
          <th scope="col" class="num" title={t("How long the cluster waited for a next job, which is paid for")}>
            {t("idle")}
          </th>
          <th scope="col" class="num" title={t("What that time cost so far; of a pool that waits, and for each further hour")}>
            {t("idle cost")}
          </th>
          <th scope="col" class="num" title={t("By how much its warm starts were shorter than the usual cold one")}>
            {t("saved")}
          </th>
          <th scope="col">
            {t("jobs")}
            <span class="axis">
              {t("lanes from {from} to {to}", { from: formatTime(span.from_ms), to: formatTime(span.to_ms) })}
            </span>
          </th>
        </tr>
      </thead>
      {rows.map((pool) => (
        <Pool key={pool.id} pool={pool} turns={turns.get(pool.id)?.turns} span={span} isChosen={job !== "" && pool.jobs.includes(job)} />
      ))}
    </table>
  );
}

function Pool({ pool, turns, span, isChosen }: { pool: WarmPool; turns: PoolTurn[] | undefined; span: TimeSpan; isChosen: boolean }) {
  const cold = pool.cold_startup_seconds;
  return (
    <tbody class={isChosen ? "chosen" : ""} data-pool={pool.id}>
      <tr>
        <th scope="row">{pool.id}</th>
        <td>
          <State state={pool.state} />
        </td>
        <td class="mono">
          {pool.InstanceCount ?? "1"} × {shortInstance(pool.InstanceType)}
        </td>
        <td class={pool.expires_ms === undefined ? "num none" : "num"} data-label={t("left")}>
          {pool.expires_ms === undefined ? <span class="dim">{NONE}</span> : <Left pool={pool} turns={turns} />}
        </td>
        <td class="num" data-label={t("idle")} title={`${pool.idle_seconds} s`}>
          {formatDuration(pool.idle_seconds)}
        </td>
        <td class={pool.idle_seconds > 0 ? "num" : "num none"} data-label={t("idle cost")}>
          <IdleCost pool={pool} />
        </td>
        <td class="num" data-label={t("saved")} title={pool.saved_seconds === null ? undefined : `${pool.saved_seconds} s${cold === undefined || cold === null ? "" : `; ${t("a cold start takes {time}", { time: formatDuration(cold) })}`}`}>
          {pool.saved_seconds === null ? NONE : formatDuration(pool.saved_seconds)}
        </td>
        <td class="chain">
          <Chain jobs={pool.jobs} />
        </td>
      </tr>
      <tr class="lanerow">
        <td colSpan={8}>
          <Lane bars={turns ? poolBars(turns, pool.expires_ms, lanesNow.value) : []} span={span} />
        </td>
      </tr>
    </tbody>
  );
}

function IdleCost({ pool }: { pool: WarmPool }) {
  if (pool.idle_seconds === 0) return <span class="dim">{NONE}</span>;
  if (typeof pool.idle_cost !== "number") return <a href="/settings#prices">{t("set its price")}</a>;
  const hourly = pool.state === "Available" ? costPerHour(pool) : null;
  return (
    <>
      {pool.idle_cost.toFixed(2)} <span class="dim">{pool.currency}</span>
      {hourly !== null && <span class="dim"> · {t("≈ {amount} an hour", { amount: String(hourly) })}</span>}
    </>
  );
}

const STATES: Record<PoolState, { look: string; glyph: string; text: string }> = {
  InUse: { look: "running", glyph: "●", text: say("in use") },
  Available: { look: "completed", glyph: "○", text: say("available") },
  Terminated: { look: "stopped", glyph: "■", text: say("terminated") },
  Reused: { look: "running", glyph: "●", text: say("reused") },
};

function State({ state }: { state: PoolState }) {
  const { look, glyph, text } = STATES[state];
  return (
    <span class={`status ${look}`}>
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>
      <span class="text">{t(text)}</span>
    </span>
  );
}

/** A ring that empties, and the time that it stands for. */
function Left({ pool, turns }: { pool: WarmPool; turns: PoolTurn[] | undefined }) {
  const left = (pool.expires_ms ?? 0) - now.value;
  const keepAlive = (turns?.[turns.length - 1]?.keep_alive_seconds ?? 0) * 1000;
  const share = keepAlive > 0 ? Math.min(1, Math.max(0, left / keepAlive)) : 0;
  return (
    <span class="left" title={t("until {time}", { time: formatTime(pool.expires_ms) })}>
      {keepAlive > 0 && <i class="ring" style={{ "--share": `${share * 100}%` }} aria-hidden="true" />}
      {left > 0 ? formatLeft(left) : t("over")}
    </span>
  );
}

const SHOWN = 3;

function Chain({ jobs }: { jobs: string[] }) {
  const isAll = useSignal(false);
  const hidden = isAll.value ? 0 : Math.max(0, jobs.length - SHOWN);
  return (
    <>
      <ol>
        {jobs.slice(hidden).map((job, i) => (
          <li key={hidden + i}>
            {job === "" ? (
              <span class="dim">{t("a deleted job")}</span>
            ) : (
              <a href={jobHref(job)} title={job}>
                {cutMiddle(job, 32)}
              </a>
            )}
          </li>
        ))}
      </ol>
      {jobs.length > SHOWN && (
        <button type="button" class="quiet" aria-expanded={isAll.value} onClick={() => (isAll.value = !isAll.value)}>
          {isAll.value ? t("fewer") : t("{n} earlier", { n: hidden })}
        </button>
      )}
    </>
  );
}

const saidOf = ({ kind, job, from_ms, to_ms }: Bar): string => {
  const time = formatDuration((to_ms - from_ms) / 1000);
  const from = formatTime(from_ms);
  if (kind === "job") return t("{job}: {time} from {from}", { job: job || t("a deleted job"), time, from });
  return kind === "wait" ? t("idle for {time} from {from}", { time, from }) : t("kept for another {time}, until {to}", { time, to: formatTime(to_ms) });
};

/** Jobs and waits of one cluster in time. The names above say the same in words, so that the bars are for eyes and pointers. */
function Lane({ bars, span }: { bars: Bar[]; span: TimeSpan }) {
  return (
    <div class="lane" aria-hidden="true">
      {bars.map((bar, i) => {
        const at = place(bar, span);
        if (!at) return null;
        const look = { left: `${at.left * 100}%`, width: `${at.width * 100}%` };
        const said = saidOf(bar);
        return bar.kind === "job" && bar.job ? (
          <a key={i} class="job" href={jobHref(bar.job)} tabIndex={-1} style={look} title={said} />
        ) : (
          <span key={i} class={bar.kind} style={look} title={said} />
        );
      })}
    </div>
  );
}
