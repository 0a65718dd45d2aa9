import type { JobRow } from "../api/types";
import { now } from "../state/clock";

const SILENT_MS = 10 * 60_000;

const STATES = {
  running: { glyph: "●", text: "running" },
  completed: { glyph: "✓", text: "completed" },
  failed: { glyph: "✕", text: "failed" },
  stopped: { glyph: "■", text: "stopped" },
  stopping: { glyph: "◐", text: "stopping" },
  silent: { glyph: "◌", text: "silent" },
} as const;

export type State = keyof typeof STATES;

/** A running job that has said nothing for ten minutes is silent: that is the server's own limit. */
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
      return row.last_line_ms !== undefined && nowMs - row.last_line_ms > SILENT_MS ? "silent" : "running";
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
      <span class={withText ? "" : "hidden"}>{text}</span>
    </span>
  );
}
