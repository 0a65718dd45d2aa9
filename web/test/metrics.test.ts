import { expect, test } from "vitest";
import { applyPoints, groupMetrics } from "../src/lib/jobs/metrics";

const series = [
  { metric: "lr", stream: "algo-1", role: "learning_rate", count: 2, last: 0.1 },
  { metric: "loss", stream: "algo-10", role: "loss", count: 3, last: 9, min: 1, max: 9 },
  { metric: "loss", stream: "algo-2", role: "loss", count: 4, last: 2, min: 2, max: 20, last_step: 40 },
] as const;

test("folds streams, the one that is furthest speaks, roles order", () => {
  const [loss, lr] = groupMetrics(series);
  expect(loss).toMatchObject({ metric: "loss", streams: ["algo-2", "algo-10"], last: 2, min: 1, max: 20, count: 7 });
  expect(lr?.metric).toBe("lr");
});

test("live points move the summary, NaN does not harm the extremes", () => {
  const next = applyPoints(groupMetrics(series), [
    { metric: "loss", stream: "algo-2", points: [[41, 0, "NaN", 5, 1], [42, 0, 0.5, 6, 1]] },
    { metric: "loss", stream: "algo-10", points: [[43, 0, 99, 5, 1]] },
  ]);
  expect(next[0]).toMatchObject({ last: 99, lastStream: "algo-10", lastStep: 43, min: 0.5, max: 99, count: 10 });
});

test("of ranks at one step the latest speaks, as in the server's row of the job", () => {
  const ranks = ["r0", "r1", "r2"].map((stream, i) => ({ metric: "loss", stream, last: i, last_step: 9, last_ts_ms: [5, 8, 6][i] as number }));
  const metrics = groupMetrics(ranks);
  expect(metrics[0]).toMatchObject({ last: 1, lastStream: "r1", lastStep: 9 });
  const live = (stream: string, step: number, ms: number) => applyPoints(metrics, [{ metric: "loss", stream, points: [[step, ms, 7, 0, 1]] }])[0];
  expect(live("r2", 9, 8)).toMatchObject({ last: 1, lastStream: "r1" });
  expect(live("r2", 9, 9)).toMatchObject({ last: 7, lastStream: "r2" });
  expect(live("r0", 10, 0)).toMatchObject({ last: 7, lastStream: "r0" });
});

test("a metric that is new to the job appears in its place", () => {
  const next = applyPoints(groupMetrics(series), [{ metric: "val", stream: "algo-1", role: "eval_loss", points: [[1, 0, 3, 0, 1]] }]);
  expect(next.map((metric) => metric.metric)).toEqual(["loss", "val", "lr"]);
});
