import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/i18n";

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
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{title}</h2>
      {children}
      <form method="dialog" class="actions">
        <button autofocus>{t("Cancel")}</button>
        <button class="danger" onClick={onYes}>
          {action}
        </button>
      </form>
    </dialog>
  );
}
