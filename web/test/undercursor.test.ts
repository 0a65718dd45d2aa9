import { expect, test } from "vitest";
import { emptyBuckets } from "../src/lib/chart/buckets";
import { placeOf, valuesAt } from "../src/lib/workspace/undercursor";

const curve = (name: string, x: number[], y: number[]) => ({ name, pen: { color: 0, dash: 0 }, buckets: { ...emptyBuckets(), x, min: y, max: y, mean: y, nonFinite: x.map(() => 0), width: 1 } });

test("each value stands with its own step", () => {
  const dense = curve("loss", [0, 10, 20, 30, 40], [5, 4, 3, 2, 1]);
  const sparse = curve("eval", [0, 40], [9, 8]);
  expect(valuesAt([dense, sparse], 21).map(({ name, x, y }) => [name, x, y])).toEqual([["eval", 40, 8], ["loss", 20, 3]]);
});

test("the tooltip is of the chosen curve's step, else of the nearest one", () => {
  const values = valuesAt([curve("loss", [0, 10, 20], [3, 2, 1]), curve("eval", [0, 14], [9, 8])], 11);
  expect(placeOf(values, 11, null)).toBe(10);
  expect(placeOf(values, 11, "eval")).toBe(14);
  expect(placeOf([], 11, null)).toBe(11);
});

test("of a curve that has ended nothing is said", () => {
  expect(valuesAt([curve("short", [0, 10], [1, 1]), curve("long", [0, 10, 50], [2, 2, 2])], 50).map((one) => one.name)).toEqual(["long"]);
});
