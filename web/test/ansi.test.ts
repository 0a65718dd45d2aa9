import { expect, test } from "vitest";
import { parseAnsi, statesOf, stripAnsi } from "../src/lib/text/ansi";
import { cubeColor, readable, standOut } from "../src/lib/text/ansicolor";

test("plain text is one span", () => {
  expect(parseAnsi("loss: 2.3")).toEqual([{ text: "loss: 2.3", style: "" }]);
});

test("colours and weights become classes until reset", () => {
  expect(parseAnsi("\x1b[1;31mERROR\x1b[0m rest")).toEqual([
    { text: "ERROR", style: "a-bold a-1" },
    { text: " rest", style: "" },
  ]);
  expect(parseAnsi("\x1b[92mok\x1b[39m.")).toEqual([
    { text: "ok", style: "a-2" },
    { text: ".", style: "" },
  ]);
});

test("256 and true colours do not leak their parameters", () => {
  expect(parseAnsi("\x1b[38;5;9mred\x1b[38;2;1;2;3mfine\x1b[m.")).toEqual([
    { text: "red", style: "a-1" },
    { text: "fine", style: "", color: readable([1, 2, 3]) },
    { text: ".", style: "" },
  ]);
  expect(parseAnsi("\x1b[48;5;196;1mon red\x1b[49m bold\x1b[22;7mturned")).toEqual([
    { text: "on red", style: "a-bold", background: "rgb(255 0 0 / 0.3)" },
    { text: " bold", style: "a-bold" },
    { text: "turned", style: "a-on-7" },
  ]);
  expect(cubeColor(16)).toEqual([0, 0, 0]);
  expect(cubeColor(208)).toEqual([255, 135, 0]);
  expect(cubeColor(244)).toEqual([128, 128, 128]);
});

test("a colour that cannot be read on a theme's ground is moved until it can", () => {
  expect(standOut([255, 255, 0], 1)).not.toEqual([255, 255, 0]);
  expect(standOut([0, 0, 120], 0.006)).not.toEqual([0, 0, 120]);
  expect(standOut([0, 0, 120], 1)).toEqual([0, 0, 120]);
});

test("other escapes and control characters are dropped", () => {
  // what is not to be seen leaves a mark, which is no text of the line
  expect(stripAnsi("\x1b[2K\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x00c\x1b(Bd\te")).toBe("abcd\te");
  expect(stripAnsi("cut short \x1b[")).toBe("cut short [");
});

test("of a progress bar the last state stays", () => {
  expect(stripAnsi("10%\r50%\r100%\r")).toBe("100%");
});

test("markup is only text", () => {
  expect(parseAnsi("<script>alert(1)</script>")).toEqual([{ text: "<script>alert(1)</script>", style: "" }]);
});

test("what turns the writing, has no width or is no character is shown by a mark", () => {
  expect(parseAnsi("user\u202egpj.exe\u0000\u0007").map((span) => span.text)).toEqual(["user", "⟨RLO⟩", "gpj.exe", "⟨NUL⟩", "⟨BEL⟩"]);
  expect(parseAnsi("a\u200bb\ufeff\u2028").map((span) => span.text).join("")).toBe("a⟨ZWSP⟩b⟨BOM⟩⟨LS⟩");
  expect(parseAnsi("a\u202eb\x1b[1mc").map((span) => span.hidden ?? span.text).join("")).toBe("a\u202ebc");
  expect(parseAnsi("中文 שלום é\t\u00a0")).toEqual([{ text: "中文 שלום é\t\u00a0", style: "" }]);
});

test("places are spans of their own, across colours and hits, counted in the line as it came", () => {
  const line = "10%\r\x1b[1mloss\x1b[0m 2.5 lr 3";
  const places = [line.indexOf("2.5"), line.indexOf("3", 20)].map((at) => [at, at + (line[at] === "2" ? 3 : 1)] as const);
  const hit = [line.indexOf("ss"), line.indexOf(".5")] as const;
  expect(parseAnsi(line, [hit], places).map(({ text, place, isHit }) => [text, place, isHit])).toEqual([
    ["lo", undefined, undefined], ["ss", undefined, true], [" ", undefined, true], ["2", 0, true], [".5", 0, undefined], [" lr ", undefined, undefined],
    ["3", 1, undefined],
  ]);
  expect(parseAnsi("a\x1b[1m2\x1b[0m5b", [], [[1, 11]]).map(({ text, place }) => [text, place])).toEqual([["a", undefined], ["2", 0], ["5", 0], ["b", undefined]]);
});

test("a bar's states", () => {
  expect(statesOf("1%\r2%\r\r3%\r")).toEqual(["1%", "2%", "3%"]);
  expect(statesOf("one")).toEqual(["one"]);
});
