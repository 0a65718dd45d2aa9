import { expect, test } from "vitest";
import { MergedTail } from "../src/lib/log/merge";

const line = (stream: string, n: number, ts_ms: number) => ({ stream, n, ts_ms, text: "" });
const show = (lines: { stream: string; n: number }[]) => lines.map((one) => `${one.stream}${one.n}`).join(" ");

test("lines of many nodes stand by time, each once", () => {
  const list = [line("a", 0, 10), line("b", 0, 20), line("a", 1, 30)];
  const merged = (fresh: ReturnType<typeof line>[], before = list): string => {
    const tail = new MergedTail();
    tail.reset(before);
    const isMore = tail.add(fresh);
    expect(isMore).toBe(tail.lines.length > before.length);
    return show([...tail.lines]);
  };
  expect(merged([line("b", 1, 25), line("b", 2, 40)])).toBe("a0 b0 b1 a1 b2");
  expect(merged([line("a", 1, 30), line("a", 2, 30)])).toBe("a0 b0 a1 a2");
  expect(merged([line("a", 0, 10)])).toBe("a0 b0 a1");
  expect(merged([line("c", 7, 1)], [])).toBe("c7");
});

test("what is added costs what it is, not what the list is", () => {
  const tail = new MergedTail();
  tail.reset(Array.from({ length: 5 }, (_, i) => line("a", i + 5, i)));
  tail.putBefore([line("a", 4, 0)]);
  expect(tail.add([line("a", 4, 9), line("b", 0, 2)])).toBe(true);
  expect(show([...tail.lines])).toBe("a4 a5 a6 a7 b0 a8 a9");
});
