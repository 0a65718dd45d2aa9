import { expect, test } from "vitest";
import { goneByAge, goneBySpace } from "../src/lib/jobs/retention";

const DAY_MS = 86_400_000;
const next = [1, 2, 3].map((n) => ({ job: `job-${n}`, ended_ms: n * DAY_MS, text_bytes: 500, stored_bytes: 100 }));
const names = (going: { jobs: { job: string }[] }): string => going.jobs.map((one) => one.job).join();

test("the oldest go first, until there is room", () => {
  expect(names(goneBySpace(next, 1000, 0))).toBe("");
  expect(names(goneBySpace(next, 1000, 1000))).toBe("");
  expect(goneBySpace(next, 1000, 850)).toEqual({ jobs: next.slice(0, 2), isMore: false });
  expect(goneBySpace(next, 1000, 500)).toEqual({ jobs: next, isMore: true });
});

test("who ended before so many days goes", () => {
  expect(names(goneByAge(next, 0, 5 * DAY_MS))).toBe("");
  expect(goneByAge(next, 3.5, 5 * DAY_MS)).toEqual({ jobs: next.slice(0, 1), isMore: false });
  expect(goneByAge(next, 1, 5 * DAY_MS)).toEqual({ jobs: next, isMore: true });
});
