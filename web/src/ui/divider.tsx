import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { t } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { dragShare, keyShare, SHARE_KEY, USUAL_SHARE } from "../lib/url/share";
import style from "../styles/divider.css?inline";

adoptStyle(style);

function store(share: number): void {
  try {
    localStorage.setItem(SHARE_KEY, String(share));
  } catch {
    // Without storage the divider stands where it always does.
  }
}

/** Drag it, or focus it and use the arrows, Home and End; Enter resets. */
export function Divider({ share, host }: { share: Signal<number>; host: RefObject<HTMLDivElement | null> }) {
  const move = (next: number): void => {
    share.value = next;
    store(next);
  };

  const onPointerDown = (event: PointerEvent): void => {
    const divider = event.currentTarget as HTMLElement;
    divider.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent): void => {
    const divider = event.currentTarget as HTMLElement;
    if (!host.current || !divider.hasPointerCapture(event.pointerId)) return;
    const box = host.current.getBoundingClientRect();
    move(dragShare(event.clientX - box.left, box.width));
  };

  const now = share.value;
  return (
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
      onDblClick={() => move(USUAL_SHARE)}
      onKeyDown={(event) => {
        const next = event.key === "Enter" ? USUAL_SHARE : keyShare(now, event.key);
        if (next === null) return;
        event.preventDefault();
        move(next);
      }}
    />
  );
}
