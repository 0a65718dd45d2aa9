import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

interface Props {
  /** The button that opens it names it as its popovertarget. */
  id: string;
  title: string;
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** A list to choose from below a button; Esc and what is outside of it close it. */
export function Popover({ id, title, class: className = "", children }: Props) {
  const isOpen = useSignal(false);
  const host = useRef<HTMLDivElement>(null);
  return (
    <div id={id} class={`views ${className}`} popover="auto" role="dialog" aria-label={title} ref={host} onToggle={(event) => (isOpen.value = event.newState === "open")}>
      {isOpen.value && children(() => host.current?.hidePopover())}
    </div>
  );
}
