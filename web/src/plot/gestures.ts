// The addon that zooms by wheel and pinch, and moves the window by Shift-drag and two fingers.
import type { Addon, Plot } from "./plot";

type Span = [number, number];

/** The wheel has come to rest, the fingers have left: now the points of the new window are asked for. */
const REST_MS = 120;
const WHEEL_STRENGTH = 0.0015;
const NARROWEST = 1e-9;

const isLog = (plot: Plot): boolean => plot.look.logX;
const toLine = (plot: Plot, x: number): number => (isLog(plot) ? Math.log(Math.max(x, Number.MIN_VALUE)) : x);
const fromLine = (plot: Plot, value: number): number => (isLog(plot) ? Math.exp(value) : value);

/** The window after `factor` times as much is to be seen, with what lies at `share` of it kept in its place. */
export function zoomed(plot: Plot, factor: number, share: number, by = 0): Span {
  const [from, to] = plot.shown.map((x) => toLine(plot, x)) as Span;
  const width = to - from;
  const next = Math.max(width * factor, Math.abs(from) * NARROWEST || NARROWEST);
  const left = from + share * (width - next) + by * width;
  return [fromLine(plot, left), fromLine(plot, left + next)];
}

export const gestures: Addon = {
  attach: (plot, over) => {
    let timer = 0;
    const show = (window: Span): void => {
      plot.setLook({ window });
      clearTimeout(timer);
      timer = globalThis.setTimeout(() => plot.events.onZoom(...window), REST_MS) as unknown as number;
    };
    const offs = [wheel(plot, over, show), drag(plot, over, show), touch(plot, over, show)];
    return () => {
      clearTimeout(timer);
      for (const off of offs) off();
    };
  },
};

type Show = (window: Span) => void;

function listen<K extends keyof HTMLElementEventMap>(host: HTMLElement, kind: K, run: (event: HTMLElementEventMap[K]) => void): () => void {
  host.addEventListener(kind, run, { passive: false });
  return () => host.removeEventListener(kind, run);
}

const shareOf = (over: HTMLElement, clientX: number): number => {
  const { left, width } = over.getBoundingClientRect();
  return width > 0 ? (clientX - left) / width : 0.5;
};

/** Without a key the page scrolls, as everywhere. */
const wheel = (plot: Plot, over: HTMLElement, show: Show): (() => void) =>
  listen(over, "wheel", (event) => {
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (isSideways && (event.deltaX || event.deltaY)) {
      event.preventDefault();
      show(zoomed(plot, 1, 0, (event.deltaX || event.deltaY) / over.clientWidth));
    } else if (event.ctrlKey || event.altKey || event.metaKey) {
      event.preventDefault();
      show(zoomed(plot, Math.exp(event.deltaY * WHEEL_STRENGTH * (event.deltaMode === 1 ? 16 : 1)), shareOf(over, event.clientX)));
    }
  });

function drag(plot: Plot, over: HTMLElement, show: Show): () => void {
  return listen(over, "pointerdown", (event) => {
    if (!event.shiftKey || event.button !== 0 || event.pointerType === "touch") return;
    event.preventDefault();
    over.setPointerCapture(event.pointerId);
    let last = event.clientX;
    const stop = [
      listen(over, "pointermove", (move) => {
        show(zoomed(plot, 1, 0, (last - move.clientX) / over.clientWidth));
        last = move.clientX;
      }),
      listen(over, "pointerup", () => stop.forEach((off) => off())),
      listen(over, "pointercancel", () => stop.forEach((off) => off())),
    ];
  });
}

/** Two fingers: apart zooms, together moves. One scrolls the page. */
function touch(plot: Plot, over: HTMLElement, show: Show): () => void {
  let last: { middle: number; gap: number } | null = null;
  const measure = (event: TouchEvent): { middle: number; gap: number } | null => {
    const [a, b] = [event.touches[0], event.touches[1]];
    if (!a || !b) return null;
    return { middle: (a.clientX + b.clientX) / 2, gap: Math.max(20, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)) };
  };
  const begin = (event: TouchEvent): void => {
    last = measure(event);
    if (last) event.preventDefault();
  };
  const move = (event: TouchEvent): void => {
    const now = measure(event);
    if (!now || !last) return;
    event.preventDefault();
    show(zoomed(plot, last.gap / now.gap, shareOf(over, now.middle), (last.middle - now.middle) / over.clientWidth));
    last = now;
  };
  const offs = [listen(over, "touchstart", begin), listen(over, "touchmove", move), listen(over, "touchend", begin)];
  return () => offs.forEach((off) => off());
}
