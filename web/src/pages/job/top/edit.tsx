import { useSignal } from "@preact/signals";
import { asProblem, jobPath, send } from "../../../api/client";
import type { JobDoc } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import type { JobStore } from "../../../state/job/job";
import { Dialog } from "../../../ui/dialog";

/** A tag a line, KEY=VALUE; what stands before the first = is the key. */
export function parseTags(text: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    const key = (at < 0 ? line : line.slice(0, at)).trim();
    if (key !== "") tags[key] = at < 0 ? "" : line.slice(at + 1).trim();
  }
  return tags;
}

export function EditDialog({ store, doc, onClose }: { store: JobStore; doc: JobDoc; onClose: () => void }) {
  const tags = useSignal((doc.Tags ?? []).map(({ Key, Value }) => `${Key}=${Value}`).join("\n"));
  const notes = useSignal(doc.Notes ?? "");
  const labels = useSignal((doc.Labels ?? []).join(", "));
  const problem = useSignal("");
  const isBusy = useSignal(false);

  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    isBusy.value = true;
    try {
      const Tags = Object.entries(parseTags(tags.value)).map(([Key, Value]) => ({ Key, Value }));
      const names = labels.value.split(",").map((one) => one.trim()).filter((one) => one !== "");
      await send("PATCH", jobPath(store.name), {}, { Tags, notes: notes.value, labels: names });
      await store.reloadDoc();
      onClose();
    } catch (error) {
      problem.value = asProblem(error).message;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={t("Tags and notes")} closesOutside onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>
          {t("Tags, KEY=VALUE, a line each")}
          <textarea rows={5} value={tags.value} onInput={(event) => (tags.value = event.currentTarget.value)} />
        </label>
        <label>
          {t("Labels, with commas between them")}
          <input value={labels.value} onInput={(event) => (labels.value = event.currentTarget.value)} />
        </label>
        <label>
          {t("Notes")}
          <textarea rows={5} value={notes.value} onInput={(event) => (notes.value = event.currentTarget.value)} />
        </label>
        <p class="error" role="alert">
          {problem}
        </p>
        <div class="actions">
          <button type="button" onClick={onClose}>
            {t("Leave as it is")}
          </button>
          <button type="submit" class="primary" disabled={isBusy.value}>
            {t("Save the changes")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
