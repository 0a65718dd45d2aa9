import { expect, test } from "vitest";
import { trackedHref } from "../src/lib/url/tracked";

test("addresses that MLflow's client prints are searches of jobs", () => {
  const run = "0067aa2445d39b14a94515b9137f69b7";
  expect(trackedHref(`#/experiments/12/runs/${run}`)).toBe(`/jobs?q=TrackedRunId%3D${run}`);
  expect(trackedHref("#/experiments/12")).toBe("/jobs?q=TrackedProjectId%3D12");
  for (const other of ["", "#", "#L120", "#/experiments/12/runs/", "#/experiments/x", "#/experiments/1/runs/a b"]) expect(trackedHref(other), other).toBeNull();
});
