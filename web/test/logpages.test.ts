import { expect, test } from "vitest";
import { LogPages, PAGE_LINES } from "../src/lib/log/logpages";

const lines = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ n: from + i, ts_ms: 0, text: `line ${from + i}` }));

test("knows what it holds and what is missing of a window", () => {
  const pages = new LogPages();
  pages.put(lines(490, 20));
  pages.total = 2000;
  expect(pages.line(509)?.text).toBe("line 509");
  expect(pages.line(510)).toBeUndefined();
  expect(pages.missing(0, 490, 520)).toBeNull();
  expect(pages.missing(1, 490, 520)).toBe(510);
  expect(pages.missing(0, 480, 520)).toBe(480);
});

test("asks for nothing past the end", () => {
  const pages = new LogPages();
  pages.put(lines(0, 10));
  expect(pages.total).toBe(10);
  expect(pages.missing(0, 0, 500)).toBeNull();
});

test("forgets the pages unused for longest", () => {
  const pages = new LogPages();
  pages.put(lines(0, 1));
  for (let page = 1; page <= 39; page++) pages.put(lines(page * PAGE_LINES, 1));
  pages.touch([0]);
  pages.put(lines(40 * PAGE_LINES, 1));
  expect(pages.line(0)).toBeDefined();
  expect(pages.line(PAGE_LINES)).toBeUndefined();
});
