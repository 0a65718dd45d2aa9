import { expect, test } from "vitest";
import { packTexts } from "../scripts/texts.ts";
import { t, table } from "../src/i18n/i18n";
import { unpack } from "../src/i18n/packed";
import { zh } from "../src/i18n/zh";

test("a packed table says what its files say, and English where they say nothing", () => {
  table.value = unpack(packTexts(['export default {\n  "Job": "作业",\n};\n', '{ "a \\"b\\" {n}": "甲“{n}”",\n  "Empty": "" }']));
  expect(t("Job")).toBe("作业");
  expect(t('a "b" {n}', { n: 3 })).toBe("甲“3”");
  expect(t("Empty")).toBe("");
  expect(t("Nobody translated {this}", { this: "x" })).toBe("Nobody translated x");
  table.value = null;
  expect(t("Job")).toBe("Job");
});

test("two texts of one name, and one of two lines, are refused", () => {
  expect(() => packTexts(['"Job": "a"', '"Job": "b"'])).toThrow(/one text/);
  expect(() => packTexts(['"Job": "a\\nb"'])).toThrow(/one line/);
});

test("the page's own table has the rows of its files", () => {
  expect(["Job", "Fleet", "Nobody translated this"].map(zh)).toEqual(["作业", "集群", undefined]);
});
