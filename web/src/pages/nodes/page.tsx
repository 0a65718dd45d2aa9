import { useMemo } from "preact/hooks";
import type { Command, NodeRow, StreamInfo } from "../../api/types";
import { t, tn, tx } from "../../i18n/i18n";
import { adoptStyle } from "../../lib/jobs/adopt";
import { commandAnswers, commandState, exitText } from "../../lib/jobs/commands";
import { cutMiddle, formatCount, formatDuration, formatTime, NONE } from "../../lib/text/format";
import { gridNodes } from "../../lib/jobs/nodegrid";
import { jobHref } from "../../lib/url/url";
import type { JobStore } from "../../state/job/job";
import { now } from "../../state/core/clock";
import { info } from "../../state/core/info";
import { NodeStore } from "../../state/job/nodes";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import style from "../../styles/nodelist.css?inline";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Age } from "../../ui/time";
import { Bandwidth } from "./bandwidth";
import { NodeGrid } from "./grid";
import { Heat } from "./heat";
import { Replaced } from "./replaced";
import "../../styles/table";

adoptStyle(style);

/** Rows of a page of the table: 2048 at once would be twenty thousand elements. */
const PAGE = 100;
const TICK_MS = 10_000;
const SILENT_MS = 10 * 60_000;

/** Who sends the job's log: at a glance, against each other, and one by one. */
export function NodesPart({ store }: { store: JobStore }) {
  const own = useStore(() => new NodeStore(store), [store], (next) => next.load());
  const streams = store.streams.value;
  const problem = own?.problem.value;
  const onlyTrouble = query.value["only"] === "trouble";
  const isRunning = store.doc.value?.TrainingJobStatus === "InProgress" || store.doc.value?.TrainingJobStatus === "Stopping";
  const tick = Math.floor(now.value / TICK_MS) * TICK_MS;
  const incidents = store.incidents.rows.value;
  const machines = own?.machines.value;
  const drain = own?.drain.value;
  const nodes = useMemo(
    () => gridNodes(streams ?? [], incidents ?? [], machines ?? [], isRunning ? tick - (info.value?.limits?.silent_after_ms ?? SILENT_MS) : null, drain),
    [streams, incidents, machines, isRunning, tick, drain],
  );
  const troubled = nodes.filter((node) => node.isTroubled).map(({ one }) => one);
  const shown = onlyTrouble ? troubled : (streams ?? []);
  return (
    <div class="nodes">
      {problem && <ProblemBox problem={problem} onRetry={() => void own?.load()} />}
      {!streams && !problem && <Skeleton rows={8} />}
      {streams && (
        <>
          {own && own.commands.value.length > 0 && <Commands rows={own.commands.value} />}
          {nodes.length > 1 && <NodeGrid job={store.name} nodes={nodes} />}
          {nodes.length > 1 && <Heat store={store} />}
          <Replaced store={store} />
          <div class="viewhead">
            <h2>{tn(streams.length, "{n} node", "{n} nodes")}</h2>
            <div class="segments" role="group" aria-label={t("Which nodes")}>
              <button type="button" aria-pressed={!onlyTrouble} onClick={() => patchQuery({ only: undefined, page: undefined })}>
                {t("all")}
              </button>
              <button type="button" aria-pressed={onlyTrouble} title={t("Ended badly, silent, with a wrong clock, named by an open incident, or to be drained")} onClick={() => patchQuery({ only: "trouble", page: undefined })}>
                {t("in trouble: {n}", { n: troubled.length })}
              </button>
            </div>
            <Pages count={shown.length} />
          </div>
          {shown.length > 0 && <NodeTable job={store.name} rows={shown} machines={own?.machines.value ?? []} />}
          {shown.length === 0 && <p class="empty dim">{onlyTrouble ? t("No node is in trouble.") : t("Nothing has sent a line of this job yet.")}</p>}
          <Bandwidth store={store} />
        </>
      )}
    </div>
  );
}

const pageOf = (count: number): number => Math.min(Math.max(1, Math.ceil(count / PAGE)), Math.max(1, Math.floor(Number(query.value["page"] ?? 1)) || 1));

function Pages({ count }: { count: number }) {
  if (count <= PAGE) return null;
  const page = pageOf(count);
  const last = Math.ceil(count / PAGE);
  const to = (next: number): void => patchQuery({ page: next === 1 ? undefined : String(next) });
  return (
    <nav class="pages" aria-label={t("Pages of the table")}>
      <button type="button" disabled={page === 1} onClick={() => to(page - 1)}>
        {t("Previous page")}
      </button>
      <span>{t("{from} – {to} of {all}", { from: formatCount((page - 1) * PAGE + 1), to: formatCount(Math.min(count, page * PAGE)), all: formatCount(count) })}</span>
      <button type="button" disabled={page === last} onClick={() => to(page + 1)}>
        {t("Next page")}
      </button>
    </nav>
  );
}

function NodeTable({ job, rows, machines }: { job: string; rows: StreamInfo[]; machines: readonly NodeRow[] }) {
  const page = pageOf(rows.length);
  const shell = new Map(machines.map((one) => [one.stream, one.ssh_command ?? one.ssm_command]));
  return (
    <div class="nodescroll">
      <table class="jobs incidents">
        <thead>
          <tr>
            <th scope="col">{t("node")}</th>
            <th scope="col" class="num">
              {t("last line")}
            </th>
            <th scope="col">{t("ended")}</th>
            <th scope="col">{t("notes")}</th>
            <th scope="col">{t("host")}</th>
            <th scope="col">{t("role")}</th>
            <th scope="col" class="num">
              {t("attempt")}
            </th>
            <th scope="col" class="num">
              {t("lines")}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice((page - 1) * PAGE, page * PAGE).map((one) => (
            <Node key={one.stream} job={job} one={one} shell={shell.get(one.stream)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Node({ job, one, shell }: { job: string; one: StreamInfo; shell: string | undefined }) {
  return (
    <tr data-stream={one.stream}>
      <td class="mono">
        <a href={jobHref(job, { stream: one.stream })} title={t("Log of {node}", { node: one.stream })}>
          {cutMiddle(one.stream, 40)}
        </a>
      </td>
      <td class="num">
        <Age ms={one.last_seen_ms ?? one.last_ms} />
      </td>
      <td>
        <Exit exit={one.exit} />
      </td>
      <td class="notes">
        {one.silent_since_ms !== undefined && (
          <span class="silent">
            <span class="glyph" aria-hidden="true">
              ◌
            </span>
            {t("silent since {time}", { time: formatTime(one.silent_since_ms) })}
          </span>
        )}
        {one.skew_warning !== undefined && (
          <span title={`${one.skew_ms ?? 0} ms`}>
            <span class="severity warning" aria-hidden="true">
              ▲{" "}
            </span>
            {one.skew_warning}
          </span>
        )}
        {shell && <code title={t("Opens a session on the machine")}>{shell}</code>}
      </td>
      <td class="mono" title={one.host}>
        {one.shared ? t("several machines") : one.host ? cutMiddle(one.host, 40) : NONE}
      </td>
      <td title={one.role_reason}>{one.role ?? NONE}</td>
      <td class="num">{one.attempt ?? NONE}</td>
      <td class="num">{formatCount(one.lines)}</td>
    </tr>
  );
}

function Exit({ exit }: { exit: StreamInfo["exit"] }) {
  if (!exit) return <span class="dim">{NONE}</span>;
  const isGood = exit.signal === undefined && exit.code === 0;
  return (
    <span class={isGood ? "completed" : "failed"} title={formatTime(exit.at_ms)}>
      <span class="glyph" aria-hidden="true">
        {isGood ? "✓" : "✕"}
      </span>
      {exitText(exit)}
    </span>
  );
}

const COMMANDS_SHOWN = 5;

function Commands({ rows }: { rows: Command[] }) {
  return (
    <section class="commands" aria-label={t("Commands to this job")}>
      <ul aria-live="polite">
        {rows.slice(0, COMMANDS_SHOWN).map((one) => (
          <li key={one.id}>
            <b>{one.command}</b>
            {one.stream && <span> {t("to {node}", { node: one.stream })}</span>} {tx("{time} ago", { time: <Age ms={one.created_ms} /> })}: {commandState(one)}
            {commandAnswers(one).map(({ result, streams }) => (
              <span key={result} class="dim" title={streams.join(", ")}>
                {" "}
                · {result} ({streams.length === 1 ? streams[0] : tn(streams.length, "{n} node", "{n} nodes")}
                {answerTime(one)})
              </span>
            ))}
          </li>
        ))}
      </ul>
      {rows.length > COMMANDS_SHOWN && <p class="dim">{tn(rows.length - COMMANDS_SHOWN, "and {n} earlier one", "and {n} earlier ones")}</p>}
    </section>
  );
}

/** How long the last answer took. */
function answerTime(command: Command): string {
  const last = Math.max(...command.streams.map((one) => one.acknowledged_ms ?? 0));
  return last > 0 ? ` ${t("after {time}", { time: formatDuration((last - command.created_ms) / 1000) })}` : "";
}
