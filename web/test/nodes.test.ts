import { expect, test } from "vitest";
import type { SeriesInfo } from "../src/api/types";
import { groupMetrics, type Metric } from "../src/lib/jobs/metrics";
import { isHigherBetter, MOST_NODES, nodesToDraw } from "../src/lib/jobs/nodes";
import { worstNode } from "../src/lib/jobs/worst";

function metric(means: (number | undefined)[], more: Partial<SeriesInfo> = {}): Metric {
  const series = means.map((mean, i) => ({ metric: "m", role: "step_time", stream: `algo-${i + 1}`, count: 1, ...(mean === undefined ? {} : { mean, last: mean }), ...more }));
  const [one] = groupMetrics(series);
  if (!one) throw new Error("no metric");
  return one;
}

test("the worst node is the slowest, or the one with the lowest throughput", () => {
  expect(worstNode(metric([100, 150, 100]))).toEqual({ stream: "algo-2", mean: 150, away: 0.5 });
  expect(worstNode(metric([100, 150, 100], { role: "throughput" }))).toEqual({ stream: "algo-1", mean: 100, away: -0.2 });
  expect(worstNode(metric([3, 1], { role: "other", higher: true }))).toMatchObject({ stream: "algo-2" });
});

test("nodes that do much the same have no worst, nor has a metric without a bad end", () => {
  expect(worstNode(metric([2, 2, 2]))).toBeNull();
  expect(worstNode(metric([2]))).toBeNull();
  expect(worstNode(metric([2, 2.001, 2]))).toBeNull();
  expect(worstNode(metric([1, 9], { role: "learning_rate" }))).toBeNull();
  expect(isHigherBetter({ role: "other", higher: undefined })).toBeNull();
});

test("a node without finite values is worse than any", () => {
  expect(worstNode(metric([100, undefined, 900]))).toEqual({ stream: "algo-2", mean: undefined, away: null });
});

test("of very many nodes the worst are drawn, in their usual order", () => {
  const many = metric(Array.from({ length: 40 }, (_, i) => 100 - i));
  expect(nodesToDraw(many)).toEqual(Array.from({ length: MOST_NODES }, (_, i) => `algo-${i + 1}`));
  expect(nodesToDraw(metric([1, 2]))).toEqual(["algo-1", "algo-2"]);
});
