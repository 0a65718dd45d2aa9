import { expect, test } from "vitest";
import { parseAnsi, stripAnsi } from "../src/lib/ansi";

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
    { text: "fine.", style: "" },
  ]);
});

test("other escapes and control characters are dropped", () => {
  expect(stripAnsi("\x1b[2K\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x00c\x1b(Bd\te")).toBe("abcd\te");
  expect(stripAnsi("cut short \x1b[")).toBe("cut short [");
});

test("of a progress bar the last state stays", () => {
  expect(stripAnsi("10%\r50%\r100%\r")).toBe("100%");
});

test("markup is only text", () => {
  expect(parseAnsi("<script>alert(1)</script>")).toEqual([{ text: "<script>alert(1)</script>", style: "" }]);
});
