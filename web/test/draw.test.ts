import type uPlot from "uplot";
import { expect, test } from "vitest";
import { drawBand, placer } from "../src/plot/draw";

const [LEFT, TOP, WIDTH, HEIGHT] = [50, 10, 200, 100];

/** A plot of 0..100 by `low`..`high`, and the columns that are filled: [x, top, bottom]. */
function plot(low = 0, high = 10, isLog = false): { u: uPlot; context: CanvasRenderingContext2D; filled: [number, number, number][] } {
  const filled: [number, number, number][] = [];
  const toY = (value: number): number => TOP + HEIGHT * (1 - (value - low) / (high - low));
  const toX = (value: number): number => LEFT + (WIDTH * (isLog ? Math.log10(value) / 2 : value / 100));
  const u = {
    bbox: { left: LEFT, top: TOP, width: WIDTH, height: HEIGHT },
    scales: { x: { min: isLog ? 1 : 0, max: 100, distr: isLog ? 3 : 1 }, y: { min: low, max: high, distr: 1 } },
    valToPos: (value: number, axis: string) => (axis === "x" ? toX(value) : toY(value)),
  } as unknown as uPlot;
  const context = { fillRect: (x: number, y: number, _: number, height: number) => filled.push([x, y, y + height]) } as unknown as CanvasRenderingContext2D;
  return { u, context, filled };
}

test("a spike of one bucket reaches its height, however many buckets a column has", () => {
  const { u, context, filled } = plot();
  const x = Array.from({ length: 1000 }, (_, i) => i / 10);
  const min = x.map(() => 1);
  const max = x.map((_, i) => (i === 431 ? 9 : 2));
  drawBand(u, context, { x, min, max });
  expect(Math.min(...filled.map(([, top]) => top))).toBeCloseTo(TOP + HEIGHT * 0.1);
  expect(filled.length).toBeGreaterThanOrEqual(WIDTH - 1);
});

test("between two buckets the band goes evenly; a gap stays one", () => {
  const { u, context, filled } = plot();
  drawBand(u, context, { x: [0, 50, 60, 100], min: [0, 0, null, 0], max: [0, 10, null, 10] });
  const at = (x: number) => filled.find(([column]) => column === LEFT + x);
  expect(at(50)?.[1]).toBeCloseTo(TOP + HEIGHT * 0.49, 0);
  expect(at(120)).toBeUndefined();
});

test("what lies far outside ends at the plot's edge", () => {
  const { u, context, filled } = plot();
  drawBand(u, context, { x: [0, 50, 100], min: [1, 1, 1], max: [2, 1e12, 2] });
  for (const [, top, bottom] of filled) {
    expect(top).toBeGreaterThanOrEqual(TOP - 1);
    expect(bottom).toBeLessThanOrEqual(TOP + HEIGHT + 1);
  }
  expect(filled.some(([, top]) => top < TOP)).toBe(true);
});

test("a step 0 on a logarithmic axis has no place and takes none from others", () => {
  const { u, context, filled } = plot(0, 10, true);
  drawBand(u, context, { x: [0, 1, 10, 100], min: [1, 1, 1, 1], max: [2, 2, 2, 2] });
  expect(filled[0]?.[0]).toBe(LEFT);
  expect(filled.every((one) => one.every(Number.isFinite))).toBe(true);
});

test("places of a linear axis are reckoned, those of others asked for", () => {
  expect(placer(plot().u, "x")(25)).toBeCloseTo(LEFT + 50);
  expect(placer(plot(0, 10, true).u, "x")(10)).toBeCloseTo(LEFT + 100);
});
