import type { ComponentChildren } from "preact";
import { t } from "../i18n/i18n";
import { Dialog } from "./dialog";

interface Props {
  title: string;
  /** What will go. */
  children: ComponentChildren;
  /** The button that does it. */
  action: string;
  onYes: () => void;
  onClose: () => void;
}

/** Asks once before something goes that cannot be had back. */
export function Confirm({ title, children, action, onYes, onClose }: Props) {
  return (
    <Dialog title={title} class="confirm" onClose={onClose}>
      {children}
      <form method="dialog" class="actions">
        <button autofocus>{t("Cancel")}</button>
        <button class="danger" onClick={onYes}>
          {action}
        </button>
      </form>
    </Dialog>
  );
}
