import { expect, test } from "vitest";
import { backfillShare } from "../src/lib/jobs/backfill";
import { curvePath } from "../src/lib/chart/curve";

test("a curve fills its box, in the order of x", () => {
  expect(curvePath([{ x: 10, y: 1 }, { x: 0, y: 3 }], 108, 58)).toBe("M4.0 4.0L104.0 54.0");
  expect(curvePath([], 100, 50)).toBe("");
});

test("what has no extent is still seen", () => {
  expect(curvePath([{ x: 5, y: 2 }], 108, 58)).toBe("M54.0 29.0h3");
  expect(curvePath([{ x: 0, y: 2 }, { x: 1, y: 2 }], 108, 58)).toBe("M4.0 29.0L104.0 29.0");
});

test("a back-fill's share is counted in bytes, else in lines, and is never more than all", () => {
  expect(backfillShare({ state: "running", lines: 1, lines_total: 2, bytes: 3, bytes_total: 4 })).toBe(0.75);
  expect(backfillShare({ state: "running", lines: 1, lines_total: 2 })).toBe(0.5);
  expect(backfillShare({ state: "running", lines: 9, lines_total: 2 })).toBe(1);
  expect(backfillShare({ state: "running" })).toBeNull();
});
