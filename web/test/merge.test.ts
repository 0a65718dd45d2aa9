import { expect, test } from "vitest";
import { mergeTail } from "../src/lib/merge";

const line = (stream: string, n: number, ts_ms: number) => ({ stream, n, ts_ms, text: "" });
const show = (lines: { stream: string; n: number }[]) => lines.map((one) => `${one.stream}${one.n}`).join(" ");

test("lines of many nodes stand by time, each once", () => {
  const list = [line("a", 0, 10), line("b", 0, 20), line("a", 1, 30)];
  expect(show(mergeTail(list, [line("b", 1, 25), line("b", 2, 40)]))).toBe("a0 b0 b1 a1 b2");
  expect(show(mergeTail(list, [line("a", 1, 30), line("a", 2, 30)]))).toBe("a0 b0 a1 a2");
  expect(mergeTail(list, [line("a", 0, 10)])).toEqual(list);
  expect(show(mergeTail([], [line("c", 7, 1)]))).toBe("c7");
});
