import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, type Problem } from "../../../api/client";
import { t } from "../../../i18n/i18n";
import { serverNow } from "../../../lib/flow/skew";
import { parseNotePlace, writeNotePlace, type NotePlace } from "../../../lib/jobs/notes";
import { fieldTime, timeOf } from "../../../lib/text/fieldtime";
import { isUtc } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import type { NoteList } from "../../../state/job/notes";
import { patchQuery, query } from "../../../state/core/router";
import { nextFrame } from "../../../ui/lazy";
import { lastStepOf } from "../common/place";

/** Where the fields begin when another kind of place is chosen. */
function placeOfKind(store: JobStore, kind: string): NotePlace {
  if (kind === "step") return { at: "step", step: String(lastStepOf(store)) };
  if (kind === "time") return { at: "time", ms: String(Math.floor(serverNow() / 1000) * 1000) };
  return { at: "now" };
}

/** A new note. The address says where it is to be, so that charts and lines lead here. */
export function NoteForm({ store, list }: { store: JobStore; list: NoteList }) {
  const at = query.value["at"];
  const place = parseNotePlace(at);
  const text = useSignal("");
  const said = useSignal("");
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const field = String(problem.value?.facts["field"] ?? "");
  const isTextWrong = field === "text";
  const isPlaceWrong = problem.value !== null && !isTextWrong && place.at !== "now";

  useEffect(() => {
    // After the page has put the focus on its new view.
    if (at !== undefined) void nextFrame().then(() => area.current?.focus());
  }, []);

  const setPlace = (next: NotePlace): void => {
    problem.value = null;
    patchQuery({ at: writeNotePlace(next) }, true);
  };
  const save = async (): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    said.value = "";
    problem.value = null;
    try {
      await list.add(place, text.value);
      text.value = "";
      said.value = t("Noted");
      area.current?.focus();
    } catch (error) {
      const failed = asProblem(error);
      problem.value = failed;
      const name = failed.facts["field"] === "text" || place.at === "now" ? "text" : "place";
      form.current?.querySelector<HTMLElement>(`[name="${name}"]`)?.focus();
    } finally {
      isBusy.value = false;
    }
  };
  const wrong = problem.value ? "note-wrong" : undefined;
  return (
    <form
      ref={form}
      class="noteform"
      aria-label={t("A new note")}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void save();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <p>
        <label>
          {t("Place")}{" "}
          <select name="kind" value={place.at} onChange={(event) => setPlace(placeOfKind(store, event.currentTarget.value))}>
            <option value="now">{t("now")}</option>
            <option value="step">{t("step")}</option>
            <option value="time">{t("time")}</option>
            {place.at === "line" && <option value="line">{t("line {n} of {stream}", { n: place.line, stream: place.stream })}</option>}
          </select>
        </label>
        {place.at === "step" && (
          <label>
            <span class="hidden">{t("Step of the note")}</span>
            <input name="place" inputMode="numeric" autocomplete="off" value={place.step} aria-invalid={isPlaceWrong} aria-describedby={wrong} onInput={(event) => setPlace({ at: "step", step: event.currentTarget.value })} />
          </label>
        )}
        {place.at === "time" && (
          <label>
            <span class="hidden">{t("Time of the note")}</span>
            <input
              name="place"
              type="datetime-local"
              step={1}
              value={timeField(place.ms)}
              aria-invalid={isPlaceWrong}
              aria-describedby={wrong}
              onInput={(event) => setPlace({ at: "time", ms: timeText(event.currentTarget.value) })}
            />{" "}
            <span class="dim">{isUtc.value ? "UTC" : t("local time")}</span>
          </label>
        )}
      </p>
      <label>
        <span class="hidden">{t("Text of the new note")}</span>
        <textarea
          ref={area}
          name="text"
          rows={3}
          placeholder={t("What happened here?")}
          value={text}
          aria-invalid={isTextWrong}
          aria-describedby={wrong}
          aria-keyshortcuts="Control+Enter"
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      <p id="note-wrong" class="wrong" role="alert" lang="en">
        {problem.value && (problem.value.detail || problem.value.title)}
      </p>
      <p class="noteacts">
        <button type="submit" class="primary" disabled={isBusy.value} title="Ctrl+Enter">
          {t("Add the note")}
        </button>
        <span role="status">{said}</span>
      </p>
    </form>
  );
}

/** The farthest time that a Date has. */
const MOST_MS = 8.64e15;

/** An address may say anything; what is no time is an empty field. */
function timeField(text: string): string {
  const ms = text.trim() === "" ? NaN : Number(text);
  return Math.abs(ms) <= MOST_MS / 2 ? fieldTime(ms) : "";
}

const timeText = (field: string): string => (Number.isFinite(timeOf(field)) ? String(timeOf(field)) : "");
