import { expect, test } from "vitest";
import { changesTo, faultOf, settingsOf, trimmed } from "../src/lib/jobs/handsettings";

const BEFORE = settingsOf({ kw: " a=1; b=2 ", num: 3, " odd": "x" });
const changes = (rows: { name: string; value: string }[]) => changesTo(trimmed(rows, BEFORE), BEFORE);

test("only what was touched is sent, and nothing of what was not", () => {
  expect(changes(BEFORE)).toBeNull();
  expect(changes([...BEFORE, { name: " lr ", value: " 1e-4 " }, { name: "", value: " " }])).toEqual({ lr: "1e-4" });
  expect(changes(BEFORE.slice(1))).toEqual({ kw: null });
  expect(changes([{ name: "kw", value: " a=1 " }, ...BEFORE.slice(1)])).toEqual({ kw: "a=1" });
  expect(changes([])).toEqual({ kw: null, num: null, " odd": null });
});

test("a row is a setting, or nothing at all", () => {
  const fault = (...rows: [string, string][]) => {
    const found = faultOf(trimmed(rows.map(([name, value]) => ({ name, value })), BEFORE));
    return found && [found.at, found.part];
  };
  expect(fault(["kw", "=;="], ["", ""], [" ", " "])).toBeNull();
  expect(fault(["a", "1"], ["", "5"])).toEqual([1, "name"]);
  expect(fault(["a", " "])).toEqual([0, "value"]);
  expect(fault(["a", "1"], ["b", "1"], ["a ", "1"])).toEqual([2, "name"]);
});
