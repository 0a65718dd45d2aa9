import { jobPath } from "../../../api/client";
import type { Continuity, ContinuityRestart } from "../../../api/types";
import { say, t, tn } from "../../../i18n/i18n";
import { formatCount, formatValue, NONE } from "../../../lib/text/format";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
import type { JobStore } from "../../../state/job/job";
import { DataTable } from "../../../ui/datatable";

const VERDICTS: Readonly<Record<string, string>> = {
  continued: say("went on"),
  differs: say("differs"),
  "not provable": say("not provable"),
};

const CAUSES: Readonly<Record<string, string>> = {
  "not a number": say("the loss is no number"),
  "older checkpoint": say("older checkpoint"),
  "rate restarted": say("learning rate restarted"),
  "data order": say("other data"),
};

function verdictOf(one: ContinuityRestart): string {
  const verdict = t(VERDICTS[one.verdict] ?? one.verdict);
  if (one.causes.length) return `${verdict}: ${one.causes.map((cause) => t(CAUSES[cause] ?? cause)).join(", ")}`;
  if (!one.one_sided) return verdict;
  const n = formatCount(one.higher_steps + one.lower_steps);
  return `${verdict}: ${one.higher_steps ? t("the loss is higher at all {n} steps", { n }) : t("the loss is lower at all {n} steps", { n })}`;
}

/** Restarts that a status tells of begin no attempt. */
function keyOf(one: ContinuityRestart): string {
  return `${one.attempt} ${one.first_step}`;
}

function answer(isEqual: boolean | null): string {
  if (isEqual === null) return NONE;
  return isEqual ? t("yes") : t("no");
}

/** Whether each restart went on from where it was; nothing, where there was none. */
export function ContinuityPart({ store }: { store: JobStore }) {
  const asked = useStore(
    () => new Resource<Continuity>(jobPath(store.name, "/continuity")),
    [store],
    (next) => next.load(),
  );
  const reply = asked?.value.value;
  if (asked?.problem.value) return <p role="alert">{asked.problem.value.message}</p>;
  if (!reply || reply.restarts.length === 0) return null;
  const rows = [...reply.restarts].reverse();
  return (
    <>
      <h3>{t("Did the restarts go on from where it was?")}</h3>
      <DataTable
        class="plain"
        rows={rows}
        keyOf={keyOf}
        columns={[
          { title: t("attempt"), isNumber: true, isHead: true, cell: (one) => formatCount(one.attempt) },
          { title: t("verdict"), cell: verdictOf },
          { title: t("from step"), isNumber: true, cell: (one) => formatCount(one.from_step) },
          { title: t("checkpoint"), isNumber: true, cell: (one) => (one.checkpoint_step === null ? NONE : formatCount(one.checkpoint_step)) },
          { title: t("steps printed twice"), isNumber: true, cell: (one) => formatCount(one.overlap_steps) },
          { title: t("loss before"), isNumber: true, cell: (one) => (one.loss_before === null ? NONE : formatValue(one.loss_before)) },
          { title: t("loss after"), isNumber: true, cell: (one) => (one.loss_after === null ? NONE : formatValue(one.loss_after)) },
          {
            title: t("apart, in spreads"),
            hint: t("The median of the differences, in spreads of the loss before: more than 3 is another state"),
            isNumber: true,
            cellHint: (one) => one.why,
            cell: (one) => (one.loss_spreads === null ? NONE : formatValue(Number(one.loss_spreads))),
          },
          { title: t("same learning rate"), cell: (one) => answer(one.lr_equal) },
          { title: t("same data"), cell: (one) => answer(one.data_equal) },
        ]}
      />
      {rows
        .filter((one) => one.verdict !== "continued" || one.takes_back || one.one_sided)
        .map((one) => (
          <p key={keyOf(one)}>{t("Attempt {n}: {why}", { n: one.attempt, why: one.why })}</p>
        ))}
      {reply.left_out > 0 && <p class="dim">{tn(reply.left_out, "and {n} earlier one", "and {n} earlier ones")}</p>}
    </>
  );
}
