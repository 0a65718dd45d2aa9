import { expect, test } from "vitest";
import type { JobRow } from "../src/api/types";
import { mainMetric } from "../src/lib/lead";

const row = (...names: string[]): JobRow =>
  ({ TrainingJobName: "x", metrics: names.map((metric) => ({ metric, role: "throughput" })) }) as unknown as JobRow;

test("a row of the list and a live one, which has more metrics, show the same one", () => {
  expect(mainMetric(row("train:throughput"), "throughput")?.metric).toBe("train:throughput");
  expect(mainMetric(row("derived:steps_per_second", "derived:tokens_per_second", "train:throughput"), "throughput")?.metric).toBe("train:throughput");
  expect(mainMetric(row("derived:steps_per_second"), "throughput")?.metric).toBe("derived:steps_per_second");
  expect(mainMetric(row("train:throughput"), "loss")).toBeUndefined();
});
