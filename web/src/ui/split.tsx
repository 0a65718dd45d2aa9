import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { clampShare } from "../lib/url/share";
import { later, lazy } from "./lazy";

const Divider = lazy(async () => (await later(() => import("./divider"))).Divider, 0);

export const KEY = "smfleet.split";
export const DEFAULT = 66;

function stored(): number {
  try {
    const value = Number(localStorage.getItem(KEY) ?? DEFAULT);
    return Number.isFinite(value) ? clampShare(value) : DEFAULT;
  } catch {
    return DEFAULT;
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
