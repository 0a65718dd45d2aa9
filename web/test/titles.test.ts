import { expect, test, vi } from "vitest";

vi.mock("../src/plot/uplot", () => ({ default: { pxRatio: 1 } }));
const { drawTitles } = await import("../src/plot/titles");

/** Where the left end of the horizontal axis' title comes to be. */
function leftEnd(left: number, width: number): number {
  let end = NaN;
  const ctx = { save: () => undefined, restore: () => undefined, measureText: () => ({ width }), fillText: (_: string, x: number) => (end = x - width) };
  drawTitles({ bbox: { left, top: 10, height: 100 }, ctx, scales: { x: { max: 1 } } } as never, "tokens", "", "black");
  return end;
}

test("the title of an axis is not cut at the chart's edge, and stands away from the ticks where there is room", () => {
  expect(leftEnd(50, 40)).toBeGreaterThanOrEqual(0);
  expect(leftEnd(80, 40)).toBe(18);
});
