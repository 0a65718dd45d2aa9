import { expect, test } from "vitest";
import { contentHeight, inSteps, isScaled, lastTop, MAX_HEIGHT, maxScroll, pagesOf, rowAfterScroll, rowAt, rowForMiddle, rowsFrom, scrollFor, scrollToMiddle, visibleRows } from "../src/lib/log/vlist";

const small = { total: 1000, rowHeight: 17, viewHeight: 340 };
const huge = { total: 10_000_000, rowHeight: 17, viewHeight: 340 };

test("short lists map pixels to rows one to one", () => {
  expect(contentHeight(small)).toBe(17_000);
  expect(rowAt(small, 170)).toBe(10);
  expect(scrollFor(small, 10)).toBe(170);
  expect(visibleRows(small, 170, 2)).toEqual({ first: 8, end: 32, offset: 136 });
});

test("windows stay inside the list", () => {
  expect(visibleRows(small, 0, 5)).toEqual({ first: 0, end: 25, offset: 0 });
  expect(visibleRows(small, 1e9, 5).end).toBe(1000);
  expect(visibleRows({ ...small, total: 0 }, 0, 5)).toEqual({ first: 0, end: 0, offset: 0 });
  expect(visibleRows({ ...small, total: 3 }, 0, 5)).toEqual({ first: 0, end: 3, offset: 0 });
});

test("the middle is the middle, but for the ends", () => {
  expect(rowAt(small, scrollToMiddle(small, 500)) + 9.5).toBeCloseTo(500.5, 0);
  expect(scrollToMiddle(small, 0)).toBe(0);
  expect(scrollToMiddle(small, 999)).toBe(maxScroll(small));
});

test("huge lists scroll by proportion and reach both ends", () => {
  expect(isScaled(huge)).toBe(true);
  expect(contentHeight(huge)).toBe(MAX_HEIGHT);
  expect(rowAt(huge, 0)).toBe(0);
  expect(visibleRows(huge, maxScroll(huge), 0).end).toBe(huge.total);
  expect(rowAt(huge, scrollFor(huge, 1_234_567))).toBeCloseTo(1_234_567, 3);
  const window = visibleRows(huge, scrollFor(huge, 5_000_000.5), 0);
  expect(window.first).toBe(5_000_000);
  expect(window.offset).toBeCloseTo(scrollFor(huge, 5_000_000.5) - 8.5, 3);
});

test("pages that a window touches", () => {
  expect(pagesOf(0, 0, 500)).toEqual([]);
  expect(pagesOf(499, 501, 500)).toEqual([0, 1]);
  expect(pagesOf(500, 1000, 500)).toEqual([1]);
});

test("rows in steps: a scroll by a few changes none", () => {
  const shape = { total: 1_000_003, rowHeight: 28, viewHeight: 784, maxHeight: 33_000_000 };
  const at = (top: number): string => JSON.stringify(inSteps(shape, visibleRows(shape, top, 4), 8));
  expect(isScaled(shape)).toBe(false);
  expect(at(12 * 28 + 3)).toBe(at(14 * 28 + 20));
  expect(inSteps(shape, visibleRows(shape, 100 * 28, 4), 8)).toEqual({ first: 96, end: 136, offset: 96 * 28 });
  const last = inSteps(shape, visibleRows(shape, 1e9, 4), 8);
  expect(last.end).toBe(1_000_003);
  expect(last.offset).toBe(last.first * 28);
});

test("short ways count rows in a list too long for pixels, long ones are by proportion", () => {
  expect(rowAfterScroll(small, 3, 51, 170)).toBe(10);
  expect(rowAfterScroll(huge, 5_000_000, 7_000_000, 7_000_034)).toBe(5_000_002);
  expect(rowAfterScroll(huge, 1, 100, 0)).toBe(0);
  expect(rowAfterScroll(huge, 5, 7_000_000, maxScroll(huge))).toBeCloseTo(lastTop(huge), 6);
  expect(rowAfterScroll(huge, huge.total - 25, 9_000_000, 9_000_340)).toBe(lastTop(huge));
  expect(rowForMiddle(small, 0)).toBe(0);
  expect(rowForMiddle(huge, 5_000_000)).toBe(4_999_991);
});

test("rows stand where they are seen, wherever the scroll bar is", () => {
  expect(rowsFrom(huge, 5_000_000.5, 1234, 2, 2)).toEqual({ first: 4_999_998, end: 5_000_023, offset: 1234 - 2.5 * 17 });
});
