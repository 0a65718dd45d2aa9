// Scores of a job's checkpoints, side by side, with those of named models below.
import { jobPath } from "../../../api/client";
import type { EvaluationCheckpoint, Evaluations } from "../../../api/training";
import { t, tn } from "../../../i18n/i18n";
import { formatCount, formatValue, NONE } from "../../../lib/text/format";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
import type { JobStore } from "../../../state/job/job";
import { DataTable, type Column } from "../../../ui/datatable";
import { lazy } from "../../../ui/lazy";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";

const Chart = lazy(async () => (await import("./evaluationchart")).EvaluationChart, 6);

const SHOWN = 100;
const SCORES_SHOWN = 24;
const FALLS_SHOWN = 20;

/** One line: of a checkpoint, or of a model to compare with. */
interface Line {
  key: string;
  name: string;
  hint: string | undefined;
  isBest: boolean;
  isReference: boolean;
  scores: Record<string, number>;
  details: EvaluationCheckpoint["details"];
}

const nameOf = (one: { step: number | null; path: string | null }): string => (one.step === null ? (one.path ?? t("unknown step")) : t("step {step}", { step: formatCount(one.step) }));

function linesOf(reply: Evaluations): Line[] {
  const { best } = reply;
  const own = [...reply.checkpoints].reverse().map(
    (one): Line => ({
      key: `${one.step} ${one.path}`,
      name: nameOf(one),
      hint: one.path ?? undefined,
      isBest: best !== null && best.step === one.step && best.path === one.path,
      isReference: false,
      scores: one.scores,
      details: one.details,
    }),
  );
  const others = reply.references.map(
    (one): Line => ({ key: `model ${one.model} ${one.shots}`, name: one.model, hint: one.source ?? undefined, isBest: false, isReference: true, scores: one.scores, details: {} }),
  );
  return [...own, ...others];
}

function scoreText(line: Line, score: string): string {
  const value = line.scores[score];
  const error = line.details[score]?.stderr;
  if (value === undefined) return NONE;
  return typeof error === "number" ? `${formatValue(value)} ± ${formatValue(error)}` : formatValue(value);
}

/** The rule counts a score of which less is better negatively; where it is of one score alone, that is shown as it is. */
function bestText(best: NonNullable<Evaluations["best"]>, lines: readonly Line[]): string {
  const rule = Object.keys(best.weights);
  const own = rule.length === 1 ? lines.find((line) => line.isBest)?.scores[rule[0] ?? ""] : undefined;
  return t("Best: {checkpoint}, {value} by {scores}", { checkpoint: nameOf(best), value: formatValue(own ?? best.value), scores: rule.join(", ") });
}

export function EvaluationsPart({ store }: { store: JobStore }) {
  const asked = useStore(
    () => new Resource<Evaluations>(jobPath(store.name, "/evaluations"), { limit: String(SHOWN) }),
    [store],
    (next) => next.load(),
  );
  const reply = asked?.value.value;
  const problem = asked?.problem.value;
  return (
    <section>
      <h2>{t("Evaluations of checkpoints")}</h2>
      {problem ? <ProblemBox problem={problem} onRetry={() => void asked?.load()} /> : reply ? <Scores reply={reply} /> : <Skeleton rows={4} />}
    </section>
  );
}

function Scores({ reply }: { reply: Evaluations }) {
  const names = [...new Set(reply.checkpoints.flatMap((one) => Object.keys(one.scores)))].sort();
  if (reply.checkpoints.length === 0) return <p class="dim">{t("Nobody has sent any: POST /api/v1/jobs/JOB/evaluations takes what lm-evaluation-harness writes.")}</p>;
  const lines = linesOf(reply);
  const columns: Column<Line>[] = [
    { title: t("checkpoint"), isHead: true, cellHint: (line) => line.hint, cell: (line) => (line.isBest ? `★ ${line.name}` : line.name) },
    ...names.slice(0, SCORES_SHOWN).map((name): Column<Line> => ({ title: name, isNumber: true, cell: (line) => scoreText(line, name) })),
  ];
  return (
    <>
      <p>{reply.best ? bestText(reply.best, lines) : (reply.best_why ?? "")}</p>
      <p>
        <a href="/evaluations">{t("Best checkpoints")}</a>
      </p>
      <Falls reply={reply} />
      {reply.checkpoints.length > 1 && <Chart reply={reply} />}
      <div class="wide" tabIndex={0} role="region" aria-label={t("Evaluations of checkpoints")}>
        <DataTable class="plain" rows={lines} keyOf={(line) => line.key} rowClass={(line) => (line.isReference ? "dim" : line.isBest ? "best" : "")} columns={columns} />
      </div>
      {names.length > SCORES_SHOWN && <p class="dim">{tn(names.length - SCORES_SHOWN, "and {n} more score", "and {n} more scores")}</p>}
      {reply.total > reply.checkpoints.length && <p class="dim">{tn(reply.total - reply.checkpoints.length, "and {n} earlier one", "and {n} earlier ones")}</p>}
    </>
  );
}

function Falls({ reply }: { reply: Evaluations }) {
  const shown = reply.regressions.slice(-FALLS_SHOWN).reverse();
  if (shown.length === 0) return null;
  return (
    <>
      <p>{tn(reply.regressions_total, "{n} score fell by more than its standard error:", "{n} scores fell by more than their standard error:")}</p>
      <ul>
        {shown.map((one) => (
          <li key={`${one.step} ${one.path} ${one.task} ${one.metric}`}>
            {t("{score}: {value} at step {step}, {before} at step {earlier} ({errors} standard errors)", {
              score: `${one.task}/${one.metric}`,
              value: formatValue(one.value),
              step: formatCount(one.step),
              before: formatValue(one.before),
              earlier: formatCount(one.before_step),
              errors: one.errors === null ? NONE : one.errors.toFixed(1),
            })}
          </li>
        ))}
      </ul>
    </>
  );
}
