import { effect, signal } from "@preact/signals";
import { isUtc, type TimeMode } from "../../lib/text/format";

export const TIME_MODES: readonly TimeMode[] = ["local", "UTC", "relative", "hidden"];
const KEY = "smfleet.times";

function stored(): TimeMode {
  try {
    return TIME_MODES.find((mode) => mode === localStorage.getItem(KEY)) ?? "local";
  } catch {
    return "local";
  }
}

/** How the times of log lines are shown; elsewhere UTC or local. */
export const timeMode = signal<TimeMode>(stored());

effect(() => {
  isUtc.value = timeMode.value === "UTC";
});

export function setTimeMode(mode: TimeMode): void {
  timeMode.value = mode;
  try {
    localStorage.setItem(KEY, mode);
  } catch {
    // Storage may be off: the choice then lasts as long as the page.
  }
}
