import { expect, test } from "vitest";
import type { Incident } from "../src/api/types";
import { placeOf } from "../src/lib/chart/incidentstep";

const incident = (values: Partial<Incident>): Incident => ({ metric: "", opened_ms: 5, ...values }) as Incident;

test("what has no step is not marked at step 0", () => {
  expect(placeOf(incident({ opened_step: 0 }), "step")).toBeUndefined(); // an alert of the training
  expect(placeOf(incident({ opened_step: 7 }), "step")).toBe(7);
  expect(placeOf(incident({ opened_step: 0, metric: "loss" }), "step")).toBe(0);
  expect(placeOf(incident({ opened_step: 0 }), "time")).toBe(5);
});
