import { expect, test, vi } from "vitest";

vi.stubGlobal("document", { addEventListener: () => undefined });
const { findKeys, nameOf } = await import("../src/state/core/keydown");

const run = (): void => undefined;
const PLAIN = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

test("a key is named as it is written", () => {
  expect(nameOf({ ...PLAIN, key: "N", shiftKey: true })).toBe("N");
  expect(nameOf({ ...PLAIN, key: "?", shiftKey: true })).toBe("?");
  expect(nameOf({ ...PLAIN, key: "Enter", shiftKey: true })).toBe("Shift+Enter");
  expect(nameOf({ ...PLAIN, key: "Enter", metaKey: true })).toBe("Ctrl+Enter");
  expect(nameOf({ ...PLAIN, key: "ArrowUp", altKey: true })).toBe("Alt+ArrowUp");
});

test("the part that came last is asked first", () => {
  const frame = { on: "Escape", does: "back", run };
  const list = { on: ["x", "Escape"], does: "clear", run };
  const all = [{ title: "everywhere", keys: [frame] }, { title: "list", keys: [list] }];
  expect(findKeys("Escape", all, false).found).toEqual([list, frame]);
  expect(findKeys("x", all, false).found).toEqual([list]);
});

test("two keys, one after the other", () => {
  const jobs = { on: "g j", does: "jobs", run };
  const all = [{ title: "everywhere", keys: [jobs] }];
  expect(findKeys("g", all, false)).toEqual({ found: [], isBegun: true });
  expect(findKeys("g j", all, false)).toEqual({ found: [jobs], isBegun: false });
  expect(findKeys("j", all, false)).toEqual({ found: [], isBegun: false });
});

test("in a field only what is meant for fields, and what an element has itself is nobody's here", () => {
  const save = { on: "Ctrl+Enter", does: "save", run, inFields: true };
  const told = { on: "ArrowLeft", does: "cursor" };
  const all = [{ title: "bench", keys: [save, { on: "d", does: "definitions", run }, told] }];
  expect(findKeys("d", all, true).found).toEqual([]);
  expect(findKeys("Ctrl+Enter", all, true).found).toEqual([save]);
  expect(findKeys("ArrowLeft", all, false).found).toEqual([]);
});
