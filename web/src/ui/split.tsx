import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { clampShare, SHARE_KEY, USUAL_SHARE } from "../lib/url/share";
import { later, lazy } from "./lazy";

const Divider = lazy(async () => (await later(() => import("./divider"))).Divider, 0);

function stored(): number {
  try {
    const value = Number(localStorage.getItem(SHARE_KEY) ?? USUAL_SHARE);
    return Number.isFinite(value) ? clampShare(value) : USUAL_SHARE;
  } catch {
    return USUAL_SHARE;
  }
}

/** Two panes and a divider between them. */
export function Split({ left, right }: { left: ComponentChildren; right: ComponentChildren }) {
  const share = useSignal(stored());
  const host = useRef<HTMLDivElement>(null);
  const now = share.value;
  return (
    <div
      ref={host}
      class={`split ${now === 0 ? "left-folded" : now === 100 ? "right-folded" : ""}`}
      style={{ "--share": String(now) }}
    >
      <div class="pane">{left}</div>
      <div>
        <Divider share={share} host={host} />
      </div>
      <div class="pane">{right}</div>
    </div>
  );
}
