import { expect, test } from "vitest";
import { badSign, levelOf, rowBadness, rowsPerLine, scaleOf, valueOf, worstCell } from "../src/lib/chart/heat";

test("2048 streams share lines of pixels, eight have one each", () => {
  expect([rowsPerLine(2048, 512), rowsPerLine(8, 512), rowsPerLine(513, 512), rowsPerLine(0, 512)]).toEqual([4, 1, 2, 1]);
});

test("the worst of those that share a line is seen, in the direction that is bad", () => {
  expect(worstCell([3, null, 340, -500], 1)).toBe(340);
  expect(worstCell([3, null, 340, -500], -1)).toBe(-500);
  expect(worstCell([3, 340, -500], 0)).toBe(-500);
  expect(worstCell([3, "NaN", 900], 1)).toBe("NaN");
  expect(worstCell([null, undefined], 1)).toBeNull();
});

test("which end is bad", () => {
  expect([badSign({ role: "step_time" }), badSign({ role: "throughput" }), badSign({ role: "other" }), badSign({ role: "loss", higher: true })]).toEqual([1, -1, 0, -1]);
});

test("the scale leaves one in five hundred out, so that one straggler does not make all others pale", () => {
  const rows = Array.from({ length: 1000 }, (_, i) => ({ away: [i === 7 ? 900 : 12] }));
  expect(scaleOf(rows)).toBe(50);
  expect(scaleOf([{ away: [900] }, { away: [null] }])).toBe(1000);
  expect(scaleOf([])).toBe(50);
});

test("levels are symmetric and end at the scale", () => {
  expect([levelOf(0, 100, 8), levelOf(100, 100, 8), levelOf(-100, 100, 8), levelOf(5000, 100, 8), levelOf(-50, 100, 8)]).toEqual([0, 8, -8, 8, -4]);
});

test("a row is as bad as its columns are on the whole; one without points is last", () => {
  expect(rowBadness([100, 300, null], 1)).toBe(200);
  expect(rowBadness([100, 300], -1)).toBe(-200);
  expect(rowBadness([null], 1)).toBe(-Infinity);
});

test("a value from its deviation", () => {
  expect(valueOf(250, 2)).toBe(2.5);
  expect(valueOf(250, -2)).toBe(-1.5);
  expect(valueOf(250, null)).toBeNull();
});
