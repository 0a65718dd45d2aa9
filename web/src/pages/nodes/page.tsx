import { useEffect, useState } from "preact/hooks";
import type { Command, StreamInfo } from "../../api/types";
import { adoptStyle } from "../../lib/adopt";
import { commandAnswers, commandState, exitText, isTrouble } from "../../lib/commands";
import { cutMiddle, formatCount, formatDuration, formatTime, NONE } from "../../lib/format";
import { jobHref } from "../../lib/url";
import { NodeStore } from "../../state/nodes";
import { patchQuery, query } from "../../state/router";
import "../../styles/charts";
import style from "../../styles/nodelist.css?inline";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status } from "../../ui/status";
import { Age } from "../../ui/time";
import { JobTabs } from "../job/tabs";
import { Orders } from "./orders";
import "../../styles/table";

adoptStyle(style);

export function NodesPage({ name }: { name: string }) {
  const [store, setStore] = useState<NodeStore | null>(null);

  useEffect(() => {
    const next = new NodeStore(name);
    setStore(next);
    void next.start();
    return () => next.stop();
  }, [name]);

  const doc = store?.doc.value;
  return (
    <div class="view">
      <header class="jobhead">
        {doc && <Status row={doc} />}
        <h1 title={name}>{cutMiddle(name, 72)}</h1>
        <JobTabs name={name} part="nodes" />
        <span class="grow" />
        {doc && <Orders name={name} status={doc.TrainingJobStatus} />}
      </header>
      {store && <Content store={store} />}
    </div>
  );
}

function Content({ store }: { store: NodeStore }) {
  const streams = store.streams.value;
  const problem = store.problem.value;
  const onlyTrouble = query.value["only"] === "trouble";
  const troubled = streams?.filter(isTrouble) ?? [];
  const shown = onlyTrouble ? troubled : (streams ?? []);
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void store.start()} />}
      {!streams && !problem && <Skeleton rows={8} />}
      {streams && (
        <>
          {store.commands.value.length > 0 && <Commands rows={store.commands.value} />}
          <div class="viewhead">
            <h2>
              {formatCount(streams.length)} {streams.length === 1 ? "node" : "nodes"}
            </h2>
            <div class="segments" role="group" aria-label="Which nodes">
              <button type="button" aria-pressed={!onlyTrouble} onClick={() => patchQuery({ only: undefined })}>
                all
              </button>
              <button type="button" aria-pressed={onlyTrouble} title="Ended badly, silent, or with a wrong clock" onClick={() => patchQuery({ only: "trouble" })}>
                in trouble: {troubled.length}
              </button>
            </div>
          </div>
          {shown.length > 0 && <NodeTable job={store.name} rows={shown} />}
          {shown.length === 0 && <p class="empty dim">{onlyTrouble ? "No node is in trouble." : "Nothing has sent a line of this job yet."}</p>}
        </>
      )}
    </>
  );
}

function NodeTable({ job, rows }: { job: string; rows: StreamInfo[] }) {
  return (
    <div class="nodescroll">
      <table class="jobs incidents">
        <thead>
          <tr>
            <th scope="col">node</th>
            <th scope="col" class="num">
              last line
            </th>
            <th scope="col">ended</th>
            <th scope="col">notes</th>
            <th scope="col">host</th>
            <th scope="col">role</th>
            <th scope="col" class="num">
              attempt
            </th>
            <th scope="col" class="num">
              lines
            </th>
            <th />
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <Node key={one.stream} job={job} one={one} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Node({ job, one }: { job: string; one: StreamInfo }) {
  return (
    <tr data-stream={one.stream}>
      <td class="mono">
        <a href={jobHref(job, { stream: one.stream })} title={`Log of ${one.stream}`}>
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
            silent since {formatTime(one.silent_since_ms)}
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
      </td>
      <td class="mono" title={one.host}>
        {one.host ? cutMiddle(one.host, 40) : NONE}
      </td>
      <td title={one.role_reason}>{one.role ?? NONE}</td>
      <td class="num">{one.attempt ?? NONE}</td>
      <td class="num">{formatCount(one.lines)}</td>
      <td />
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
    <section class="commands" aria-label="Commands to this job">
      <ul aria-live="polite">
        {rows.slice(0, COMMANDS_SHOWN).map((one) => (
          <li key={one.id}>
            <b>{one.command}</b>
            {one.stream && <span> to {one.stream}</span>} <Age ms={one.created_ms} /> ago: {commandState(one)}
            {commandAnswers(one).map(({ result, streams }) => (
              <span key={result} class="dim" title={streams.join(", ")}>
                {" "}
                · {result} ({streams.length === 1 ? streams[0] : `${streams.length} nodes`}
                {answerTime(one)})
              </span>
            ))}
          </li>
        ))}
      </ul>
      {rows.length > COMMANDS_SHOWN && <p class="dim">and {rows.length - COMMANDS_SHOWN} earlier</p>}
    </section>
  );
}

/** How long the last answer took. */
function answerTime(command: Command): string {
  const last = Math.max(...command.streams.map((one) => one.acknowledged_ms ?? 0));
  return last > 0 ? ` after ${formatDuration((last - command.created_ms) / 1000)}` : "";
}
