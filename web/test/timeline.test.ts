import { expect, test } from "vitest";
import type { JobDoc } from "../src/api/types";
import { calmNow, foldShort, groupMarks, segmentsOf, spanOf, type TimeMark } from "../src/lib/chart/timeline";

const doc = (more: Partial<JobDoc>): JobDoc => ({ TrainingJobName: "a", TrainingJobStatus: "InProgress", ...more });
const transitions = [
  { Status: "Starting", StartTime: 100, EndTime: 110, StatusMessage: "Launching" },
  { Status: "Training", StartTime: 110, EndTime: 200 },
  { Status: "Restarting", StartTime: 200, EndTime: 230 },
  { Status: "Training", StartTime: 230 },
];
const attempt_list = [{ attempt: 1, start_ms: 100_000 }, { attempt: 2, start_ms: 200_000 }];

test("states follow each other, with the attempt each belongs to; the last one lasts until now", () => {
  const segments = segmentsOf(doc({ SecondaryStatusTransitions: transitions, attempt_list }), 300_000);
  expect(segments.map((one) => [one.status, one.attempt, one.fromMs, one.toMs, one.isOpen])).toEqual([
    ["Starting", 1, 100_000, 110_000, false],
    ["Training", 1, 110_000, 200_000, false],
    ["Restarting", 2, 200_000, 230_000, false],
    ["Training", 2, 230_000, 300_000, true],
  ]);
  expect(spanOf(segments)).toEqual([100_000, 300_000]);
});

test("a browser whose clock is behind does not end a job before it was heard of", () => {
  const [last] = segmentsOf(doc({ SecondaryStatusTransitions: transitions.slice(3), last_heard_ms: 290_000 }), 10_000).slice(-1);
  expect([last?.fromMs, last?.toMs]).toEqual([230_000, 290_000]);
});

test("what ended ends where it ended, whatever time it is", () => {
  const ended = doc({ TrainingJobStatus: "Completed", TrainingEndTime: 250, SecondaryStatusTransitions: transitions });
  expect(segmentsOf(ended, 9_000_000).slice(-1)[0]).toMatchObject({ toMs: 250_000, isOpen: false });
});

test("no states: no segments, and a span that divides nothing by zero", () => {
  expect(segmentsOf(doc({}), 5)).toEqual([]);
  expect(spanOf([])).toEqual([0, 1]);
});

test("a thousand short attempts become few blocks, none is lost", () => {
  const many = Array.from({ length: 1000 }, (_, i) => ({ Status: i % 2 ? "Training" : "Restarting", StartTime: i }));
  const segments = segmentsOf(doc({ SecondaryStatusTransitions: many, attempt_list: many.map((one, i) => ({ attempt: i + 1, start_ms: one.StartTime * 1000 })) }), 2_000_000);
  const folded = foldShort(segments, 0.003);
  expect(folded.length).toBeLessThan(10);
  expect(folded.reduce((sum, one) => sum + one.folded, 0)).toBe(1000);
});

const mark = (ms: number, severity: TimeMark["severity"] = null, kind: TimeMark["kind"] = "incident"): TimeMark => ({ kind, ms, text: "", severity, incident: null, event: null });

test("marks side by side become one at the gravest; far ones stay alone", () => {
  const groups = groupMarks([mark(10, "info"), mark(12, "critical"), mark(500, null, "checkpoint"), mark(2000, "info")], [0, 1000], 1000, 16);
  expect(groups.map((group) => [group.left, group.marks.length, group.lead.severity])).toEqual([
    [12, 2, "critical"],
    [500, 1, null],
  ]);
});

test("a row of marks, each near the next one, is not one mark", () => {
  const groups = groupMarks(Array.from({ length: 100 }, (_, i) => mark(i * 10)), [0, 1000], 1000, 16);
  expect(groups.length).toBe(50);
});

test("the axis of a job that runs ends in steps: it stands still for a while, and never ends before now", () => {
  const from = 1_700_000_000_000;
  const ends = Array.from({ length: 3600 }, (_, i) => calmNow(from, from + 86_400_000 + i * 1000));
  expect(new Set(ends).size).toBeLessThan(20);
  ends.forEach((end, i) => expect(end).toBeGreaterThanOrEqual(from + 86_400_000 + i * 1000));
  expect(calmNow(from, from)).toBe(from);
});
