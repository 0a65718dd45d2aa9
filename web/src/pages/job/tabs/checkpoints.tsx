// Checkpoints of a job: those that its log tells of, and what somebody set right of them by hand.
import { useSignal } from "@preact/signals";
import { asProblem, jobPath, send, type Problem } from "../../../api/client";
import type { Checkpoint } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { timeOf } from "../../../lib/text/fieldtime";
import { formatCount, formatTime, NONE } from "../../../lib/text/format";
import { mayWrite } from "../../../state/core/session";
import type { JobStore } from "../../../state/job/job";
import { factsOf } from "../../../state/job/jobfacts";
import { DataTable } from "../../../ui/datatable";
import { Dialog } from "../../../ui/dialog";

const SHOWN = 20;

const placeOf = (one: Checkpoint): string => `${one.attempt ?? 0}:${one.step}`;

interface Fields {
  attempt: string;
  step: string;
  time: string;
  path: string;
  why: string;
}

/** What nobody filled in is not said; what is no number goes to the server as it is: the server says what it wants. */
function valueOf(fields: Fields, isAdded: boolean, isUsable: boolean): object {
  const ms = timeOf(fields.time);
  return {
    ...(!isUsable && { usable: false }),
    ...(fields.path.trim() && { path: fields.path.trim() }),
    ...(isAdded && fields.time.trim() && { ts_ms: Number.isFinite(ms) ? ms : fields.time }),
    why: fields.why.trim(),
  };
}

/** of null: one that no line tells of. */
function Form({ of, put, problem, onClose }: { of: Checkpoint | null; put: (place: string, value: object) => void; problem: Problem | null; onClose: () => void }) {
  const fields = useSignal<Fields>({ attempt: "1", step: "", time: "", path: "", why: "" });
  const isUsable = useSignal(of === null);
  const field = (name: keyof Fields, label: string, more: object = {}) => (
    <label>
      {label} <input name={name} value={fields.value[name]} onInput={(event) => (fields.value = { ...fields.value, [name]: event.currentTarget.value })} {...more} />
    </label>
  );
  return (
    <Dialog title={of ? t("Checkpoint at step {step}", { step: formatCount(of.step) }) : t("Add a checkpoint")} closesOutside onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          put(of ? placeOf(of) : `${fields.value.attempt.trim()}:${fields.value.step.trim()}`, valueOf(fields.value, of === null, isUsable.value));
        }}
      >
        {of === null && (
          <>
            {field("attempt", t("attempt"), { required: true, inputMode: "numeric" })}
            {field("step", t("step"), { required: true, inputMode: "numeric" })}
            {field("time", t("saved at"), { required: true, type: "datetime-local", step: 1 })}
          </>
        )}
        {of !== null && (
          <label>
            <input name="usable" type="checkbox" checked={isUsable.value} onChange={(event) => (isUsable.value = event.currentTarget.checked)} /> {t("work can go on from it")}
          </label>
        )}
        {field("path", t("path"), { maxLength: 1024, placeholder: of?.path })}
        {field("why", t("Why"), { required: true, maxLength: 500 })}
        <p class="error" role="alert">
          {problem?.message}
        </p>
        <div class="actions">
          <button type="button" onClick={onClose}>
            {t("Leave as it is")}
          </button>
          <button type="submit" class="primary">
            {t("Save the changes")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The newest ones, and all of which somebody says something. */
function rowsOf(usable: readonly Checkpoint[], denied: readonly Checkpoint[]): Checkpoint[] {
  const shown = usable.filter((one, i) => i < SHOWN || one.from !== undefined);
  return [...shown, ...denied].sort((a, b) => b.ts_ms - a.ts_ms || b.step - a.step);
}

export function CheckpointsPart({ store }: { store: JobStore }) {
  const facts = factsOf(store);
  const open = useSignal<Checkpoint | "new" | null>(null);
  const problem = useSignal<Problem | null>(null);
  const usable = facts.checkpoints.value;
  const rows = rowsOf(usable, facts.denied.value);
  const left = usable.length + facts.denied.value.length - rows.length;
  const put = async (place: string, value: object | null): Promise<void> => {
    try {
      await send("PATCH", jobPath(store.name), {}, { by_hand: { checkpoints: { [place]: value } } });
      open.value = null;
      problem.value = null;
      await Promise.all([facts.reload(), store.reloadDoc()]);
    } catch (error) {
      problem.value = asProblem(error);
    }
  };
  if (rows.length === 0 && !mayWrite()) return null;
  return (
    <>
      <h3>{t("Checkpoints")}</h3>
      {rows.length > 0 && (
        <DataTable
          class="plain"
          rows={rows}
          keyOf={placeOf}
          columns={[
            { title: t("step"), isNumber: true, isHead: true, cell: (one) => formatCount(one.step) },
            { title: t("attempt"), isNumber: true, cell: (one) => (one.attempt === null ? NONE : formatCount(one.attempt)) },
            { title: t("saved at"), cell: (one) => formatTime(one.ts_ms) },
            { title: t("path"), cell: (one) => one.path ?? NONE },
            {
              title: t("said of it"),
              cell: (one) => (
                <>
                  {one.usable === false && <b>{t("work cannot go on from it")} </b>}
                  {one.from && <span class="dim">{one.set_by ? t("set by hand by {who}: {why}", { who: one.set_by, why: one.set_why ?? "" }) : t("set by hand: {why}", { why: one.set_why ?? "" })}</span>}
                  {mayWrite() && (
                    <button type="button" class="quiet" onClick={() => (one.from ? void put(placeOf(one), null) : (open.value = one))}>
                      {one.from ? t("Take it back") : t("Set right by hand…")}
                    </button>
                  )}
                </>
              ),
            },
          ]}
        />
      )}
      {left > 0 && <p class="dim">{tn(left, "and {n} earlier one", "and {n} earlier ones")}</p>}
      {problem.value && open.value === null && <p role="alert">{problem.value.message}</p>}
      {mayWrite() && (
        <button type="button" onClick={() => (open.value = "new")}>
          {t("Add a checkpoint…")}
        </button>
      )}
      {open.value !== null && (
        <Form
          of={open.value === "new" ? null : open.value}
          put={(place, value) => void put(place, value)}
          problem={problem.value}
          onClose={() => {
            open.value = null;
            problem.value = null;
          }}
        />
      )}
    </>
  );
}
