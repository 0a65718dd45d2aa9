// Restarts, checkpoints and what became of nodes, as one list of marks.
import type { Break, Checkpoint, Goodput, StreamInfo } from "../../api/types";
import { t, tn } from "../../i18n/i18n";
import { exitText } from "./commands";
import { formatCount, formatDuration } from "../text/format";
import type { JobEvent } from "../chart/marks";

/** More nodes than this that fall at once are one story: the first ones tell it. */
const MOST_NODES = 500;

export function restartText(one: Break): string {
  const parts = [t("Restart: {cause}", { cause: one.cause })];
  if (one.step !== undefined && one.from_step !== undefined) {
    parts.push(t("stopped at step {step}, went on from {from}", { step: formatCount(one.step), from: formatCount(one.from_step) }));
  }
  if (one.lost_steps) parts.push(tn(one.lost_steps, "{n} step lost", "{n} steps lost"));
  if (one.to_ms !== undefined) parts.push(t("back after {time}", { time: formatDuration((one.to_ms - one.from_ms) / 1000) }));
  else parts.push(t("not back yet"));
  return parts.join(", ");
}

/** What a job broke off by and never came back from is its end, not a restart. */
export const restartsOf = (goodput: Goodput | null, hasEnded: boolean): Break[] => (goodput?.breaks ?? []).filter((one) => one.to_ms !== undefined || !hasEnded);

export function eventsOf(goodput: Goodput | null, hasEnded: boolean, checkpoints: readonly Checkpoint[], streams: readonly StreamInfo[]): JobEvent[] {
  const restarts = restartsOf(goodput, hasEnded).map(
    (one, i): JobEvent => ({ kind: "restart", id: `r${i}`, ms: one.from_ms, step: one.from_step ?? one.step, text: restartText(one), stream: goodput?.steps?.stream }),
  );
  const written = checkpoints.map(
    ({ step, attempt, ts_ms, stream, line }): JobEvent => ({
      kind: "checkpoint",
      id: `c${attempt}/${step}/${stream}`,
      ms: ts_ms,
      step,
      text: t("Checkpoint at step {step}", { step: formatCount(step) }),
      stream: stream ?? undefined,
      line: line ?? undefined,
    }),
  );
  return [...restarts, ...written, ...streams.flatMap(nodeEvents).slice(0, MOST_NODES)];
}

function nodeEvents({ stream, exit, silent_since_ms }: StreamInfo): JobEvent[] {
  const events: JobEvent[] = [];
  const isBad = exit && (exit.signal !== undefined || (exit.code ?? 0) !== 0);
  if (exit && isBad) {
    events.push({ kind: "node", id: `n${stream}`, ms: exit.at_ms, step: undefined, text: t("{node} ended: {how}", { node: stream, how: exitText(exit) }), stream });
  }
  if (silent_since_ms !== undefined) {
    events.push({ kind: "node", id: `s${stream}`, ms: silent_since_ms, step: undefined, text: t("{node} fell silent", { node: stream }), stream });
  }
  return events;
}
