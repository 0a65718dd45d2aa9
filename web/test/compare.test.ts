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
  const NAMES = Array.from({ length: 40 }, (_, i) => `run-${i}`);
  it("are of different hues as long as there are hues", () => {
    for (let first = 0; first + 8 <= NAMES.length; first++) expect(new Set(pens(NAMES.slice(first, first + 8)).map(({ color }) => color)).size).toBe(8);
  });
  it("use all hues before they use dashes, and all dashes before any is there twice", () => {
    for (const most of [9, 16, 25, 32]) {
      const all = pens(NAMES.slice(0, most));
      expect(new Set(all.map(({ color, dash }) => `${color} ${dash}`)).size).toBe(most);
      expect(Math.max(...all.map(({ dash }) => dash))).toBe(Math.ceil(most / 8) - 1);
    }
  });
  it("are the same for a set, whatever its order", () => {
    const turned = [...NAMES].reverse();
    expect(pens(turned).reverse()).toEqual(pens(NAMES));
  });
  it("never are the same twice among the first of a hue, and keep a job's hue", () => {
    const names = Array.from({ length: 20 }, (_, i) => `job-${i}`);
    const all = pens(names);
    expect(new Set(all.map(({ color, dash }) => `${color} ${dash}`)).size).toBe(names.length);
    expect(all[3]?.color).toBe(pens(["job-3"])[0]?.color);
  });
});
