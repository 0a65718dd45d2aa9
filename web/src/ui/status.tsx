import { say, t } from "../i18n/i18n";
import type { JobRow } from "../api/types";
import { now } from "../state/core/clock";
import { info } from "../state/core/info";

const SILENT_MS = 10 * 60_000;

/** When a running job was heard of last, if that is too long ago; a row only tells how it was when it was asked for. */
export function silentSince(row: JobRow, nowMs: number): number | null {
  if (row.TrainingJobStatus !== "InProgress") return null;
  const heard = row.last_heard_ms ?? row.last_line_ms;
  const isSilent = heard !== undefined && nowMs - heard > (info.value?.limits?.silent_after_ms ?? SILENT_MS);
  return isSilent ? heard : null;
}

const STATES = {
  running: { glyph: "●", text: say("running") },
  completed: { glyph: "✓", text: say("completed") },
  failed: { glyph: "✕", text: say("failed") },
  stopped: { glyph: "■", text: say("stopped") },
  stopping: { glyph: "◐", text: say("stopping") },
  silent: { glyph: "◌", text: say("silent") },
} as const;

export type State = keyof typeof STATES;

/** A running job that has said nothing for --silent-after is silent: nobody knows whether it has ended. */
export function stateOf(row: JobRow, nowMs: number): State {
  switch (row.TrainingJobStatus) {
    case "Completed":
      return "completed";
    case "Failed":
      return "failed";
    case "Stopped":
      return "stopped";
    case "Stopping":
      return "stopping";
    default:
      return silentSince(row, nowMs) === null ? "running" : "silent";
  }
}

export function Status({ row, withText = true }: { row: JobRow; withText?: boolean }) {
  const state = stateOf(row, now.value);
  const { glyph, text } = STATES[state];
  const title = [row.TrainingJobStatus, row.SecondaryStatus, row.FailureReason].filter(Boolean).join(" · ");
  return (
    <span class={`status ${state}`} title={title}>
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>
      <span class={withText ? "" : "hidden"}>{t(text)}</span>
    </span>
  );
}
