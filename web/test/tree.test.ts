import { expect, test } from "vitest";
import { findInTree, treeLines } from "../src/lib/text/tree";

const value = { a: 1, "b/c": { d: ["x", { e: null }] }, f: {} };

test("what is closed is one line, what is open has its children", () => {
  expect(treeLines(value, () => false)).toHaveLength(1);
  expect(treeLines(value, (path) => path === "").map((line) => [line.path, line.text, line.count])).toEqual([
    ["", null, 3],
    ["/a", "1", null],
    ["/b~1c", null, 1],
    ["/f", null, 0],
  ]);
});

test("a huge document gives no more lines than are asked for", () => {
  expect(treeLines(Array.from({ length: 10_000 }, (_, i) => i), () => true, 100)).toHaveLength(100);
});

test("a search opens the way to what it finds, in keys and values", () => {
  expect([...findInTree(value, "X").hits]).toEqual(["/b~1c/d/0"]);
  expect([...findInTree(value, "x").open]).toEqual(["", "/b~1c", "/b~1c/d"]);
  expect([...findInTree(value, "e").hits]).toEqual(["/b~1c/d/1/e"]);
  expect(findInTree(value, "").hits.size).toBe(0);
});
