// All machines: their faults by kind, what these broke off, where they were slow, and which the next job should do without.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Machine } from "../../api/machines";
import { t, tn } from "../../i18n/i18n";
import { every, Soon } from "../../lib/flow/poll";
import { adoptStyle } from "../../lib/jobs/adopt";
import { sum, usedOf } from "../../lib/jobs/machines";
import { cutMiddle, formatCompact, formatCount, NONE } from "../../lib/text/format";
import { jobHref, machineHref } from "../../lib/url/url";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { MachineList } from "../../state/fleet/machines";
import style from "../../styles/machines.css?inline";
import { CopyLine } from "../../ui/copy";
import { DataTable } from "../../ui/datatable";
import { lazy } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Age } from "../../ui/time";

adoptStyle(style);

const MachineDetail = lazy(async () => (await import("./detail")).MachineDetail, 6);

const TYPING_MS = 300;
// A fault is an event of a job, but not of this list.
const RELOAD_MS = 30_000;
const HOSTS_SHOWN = 20;

export function MachinesPage() {
  const part = query.value["find"] ?? "";
  const host = query.value["host"] ?? "";
  const isOnlyTroubled = query.value["only"] === "trouble";
  const list = useStore(() => new MachineList(part, isOnlyTroubled), [part, isOnlyTroubled], (next) => next.load());
  useEffect(() => (list ? every(RELOAD_MS, () => list.rows.value !== null && list.cursor.value === null && void list.load()) : undefined), [list]);
  const rows = list?.rows.value;
  return (
    <div class="view machines">
      <div class="viewhead">
        <h1>{t("Machines")}</h1>
        <Search part={part} />
        <div class="segments" role="group" aria-label={t("Which machines")}>
          <button type="button" aria-pressed={!isOnlyTroubled} onClick={() => patchQuery({ only: undefined })}>
            {t("all")}
          </button>
          <button type="button" aria-pressed={isOnlyTroubled} title={t("With a fault, a break or slow steps in the last 30 days")} onClick={() => patchQuery({ only: "trouble" })}>
            {t("in trouble")}
          </button>
        </div>
        <span class="grow" />
        <span class="dim since">{t("of the last 30 days")}</span>
      </div>
      {list?.problem.value && <ProblemBox problem={list.problem.value} onRetry={() => void list.load()} />}
      {!rows && !list?.problem.value && <Skeleton rows={8} />}
      {list && list.drain.value.length > 0 && <DrainList rows={list.drain.value} />}
      {host !== "" && <MachineDetail key={host} host={host} />}
      {rows?.length === 0 && <NoRows isSearch={part !== ""} isOnlyTroubled={isOnlyTroubled} />}
      {rows && rows.length > 0 && <MachineTable rows={rows} chosen={host} />}
      {list && list.cursor.value !== null && (
        <div class="more">
          <button type="button" onClick={() => void list.more()}>
            {t("More machines")}
          </button>
        </div>
      )}
    </div>
  );
}

function NoRows({ isSearch, isOnlyTroubled }: { isSearch: boolean; isOnlyTroubled: boolean }) {
  if (isOnlyTroubled) return <p class="empty dim">{t("No machine had a fault, broke a job off or was slow.")}</p>;
  return isSearch ? <p class="empty dim">{t("No machine is called so.")}</p> : <NoMachines />;
}

function Search({ part }: { part: string }) {
  const soon = useSignal<Soon | null>(null);
  useEffect(() => () => soon.peek()?.stop(), []);
  return (
    <input
      type="search"
      aria-label={t("Search the machines")}
      placeholder={t("Search the machines")}
      autocomplete="off"
      spellcheck={false}
      defaultValue={part}
      onInput={(event) => {
        const text = event.currentTarget.value;
        soon.peek()?.stop();
        soon.value = new Soon(TYPING_MS, () => patchQuery({ find: text || undefined, host: undefined }, true));
        soon.value.ask();
      }}
    />
  );
}

/** What stands out first: the names go to the scheduler by one click. */
function DrainList({ rows }: { rows: readonly { host: string; why: string[] }[] }) {
  const names = rows.map(({ host }) => host).join(",");
  return (
    <section class="drain" aria-label={t("To be drained")}>
      <h2>
        <span class="severity critical" aria-hidden="true">
          ◆
        </span>{" "}
        {tn(rows.length, "{n} machine should be drained", "{n} machines should be drained")}
      </h2>
      <ul>
        {rows.slice(0, HOSTS_SHOWN).map(({ host, why }) => (
          <li key={host}>
            <a class="mono" href={machineHref(host)}>
              <bdi>{host}</bdi>
            </a>{" "}
            <span lang="en">{why.join("; ")}</span>
          </li>
        ))}
      </ul>
      {rows.length > HOSTS_SHOWN && <p class="dim">{t("and {n} more", { n: formatCount(rows.length - HOSTS_SHOWN) })}</p>}
      <CopyLine text={names} label={t("names of the machines to drain")} />
    </section>
  );
}


function MachineTable({ rows, chosen }: { rows: readonly Machine[]; chosen: string }) {
  return (
    <div class="machinescroll">
      <DataTable
        class="ledger"
        caption={t("Machines")}
        rows={rows}
        keyOf={({ host }) => host}
        rowClass={({ host }) => (host === chosen ? "chosen" : "")}
        columns={[
          {
            title: t("machine"),
            isHead: true,
            cellClass: "mono",
            cellHint: ({ host }) => host,
            cell: ({ host }) => (
              <a href={machineHref(host)} aria-current={host === chosen ? "true" : undefined}>
                <bdi>{cutMiddle(host, 48)}</bdi>
              </a>
            ),
          },
          { title: t("drain"), cellHint: ({ why }) => why.join("; "), cell: ({ drain }) => (drain ? <Drain /> : <span class="dim">{NONE}</span>) },
          { title: t("faults by kind"), cellClass: "kinds", cell: ({ faults }) => <Faults rows={faults} /> },
          { title: t("breaks"), hint: t("Times that a job broke off behind a fault of this machine"), isNumber: true, cell: ({ restarts }) => formatCount(restarts) },
          { title: t("lost node-hours"), hint: t("What these breaks cost all nodes of the jobs"), isNumber: true, cell: (one) => (one.restarts > 0 ? formatCompact(one.lost_node_hours) : NONE) },
          { title: t("slow"), hint: t("Incidents because a stream of it was slower than the others, and the steps that they lasted"), isNumber: true, cell: (one) => (one.stragglers > 0 ? `${formatCount(one.stragglers)} · ${formatCount(one.slow_steps)}` : NONE) },
          { title: t("used"), hint: t("Mean of its GPUs, else of its CPUs, in its last ten jobs"), isNumber: true, cell: ({ utilisation }) => usedOf(utilisation) },
          { title: t("jobs"), isNumber: true, cell: ({ job_count }) => formatCount(job_count) },
          { title: t("last job"), cell: ({ jobs: [last] }) => (last ? <a href={jobHref(last.job, { stream: last.stream })}><bdi>{cutMiddle(last.job, 32)}</bdi></a> : NONE) },
          { title: t("last line"), isNumber: true, cell: ({ last_seen_ms }) => <Age ms={last_seen_ms || undefined} /> },
        ]}
      />
    </div>
  );
}

function Drain() {
  return (
    <span class="failed">
      <span class="severity critical" aria-hidden="true">
        ◆
      </span>{" "}
      {t("drain")}
    </span>
  );
}

function Faults({ rows }: { rows: Machine["faults"] }) {
  if (rows.length === 0) return <span class="dim">{NONE}</span>;
  return (
    <span title={tn(sum(rows.map(({ lines }) => lines)), "{n} line", "{n} lines")}>
      {rows.map(({ signature, lines, drain }) => (
        <span key={signature} class={drain ? "kind failed" : "kind"}>
          <code>{signature}</code>
          {lines > 1 && ` × ${formatCount(lines)}`}
        </span>
      ))}
    </span>
  );
}

function NoMachines() {
  return (
    <section class="empty">
      <h1>{t("No machine is known by name yet")}</h1>
      <p>{t("sm-ship names the machine that it runs on; other senders say host= with their lines. Faults in the kernel's log, slow steps and utilisation are then listed here, machine by machine.")}</p>
      <CopyLine text={`sm-ship --server ${location.origin} --job my-run --system -- python train.py`} label={t("command")} />
    </section>
  );
}
