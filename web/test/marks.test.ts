import { expect, test } from "vitest";
import type { Break, Goodput, Incident } from "../src/api/types";
import { mergeIncident, worstFirst } from "../src/lib/chart/incidentorder";
import { restartsOf } from "../src/lib/jobs/jobevents";
import { evidenceLine, incidentTitle, incidentWindow, layoutMarks } from "../src/lib/chart/marks";

const incident = (fields: Partial<Incident>): Incident => ({
  id: "1", kind: "loss_spike", severity: "warning", state: "open", job: "j", ...fields,
});

test("marks that would overlap become the gravest one", () => {
  const marks = layoutMarks(
    [
      { left: 50, incident: incident({ id: "b", severity: "critical" }) },
      { left: 45, incident: incident({ id: "a", severity: "info" }) },
      { left: 90, incident: incident({ id: "c" }) },
    ],
    10,
  );
  expect(marks.map((mark) => [mark.left, mark.severity, mark.incidents.length])).toEqual([
    [50, "critical", 2],
    [90, "warning", 1],
  ]);
});

test("a new state replaces the old one, open ones stand first", () => {
  const list = [incident({ id: "1", opened_ms: 5 }), incident({ id: "2", opened_ms: 9 })];
  const merged = mergeIncident(list, incident({ id: "2", opened_ms: 9, state: "recovered" }));
  expect(merged.map((one) => [one.id, one.state])).toEqual([["1", "open"], ["2", "recovered"]]);
});

test("finds the line that the evidence names", () => {
  expect(evidenceLine(incident({ line: 7 }))).toBe(7);
  expect(evidenceLine(incident({ evidence: { line: 120 } }))).toBe(120);
  expect(evidenceLine(incident({ evidence: { lines: [4, 5] } }))).toBe(4);
  expect(evidenceLine(incident({ evidence: { line: "x" } }))).toBeNull();
  expect(evidenceLine(incident({}))).toBeNull();
});

test("looks at enough around an incident to see what was normal", () => {
  const one = incident({ opened_step: 1000, first_step: 990, last_step: 1100, opened_ms: 5_000_000 });
  expect(incidentWindow(one, "step", 0, 10_000)).toEqual([690, 1400]);
  expect(incidentWindow(incident({ opened_step: 3 }), "step", 0, 5)).toEqual([0, 13]);
  expect(incidentWindow(one, "relative", 1_000_000, 0)).toEqual([3_100_000, 4_900_000]);
  expect(incidentWindow(incident({}), "step", 0, 0)).toBeNull();
});

test("looks at nothing behind the end of the data", () => {
  const long = incident({ opened_step: 1722, first_step: 1713, last_step: 2205 });
  expect(incidentWindow(long, "step", 0, 2599, 2599)).toEqual([729, 2599]);
  // What is known of it may be newer than what is known of the metrics.
  expect(incidentWindow(long, "step", 0, 2000, 2000)).toEqual([729, 2205]);
});

test("the worst stands first, open before over, and information last", () => {
  const list = [incident({ id: "note", severity: "info" }), incident({ id: "new", state: "recovered" }), incident({ id: "old", state: "recovered" }), incident({ id: "open" }), incident({ id: "over", severity: "critical", state: "recovered" }), incident({ id: "worst", severity: "critical" })];
  expect(worstFirst(list).map((one) => one.id)).toEqual(["worst", "open", "over", "new", "old", "note"]);
});

test("an incident of a job has no step, one of a series has, be it 0", () => {
  expect(incidentTitle(incident({ kind: "job_failed", metric: "", opened_step: 0 }))).not.toContain("step");
  expect(incidentTitle(incident({ metric: "loss", opened_step: 0 }))).toContain("at step 0");
});

test("what ended a job is no restart", () => {
  const one = { from_ms: 1, cause: "x", lost_steps: 0 } as Break;
  const goodput = { breaks: [one, { ...one, to_ms: 2 }] } as Goodput;
  expect(restartsOf(goodput, false)).toHaveLength(2);
  expect(restartsOf(goodput, true)).toEqual([{ ...one, to_ms: 2 }]);
});
