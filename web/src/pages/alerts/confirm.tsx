import { useSignal } from "@preact/signals";
import { t } from "../../i18n/i18n";

/** A deed that cannot be undone: asked once, in its place. */
export function Confirm({ label, question, onYes }: { label: string; question: string; onYes(): Promise<void> }) {
  const isAsking = useSignal(false);
  if (!isAsking.value) {
    return (
      <button type="button" class="quiet" onClick={() => (isAsking.value = true)}>
        {label}
      </button>
    );
  }
  return (
    <span class="confirm" role="alertdialog" aria-label={question}>
      {question}{" "}
      <button type="button" ref={(button) => button?.focus()} onClick={() => void onYes().finally(() => (isAsking.value = false))}>
        {t("Yes, delete")}
      </button>
      <button type="button" onClick={() => (isAsking.value = false)}>
        {t("No")}
      </button>
    </span>
  );
}
