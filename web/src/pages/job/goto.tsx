import { useSignal } from "@preact/signals";
import { formatCount } from "../../lib/format";
import { parseTarget, type Target } from "../../lib/goto";
import { timeMode } from "../../state/timemode";

interface Props {
  total: number | null;
  endMs: number;
  onGo(target: Target): void;
}

const HELP = "A line's number, or a time: 14:03, 2026-11-21 14:03, -10m before the last line";

export function Goto({ total, endMs, onGo }: Props) {
  const text = useSignal("");
  const isWrong = useSignal(false);
  return (
    <form
      class="goto"
      onSubmit={(event) => {
        event.preventDefault();
        const target = parseTarget(text.value, endMs, timeMode.value === "UTC");
        isWrong.value = target === null && text.value.trim() !== "";
        if (target === null) return;
        text.value = "";
        onGo(target);
      }}
    >
      <input
        type="text"
        aria-label="Go to line or time"
        aria-invalid={isWrong.value}
        title={isWrong.value ? `This is neither. ${HELP}` : HELP}
        placeholder="line or 14:03"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          isWrong.value = false;
        }}
      />
      {total !== null && <span class="dim">of {formatCount(total)}</span>}
    </form>
  );
}
