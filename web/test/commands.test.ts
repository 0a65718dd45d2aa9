import { expect, test } from "vitest";
import { commandAnswers, commandState, exitText, isAnswered, isTrouble } from "../src/lib/jobs/commands";

const command = (...streams: [string, "queued" | "delivered" | "acknowledged", string?][]) => ({
  id: 1,
  command: "stop" as const,
  created_ms: 0,
  streams: streams.map(([stream, state, result]) => ({ stream, state, ...(result === undefined ? {} : { result }) })),
});

test("how far a command has come", () => {
  const some = command(["a", "acknowledged", "signal SIGTERM sent to process 7"], ["b", "acknowledged", "signal SIGTERM sent to process 8"], ["c", "queued"]);
  expect([commandState(some), isAnswered(some)]).toEqual(["2 answered, 1 queued", false]);
  expect(commandState(command())).toBe("no sender has answered");
});

test("equal answers are told once, with those who gave them", () => {
  const some = command(["x", "acknowledged", "nothing: no --on"], ["a", "acknowledged", "signal SIGTERM sent to process 7"], ["b", "acknowledged", "signal SIGTERM sent to process 8"], ["c", "delivered"]);
  expect(commandAnswers(some)).toEqual([
    { result: "signal SIGTERM sent", streams: ["a", "b"] },
    { result: "nothing: no --on", streams: ["x"] },
  ]);
});

test("an end is told once, with its reason", () => {
  expect(exitText({ code: 0, at_ms: 1 })).toBe("code 0");
  expect(exitText({ signal: 9, at_ms: 1, reason: "killed by signal 9 (SIGKILL)" })).toBe("killed by signal 9 (SIGKILL)");
  expect(exitText({ code: 1, at_ms: 1, reason: "the launcher gave up" })).toBe("code 1: the launcher gave up");
});

test("trouble is a bad end, a wrong clock or silence", () => {
  expect([{}, { exit: { code: 0, at_ms: 1 } }, { exit: { code: 1, at_ms: 1 } }, { exit: { signal: 15, at_ms: 1 } }, { silent_since_ms: 5 }, { skew_warning: "x" }]
    .map((one) => isTrouble({ stream: "a", ...one }))).toEqual([false, false, true, true, true, true]);
});
