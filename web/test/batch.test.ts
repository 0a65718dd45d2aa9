import { expect, test } from "vitest";
import { Batch } from "../src/lib/flow/batch";

test("the first one at once, what follows together, and nothing behind the end", () => {
  let now = 0;
  const timers: { run: () => void; at: number }[] = [];
  const clock = {
    set: (run: () => void, ms: number) => timers.push({ run, at: now + ms }),
    clear: (id: number) => void (timers[id - 1] = { run: () => undefined, at: Infinity }),
    now: () => now,
  };
  const advance = (to: number): void => {
    now = to;
    timers.filter((timer) => timer.at <= now).forEach((timer) => ((timer.at = Infinity), timer.run()));
  };
  const taken: number[][] = [];
  const batch = new Batch<number>(100, (items) => taken.push(items), clock);
  batch.add(1);
  expect(taken).toEqual([[1]]);
  advance(10);
  batch.add(2);
  advance(50);
  batch.add(3);
  expect(taken).toEqual([[1]]);
  advance(100);
  expect(taken).toEqual([[1], [2, 3]]);
  advance(300);
  batch.add(4);
  expect(taken).toEqual([[1], [2, 3], [4]]);
  batch.add(5);
  batch.stop();
  advance(900);
  expect(taken).toEqual([[1], [2, 3], [4]]);
});
