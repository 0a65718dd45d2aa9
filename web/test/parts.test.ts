import { expect, test } from "vitest";
import { byteLength, partKind, partRows, ROW_CHARS, rowText } from "../src/lib/log/parts";
import { extendLines, linesHash, parseLines } from "../src/lib/log/lineranges";

test("a progress bar opens to its states", () => {
  expect(partKind("10%\r50%\r100%\r")).toBe("states");
  expect(partRows("10%\r50%\r100%\r")).toEqual(["10%", "50%", "100%"]);
  expect(partKind("done\r")).toBe(null);
});

test("JSON opens to lines, behind a stamp, too", () => {
  const json = JSON.stringify({ step: 10, loss: 2.31, values: [1, 2], note: "<b>markup</b> is text", more: "x".repeat(20) });
  expect(partKind(json)).toBe("json");
  expect(partRows(json).slice(0, 3)).toEqual(["{", '  "step": 10,', '  "loss": 2.31,']);
  expect(partKind(`2026-11-21 12:00:00 INFO ${json}`)).toBe("json");
  expect(partKind(`{'step': 10, 'loss': 2.31, 'this': 'is what Python prints, no JSON at all'}`)).toBe(null);
  expect(partKind("[rank0] saved the optimizer's state to /opt/ml/checkpoints/step-1000 [8 files, 3.2 GB]")).toBe(null);
});

test("a megabyte without a space is cut in its row and opens to rows of one size", () => {
  const line = "x".repeat(1_000_000);
  expect(rowText(line).length).toBe(ROW_CHARS);
  const rows = partRows(line);
  expect(rows.join("")).toBe(line);
  expect(Math.max(...rows.map((row) => row.length))).toBeLessThan(200);
});

test("characters of two units stay whole, and bytes are counted", () => {
  const line = `x${"😀".repeat(2000)}`;
  expect(partRows(line).join("")).toBe(line);
  for (const row of partRows(line)) expect(encodeURIComponent(row)).toBeTruthy(); // throws at half a character
  expect(byteLength("ä😀")).toBe(6);
});

test("lines in an address", () => {
  expect(parseLines("#L120")).toEqual({ from: 120, to: 120 });
  expect(parseLines("#L140-L120")).toEqual({ from: 120, to: 140 });
  expect(parseLines("#L5-9")).toEqual({ from: 5, to: 9 });
  for (const wrong of ["", "#", "#L", "#l5", "#L5-", "#L5x", "#L1e3", "#L99999999999999999999"]) expect(parseLines(wrong)).toBe(null);
  expect(linesHash({ from: 3, to: 3 })).toBe("#L3");
  expect(linesHash({ from: 3, to: 7 })).toBe("#L3-L7");
  expect(extendLines(9, 4)).toEqual({ from: 4, to: 9 });
});
