import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { adoptStyle } from "../lib/jobs/adopt";
import style from "../styles/dialog.css?inline";

adoptStyle(style);

interface Props {
  title: string;
  class?: string;
  /** A click outside of it closes it, too. */
  closesOutside?: boolean;
  onClose(): void;
  children: ComponentChildren;
}

/** A question before the page, open as long as it is there. The browser keeps the focus in it, and Esc closes it. */
export function Dialog({ title, class: className, closesOutside = false, onClose, children }: Props) {
  const host = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = host.current;
    dialog?.showModal();
    return () => dialog?.close(); // whoever took it away: the focus goes back to where it came from
  }, []);
  return (
    <dialog
      ref={host}
      class={className}
      aria-label={title}
      onClose={() => host.current && onClose()}
      onClick={(event) => closesOutside && event.target === host.current && host.current?.close()}
    >
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
