import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { t } from "../i18n/i18n";
import { clampShare, dragShare, keyShare } from "../lib/share";

const KEY = "smfleet.split";
const DEFAULT = 66;

function stored(): number {
  try {
    const value = Number(localStorage.getItem(KEY) ?? DEFAULT);
    return Number.isFinite(value) ? clampShare(value) : DEFAULT;
  } catch {
    return DEFAULT;
  }
}

function store(share: number): void {
  try {
    localStorage.setItem(KEY, String(share));
  } catch {
    // Without storage the divider stands where it always does.
  }
}

/** Two panes and a divider: drag it, or focus it and use the arrows, Home and End; Enter resets. */
export function Split({ left, right }: { left: ComponentChildren; right: ComponentChildren }) {
  const share = useSignal(stored());
  const host = useRef<HTMLDivElement>(null);
  const dragged = useRef(false);

  const move = (next: number): void => {
    share.value = next;
    store(next);
  };

  const onPointerDown = (event: PointerEvent): void => {
    const divider = event.currentTarget as HTMLElement;
    divider.setPointerCapture(event.pointerId);
    dragged.current = false;
  };
  const onPointerMove = (event: PointerEvent): void => {
    const divider = event.currentTarget as HTMLElement;
    if (!host.current || !divider.hasPointerCapture(event.pointerId)) return;
    dragged.current = true;
    const box = host.current.getBoundingClientRect();
    move(dragShare(event.clientX - box.left, box.width));
  };

  const now = share.value;
  return (
    <div
      ref={host}
      class={`split ${now === 0 ? "left-folded" : now === 100 ? "right-folded" : ""}`}
      style={{ "--share": String(now) }}
    >
      <div class="pane">{left}</div>
      <div
        class="divider"
        role="separator"
        aria-orientation="vertical"
        aria-label={t("Divider between charts and log")}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(now)}
        tabIndex={0}
        title={t("Drag to divide the room; double click for the usual share; arrows, Home and End by keyboard")}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onDblClick={() => move(DEFAULT)}
        onKeyDown={(event) => {
          const next = event.key === "Enter" ? DEFAULT : keyShare(now, event.key);
          if (next === null) return;
          event.preventDefault();
          move(next);
        }}
      />
      <div class="pane">{right}</div>
    </div>
  );
}
