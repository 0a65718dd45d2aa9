import { expect, test } from "vitest";
import type { JobRow } from "../src/api/types";
import { instancesOf } from "../src/lib/jobs/instances";

const job: JobRow = { TrainingJobName: "j", TrainingJobStatus: "Completed", nodes: 4 };
const stated: JobRow = { ...job, ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: 4 } };

test("what somebody set right is shown before what the document states", () => {
  expect(instancesOf(stated)).toBe("4 × p4d.24xlarge");
  expect(instancesOf({ ...stated, nodes: 6, by_hand: { nodes: 6, instance_type: "ml.p5.48xlarge" } })).toBe("6 × p5.48xlarge");
});

test("of a job that states nothing it is what was set, or nothing", () => {
  expect(instancesOf(job)).toBe(null);
  expect(instancesOf({ ...job, by_hand: { instance_type: "ml.p5.48xlarge" } })).toBe("4 × p5.48xlarge");
});
