import { useSignal } from "@preact/signals";
import { t } from "../../../i18n/i18n";
import { formatCount } from "../../../lib/text/format";
import { parseTarget, type Target } from "../../../lib/log/goto";
import { timeMode } from "../../../state/core/timemode";

interface Props {
  total: number | null;
  /** When the last line was; asked for when somebody types a time. */
  endMs(): number;
  onGo(target: Target): void;
}

export function Goto({ total, endMs, onGo }: Props) {
  const text = useSignal("");
  const isWrong = useSignal(false);
  const help = t("A line's number, or a time: 14:03, 2026-11-21 14:03, -10m before the last line");
  return (
    <form
      class="goto"
      onSubmit={(event) => {
        event.preventDefault();
        const target = parseTarget(text.value, endMs(), timeMode.value === "UTC");
        isWrong.value = target === null && text.value.trim() !== "";
        if (target === null) return;
        text.value = "";
        onGo(target);
      }}
    >
      <input
        type="text"
        aria-label={t("Go to line or time")}
        aria-invalid={isWrong.value}
        title={isWrong.value ? t("This is neither. {help}", { help }) : help}
        placeholder={t("line or 14:03")}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          isWrong.value = false;
        }}
      />
      {total !== null && <span class="dim">{t("of {n}", { n: formatCount(total) })}</span>}
    </form>
  );
}
