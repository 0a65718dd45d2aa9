import { say, t, tn } from "../../i18n/i18n";
import { DEFINITIONS_MAX, filledRows, incompleteRow, newRow } from "../../lib/jobs/draft";
import { useKeys } from "../../state/core/keys";
import { rowOfProblem, type Workbench } from "../../state/job/workbench";
import { focusCell } from "./focus";

const RUNNING = say("A back-fill is running: cancel it, or wait until it is done");

export function SaveBar({ bench }: { bench: Workbench }) {
  const rows = bench.rows.value;
  const incomplete = incompleteRow(rows);
  const isDirty = bench.isDirty.value;
  const isSaving = bench.isSaving.value;
  const isRunning = bench.backfill.value?.state === "running";
  const problem = bench.saveProblem.value;
  const isFull = rows.length >= DEFINITIONS_MAX;

  const save = (withBackfill: boolean): void => {
    if (incomplete) focusCell(incomplete.id, incomplete.field);
    else void bench.save(withBackfill);
  };
  const add = (): void => {
    const row = newRow();
    bench.edit([...rows, row]);
    focusCell(row.id, "Name");
  };

  useKeys(say("Definitions"), [{ on: "Ctrl+Enter", does: say("save"), inFields: true, run: () => bench.isDirty.value && !isRunning && save(false) }]);

  const bad = rowOfProblem(rows, problem);
  return (
    <div class="savebar">
      <div class="toolbar" role="toolbar" aria-label={t("Definitions")}>
        <button type="button" class="add" disabled={isFull} title={isFull ? t("{n} is the most", { n: DEFINITIONS_MAX }) : undefined} onClick={add}>
          + {t("Add")}
        </button>
        <span class="dim" role="status">
          {isSaving ? t("Saving…") : bench.savedText.value || stateText(isDirty, filledRows(rows).length, incomplete?.text)}
        </span>
        <span class="grow" />
        <button type="button" disabled={!isDirty || isSaving} onClick={() => bench.revert()}>
          {t("Revert")}
        </button>
        <button
          type="button"
          disabled={isSaving || isRunning}
          title={isRunning ? t(RUNNING) : t("Also reads the whole stored log again; charts change to the new points at once when it is done")}
          onClick={() => save(true)}
        >
          {t("Save and back-fill")}
        </button>
        <button type="button" class="primary save" disabled={!isDirty || isSaving || isRunning} aria-keyshortcuts="Control+Enter" title={isRunning ? t(RUNNING) : t("For new lines only (Ctrl+Enter)")} onClick={() => save(false)}>
          {t("Save")}
        </button>
      </div>
      {problem && (
        <p class="saveproblem" role="alert">
          <span class="glyph" aria-hidden="true">
            ✕
          </span>
          <strong>{problem.title}</strong> {problem.detail} {t("Nothing was saved; your edits are still here.")}{" "}
          {bad !== null && (
            <button type="button" onClick={() => focusCell(bad, "Regex")}>
              {t("go to it")}
            </button>
          )}
        </p>
      )}
    </div>
  );
}

function stateText(isDirty: boolean, count: number, incomplete: string | undefined): string {
  const counted = tn(count, "{n} definition", "{n} definitions");
  if (!isDirty) return counted;
  return incomplete ? `${counted}; ${incomplete}` : t("{definitions}, not saved", { definitions: counted });
}
