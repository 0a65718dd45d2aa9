import { expect, test } from "vitest";
import type { Goodput, JobDoc } from "../src/api/types";
import { atRisk, awayFrom, bestOf, lastStep, mainMetrics, nameStem, remainingMs } from "../src/lib/jobs/figures";
import { applyPoints, groupMetrics, markMains } from "../src/lib/jobs/metrics";

const doc = (more: Partial<JobDoc>): JobDoc => ({ TrainingJobName: "a", TrainingJobStatus: "InProgress", ...more });
const MINUTE = 60_000;

test("the time that is left: the server's word first, then number of steps and pace", () => {
  expect(remainingMs(doc({ eta_ms: 10 * MINUTE }), 5, 1, 4 * MINUTE, false)).toBe(6 * MINUTE);
  expect(remainingMs(doc({ total_steps: 100 }), 40, 2, 0, false)).toBe(120_000);
});

test.each([
  ["it has ended", doc({ TrainingJobStatus: "Completed", eta_ms: 9e9 }), 5, 1, false],
  ["it is silent", doc({ eta_ms: 9e9 }), 5, 1, true],
  ["nobody knows how many steps", doc({}), 5, 1, false],
  ["no step was made", doc({ total_steps: 100 }), null, 1, false],
  ["no pace is known", doc({ total_steps: 100 }), 5, undefined, false],
  ["all steps are made", doc({ total_steps: 100 }), 100, 1, false],
  ["that time is over", doc({ eta_ms: 5 }), 5, 1, false],
])("nobody knows what is left: %s", (_, row, step, pace, isSilent) => {
  expect(remainingMs(row, step, pace, 10, isSilent)).toBeNull();
});

test("a browser's clock that is behind does not add to what is left", () => {
  expect(remainingMs(doc({ eta_ms: 20 * MINUTE, last_heard_ms: 15 * MINUTE }), 5, 1, 0, false)).toBe(5 * MINUTE);
});

test("best is the server's, unless the newest point beats it", () => {
  const [loss] = groupMetrics([{ metric: "loss", role: "loss", stream: "a", min: 1.5, max: 9, last: 1.5, last_step: 40 }]);
  if (!loss) throw new Error("no metric");
  expect(bestOf(loss, { metric: "loss", best: 1.4, best_step: 30 })).toEqual({ value: 1.4, step: 30 });
  expect(bestOf(loss, { metric: "loss", best: 1.6, best_step: 30 })).toEqual({ value: 1.5, step: 40 });
  expect(bestOf(loss, undefined)).toEqual({ value: 1.5, step: 40 });
  // A spike downwards that was superseded is in the minimum of all, not in the server's best.
  expect(bestOf({ ...loss, last: 2 }, { metric: "loss", best: 1.8, best_step: 30 })).toEqual({ value: 1.8, step: 30 });
});

test("one metric a role, the one that the server says", () => {
  const metrics = groupMetrics([
    { metric: "a_loss", role: "loss" },
    { metric: "tflops", role: "throughput", unit: "TFLOP/s" },
    { metric: "tps", role: "throughput", unit: "tokens/s", is_main: true },
    { metric: "x", role: "other" },
  ]);
  expect([...mainMetrics(metrics)].map(([role, one]) => [role, one.metric])).toEqual([["loss", "a_loss"], ["throughput", "tps"]]);
  const more = applyPoints(metrics, [{ metric: "loss", stream: "algo-1", role: "loss", points: [[1, 1, 2, 3, 1]] }]);
  expect(mainMetrics(more).get("loss")).toBeUndefined(); // until the job's row says which one
  expect(mainMetrics(markMains(more, [{ metric: "loss", role: "loss", is_main: true }])).get("loss")?.metric).toBe("loss");
  expect(mainMetrics(more).get("throughput")?.metric).toBe("tps");
  expect(lastStep(metrics)).toBeNull();
});

test("how far a job is its loss says, and not what counts tokens", () => {
  const series = [
    { metric: "loss", role: "loss", is_main: true, last_step: 99 },
    { metric: "val/loss", role: "eval_loss", is_main: true, last_step: 99_000_000 },
    { metric: "epoch", role: "other", last_step: 120 },
  ];
  expect(lastStep(groupMetrics(series))).toBe(99);
  expect(lastStep(groupMetrics(series.slice(1)))).toBe(99_000_000);
  expect(lastStep(groupMetrics([{ metric: "a", role: "other", last_step: 9 }, ...series.slice(2)]))).toBe(120);
});

test("a benchmark's sizes are no steps", () => {
  const series = [
    { metric: "bench:busbw", role: "benchmark", is_main: true, last_step: 8_589_934_592 },
    { metric: "bench:time", role: "benchmark", last_step: 8_589_934_592 },
  ];
  expect(lastStep(groupMetrics(series))).toBeNull();
  expect(lastStep(groupMetrics([...series, { metric: "a", role: "other", last_step: 9 }]))).toBe(9);
});

test("a deviation needs something to deviate from", () => {
  expect(awayFrom(98, 100)).toBeCloseTo(-0.02);
  expect(awayFrom(1, 0)).toBeNull();
  expect(awayFrom("NaN", 1)).toBeNull();
});

test("what dies with the job now", () => {
  const goodput = { nodes: 4, steps: { step_seconds: 9 }, checkpoint: { step: 100, steps_since: 1, seconds_since: 9 } } as Goodput;
  expect(atRisk(goodput, 200)).toEqual({ step: 100, steps: 100, seconds: 900, nodeHours: 1 });
  expect(atRisk({ ...goodput, checkpoint: null }, 200)).toBeNull();
  expect(atRisk({ ...goodput, steps: {} }, 50)).toEqual({ step: 100, steps: 0, seconds: null, nodeHours: null });
});

test.each([
  ["llama-7b-0412", "llama-7b"],
  ["sd3-ablate-17", "sd3-ablate"],
  ["train-20260302-101500", "train"],
  ["run-3", "run"],
  ["llama-13b-sft-lr8e-5", "llama-13b-sft"],
  ["my_run_v2", "my_run"],
  ["llama-7b", "llama-7b"],
  ["a-1", "a-1"],
])("the stem of %s is %s", (name, stem) => {
  expect(nameStem(name)).toBe(stem);
});
