import { expect, test } from "vitest";
import { groupCharts, searchMetrics } from "../src/lib/jobs/groups";
import { groupMetrics } from "../src/lib/jobs/metrics";

const metrics = groupMetrics([
  { metric: "loss", role: "loss" }, { metric: "train/a" }, { metric: "train/b" }, { metric: "train/c" }, { metric: "odd" }, { metric: "gpu.0" }, { metric: "lr", role: "learning_rate" },
]);

test("roles come first, prefixes that many share are groups, the rest is last", () => {
  expect(groupCharts(metrics).map(({ key, metrics: inside }) => `${key} ${inside.length}`)).toEqual(["loss 1", "learning_rate 1", "train/ 3", "other 2"]);
});

test("each word of a search is somewhere in the name", () => {
  expect(searchMetrics(metrics, "TRA b").map((one) => one.metric)).toEqual(["train/b"]);
  expect(searchMetrics(metrics, " ")).toBe(metrics);
});
