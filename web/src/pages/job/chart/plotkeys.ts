// A chart by the keyboard; fetched with the first key.
import type { Signal } from "@preact/signals";
import type { Plot } from "../../../plot/plot";
import { insist } from "../../../ui/lazy";

interface Keyed {
  plot: Plot;
  /** The bucket that is read out. */
  cursor: Signal<number | null>;
  isZoomed: boolean;
  onPick(index: number, y: number | null): void;
}

const STEPS = new Map([["ArrowLeft", -1], ["ArrowRight", 1], ["PageUp", -20], ["PageDown", 20], ["Home", -Infinity], ["End", Infinity]]);
const ZOOMS = new Map([["+", 0.5], ["=", 0.5], ["-", 2]]);

/** Arrows read the values, with Shift they move the window; + and − zoom, Enter goes to the line, Escape resets. */
export function pressKey(key: string, isShifted: boolean, { plot, cursor, isZoomed, onPick }: Keyed): void {
  const count = plot.buckets.x.length;
  const step = STEPS.get(key);
  const factor = ZOOMS.get(key);
  if (factor !== undefined || (isShifted && Math.abs(step ?? 0) === 1)) {
    void insist(() => import("../../../plot/gestures")).then(({ zoomed }) => plot.events.onZoom(...zoomed(plot, factor ?? 1, 0.5, factor ? 0 : (step ?? 0) / 4)));
  } else if (step !== undefined && count > 0) {
    cursor.value = Math.min(count - 1, Math.max(0, (cursor.value ?? count - 1) + step));
    plot.pointAt(cursor.value);
  } else if (key === "Enter" && cursor.value !== null) onPick(cursor.value, null);
  else if (key === "Escape" && isZoomed) plot.events.onReset();
}
