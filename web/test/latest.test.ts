import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Latest } from "../src/lib/flow/latest";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("asks once when the hand rests", () => {
  const latest = new Latest(150);
  const runs: string[] = [];
  const ask = (text: string): void => latest.ask(async () => void runs.push(text));
  ask("a");
  vi.advanceTimersByTime(149);
  ask("ab");
  vi.advanceTimersByTime(149);
  expect(runs).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(runs).toEqual(["ab"]);
});

test("a request on its way is aborted by the next one, whose reply alone counts", () => {
  const latest = new Latest(150);
  const signals: AbortSignal[] = [];
  const ask = (): void => latest.ask(async (signal) => void signals.push(signal));
  ask();
  vi.advanceTimersByTime(150);
  ask();
  expect(signals[0]?.aborted).toBe(true);
  vi.advanceTimersByTime(150);
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
  latest.stop();
  expect(signals[1]?.aborted).toBe(true);
});

test("what is stopped does not start", () => {
  const latest = new Latest(150);
  const run = vi.fn(async () => {});
  latest.ask(run);
  latest.stop();
  vi.advanceTimersByTime(1000);
  expect(run).not.toHaveBeenCalled();
});
