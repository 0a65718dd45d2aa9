import { expect, test } from "vitest";
import type { Note } from "../src/api/types";
import { shifted, STEPS } from "../src/lib/chart/xmap";
import { marksOn, noteBody, orderNotes, parseNotePlace, writeNotePlace, type NotePlace } from "../src/lib/jobs/notes";

test("a place goes into the address and comes back", () => {
  const places: NotePlace[] = [{ at: "now" }, { at: "step", step: "1200" }, { at: "step", step: "" }, { at: "time", ms: "1700000000000" }, { at: "line", line: "12", stream: "algo-1:rank 0/é" }];
  for (const place of places) expect(parseNotePlace(writeNotePlace(place))).toEqual(place);
});

test("what is no place is now", () => {
  for (const text of [undefined, "", "step", "stop:12", "line:12", "line:12:", "step:1:2", "time:1:2"]) expect(parseNotePlace(text)).toEqual({ at: "now" });
});

test("whole numbers are sent as such, all else as it was typed, for the server to name", () => {
  expect(noteBody({ at: "step", step: " 12 " }, "x", 5)).toEqual({ step: 12, text: "x" });
  expect(noteBody({ at: "step", step: "-3" }, "x", 5)).toEqual({ step: -3, text: "x" });
  for (const step of ["", "1.5", "1e3", "twelve", "9007199254740993"]) expect(noteBody({ at: "step", step }, "x", 5)).toEqual({ step, text: "x" });
  expect(noteBody({ at: "now" }, "x", 5.4)).toEqual({ ts_ms: 5, text: "x" });
  expect(noteBody({ at: "time", ms: "7" }, "x", 5)).toEqual({ ts_ms: 7, text: "x" });
  expect(noteBody({ at: "line", line: "0", stream: "a" }, "x", 5)).toEqual({ line: 0, stream: "a", text: "x" });
});

test("the latest place is first; a note without a time stands where it was written", () => {
  const note = (id: number, ts_ms: number | null, created_ms: number): Note => ({ id, at: "time", step: null, ts_ms, text: "", author: "", created_ms, modified_ms: created_ms });
  const notes = [note(1, 50, 900), note(2, null, 70), note(3, 50, 800), note(4, 90, 10)];
  expect(orderNotes(notes).map((one) => one.id)).toEqual([4, 2, 3, 1]);
  expect(notes.map((one) => one.id)).toEqual([1, 2, 3, 4]);
});

test("a job is marked once, however many of its curves are drawn, and one that is not drawn not at all", () => {
  const note = (id: number, step: number | null, ts_ms: number | null): Note => ({ id, at: "step", step, ts_ms, text: "x", author: "", created_ms: 0, modified_ms: 0 });
  const notes = new Map([["a", [note(1, 20, 9000)]], ["b", [note(2, 30, null), note(3, null, 8000)]], ["c", [note(4, 1, 1)]]]);
  const places = (curves: Parameters<typeof marksOn>[0]) => marksOn(curves, notes).map(({ job, note: id, step }) => [job, id, step]);
  expect(places([{ job: "a", map: STEPS }, { job: "b", map: STEPS }, { job: "a", map: STEPS }])).toEqual([["a", 1, 20], ["b", 2, 30]]);
  expect(places([{ job: "a", map: shifted("step", 5) }, { job: "b", map: shifted("time", 7000) }])).toEqual([["a", 1, 15], ["b", 3, 1000]]);
});
