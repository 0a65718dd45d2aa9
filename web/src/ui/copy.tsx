import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

const SHOWN_MS = 1500;

/** A command with a copy button; where the clipboard is refused, the text is selected instead. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  const said = useSignal("Copy");
  const code = useRef<HTMLElement>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "Copied";
    } catch {
      if (code.current) getSelection()?.selectAllChildren(code.current);
      said.value = "Selected";
    }
    window.setTimeout(() => (said.value = "Copy"), SHOWN_MS);
  };
  return (
    <div class="copyline">
      <code ref={code}>{text}</code>
      <button type="button" onClick={() => void copy()} aria-label={`Copy: ${label}`}>
        <span aria-live="polite">{said}</span>
      </button>
    </div>
  );
}
