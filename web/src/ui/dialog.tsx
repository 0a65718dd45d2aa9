import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A question before the page: open as long as it is there; Esc and what is outside of it close it. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const host = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => host.current?.showModal(), []);
  return (
    <dialog ref={host} class="signin" aria-label={title} onClose={onClose} onClick={(event) => event.target === host.current && host.current?.close()}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
