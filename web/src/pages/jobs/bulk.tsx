// What one does with all selected jobs: compare, tag, copy their links, delete.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asProblem, jobPath, send } from "../../api/client";
import { daysInTrash, restoreJob } from "../../api/trash";
import { t, tn } from "../../i18n/i18n";
import { compareHref, MOST_COMPARED } from "../../lib/jobs/compare";
import { cutMiddle } from "../../lib/text/format";
import { Dialog } from "../../ui/dialog";
import type { Selection } from "./selection";

const AT_ONCE = 4;
const NAMES_SHOWN = 8;

interface Outcome {
  done: string[];
  /** By what the server said, which jobs. */
  refused: Map<string, string[]>;
}

/** A few at a time; what fails of one does not stop the others. */
async function forEach(names: readonly string[], act: (name: string) => Promise<unknown>): Promise<Outcome> {
  const outcome: Outcome = { done: [], refused: new Map() };
  const left = [...names];
  const work = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      try {
        await act(name);
        outcome.done.push(name);
      } catch (error) {
        const { title, detail } = asProblem(error);
        const why = (detail || title).replaceAll(name, "…");
        outcome.refused.set(why, [...(outcome.refused.get(why) ?? []), name]);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}

export function BulkActions({ selection, onChange }: { selection: Selection; onChange(): void }) {
  const names = [...selection.names.value];
  const { said } = selection;
  const isTagging = useSignal(false);
  const isAsking = useSignal(false);
  const isBusy = useSignal(false);
  /** What was deleted last, while nothing else was done. */
  const gone = useSignal<readonly string[]>([]);

  const act = async (words: (count: number) => string, each: (name: string) => Promise<unknown>, which: readonly string[] = names): Promise<Outcome> => {
    isBusy.value = true;
    gone.value = [];
    const outcome = await forEach(which, each);
    isBusy.value = false;
    said.value = [words(outcome.done.length), ...[...outcome.refused].map(([why, jobs]) => `${cutMiddle(jobs.join(", "), 60)}: ${why}`)];
    onChange();
    return outcome;
  };
  const remove = async (): Promise<void> => {
    isAsking.value = false;
    const outcome = await act((n) => tn(n, "Deleted {n} job", "Deleted {n} jobs"), (name) => send("DELETE", jobPath(name)));
    selection.drop(outcome.done);
    gone.value = outcome.done;
  };

  return (
    <div class="bulk">
      <span role="status">{tn(names.length, "{n} selected", "{n} selected")}</span>
      {names.length > 0 && (
        <>
          <a class="button" href={compareHref(names)} title={names.length > MOST_COMPARED ? t("The first {n} of them", { n: MOST_COMPARED }) : undefined}>
            {t("Compare")}
          </a>
          <button type="button" aria-expanded={isTagging.value} onClick={() => (isTagging.value = !isTagging.value)}>
            {t("Tag…")}
          </button>
          <button type="button" onClick={() => void selection.copyLinks(names)}>
            {t("Copy links")}
          </button>
          <button type="button" class="danger" disabled={isBusy.value} onClick={() => (isAsking.value = true)}>
            {t("Delete…")}
          </button>
        </>
      )}
      <button type="button" onClick={() => selection.clear()}>
        {t("Clear")}
      </button>
      {isTagging.value && names.length > 0 && (
        <TagForm
          isBusy={isBusy.value}
          onTag={(key, value) => void act((n) => tn(n, "Tagged {n} job", "Tagged {n} jobs"), (name) => send("PATCH", jobPath(name), {}, { tags: { [key]: value } }))}
        />
      )}
      <ul class="said" role="status">
        {said.value.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {gone.value.length > 0 && (
        <button type="button" disabled={isBusy.value} onClick={() => void act((n) => tn(n, "Restored {n} job", "Restored {n} jobs"), restoreJob, gone.value)}>
          {t("Undo")}
        </button>
      )}
      {isAsking.value && <AskDelete names={names} onDelete={() => void remove()} onClose={() => (isAsking.value = false)} />}
    </div>
  );
}

function TagForm({ isBusy, onTag }: { isBusy: boolean; onTag(key: string, value: string | null): void }) {
  const key = useSignal("");
  const value = useSignal("");
  const isEmpty = key.value.trim() === "";
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onTag(key.value.trim(), value.value);
      }}
    >
      <input type="text" aria-label={t("Key of the tag")} placeholder={t("key")} maxLength={128} value={key} onInput={(event) => (key.value = event.currentTarget.value)} />
      <input type="text" aria-label={t("Value of the tag")} placeholder={t("value")} maxLength={256} value={value} onInput={(event) => (value.value = event.currentTarget.value)} />
      <button type="submit" class="primary" disabled={isBusy || isEmpty}>
        {t("Set")}
      </button>
      <button type="button" disabled={isBusy || isEmpty} onClick={() => onTag(key.value.trim(), null)}>
        {t("Take away")}
      </button>
    </form>
  );
}

/** Names what goes, and for how long it can be had back. */
function AskDelete({ names, onDelete, onClose }: { names: readonly string[]; onDelete(): void; onClose(): void }) {
  const others = names.length - NAMES_SHOWN;
  /** null: not known. */
  const days = useSignal<number | null>(null);
  useEffect(() => {
    daysInTrash().then(
      (found) => (days.value = found),
      () => undefined, // the deletion itself will say what is wrong
    );
  }, []);
  return (
    <Dialog title={tn(names.length, "Delete {n} job?", "Delete {n} jobs?")} class="askdelete" onClose={onClose}>
      <ul>
        {names.slice(0, NAMES_SHOWN).map((name) => (
          <li key={name}>
            <bdi>{cutMiddle(name, 48)}</bdi>
          </li>
        ))}
        {others > 0 && <li class="dim">{tn(others, "and {n} more", "and {n} more")}</li>}
      </ul>
      <p>
        {days.value === 0
          ? t("Their log lines, points, charts, incidents and settings go, and do not come back. A job that runs is not deleted.")
          : t("They go to the trash with all that was logged; Undo and the settings bring them back. A job that runs is not deleted.")}
      </p>
      <div class="actions">
        <button type="button" autofocus onClick={onClose}>
          {t("Keep them")}
        </button>
        <button type="button" class="danger" onClick={onDelete}>
          {t("Delete")}
        </button>
      </div>
    </Dialog>
  );
}
