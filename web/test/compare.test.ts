import { describe, expect, it } from "vitest";
import type { JobRow } from "../src/api/types";
import { choices, joinNames, metricFor, pens, splitNames } from "../src/lib/jobs/compare";

const row = (name: string, metrics: JobRow["metrics"]): JobRow => ({ TrainingJobName: name, TrainingJobStatus: "InProgress", ...(metrics ? { metrics } : {}) });

describe("names in the address", () => {
  it("come back as they were, with commas and percent signs in them", () => {
    const names = ["a", "b,c", "50%", "%2C", "a/b"];
    expect(splitNames(joinNames(names))).toEqual(names);
  });
  it("are each there once, and empty ones are none", () => {
    expect(splitNames("a,,b,a")).toEqual(["a", "b"]);
    expect(splitNames(undefined)).toEqual([]);
  });
});

describe("what can be compared", () => {
  const rows = [
    row("a", [{ metric: "aux_loss", role: "loss" }, { metric: "lm loss", role: "loss", is_main: true }, { metric: "tok/s", role: "throughput", is_main: true }]),
    row("b", [{ metric: "train:loss", role: "loss", is_main: true }, { metric: "reward", role: "other" }]),
    row("c", undefined),
  ];
  it("is a role over all trainers' names, then names, with the number of jobs that have it", () => {
    expect(choices(rows).map(({ key, jobs }) => [key, jobs])).toEqual([["loss", 2], ["throughput", 1], ["aux_loss", 1], ["reward", 1]]);
  });
  it("is found again by its key", () => {
    expect(rows.map((one) => metricFor(one, "loss")?.metric)).toEqual(["lm loss", "train:loss", undefined]);
    expect(rows.map((one) => metricFor(one, "aux_loss")?.metric)).toEqual(["aux_loss", undefined, undefined]);
    expect(rows.map((one) => metricFor(one, "reward")?.metric)).toEqual([undefined, "reward", undefined]);
  });
});

describe("pens", () => {
  it("never are the same twice among the first of a hue, and keep a job's hue", () => {
    const names = Array.from({ length: 20 }, (_, i) => `job-${i}`);
    const all = pens(names);
    expect(new Set(all.map(({ color, dash }) => `${color} ${dash}`)).size).toBe(names.length);
    expect(all[3]?.color).toBe(pens(["job-3"])[0]?.color);
  });
});
