// Curves over each other in a panel, with one tooltip for all of them and a cursor that other panels share.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t, tn } from "../../i18n/i18n";
import { nearestBucket, type Buckets } from "../../lib/chart/buckets";
import { nonFiniteText } from "../../lib/chart/nonfinite";
import { formatValue } from "../../lib/text/format";
import type { Axis, ChartLook } from "../../lib/url/url";
import { formatX } from "../../plot/axes";
import type { OverlayCurve } from "../../plot/overlay";
import { useOverlay } from "../../plot/useoverlay";

/** Where the cursor stands, and in which panel. */
export interface Cursor {
  x: number | null;
  owner: object | null;
}

interface Props {
  title: string;
  look: ChartLook & { axis: Axis };
  curves: readonly OverlayCurve[] | null;
  window: [number, number] | null;
  cursor: Signal<Cursor>;
  onZoom(from: number, to: number): void;
  onReset(): void;
  onPick(name: string): void;
  onWidth(pixels: number): void;
}

export function CurvesPlot({ title, look, curves, window, cursor, onZoom, onReset, onPick, onWidth }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const chosen = useSignal<string | null>(null);
  const own = useRef({}).current;
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
    },
  });
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
      <Tooltip curves={curves ?? []} axis={look.axis} cursor={cursor} own={own} chosen={chosen} host={host} />
    </div>
  );
}

const MOST_SAID = 16;
const GAP = 14;

interface Value {
  name: string;
  color: number;
  y: number | null;
  text: string;
}

function valueAt({ name, pen, buckets }: OverlayCurve, x: number): Value | null {
  const i = nearestBucket(buckets.x, x);
  if (i < 0 || isBeyond(buckets, x)) return null;
  const [low, high, mean] = [buckets.min[i] ?? null, buckets.max[i] ?? null, buckets.mean[i] ?? null];
  const bad = nonFiniteText(buckets.nonFinite[i] ?? 0);
  const spread = low !== null && high !== null && low !== high ? ` (${formatValue(low)} … ${formatValue(high)})` : "";
  return { name, color: pen.color, y: mean, text: mean === null ? bad || "–" : `${formatValue(mean)}${spread}${bad ? ` ${bad}` : ""}` };
}

/** A curve that has ended says nothing of what comes behind it. */
function isBeyond({ x, width }: Buckets, at: number): boolean {
  const [first = 0, last = 0] = [x[0], x[x.length - 1]];
  const room = Math.max(width, (last - first) / Math.max(1, x.length - 1));
  return at < first - room || at > last + room;
}

/** All curves' values at x: the nearest one marked, the highest first. */
function Tooltip({ curves, axis, cursor, own, chosen, host }: { curves: readonly OverlayCurve[]; axis: Axis; cursor: Signal<Cursor>; own: object; chosen: Signal<string | null>; host: { current: HTMLElement | null } }) {
  const { x, owner } = cursor.value;
  if (x === null || owner !== own) return null;
  const values = curves.flatMap((curve) => valueAt(curve, x) ?? []).sort((a, b) => (b.y ?? -Infinity) - (a.y ?? -Infinity));
  if (values.length === 0) return null;
  const near = values.findIndex((one) => one.name === chosen.value);
  // What the pointer is at is among those that are said.
  const from = values.length <= MOST_SAID || near < 0 ? 0 : Math.min(Math.max(0, near - MOST_SAID / 2), values.length - MOST_SAID);
  const shown = values.slice(from, from + MOST_SAID);
  const line = host.current?.querySelector<HTMLElement>(".u-cursor-x");
  const left = host.current && line ? line.getBoundingClientRect().left - host.current.getBoundingClientRect().left : 0;
  const isRight = left > (host.current?.clientWidth ?? 0) / 2;
  return (
    <div class="curvetip" role="status" style={isRight ? { right: `${(host.current?.clientWidth ?? 0) - left + GAP}px` } : { left: `${left + GAP}px` }}>
      <b>{formatX(axis, axis === "step" || axis === "rstep" ? Math.round(x) : x)}</b>
      <ul>
        {shown.map((one) => (
          <li key={one.name} class={one.name === chosen.value ? "near" : undefined}>
            <i style={{ background: `var(--series-${one.color})` }} aria-hidden="true" />
            <bdi>{one.name}</bdi> <span>{one.text}</span>
          </li>
        ))}
      </ul>
      {values.length > shown.length && <p class="dim">{tn(values.length - shown.length, "and {n} more", "and {n} more")}</p>}
    </div>
  );
}
