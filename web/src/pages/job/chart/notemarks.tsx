// The notes of several jobs along the lower edge of the chart that their curves share.
import type { Signal } from "@preact/signals";
import { STEPS } from "../../../lib/chart/xmap";
import { noteHref, type NoteMark } from "../../../lib/jobs/notes";
import { navigate } from "../../../state/core/router";
import { later, lazy } from "../../../ui/lazy";
import type { Ground } from "./eventmarks";

const EventMarks = lazy(async () => (await later(() => import("./eventmarks"))).EventMarks, 0);

interface Props {
  notes: readonly NoteMark[];
  plot: { current: Ground | null };
  /** Changes with the plot's scales. */
  scales: Signal<number>;
}

export function NoteMarks({ notes, plot, scales }: Props) {
  if (notes.length === 0) return null;
  return <EventMarks events={notes} hidden={undefined} map={STEPS} plot={plot} scales={scales} onChoose={({ id, note = 0 }) => navigate(noteHref(notes.find((one) => one.id === id)?.job ?? "", note))} />;
}
