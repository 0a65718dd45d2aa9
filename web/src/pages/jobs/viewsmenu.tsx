import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../../i18n/i18n";
import { lazy } from "../../ui/lazy";

const Views = lazy(async () => (await import("../../ui/views")).Views, 3);

/** What the button in the query bar opens: a form of its own, which cannot stand in the bar's. */
export function ViewsMenu() {
  const isOpen = useSignal(false);
  const menu = useRef<HTMLDivElement>(null);
  return (
    <div id="views" class="views" popover="auto" role="dialog" aria-label={t("Saved views")} ref={menu} onToggle={(event) => (isOpen.value = event.newState === "open")}>
      {isOpen.value && <Views close={() => menu.current?.hidePopover()} />}
    </div>
  );
}
