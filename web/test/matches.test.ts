import { expect, test } from "vitest";
import { parseAnsi } from "../src/lib/text/ansi";
import { findLiteral, rangesFromBytes, trimToHit } from "../src/lib/text/matches";

test("bytes of UTF-8 become units of UTF-16", () => {
  expect(rangesFromBytes("plain text", [[6, 10]])).toEqual([[6, 10]]);
  const text = "é € 😀 loss";
  const bytes = (part: string) => new TextEncoder().encode(part).length;
  const start = bytes("é € 😀 ");
  expect(rangesFromBytes(text, [[0, 2], [start, start + 4]])).toEqual([[0, 1], [text.indexOf("loss"), text.length]]);
  expect(rangesFromBytes("é", [[1, 900]])).toEqual([[1, 1]]);
});

test("a literal is found as it stands, not as a pattern", () => {
  expect(findLiteral("a.b axb A.B", "a.b", false)).toEqual([[0, 3]]);
  expect(findLiteral("a.b axb A.B", "a.b", true)).toEqual([[0, 3], [8, 11]]);
  expect(findLiteral("abc", "", true)).toEqual([]);
});

test("hits are marked across colours, and in what a progress bar left", () => {
  expect(parseAnsi("a\x1b[31mNC\x1b[0mCL b", [[1, 14]])).toEqual([
    { text: "a", style: "" },
    { text: "NC", style: "a-1", isHit: true },
    { text: "CL", style: "", isHit: true },
    { text: " b", style: "" },
  ]);
  expect(parseAnsi("10%\r99% done\r", [[8, 12], [0, 2]])).toEqual([
    { text: "99% ", style: "" },
    { text: "done", style: "", isHit: true },
  ]);
  expect(parseAnsi("abab", [[0, 1], [2, 3]]).filter((span) => span.isHit).map((span) => span.text)).toEqual(["a", "a"]);
});

test("a narrow row begins a little before its hit", () => {
  const spans = parseAnsi(`${"x".repeat(100)}hit rest`, [[100, 103]]);
  const trimmed = trimToHit(spans, 10);
  expect(trimmed.map((span) => span.text)).toEqual([`…${"x".repeat(10)}`, "hit", " rest"]);
  expect(trimToHit(parseAnsi("a hit", [[2, 5]]), 10).map((span) => span.text).join("")).toBe("a hit");
  expect(trimToHit(parseAnsi("no hit at all"), 3)).toHaveLength(1);
});
