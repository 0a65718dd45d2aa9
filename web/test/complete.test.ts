import { expect, test } from "vitest";
import { indexOfByte } from "../src/lib/text/complete";
import { applySuggestion } from "../src/lib/text/suggest";

test("bytes of UTF-8 are found in a text, also behind two, three and four of them", () => {
  expect([0, 1, 3, 6, 10, 11].map((byte) => indexOfByte("aé€😀b", byte))).toEqual([0, 1, 2, 3, 5, 6]);
});

test("a suggestion replaces the term before the caret and leaves what stands behind it", () => {
  const text = "é hp.l status=Failed";
  expect(applySuggestion(text, 6, 3, { text: "hp.lr", kind: "hyperparameter" })).toEqual({ text: "é hp.lr status=Failed", caret: 7 });
});

test("after a value a next term may begin at once", () => {
  expect(applySuggestion("status=f", 8, 0, { text: "status=Failed", kind: "value" })).toEqual({ text: "status=Failed ", caret: 14 });
  expect(applySuggestion("(status=f)", 9, 1, { text: "status=Failed", kind: "value" })).toEqual({ text: "(status=Failed)", caret: 14 });
});
