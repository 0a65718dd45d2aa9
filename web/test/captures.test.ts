import { expect, test } from "vitest";
import { chooseLines, paintLine, parseShow, previewOf } from "../src/lib/log/captures";

const pieces = (text: string, captures: Parameters<typeof paintLine>[0]["captures"], names = ["loss", "lr"]) =>
  paintLine({ text, captures }, names).map((piece) => [piece.text, piece.kind, piece.definition]);

test("a line is cut where captures begin and end, and nothing is lost", () => {
  const captures = [{ definition: 0, start: 12, end: 15, value: 2.5, step: 7, step_start: 5, step_end: 6 }];
  expect(pieces("step 7 loss=2.5 x", captures)).toEqual([
    ["step ", null, -1], ["7", "step", 0], [" loss=", null, -1], ["2.5", "value", 0], [" x", null, -1],
  ]);
  expect(pieces("chatter", [])).toEqual([["chatter", null, -1]]);
  expect(pieces("", [])).toEqual([]);
});

test("columns count bytes, also behind letters of several", () => {
  const text = "é€😀 loss 3";
  const start = new TextEncoder().encode("é€😀 loss ").length;
  expect(pieces(text, [{ definition: 0, start, end: start + 1, value: 3 }])).toEqual([["é€😀 loss ", null, -1], ["3", "value", 0]]);
});

test("a step that two definitions share is painted once, a value wins over a step and over a name", () => {
  const both = [
    { definition: 0, start: 2, end: 3, value: 1, step: 1, step_start: 0, step_end: 1 },
    { definition: 1, start: 0, end: 1, value: 1, name_start: 2, name_end: 4, metric: "ab" },
  ];
  expect(pieces("1 2b", both)).toEqual([["1", "value", 1], [" ", null, -1], ["2", "value", 0], ["b", "name", 1]]);
});

test("titles say what a piece is", () => {
  const captures = [{ definition: 0, start: 2, end: 3, value: 2.5, step: 7, step_start: 0, step_end: 1 }, { definition: 1, start: 4, end: 5 }];
  const titles = paintLine({ text: "7 2 x", captures }, ["loss"]).filter((piece) => piece.kind).map((piece) => piece.title);
  expect(titles).toEqual(["step 7 of loss", "loss = 2.5 at step 7", "definition 2: this is no number"]);
});

const lines = [
  { index: 0, text: "a", captures: [{ definition: 0, start: 0, end: 1, value: 1, step: 10 }] },
  { index: 1, text: "b", captures: [] },
  { index: 2, text: "c", captures: [{ definition: 1, start: 0, end: 1, value: 5 }, { definition: 0, start: 0, end: 1, value: "NaN" as const, step: 11 }] },
];

test("lines are chosen by whether they match, or whether one definition does", () => {
  const shown = (show: "all" | "matching" | "other", chosen: number | null) => chooseLines(lines, show, chosen).map((line) => line.index);
  expect(shown("all", 1)).toEqual([0, 1, 2]);
  expect(shown("matching", null)).toEqual([0, 2]);
  expect(shown("matching", 1)).toEqual([2]);
  expect(shown("other", null)).toEqual([1]);
  expect(shown("other", 1)).toEqual([0, 1]);
  expect([parseShow("other"), parseShow("nonsense"), parseShow(undefined)]).toEqual(["other", "all", "all"]);
});

test("the preview stands over steps where all values have one", () => {
  expect(previewOf(lines, 0)).toEqual({ points: [{ x: 10, y: 1 }], hasSteps: true, metric: "", series: 1 });
  expect(previewOf(lines, 1)).toEqual({ points: [{ x: 0, y: 5 }], hasSteps: false, metric: "", series: 1 });
  expect(previewOf(lines, 2)).toEqual({ points: [], hasSteps: false, metric: "", series: 0 });
});

test("of several series the preview shows the longest", () => {
  const one = (metric: string, value: number) => ({ definition: 0, start: 0, end: 1, metric, value });
  const shown = previewOf([{ index: 0, text: "a", captures: [one("a", 1), one("b", 2)] }, { index: 1, text: "b", captures: [one("b", 3)] }], 0);
  expect(shown).toMatchObject({ metric: "b", series: 2, points: [{ x: 0, y: 2 }, { x: 1, y: 3 }] });
});
