// Notes at places of a job: where one is to be, as the address has it (?at=step:1200), and what is known of those that are there.
import type { Note } from "../../api/types";
import { t } from "../../i18n/i18n";
import type { JobEvent } from "../chart/marks";
import type { XMap } from "../chart/xmap";
import { cutMiddle } from "../text/format";
import { buildSearch, partHref } from "../url/url";

/** What was typed stays as it is: the server says what it wants instead. */
export type NotePlace = { at: "now" } | { at: "step"; step: string } | { at: "time"; ms: string } | { at: "line"; line: string; stream: string };

export function parseNotePlace(text: string | undefined): NotePlace {
  const [, at, value = "", stream] = /^(step|time|line):([^:]*)(?::(.+))?$/s.exec(text ?? "") ?? [];
  if (at === "line" && stream !== undefined) return { at, line: value, stream };
  if (at === "step" && stream === undefined) return { at, step: value };
  if (at === "time" && stream === undefined) return { at, ms: value };
  return { at: "now" };
}

export function writeNotePlace(place: NotePlace): string | undefined {
  switch (place.at) {
    case "now":
      return undefined;
    case "step":
      return `step:${place.step}`;
    case "time":
      return `time:${place.ms}`;
    case "line":
      return `line:${place.line}:${place.stream}`;
  }
}

/** Where a note at the place is written. */
export const newNoteHref = (job: string, place: NotePlace): string => partHref(job, "notes") + buildSearch({}, { at: writeNotePlace(place) });

const numberOr = (text: string): number | string => (/^-?\d+$/.test(text.trim()) && Number.isSafeInteger(Number(text)) ? Number(text) : text);

/** As POST …/notes wants it. */
export function noteBody(place: NotePlace, text: string, nowMs: number): Record<string, unknown> {
  switch (place.at) {
    case "now":
      return { ts_ms: Math.round(nowMs), text };
    case "step":
      return { step: numberOr(place.step), text };
    case "time":
      return { ts_ms: numberOr(place.ms), text };
    case "line":
      return { line: numberOr(place.line), stream: place.stream, text };
  }
}

const timeKey = (note: Note): number => note.ts_ms ?? note.created_ms;

/** The latest place in the job first; of those at one place the newest. */
export const orderNotes = (notes: readonly Note[]): Note[] => [...notes].sort((a, b) => timeKey(b) - timeKey(a) || b.id - a.id);

export const isDeleted = (note: Note): boolean => note.deleted_ms !== undefined;

const MOST_SAID = 200;

/** What charts and the timeline mark. */
export const noteEvent = ({ id, step, ts_ms, author, text }: Note): JobEvent => {
  const said = cutMiddle(text, MOST_SAID);
  return {
    kind: "note",
    id: `o${id}`,
    ms: ts_ms ?? undefined,
    step: step ?? undefined,
    text: author ? t("Note by {author}: {text}", { author, text: said }) : t("Note: {text}", { text: said }),
    note: id,
  };
};

/** Of a job's note in a chart of several jobs: `step` is its place on the chart's axis. */
export interface NoteMark extends JobEvent {
  job: string;
}

const noteMarks = (job: string, notes: readonly Note[], map: XMap): NoteMark[] =>
  notes.flatMap((note) => {
    const at = map.axis === "step" ? note.step : note.ts_ms;
    const event = noteEvent(note);
    return at === null ? [] : [{ ...event, job, step: map.fromServer(at), text: `${job}: ${event.text}` }];
  });

/** Of each job once, however many of its curves are drawn: at the places of the first one's axis. */
export function marksOn(curves: readonly { job: string; map: XMap }[], notes: ReadonlyMap<string, readonly Note[]>): NoteMark[] {
  const maps = new Map<string, XMap>();
  for (const { job, map } of curves) if (!maps.has(job)) maps.set(job, map);
  return [...maps].flatMap(([job, map]) => noteMarks(job, notes.get(job) ?? [], map));
}

export const noteHref = (job: string, id: number): string => partHref(job, "notes") + buildSearch({}, { note: String(id) });
