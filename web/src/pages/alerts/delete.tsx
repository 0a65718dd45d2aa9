import { useSignal } from "@preact/signals";
import { t } from "../../i18n/i18n";
import { Confirm } from "../../ui/confirm";

/** What is deleted here cannot be had back: it is asked once. */
export function Delete({ title, goes, onYes }: { title: string; goes: string; onYes(): Promise<void> }) {
  const isAsking = useSignal(false);
  return (
    <>
      <button type="button" class="quiet" onClick={() => (isAsking.value = true)}>
        {t("Delete…")}
      </button>
      {isAsking.value && (
        <Confirm title={title} action={t("Delete")} onYes={() => void onYes()} onClose={() => (isAsking.value = false)}>
          <p>{goes}</p>
        </Confirm>
      )}
    </>
  );
}
