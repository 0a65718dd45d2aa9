// The best checkpoints of many jobs: by a score, over jobs, runs or checkpoints, with named models between them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../i18n/i18n";
import type { Leader, Leaders } from "../../api/leaders";
import { Soon } from "../../lib/flow/poll";
import { adoptStyle } from "../../lib/jobs/adopt";
import { formatCount, formatValue, NONE } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import { patchQuery, query } from "../../state/core/router";
import { Resource } from "../../state/core/resource";
import { useStore } from "../../state/core/store";
import style from "../../styles/evaluations.css?inline";
import { DataTable, type Column } from "../../ui/datatable";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";

adoptStyle(style);

const TYPING_MS = 300;
const WAYS = ["job", "run", "checkpoint"] as const;
type Way = (typeof WAYS)[number];

const nameOf = (way: Way): string => ({ job: t("jobs"), run: t("runs"), checkpoint: t("checkpoints") })[way];

export function EvaluationsPage() {
  const { q = "", metric = "" } = query.value;
  const by = WAYS.find((way) => way === query.value["by"]) ?? "job";
  const asked = useStore(
    () => new Resource<Leaders>("evaluations", { q: q || undefined, metric: metric || undefined, by }),
    [q, metric, by],
    (next) => next.load(),
  );
  const reply = asked?.value.value;
  const problem = asked?.problem.value;
  return (
    <div class="view leaders">
      <div class="viewhead">
        <h1>{t("Best checkpoints")}</h1>
        <Which q={q} />
        {reply && reply.metrics.length > 0 && <Score reply={reply} />}
        <div class="segments" role="group" aria-label={t("What has a row")}>
          {WAYS.map((way) => (
            <button type="button" key={way} aria-pressed={way === by} onClick={() => patchQuery({ by: way === "job" ? undefined : way })}>
              {nameOf(way)}
            </button>
          ))}
        </div>
      </div>
      {problem ? <ProblemBox problem={problem} onRetry={() => void asked?.load()} /> : reply ? <Board reply={reply} by={by} /> : <Skeleton rows={8} />}
    </div>
  );
}

/** A query of jobs. */
function Which({ q }: { q: string }) {
  const soon = useSignal<Soon | null>(null);
  useEffect(() => () => soon.peek()?.stop(), []);
  return (
    <input
      type="search"
      aria-label={t("Which jobs, as a query")}
      placeholder={t("Which jobs, as a query")}
      autocomplete="off"
      spellcheck={false}
      defaultValue={q}
      onInput={(event) => {
        const text = event.currentTarget.value;
        soon.peek()?.stop();
        soon.value = new Soon(TYPING_MS, () => patchQuery({ q: text || undefined }, true));
        soon.value.ask();
      }}
    />
  );
}

function Score({ reply }: { reply: Leaders }) {
  return (
    <select aria-label={t("score")} value={Object.keys(reply.weights)[0] ?? ""} onChange={(event) => patchQuery({ metric: event.currentTarget.value })}>
      {reply.metrics.map((one) => (
        <option key={one.metric} value={one.metric}>
          {`${one.metric} (${formatCount(one.jobs)})`}
        </option>
      ))}
    </select>
  );
}

/** A row is a checkpoint, or a model to compare with. */
interface Line {
  key: string;
  leader: Leader | null;
  model: Leaders["references"][number] | null;
  score: number;
}

function linesOf(reply: Leaders): Line[] {
  const score = Object.keys(reply.weights)[0] ?? "";
  const own = reply.leaders.map((one): Line => ({ key: `${one.rank}`, leader: one, model: null, score: one.scores[score] ?? NaN }));
  const models = reply.references.map((one): Line => ({ key: `model ${one.model} ${one.shots}`, leader: null, model: one, score: one.scores[score] ?? NaN }));
  const isLower = reply.leaders.some((one) => one.value < 0);
  return [...own, ...models].sort((a, b) => (isLower ? a.score - b.score : b.score - a.score));
}

const scoreText = (line: Line): string => (typeof line.leader?.stderr === "number" ? `${formatValue(line.score)} ± ${formatValue(line.leader.stderr)}` : formatValue(line.score));

function Board({ reply, by }: { reply: Leaders; by: Way }) {
  const score = Object.keys(reply.weights)[0] ?? "";
  if (reply.leaders.length === 0) return <p class="empty dim">{t("No job here has scores: POST /api/v1/jobs/JOB/evaluations or sm-ship FILE sends them.")}</p>;
  const columns: Column<Line>[] = [
    { title: "#", isNumber: true, cell: (line) => (line.leader ? formatCount(line.leader.rank) : "") },
    { title: by === "run" ? t("run") : t("job"), isHead: true, cellHint: (line) => line.model?.source ?? undefined, cell: (line) => <Name line={line} /> },
    { title: t("checkpoint"), cellHint: (line) => line.leader?.path ?? undefined, cell: (line) => (line.leader ? stepText(line.leader) : "") },
    { title: score, isNumber: true, cell: scoreText },
    ...(by === "checkpoint" ? [] : [{ title: t("compared"), hint: t("Checkpoints that have the score"), isNumber: true, cell: (line: Line) => (line.leader ? formatCount(line.leader.compared) : "") }]),
  ];
  return (
    <div class="board" tabIndex={0} role="region" aria-label={t("Best checkpoints")}>
      <DataTable class="plain" rows={linesOf(reply)} keyOf={(line) => line.key} rowClass={(line) => (line.model ? "dim" : "")} columns={columns} />
      {reply.total > reply.leaders.length && <p class="dim">{t("and {n} more", { n: formatCount(reply.total - reply.leaders.length) })}</p>}
    </div>
  );
}

const stepText = (one: Leader): string => (one.step === null ? (one.path ?? NONE) : t("step {step}", { step: formatCount(one.step) }));

function Name({ line }: { line: Line }) {
  if (line.model) return <>{line.model.model}</>;
  const { job, run } = line.leader ?? { job: "", run: undefined };
  return (
    <a href={`${jobHref(job)}/training`}>
      <bdi>{run && run !== job ? `${run} → ${job}` : job}</bdi>
    </a>
  );
}
