import type { Command, StreamInfo } from "../../api/types";

export const isAnswered = (command: Command): boolean => command.streams.every((one) => one.state === "acknowledged");

/** In one phrase how far a command has come. */
export function commandState({ streams }: Command): string {
  if (streams.length === 0) return "no sender has answered";
  const counts = (["acknowledged", "delivered", "queued"] as const).map((state) => ({ state, count: streams.filter((one) => one.state === state).length }));
  const words = { acknowledged: "answered", delivered: "delivered", queued: "queued" };
  return counts.filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${words[state]}`).join(", ");
}

/** Answers with the streams that gave them, most frequent first: 128 nodes mostly say the same. */
export function commandAnswers({ streams }: Command): { result: string; streams: string[] }[] {
  const answers = new Map<string, string[]>();
  for (const { stream, result, state } of streams) {
    // Of a process only its number tells it from the others.
    if (state === "acknowledged") answers.set(plain(result ?? ""), [...(answers.get(plain(result ?? "")) ?? []), stream]);
  }
  return [...answers].map(([result, names]) => ({ result, streams: names })).sort((a, b) => b.streams.length - a.streams.length);
}

const plain = (result: string): string => result.replace(/ to process \d+$/, "");

/** code 0, signal 9; a reason mostly says as much and more. */
export function exitText({ signal, code = 0, reason = "" }: NonNullable<StreamInfo["exit"]>): string {
  const text = signal === undefined ? `code ${code}` : `signal ${signal}`;
  if (reason.includes(text)) return reason;
  return reason ? `${text}: ${reason}` : text;
}

export const isTrouble = (one: StreamInfo): boolean =>
  one.skew_warning !== undefined || one.silent_since_ms !== undefined || (one.exit !== undefined && (one.exit.signal !== undefined || one.exit.code !== 0));
