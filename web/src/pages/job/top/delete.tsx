import { useSignal } from "@preact/signals";
import { asProblem, jobPath, send } from "../../../api/client";
import type { JobDoc } from "../../../api/types";
import { t, tn, tx } from "../../../i18n/i18n";
import { cutMiddle } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { navigate } from "../../../state/core/router";
import { Dialog } from "../../../ui/dialog";

/** Names what goes and asks once. */
export function DeleteDialog({ store, doc, onClose }: { store: JobStore; doc: JobDoc; onClose: () => void }) {
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const points = (store.metrics.value ?? []).reduce((sum, one) => sum + one.count, 0);
  // The document's count is some seconds behind.
  const lines = Math.max(doc.lines ?? 0, (store.streams.value ?? []).reduce((sum, one) => sum + (one.lines ?? 0), 0));
  const remove = async (): Promise<void> => {
    isBusy.value = true;
    try {
      await send("DELETE", jobPath(store.name));
      onClose();
      navigate("/jobs");
    } catch (error) {
      problem.value = asProblem(error).message;
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={t("Delete {job}?", { job: cutMiddle(store.name, 40) })} closesOutside onClose={onClose}>
      <p>{t("These go, and cannot be brought back:")}</p>
      <ul class="goes">
        <li>{tn(lines, "{n} line of its log", "{n} lines of its log")}</li>
        <li>{tn(points, "{n} point of its curves", "{n} points of its curves")}</li>
        <li>{tn(store.incidents.rows.value?.length ?? 0, "{n} incident", "{n} incidents")}</li>
        <li>{t("its document, tags and notes")}</li>
      </ul>
      <p>
        {tx("What it took stays in the fleet's sums. An {export} keeps a copy.", {
          export: <a href={`/api/v1/export?q=${encodeURIComponent(`name="${store.name.replace(/[\\"]/g, "\\$&")}"`)}`}>{t("export")}</a>,
        })}
      </p>
      <p class="error" role="alert">
        {problem}
      </p>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("Keep it")}
        </button>
        <button type="button" class="primary" disabled={isBusy.value} onClick={() => void remove()}>
          {t("Delete the job")}
        </button>
      </div>
    </Dialog>
  );
}
