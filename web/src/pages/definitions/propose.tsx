import { useSignal } from "@preact/signals";
import { t } from "../../i18n/i18n";
import type { Workbench } from "../../state/job/workbench";
import { Shapes } from "../job/common/shapes";

/** Definitions by the lines themselves: open where none of those that the job has finds anything. */
export function Propose({ bench }: { bench: Workbench }) {
  const isOpen = useSignal(!bench.doc.peek()?.health?.some((one) => (one.matched ?? 0) > 0));
  return (
    <details class="benchshapes" open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{t("Definitions proposed by the lines")}</summary>
      {isOpen.value && <Shapes job={bench.name} says={t("No other line has numbers that vary.")} onUsed={() => void bench.refresh()} />}
    </details>
  );
}
