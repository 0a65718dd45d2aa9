import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../i18n/i18n";

const SHOWN_MS = 1500;

/** A command with a copy button; where the clipboard is refused, the text is selected instead. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  const said = useSignal("");
  const code = useRef<HTMLElement>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = t("Copied");
    } catch {
      if (code.current) getSelection()?.selectAllChildren(code.current);
      said.value = t("Selected");
    }
    window.setTimeout(() => (said.value = ""), SHOWN_MS);
  };
  return (
    <div class="copyline">
      <code ref={code}>{text}</code>
      <button type="button" onClick={() => void copy()} aria-label={t("Copy: {what}", { what: label })}>
        <span aria-live="polite">{said.value || t("Copy")}</span>
      </button>
    </div>
  );
}
