import { expect, test } from "vitest";
import { costPerHour, formatLeft, groupNear, place, poolBars, sharedSpan } from "../src/lib/jobs/pools";

const turn = (job: string, begun_ms: number, ended_ms: number | undefined, retained_seconds: number) => ({
  job,
  state: "Reused" as const,
  begun_ms,
  ...(ended_ms === undefined ? {} : { ended_ms }),
  keep_alive_seconds: 60,
  retained_seconds,
});

test("turns, waits between them and what is left are bars in order", () => {
  const turns = [turn("a", 0, 1000, 2), turn("b", 3000, 4000, 0)];
  expect(poolBars(turns, 9000, 6000)).toEqual([
    { kind: "job", job: "a", from_ms: 0, to_ms: 1000 },
    { kind: "wait", job: "a", from_ms: 1000, to_ms: 3000 },
    { kind: "job", job: "b", from_ms: 3000, to_ms: 4000 },
    { kind: "wait", job: "b", from_ms: 4000, to_ms: 6000 },
    { kind: "left", job: "b", from_ms: 6000, to_ms: 9000 },
  ]);
});

test("a job that runs reaches to now; a pool whose time is over has nothing left", () => {
  expect(poolBars([turn("a", 1000, undefined, 0)], undefined, 5000)).toEqual([{ kind: "job", job: "a", from_ms: 1000, to_ms: 5000 }]);
  expect(poolBars([turn("a", 0, 1000, 0)], 4000, 5000).map((bar) => [bar.kind, bar.to_ms])).toEqual([["job", 1000], ["wait", 4000]]);
  expect(poolBars([turn("a", 0, 1000, 7)], undefined, 50_000).map((bar) => [bar.kind, bar.to_ms])).toEqual([["job", 1000], ["wait", 8000]]);
});

test("all lanes share one span, which can be cut", () => {
  const pool = { id: 1, state: "Available" as const, jobs: [], begun_ms: 1000, expires_ms: 1e9 + 5000, idle_seconds: 0, saved_seconds: 0 };
  expect(sharedSpan([pool], "", 1e9)).toEqual({ from_ms: 1000, to_ms: 1e9 + 5000 });
  expect(sharedSpan([pool], "1d", 1e9)).toEqual({ from_ms: 1e9 - 86_400_000, to_ms: 1e9 + 5000 });
  expect(sharedSpan([], "", 1e9)).toEqual({ from_ms: 1e9 - 60_000, to_ms: 1e9 });
});

test("a bar is clipped to the span, or not shown", () => {
  const bar = { kind: "job" as const, job: "a", from_ms: 0, to_ms: 50 };
  expect(place(bar, { from_ms: 0, to_ms: 100 })).toEqual({ left: 0, width: 0.5 });
  expect(place(bar, { from_ms: 25, to_ms: 125 })).toEqual({ left: 0, width: 0.25 });
  expect(place(bar, { from_ms: 51, to_ms: 100 })).toBeNull();
});

test("differences are told pool by pool", () => {
  expect(groupNear([{ pool: 3, f: 1 }, { pool: 3, f: 2 }, { pool: 1, f: 3 }])).toEqual([[{ pool: 3, f: 1 }, { pool: 3, f: 2 }], [{ pool: 1, f: 3 }]]);
});

test("what is left counts down by the second", () => {
  expect([0, 900, 65_000, 3_723_000, -5].map(formatLeft)).toEqual(["0:00", "0:01", "1:05", "1:02:03", "0:00"]);
});

test("an hour of waiting costs what the hours so far did", () => {
  expect(costPerHour({ idle_seconds: 900, idle_cost: 32.5 })).toBe(130);
  expect(costPerHour({ idle_seconds: 900, idle_cost: null })).toBeNull();
  expect(costPerHour({ idle_seconds: 1502, idle_cost: 5.00752 })).toBe(12);
  expect(costPerHour({ idle_seconds: 2, idle_cost: 0.01 })).toBeNull();
  expect(costPerHour({ idle_seconds: 0, idle_cost: 0 })).toBeNull();
});
