import { expect, test } from "vitest";
import type { JobRow } from "../src/api/types";
import { leadMetric, mainMetric } from "../src/lib/jobs/lead";

const row = (main: string, ...others: string[]): JobRow =>
  ({ TrainingJobName: "x", metrics: [...others, main].map((metric) => ({ metric, role: "loss", ...(metric === main ? { is_main: true } : {}) })) }) as unknown as JobRow;

test("a row of the list and a live one, which has more metrics, show the one that the server says", () => {
  for (const one of [row("train/loss"), row("train/loss", "moe_aux_loss", "a_loss")]) {
    expect(mainMetric(one, "loss")?.metric).toBe("train/loss");
    expect(leadMetric(one)?.metric).toBe("train/loss");
    expect(mainMetric(one, "throughput")).toBeUndefined();
  }
});
