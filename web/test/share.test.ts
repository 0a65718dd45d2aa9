import { expect, test } from "vitest";
import { clampShare, dragShare, keyShare } from "../src/lib/url/share";
import { nextSort, parseSort } from "../src/lib/text/sort";

test("the divider folds what would be too small", () => {
  expect(clampShare(3)).toBe(0);
  expect(clampShare(12)).toBe(18);
  expect(clampShare(97)).toBe(100);
  expect(dragShare(500, 1000)).toBe(50);
});

test("keys move the divider and bring a folded side back", () => {
  expect(keyShare(66, "ArrowLeft")).toBe(62);
  expect(keyShare(18, "ArrowLeft")).toBe(0);
  expect(keyShare(0, "ArrowRight")).toBe(18);
  expect(keyShare(100, "ArrowLeft")).toBe(82);
  expect(keyShare(50, "End")).toBe(100);
  expect(keyShare(50, "x")).toBeNull();
});

test("clicks on a column's head sort, turn round, and give up", () => {
  expect(parseSort("-loss")).toEqual({ key: "loss", descending: true });
  expect(parseSort("")).toBeNull();
  expect(nextSort("", "loss", false)).toBe("loss");
  expect(nextSort("loss", "loss", false)).toBe("-loss");
  expect(nextSort("-loss", "loss", false)).toBeUndefined();
  expect(nextSort("-loss", "started", true)).toBe("-started");
});
