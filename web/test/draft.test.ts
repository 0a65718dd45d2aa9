import { expect, test } from "vitest";
import type { Definition } from "../src/api/types";
import {
  changeRow, definitionsOf, describeHealth, errorIndex, excerpt, fieldError, filledRows, incompleteRow, isSame, moveRow, newRow, pastedLines, rowsOf,
} from "../src/lib/jobs/draft";
import { columnOfShort } from "../src/lib/text/numberpattern";

const LOSS: Definition = { Name: "loss", Regex: "loss=(\\S+)" };
const FULL = { Name: "tps", Regex: "(?<value>\\d+) tok/s", Step: "step (\\d+)", Group: "value", Role: "throughput", Unit: "tokens/s", Higher: true, Values: [1] };

test("definitions survive being edited, also what the page knows nothing of", () => {
  expect(definitionsOf(rowsOf([LOSS, FULL]))).toEqual([LOSS, FULL]);
  expect(isSame(rowsOf([LOSS, FULL]), [LOSS, FULL])).toBe(true);
  expect(isSame(rowsOf([{ Higher: true, ...LOSS }]), [LOSS])).toBe(false);
});

test("empty cells are left out, false is not empty", () => {
  const [row] = rowsOf([{ ...LOSS, Higher: false, Unit: "", Role: "" }]);
  expect(definitionsOf(row ? [row] : [])).toEqual([{ ...LOSS, Higher: false }]);
});

test("a blank row counts for nothing, an incomplete one is named", () => {
  const rows = [...rowsOf([LOSS]), newRow()];
  expect(isSame(rows, [LOSS])).toBe(true);
  expect(filledRows(rows)).toHaveLength(1);
  expect(incompleteRow(rows)).toBeNull();
  const id = rows[1]?.id ?? 0;
  expect(incompleteRow(changeRow(rows, id, "Regex", "x(.)"))).toMatchObject({ id, field: "Name" });
  expect(incompleteRow(changeRow(rows, id, "Name", "x"))).toMatchObject({ id, field: "Regex" });
});

test("rows move, and stay at the ends", () => {
  const rows = rowsOf([LOSS, FULL, { Name: "c", Regex: "c(.)" }]);
  const names = (id: number, by: number) => moveRow(rows, id, by).map((row) => row.Name);
  const [first, , last] = rows.map((row) => row.id);
  expect(names(first ?? 0, 1)).toEqual(["tps", "loss", "c"]);
  expect(names(first ?? 0, -1)).toEqual(["loss", "tps", "c"]);
  expect(names(last ?? 0, 1)).toEqual(["loss", "tps", "c"]);
  expect(names(-5, 1)).toEqual(["loss", "tps", "c"]);
});

test("an error finds its cell and its row", () => {
  const [row = newRow()] = rowsOf([LOSS]);
  expect(fieldError({ detail: "not valid at offset 2: missing )", field: "MetricDefinitions[1].Regex", column: 3 }, row)).toEqual({
    field: "Regex", detail: "not valid: missing )", column: 3,
  });
  expect(fieldError({ detail: "MetricDefinitions[0].Step needs a group", field: "MetricDefinitions[12].Step" }, row)).toEqual({
    field: "Step", detail: "needs a group", column: null,
  });
  expect(fieldError(undefined, row)).toBeNull();
  expect([errorIndex("definitions[12].Regex"), errorIndex("lines"), errorIndex(undefined)]).toEqual([12, null, null]);
});

test("numbers are shown short and sent in full", () => {
  const long = "loss (?<loss>[-+]?(?:1\\.#[a-zA-Z0+-]+|(?i:nan(?:\\(\\w+\\))?|inf)|\\d+\\.?\\d*(?:[eE][-+]?\\d+)?|\\.\\d+(?:[eE][-+]?\\d+)?)), x(";
  const [row = newRow()] = rowsOf([{ Name: "loss", Regex: long }]);
  expect(row.Regex).toBe("loss (?<loss>{N}), x(");
  expect(definitionsOf([row])).toEqual([{ Name: "loss", Regex: long }]);
  expect(isSame([row], [{ Name: "loss", Regex: long }])).toBe(true);
  const at = (column: number) => columnOfShort(row.Regex, column);
  expect([at(1), at(7), at(14), at(40), at(long.length), at(long.length + 1)]).toEqual([1, 7, 14, 14, 21, 22]);
});

test("the caret stands under the column, also in the middle of a long expression", () => {
  expect(excerpt("x(", 3)).toEqual({ text: "x(", caret: 2 });
  const long = `${"a".repeat(100)}(${"b".repeat(100)}`;
  const piece = excerpt(long, 101);
  expect(piece.text[piece.caret]).toBe("(");
  expect(piece.text.startsWith("…") && piece.text.endsWith("…")).toBe(true);
  expect(excerpt("", 9)).toEqual({ text: "", caret: 0 });
});

test("health is told in words, and what is wrong with it stands out", () => {
  expect(describeHealth(undefined)).toMatchObject({ text: "not tried yet", isBad: false });
  expect(describeHealth({ Name: "a", tried: 1200, matched: 40 })).toMatchObject({ text: "40 of 1,200", isBad: false });
  expect(describeHealth({ Name: "a", tried: 9, matched: 0 }).isBad).toBe(true);
  expect(describeHealth({ Name: "a", tried: 9, matched: 4, not_numeric: 2, limited: 1 })).toMatchObject({ text: "4 of 9, 2 not numeric, 1 cut off", isBad: true });
  expect(describeHealth({ Name: "a", tried: 9, matched: 4, missing: 3, without_step: 2 })).toMatchObject({ text: "4 of 9, 3 missing, 2 without a step", isBad: true });
});

test("pasted text is cut at what is tried at once", () => {
  expect(pastedLines("", 3)).toEqual({ lines: [], left: 0 });
  expect(pastedLines("a\n\nb\n", 9)).toEqual({ lines: ["a", "", "b"], left: 0 });
  expect(pastedLines("a\nb\nc", 2)).toEqual({ lines: ["a", "b"], left: 1 });
});
