// What failed first: the errors of all nodes, each message once, the one that came first on top.
import { useEffect, useRef } from "preact/hooks";
import { jobPath } from "../../../api/client";
import type { LogGroup, LogGroupsReply } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { parseAnsi } from "../../../lib/text/ansi";
import { formatCount, formatTime } from "../../../lib/text/format";
import { formatStamp } from "../../../lib/text/stamp";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
import { timeMode } from "../../../state/core/timemode";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import { Parts } from "./linetext";

const SHOWN = 200;

interface Props {
  job: string;
  startMs: number;
  /** The line that is chosen, and its stream. */
  stream: string | null;
  line: number | null;
  onShow(group: LogGroup): void;
  onClose(): void;
}

export function ErrorGroups({ job, startMs, stream, line, onShow, onClose }: Props) {
  const own = useStore(() => new Resource<LogGroupsReply>(jobPath(job, "/logs/groups"), { errors: true, limit: SHOWN }), [job], (next) => next.load());
  const list = useRef<HTMLOListElement>(null);
  const reply = own?.value.value;
  const first = reply?.groups[0];
  // An address that names a line is not left for the first error.
  const isFree = useRef(line === null);
  useEffect(() => {
    if (!first) return;
    if (isFree.current) onShow(first);
    isFree.current = false;
    list.current?.querySelector("button")?.focus();
  }, [first]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
    }
    if (step === undefined) return;
    event.preventDefault();
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    buttons[Math.max(0, Math.min(buttons.length - 1, buttons.indexOf(document.activeElement as HTMLButtonElement) + step))]?.focus();
  };
  return (
    <section class="found errorgroups" aria-label={t("Errors of all nodes")} onKeyDown={onKeyDown}>
      <header>
        <b role="status">{reply ? headline(reply) : t("Errors of all nodes")}</b>
        <span class="grow" />
        <button type="button" class="quiet" disabled={!reply} onClick={() => void own?.load()}>
          {t("Search again")}
        </button>
        <button type="button" class="quiet" aria-label={t("Close the errors")} onClick={onClose}>
          ✕
        </button>
      </header>
      {own?.problem.value && <ProblemBox problem={own.problem.value} onRetry={() => void own.load()} />}
      {!reply && !own?.problem.value && <Skeleton rows={3} />}
      {reply && (
        <ol ref={list} class="hits">
          {reply.groups.map((group) => (
            <GroupRow key={`${group.n} ${group.stream}`} group={group} startMs={startMs} isChosen={group.n === line && group.stream === stream} onShow={onShow} />
          ))}
        </ol>
      )}
      {reply && <Notes reply={reply} />}
    </section>
  );
}

function headline(reply: LogGroupsReply): string {
  if (reply.lines === 0) return reply.partial ? t("No error found so far") : t("No line of any node says that something failed");
  const messages = tn(reply.found, "{n} message", "{n} messages");
  return `${messages} · ${tn(reply.lines, "{n} line", "{n} lines")}`;
}

interface RowProps {
  group: LogGroup;
  startMs: number;
  isChosen: boolean;
  onShow(group: LogGroup): void;
}

function GroupRow({ group, startMs, isChosen, onShow }: RowProps) {
  const others = group.streams - group.named.length;
  const nodes = group.named.join(", ") + (others > 0 ? ` ${t("and {n} more", { n: formatCount(others) })}` : "");
  const title = t("{stream}, line {n}, {time}", { stream: group.stream, n: group.n, time: formatTime(group.ts_ms) });
  return (
    <li>
      <button type="button" class="hit" aria-current={isChosen ? "true" : undefined} title={`${title}\n${nodes}`} onClick={() => onShow(group)}>
        {timeMode.value !== "hidden" && <time>{formatStamp(group.ts_ms, timeMode.value, startMs)}</time>}
        <span class="stream">{group.stream}</span>
        <span class="times">
          {formatCount(group.lines)} × {group.streams > 1 && tn(group.streams, "on {n} node", "on {n} nodes")}
        </span>
        <span class="text">
          <Parts spans={parseAnsi(group.text, [])} />
        </span>
      </button>
    </li>
  );
}

/** What is not in the list, and why. */
function Notes({ reply }: { reply: LogGroupsReply }) {
  const { found, groups, ungrouped = 0, limited = 0 } = reply;
  return (
    <div class="hitnotes">
      {reply.partial && <p>{t("The search ran out of time: there may be more, and earlier ones.")}</p>}
      {found > groups.length && <p>{t("The first {n} of {all} messages.", { n: formatCount(groups.length), all: formatCount(found) })}</p>}
      {ungrouped > 0 && <p>{tn(ungrouped, "{n} further line has messages of its own.", "{n} further lines have messages of their own.")}</p>}
      {limited > 0 && <p>{tn(limited, "On {n} line the expression was given up: it takes too many steps.", "On {n} lines the expression was given up: it takes too many steps.")}</p>}
    </div>
  );
}
