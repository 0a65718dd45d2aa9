import { expect, test } from "vitest";
import { sparkShape, type SparkColumns } from "../src/lib/chart/spark";

const columns = (last: SparkColumns["last"], more: Partial<SparkColumns> = {}): SparkColumns => ({ x: last.map((_, i) => i), min: last, max: last, last, ...more });

test("a curve fills its box", () => {
  expect(sparkShape(columns([4, 3, 2]), 103, 23).line).toBe("M1.5 1.5L51.5 11.5L101.5 21.5");
});

test("the largest numbers there are have a curve as others do", () => {
  const most = Number.MAX_VALUE;
  expect(sparkShape(columns([most, 0, -most]), 103, 23).line).toBe("M1.5 1.5L51.5 11.5L101.5 21.5");
});

test("one point is a dash in the middle, none is nothing", () => {
  expect(sparkShape(columns([2.5]), 100, 20).line).toBe("M50.0 10.0h3");
  expect(sparkShape(columns([]), 100, 20)).toEqual({ line: "", band: "", marks: [] });
});

test("NaN breaks the line and is marked", () => {
  const shape = sparkShape(columns([3, "NaN", 1, 2], { non_finite: [0, 5, 0, 0] }), 93, 20);
  expect(shape.line).toBe("M1.5 1.5h3M61.5 18.5L91.5 10.0");
  expect(shape.marks).toEqual([31.5]);
});

test("a spike inside a bucket is in the band, and does not flatten the rest", () => {
  const quiet = Array.from({ length: 32 }, (_, i) => 3 - i / 32);
  const shape = sparkShape(columns(quiet, { max: quiet.map((value, i) => (i === 20 ? 1e6 : value)) }), 100, 20);
  expect(shape.band).toMatch(/^M[\d.]+ [\d.]+V1\.5$/);
  const tops = [...shape.line.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map((one) => Number(one[1]));
  expect(Math.max(...tops) - Math.min(...tops)).toBeGreaterThan(5);
});
