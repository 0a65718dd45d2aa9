// Curves over each other in a panel, with one tooltip for all of them and a cursor that other panels share.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t, tn } from "../../i18n/i18n";
import type { NoteMark } from "../../lib/jobs/notes";
import { jobHref, type Axis, type ChartLook } from "../../lib/url/url";
import { placeOf, valuesAt } from "../../lib/workspace/undercursor";
import { formatX } from "../../plot/axes";
import type { OverlayCurve } from "../../plot/overlay";
import { useOverlay } from "../../plot/useoverlay";
import type { Undrawn } from "../../state/workspace/curves";
import { useAwaited } from "../../ui/lazy";
import { Swatch } from "../../ui/swatch";
import { NoteMarks } from "../job/chart/notemarks";

/** Where the cursor stands, and in which panel. */
export interface Cursor {
  x: number | null;
  owner: object | null;
}

interface Props {
  title: string;
  look: ChartLook & { axis: Axis };
  curves: readonly OverlayCurve[] | null;
  notes: readonly NoteMark[];
  window: [number, number] | null;
  cursor: Signal<Cursor>;
  onZoom(from: number, to: number): void;
  onReset(): void;
  onPick(name: string): void;
  onWidth(pixels: number): void;
}

export function CurvesPlot({ title, look, curves, notes, window, cursor, onZoom, onReset, onPick, onWidth }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const chosen = useSignal<string | null>(null);
  const own = useRef({}).current;
  const scales = useSignal(0);
  const plot = useOverlay(host, {
    look,
    curves,
    window,
    chosen,
    onWidth,
    events: {
      onHover: (x, name) => {
        cursor.value = { x, owner: x === null ? null : own };
        chosen.value = name;
      },
      onPick,
      onZoom,
      onReset,
      onLayout: () => scales.value++,
    },
  });
  useAwaited(curves !== null);
  // A panel that goes takes its cursor with it.
  useEffect(() => () => void (cursor.peek().owner === own && (cursor.value = { x: null, owner: null })), []);
  useEffect(
    () =>
      cursor.subscribe(({ x, owner }) => {
        if (owner !== own) plot.current?.point(x);
      }),
    [],
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -1e9, End: 1e9 }[event.key];
    const here = cursor.peek();
    if (event.key === "Escape" && here.owner === own) {
      cursor.value = { x: null, owner: null };
      plot.current?.point(null);
    } else if (by !== undefined && !event.shiftKey && !event.altKey && !event.ctrlKey) plot.current?.step(here.owner === own ? here.x : null, by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const said = t("{title}: {n} curves. The arrow keys read their values.", { title, n: curves?.length ?? 0 });
  return (
    <div class="curves">
      <div ref={host} class="canvas" role="application" tabIndex={0} aria-label={said} onKeyDown={onKeyDown} />
      <NoteMarks notes={notes} plot={plot} scales={scales} />
      <Tooltip curves={curves ?? []} axis={look.axis} cursor={cursor} own={own} chosen={chosen} host={host} />
    </div>
  );
}

/** Jobs that the panel leaves out because they lack its axis, with the server's reason for each. */
export function Left({ undrawn }: { undrawn: readonly Undrawn[] }) {
  const [first] = undrawn;
  if (!first) return null;
  return (
    <details class="note undrawn">
      <summary>{undrawn.length === 1 ? t("{job} is not drawn: it has no such axis", { job: first.job }) : t("{n} jobs are not drawn: they have no such axis", { n: undrawn.length })}</summary>
      <ul>
        {undrawn.map(({ job, why }) => (
          <li key={job}>
            <a href={jobHref(job)}>{job}</a>: <span lang="en">{why}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

const MOST_SAID = 16;
const GAP = 14;

/** All curves' values at the cursor, with their own place where it is another one than the tooltip's; the nearest curve is marked. */
function Tooltip({ curves, axis, cursor, own, chosen, host }: { curves: readonly OverlayCurve[]; axis: Axis; cursor: Signal<Cursor>; own: object; chosen: Signal<string | null>; host: { current: HTMLElement | null } }) {
  const { x, owner } = cursor.value;
  if (x === null || owner !== own) return null;
  const values = valuesAt(curves, x);
  if (values.length === 0) return null;
  const near = values.findIndex((one) => one.name === chosen.value);
  // What the pointer is at is among those that are said.
  const from = values.length <= MOST_SAID || near < 0 ? 0 : Math.min(Math.max(0, near - MOST_SAID / 2), values.length - MOST_SAID);
  const shown = values.slice(from, from + MOST_SAID);
  const place = formatX(axis, placeOf(values, x, chosen.value));
  const line = host.current?.querySelector<HTMLElement>(".u-cursor-x");
  const left = host.current && line ? line.getBoundingClientRect().left - host.current.getBoundingClientRect().left : 0;
  const isRight = left > (host.current?.clientWidth ?? 0) / 2;
  return (
    <div class="curvetip" role="status" style={isRight ? { right: `${(host.current?.clientWidth ?? 0) - left + GAP}px` } : { left: `${left + GAP}px` }}>
      <b>{place}</b>
      <ul>
        {shown.map((one) => (
          <li key={one.name} class={one.name === chosen.value ? "near" : undefined}>
            <Swatch pen={one.pen} />
            <bdi>{one.name}</bdi> <span>{one.text}</span>
            {formatX(axis, one.x) !== place && <small class="dim">{formatX(axis, one.x)}</small>}
          </li>
        ))}
      </ul>
      {values.length > shown.length && <p class="dim">{tn(values.length - shown.length, "and {n} more", "and {n} more")}</p>}
    </div>
  );
}
