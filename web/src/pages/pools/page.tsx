import { say, t, tx } from "../../i18n/i18n";
import { useEffect } from "preact/hooks";
import { adoptStyle } from "../../lib/jobs/adopt";
import { sharedSpan } from "../../lib/jobs/pools";
import { lanesNow, PoolList } from "../../state/fleet/pools";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import style from "../../styles/pools.css?inline";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { MatchForm } from "./match";
import { PoolsTable } from "./table";

adoptStyle(style);

const STATES = [
  ["", say("all")],
  ["inuse", say("in use")],
  ["available", say("available")],
  ["terminated", say("terminated")],
] as const;
const SPANS = [
  ["", say("all time")],
  ["7d", say("7 d")],
  ["1d", say("1 d")],
  ["6h", say("6 h")],
] as const;

function Segments({ name, label, values }: { name: string; label: string; values: readonly (readonly [string, string])[] }) {
  const chosen = query.value[name] ?? "";
  return (
    <div class="segments" role="group" aria-label={label}>
      {values.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={chosen === value} onClick={() => patchQuery({ [name]: value || undefined })}>
          {t(text)}
        </button>
      ))}
    </div>
  );
}

export function PoolsPage({ state }: { state: string }) {
  const list = useStore(() => new PoolList(state), [state], (next) => next.start());
  const isAsking = query.value["match"] === "1";
  return (
    <div class="view">
      <div class="viewhead poolhead">
        <h1>{t("Warm pools")}</h1>
        <Segments name="state" label={t("Which pools")} values={STATES} />
        <Segments name="span" label={t("How far back")} values={SPANS} />
        <button type="button" aria-expanded={isAsking} aria-controls="poolmatch" onClick={() => patchQuery({ match: isAsking ? undefined : "1" })}>
          {t("Would my job match?")}
        </button>
      </div>
      {isAsking && <MatchForm />}
      {list && <Content list={list} state={state} />}
    </div>
  );
}

function Content({ list, state }: { list: PoolList; state: string }) {
  const rows = list.rows.value;
  const problem = list.problem.value;
  const nowMs = lanesNow.value;
  const isOver = rows?.some((pool) => pool.expires_ms !== undefined && pool.expires_ms < nowMs) ?? false;
  useEffect(() => {
    if (isOver) list.reloadSoon();
  }, [list, isOver, rows]);

  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void list.start()} />}
      {!rows && !problem && <Skeleton rows={8} />}
      {rows?.length === 0 && (state === "" ? <NoPools /> : <NoneSo state={state} />)}
      {rows && rows.length > 0 && (
        <PoolsTable rows={rows} turns={list.turns.value} span={sharedSpan(rows, query.value["span"] ?? "", nowMs)} job={query.value["job"] ?? ""} />
      )}
      {list.cursor.value && (
        <div class="more">
          <button type="button" onClick={() => void list.more()}>
            {t("More")}
          </button>
        </div>
      )}
    </>
  );
}

function NoneSo({ state }: { state: string }) {
  return (
    <section class="empty">
      <h1>{t("No pool is {state}", { state: t(STATES.find(([value]) => value === state)?.[1] ?? state) })}</h1>
      <button type="button" onClick={() => patchQuery({ state: undefined })}>
        {t("Show all pools")}
      </button>
    </section>
  );
}

/** How a pool comes about. */
function NoPools() {
  return (
    <section class="empty">
      <h1>{t("No warm pool yet")}</h1>
      <p>
        {tx("A job whose {config} says {field} leaves its cluster behind when it ends. For that long the next job that asks for the same (instances, volume, role, network) starts on it at once instead of waiting for machines.", {
          config: <code>ResourceConfig</code>,
          field: <code>KeepAlivePeriodInSeconds</code>,
        })}
      </p>
      <p>
        {tx("smfleet learns of it from the job's document ({call}) and from its states; nothing else is to be set up. Who shares a cluster, how long it stood idle and what the warm starts saved is then listed here.", {
          call: <code>POST /api/v1/jobs</code>,
        })}
      </p>
    </section>
  );
}
