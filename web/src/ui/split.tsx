import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
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

interface Props {
  left: ComponentChildren;
  right: ComponentChildren;
  /** There is nothing in it yet: until there is, or somebody drags the divider, the left pane has all the room. */
  isRightEmpty?: boolean;
}

/** Two panes and a divider between them. */
export function Split({ left, right, isRightEmpty = false }: Props) {
  const share = useSignal(isRightEmpty ? 100 : stored());
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    share.value = isRightEmpty ? 100 : stored();
  }, [isRightEmpty]);
  const now = share.value;
  return (
    <div
      ref={host}
      class={`split ${isRightEmpty ? "right-empty " : ""}${now === 0 ? "left-folded" : now === 100 ? "right-folded" : ""}`}
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
