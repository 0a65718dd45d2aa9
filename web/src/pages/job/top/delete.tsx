import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asProblem, jobPath, send } from "../../../api/client";
import { daysInTrash, restoreJob } from "../../../api/trash";
import type { JobDoc } from "../../../api/types";
import { t, tn, tx } from "../../../i18n/i18n";
import { cutMiddle } from "../../../lib/text/format";
import { jobHref } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { navigate } from "../../../state/core/router";
import { Dialog } from "../../../ui/dialog";

interface Props {
  store: JobStore;
  doc: JobDoc;
  onClose: () => void;
}

/** Names what goes and asks once; then takes it back, if that was meant. */
export function DeleteDialog({ store, doc, onClose }: Props) {
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const isGone = useSignal(false);
  /** null: not known yet. */
  const days = useSignal<number | null>(null);
  useEffect(() => {
    daysInTrash().then(
      (found) => (days.value = found),
      (error: unknown) => (problem.value = asProblem(error).message),
    );
  }, []);
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    try {
      await act();
    } catch (error) {
      problem.value = asProblem(error).message;
    }
    isBusy.value = false;
  };
  const leave = (): void => {
    onClose();
    navigate("/jobs");
  };
  const remove = (): Promise<void> =>
    attempt(async () => {
      await send("DELETE", jobPath(store.name));
      if (days.value) isGone.value = true;
      else leave();
    });
  const undo = (): Promise<void> =>
    attempt(async () => {
      const name = await restoreJob(store.name);
      onClose();
      navigate("/jobs");
      navigate(jobHref(name));
    });
  const name = cutMiddle(store.name, 40);
  return (
    <Dialog title={isGone.value ? t("{job} is deleted", { job: name }) : t("Delete {job}?", { job: name })} closesOutside={!isGone.value} onClose={isGone.value ? leave : onClose}>
      {isGone.value ? <p>{tn(days.value ?? 0, "It is in the trash for {n} day: the settings have it.", "It is in the trash for {n} days: the settings have it.")}</p> : <WhatGoes store={store} doc={doc} days={days.value} />}
      <p class="error" role="alert">
        {problem}
      </p>
      <div class="actions">
        {isGone.value ? (
          <>
            <button type="button" disabled={isBusy.value} onClick={() => void undo()}>
              {t("Undo")}
            </button>
            <button type="button" class="primary" autofocus onClick={leave}>
              {t("To the jobs")}
            </button>
          </>
        ) : (
          <>
            <button type="button" onClick={onClose}>
              {t("Keep it")}
            </button>
            <button type="button" class="primary" disabled={isBusy.value || days.value === null} onClick={() => void remove()}>
              {t("Delete the job")}
            </button>
          </>
        )}
      </div>
    </Dialog>
  );
}

function WhatGoes({ store, doc, days }: { store: JobStore; doc: JobDoc; days: number | null }) {
  const points = (store.metrics.value ?? []).reduce((sum, one) => sum + one.count, 0);
  // The document's count is some seconds behind.
  const lines = Math.max(doc.lines ?? 0, (store.streams.value ?? []).reduce((sum, one) => sum + (one.lines ?? 0), 0));
  return (
    <>
      <p>{days === 0 ? t("These go, and cannot be brought back:") : days === null ? t("These go:") : tn(days, "These go, and can be brought back for {n} day:", "These go, and can be brought back for {n} days:")}</p>
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
    </>
  );
}
