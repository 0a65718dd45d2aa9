import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { say, t } from "../i18n/i18n";
import { adoptStyle } from "../lib/jobs/adopt";
import { offerFor, type Offer } from "../lib/url/menu";
import { navigate } from "../state/core/router";
import style from "../styles/menu.css?inline";

adoptStyle(style);

interface Open {
  offer: Offer;
  x: number;
  y: number;
  /** What has the focus again afterwards. */
  origin: HTMLElement | null;
}

const LONG_PRESS_MS = 500;
const MOVED_PX = 10;

/** Over rows and values everywhere: a right click, a long press or the menu key offers copy link, copy value, go to line. */
export function ContextMenu() {
  const open = useSignal<Open | null>(null);
  useEffect(() => {
    const show = (target: EventTarget | null, x: number, y: number): boolean => {
      const offer = target instanceof Element && getSelection()?.isCollapsed !== false ? offerFor(target) : null;
      if (!offer) return false;
      const origin = document.activeElement instanceof HTMLElement ? document.activeElement : null;
      open.value = { offer, x, y, origin };
      return true;
    };
    const onContextMenu = (event: MouseEvent): void => {
      if (event.shiftKey || event.defaultPrevented) return;
      // The menu key has no place of its own.
      const box = event.button === 2 ? null : (event.target as Element).getBoundingClientRect();
      if (show(event.target, box ? box.left : event.clientX, box ? box.bottom : event.clientY)) event.preventDefault();
    };
    // Safari on phones sends no contextmenu.
    let timer = 0;
    let from = { x: 0, y: 0 };
    const stop = (): void => window.clearTimeout(timer);
    const onTouchStart = ({ touches, target }: TouchEvent): void => {
      stop();
      const touch = touches[0];
      if (!touch || touches.length > 1) return;
      from = { x: touch.clientX, y: touch.clientY };
      timer = window.setTimeout(() => show(target, from.x, from.y), LONG_PRESS_MS);
    };
    const onTouchMove = ({ touches }: TouchEvent): void => {
      const touch = touches[0];
      if (touch && Math.hypot(touch.clientX - from.x, touch.clientY - from.y) > MOVED_PX) stop();
    };
    document.addEventListener("contextmenu", onContextMenu);
    document.addEventListener("touchstart", onTouchStart, { passive: true });
    document.addEventListener("touchmove", onTouchMove, { passive: true });
    document.addEventListener("touchend", stop);
    return () => {
      stop();
      document.removeEventListener("contextmenu", onContextMenu);
      document.removeEventListener("touchstart", onTouchStart);
      document.removeEventListener("touchmove", onTouchMove);
      document.removeEventListener("touchend", stop);
    };
  }, []);
  return open.value && <List open={open.value} onClose={() => (open.value = null)} />;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** Where the pointer was, but within the window. */
function placeAt(element: HTMLElement, { x, y }: Open): void {
  const { width, height } = element.getBoundingClientRect();
  element.style.left = `${Math.max(0, Math.min(x, window.innerWidth - width - 4))}px`;
  element.style.top = `${y + height + 4 > window.innerHeight ? Math.max(0, y - height) : y}px`;
}

function List({ open, onClose }: { open: Open; onClose: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  const { link, value, line } = open.offer;
  const copy = (text: string) => (): void => void navigator.clipboard.writeText(text);
  const items = [
    ...(link ? [[say("Copy link"), copy(link)] as const] : []),
    ...(value ? [[say("Copy value"), copy(value)] as const] : []),
    ...(line ? [[say("Go to line"), () => navigate(line)] as const] : []),
  ];
  // Not a moment later: the next key is the menu's, be it Escape.
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    element.showPopover();
    placeAt(element, open);
    element.querySelector("button")?.focus();
  }, [open]);
  const leave = (): void => {
    list.current?.hidePopover();
    open.origin?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    const step = STEPS[event.key];
    if (event.key === "Escape" || event.key === "Tab") leave();
    else if (step !== undefined) buttons[(buttons.findIndex((one) => one === document.activeElement) + step + buttons.length) % buttons.length]?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div ref={list} class="contextmenu" role="menu" aria-label={t("What can be done with it")} popover="auto" onKeyDown={onKeyDown} onToggle={() => list.current?.matches(":popover-open") || onClose()}>
      {items.map(([label, run]) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            leave();
            run();
          }}
        >
          {t(label)}
        </button>
      ))}
    </div>
  );
}
