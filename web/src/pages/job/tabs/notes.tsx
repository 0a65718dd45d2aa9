import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, type Problem } from "../../../api/client";
import type { Note } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { every } from "../../../lib/flow/poll";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { formatCount, formatTime } from "../../../lib/text/format";
import type { JobStore } from "../../../state/job/job";
import { factsOf } from "../../../state/job/jobfacts";
import type { NoteList } from "../../../state/job/notes";
import { patchQuery, query } from "../../../state/core/router";
import style from "../../../styles/notes.css?inline";
import { nextFrame } from "../../../ui/lazy";
import { ProblemBox } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import { Age } from "../../../ui/time";
import { mayWrite } from "../../../state/core/session";
import { showNote } from "../common/place";
import { NoteForm } from "./noteform";

adoptStyle(style);

// No event tells of a note that somebody else writes.
const RELOAD_MS = 10_000;

const rowId = (note: Note): string => `note-${note.id}`;

/** Who works with keys alone goes on where something has happened. */
const focusOn = (id: string): void => void nextFrame().then(() => document.getElementById(id)?.focus());

export function placeText({ at, step, ts_ms, line, stream }: Note): string {
  if (at === "line" && line !== undefined) return t("line {n} of {stream}", { n: formatCount(line), stream: stream ?? "" });
  if (at === "checkpoint" && step !== null) return t("checkpoint at step {step}", { step: formatCount(step) });
  if (at === "step" && step !== null) return t("step {step}", { step: formatCount(step) });
  return formatTime(ts_ms ?? undefined);
}

/** What people noted at places of the job: read, written, changed, and deleted with a way back. */
export function NotesPart({ store }: { store: JobStore }) {
  const list = factsOf(store).notes;
  useEffect(() => every(RELOAD_MS, () => void list.load()), [list]);
  const isDeletedShown = query.value["state"] === "deleted";
  const asked = Number(query.value["note"] ?? NaN);
  const last = useSignal<Note | null>(null);
  const said = useSignal("");
  const rows = list.rows.value;
  const shown = isDeletedShown ? list.deleted.value : rows;
  const isThere = rows?.some((one) => one.id === asked) ?? false;
  useEffect(() => {
    if (isThere) void nextFrame().then(() => document.getElementById(`note-${asked}`)?.scrollIntoView({ block: "center" }));
  }, [isThere, asked]);

  const act = async (run: () => Promise<Note>, done: (note: Note) => void): Promise<void> => {
    said.value = "";
    try {
      done(await run());
    } catch (error) {
      said.value = asProblem(error).message;
    }
  };
  const remove = (note: Note): void =>
    void act(() => list.remove(note), (gone) => {
      last.value = gone;
      focusOn("note-undo");
    });
  const restore = (note: Note): void =>
    void act(() => list.restore(note), (back) => {
      last.value = null;
      said.value = t("The note is back");
      focusOn(isDeletedShown ? "notes-state" : rowId(back));
    });

  return (
    <div class="report notes">
      {list.problem.value && <ProblemBox problem={list.problem.value} onRetry={() => void list.load()} />}
      {mayWrite() && <NoteForm store={store} list={list} />}
      <div class="toolbar">
        <div class="segments" role="group" aria-label={t("Which notes")}>
          <button type="button" aria-pressed={!isDeletedShown} onClick={() => patchQuery({ state: undefined })}>
            {t("those that are there")}
          </button>
          <button type="button" id="notes-state" aria-pressed={isDeletedShown} onClick={() => patchQuery({ state: "deleted" })}>
            {t("deleted in the last hour")}
          </button>
        </div>
        <span role="status">
          {said.value}
          {last.value && (
            <>
              {t("Deleted: {place}", { place: placeText(last.value) })}{" "}
              <button type="button" id="note-undo" onClick={() => last.value && restore(last.value)}>
                {t("Undo")}
              </button>
            </>
          )}
        </span>
      </div>
      {!rows && !list.problem.value && <Skeleton rows={4} />}
      {rows && shown?.length === 0 && (
        <p class="dim">
          {isDeletedShown
            ? t("No note was deleted in the last hour.")
            : t("Nobody has noted anything of this job yet. A note says what happened at a step, a time or a line: a rate changed by hand, data exchanged, an outage.")}
        </p>
      )}
      <ul class="notelist" aria-label={t("Notes")}>
        {shown?.map((note) => (
          <Row key={note.id} store={store} list={list} note={note} isAsked={note.id === asked} onRemove={() => remove(note)} onRestore={() => restore(note)} />
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  store: JobStore;
  list: NoteList;
  note: Note;
  /** The address names it. */
  isAsked: boolean;
  onRemove(): void;
  onRestore(): void;
}

function Row({ store, list, note, isAsked, onRemove, onRestore }: RowProps) {
  const isEdited = useSignal(false);
  const place = placeText(note);
  const isPlace = note.step !== null || note.ts_ms !== null || note.line !== undefined;
  const close = (): void => {
    isEdited.value = false;
    focusOn(rowId(note));
  };
  return (
    <li id={rowId(note)} tabIndex={-1} aria-current={isAsked ? "true" : undefined}>
      <p class="noteplace">
        {isPlace ? (
          <button type="button" class="quiet" title={t("To the charts at this place")} onClick={() => showNote(store, note)}>
            {place}
          </button>
        ) : (
          <span>{place}</span>
        )}
        {note.at !== "step" && note.at !== "checkpoint" && note.step !== null && <span class="dim">{t("step {step}", { step: formatCount(note.step) })}</span>}
        {note.at !== "time" && note.ts_ms !== null && <span class="dim">{formatTime(note.ts_ms)}</span>}
        <span class="grow" />
        <span class="dim">
          {note.author && (
            <>
              <bdi>{note.author}</bdi> ·{" "}
            </>
          )}
          <Age ms={note.created_ms} />
          {note.modified_ms > note.created_ms && <> · {t("changed")}</>}
        </span>
      </p>
      {isEdited.value ? (
        <EditForm list={list} note={note} place={place} onClose={close} />
      ) : (
        <p class="notetext">
          <bdi>{note.text}</bdi>
        </p>
      )}
      {mayWrite() && !isEdited.value && (
        <p class="noteacts">
          {note.deleted_ms === undefined ? (
            <>
              <button type="button" class="quiet" aria-label={t("Change the note: {place}", { place })} onClick={() => (isEdited.value = true)}>
                {t("Change")}
              </button>
              <button type="button" class="quiet" aria-label={t("Delete the note: {place}", { place })} onClick={onRemove}>
                {t("Delete")}
              </button>
            </>
          ) : (
            <button type="button" aria-label={t("Take the deletion back: {place}", { place })} onClick={onRestore}>
              {t("Undo")}
            </button>
          )}
        </p>
      )}
    </li>
  );
}

function EditForm({ list, note, place, onClose }: { list: NoteList; note: Note; place: string; onClose(): void }) {
  const text = useSignal(note.text);
  const problem = useSignal<Problem | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const save = async (): Promise<void> => {
    try {
      if (text.value !== note.text) await list.edit(note, text.value);
      onClose();
    } catch (error) {
      problem.value = asProblem(error);
      area.current?.focus();
    }
  };
  const wrong = `note-wrong-${note.id}`;
  return (
    <form
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          onClose();
        } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          void save();
        }
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        <span class="hidden">{t("Text of the note: {place}", { place })}</span>
        <textarea ref={area} rows={3} value={text} aria-invalid={problem.value !== null} aria-describedby={wrong} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <p id={wrong} class="wrong" role="alert" lang="en">
        {problem.value?.message}
      </p>
      <p class="noteacts">
        <button type="submit" class="primary">
          {t("Save the changes")}
        </button>
        <button type="button" onClick={onClose}>
          {t("Leave as it is")}
        </button>
      </p>
    </form>
  );
}
