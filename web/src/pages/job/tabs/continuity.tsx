import { useSignal } from "@preact/signals";
import { asProblem, jobPath, send, type Problem } from "../../../api/client";
import type { Continuity, ContinuityRestart } from "../../../api/types";
import { say, t, tn } from "../../../i18n/i18n";
import { formatCount, formatValue, NONE } from "../../../lib/text/format";
import { Resource } from "../../../state/core/resource";
import { mayWrite } from "../../../state/core/session";
import { useStore } from "../../../state/core/store";
import type { JobStore } from "../../../state/job/job";
import { DataTable } from "../../../ui/datatable";
import { Dialog } from "../../../ui/dialog";

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

/** by_hand of the job: somebody knows better than the prints tell. */
function Verdict({ store, one, reload }: { store: JobStore; one: ContinuityRestart; reload: () => Promise<void> }) {
  const verdict = useSignal<string | null>(null); // null: nobody is asked
  const why = useSignal("");
  const problem = useSignal<Problem | null>(null);
  const isSet = one.verdict_from !== undefined;
  const put = async (value: object | null): Promise<void> => {
    try {
      await send("PATCH", jobPath(store.name), {}, { by_hand: { restarts: { [`${one.attempt}:${one.first_step}`]: value } } });
      verdict.value = null;
      problem.value = null;
      await Promise.all([reload(), store.reloadDoc()]);
    } catch (error) {
      problem.value = asProblem(error);
    }
  };
  return (
    <>
      {verdictOf(one)}
      {isSet && <span class="dim" title={one.set_why}> {t("set by hand")}</span>}
      {mayWrite() && (
        <button type="button" class="quiet" onClick={() => (isSet ? void put(null) : (verdict.value = one.verdict === "continued" ? "differs" : "continued"))}>
          {isSet ? t("Take it back") : t("Set right by hand…")}
        </button>
      )}
      {problem.value && verdict.value === null && <span role="alert">{problem.value.message}</span>}
      {verdict.value !== null && (
        <Dialog title={t("Set right by hand")} closesOutside onClose={() => (verdict.value = null)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void put({ verdict: verdict.value, why: why.value.trim() });
            }}
          >
            <label>
              {t("verdict")}{" "}
              <select name="verdict" value={verdict.value} onChange={(event) => (verdict.value = event.currentTarget.value)}>
                {Object.entries(VERDICTS).map(([name, text]) => (
                  <option key={name} value={name}>
                    {t(text)}
                  </option>
                ))}
              </select>
            </label>
            <label>
              {t("Why")} <input name="why" required maxLength={500} value={why.value} onInput={(event) => (why.value = event.currentTarget.value)} />
            </label>
            <p class="error" role="alert">
              {problem.value?.message}
            </p>
            <div class="actions">
              <button type="button" onClick={() => (verdict.value = null)}>
                {t("Leave as it is")}
              </button>
              <button type="submit" class="primary">
                {t("Save the changes")}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
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
          { title: t("verdict"), cell: (one) => <Verdict store={store} one={one} reload={() => asked.load()} /> },
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
        .filter((one) => one.verdict !== "continued" || one.takes_back || one.one_sided || one.verdict_from)
        .map((one) => (
          <p key={keyOf(one)}>{t("Attempt {n}: {why}", { n: one.attempt, why: one.why })}</p>
        ))}
      {reply.left_out > 0 && <p class="dim">{tn(reply.left_out, "and {n} earlier one", "and {n} earlier ones")}</p>}
    </>
  );
}
