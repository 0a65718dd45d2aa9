import type { Signal } from "@preact/signals";
import { EVENT_GLYPH, type JobEvent } from "../../../lib/chart/marks";
import type { XMap } from "../../../lib/chart/xmap";

/** What marks are laid over. */
export interface Ground {
  readonly plotLeft: number;
  place(x: number): { left: number; inside: boolean };
}

interface Props {
  events: readonly JobEvent[];
  hidden: ReadonlySet<string> | undefined;
  map: XMap;
  plot: { current: Ground | null };
  /** Changes with the plot's scales. */
  scales: Signal<number>;
  onChoose(event: JobEvent): void;
}

const GAP = 14;

interface Placed {
  left: number;
  events: JobEvent[];
}

/** Those that would overlap are one mark. */
function place(events: readonly JobEvent[], map: XMap, plot: Ground): Placed[] {
  const all = events.flatMap((event) => {
    const at = map.axis === "step" ? event.step : event.ms;
    const spot = at === undefined ? null : plot.place(map.fromServer(at));
    return spot?.inside ? [{ left: spot.left, event }] : [];
  });
  const placed: Placed[] = [];
  for (const { left, event } of all.sort((a, b) => a.left - b.left)) {
    const last = placed[placed.length - 1];
    if (last && left - last.left < GAP) last.events.push(event);
    else placed.push({ left, events: [event] });
  }
  return placed;
}

/** Restarts, checkpoints and what became of nodes, along the lower edge. */
export function EventMarks({ events, hidden, map, plot, scales, onChoose }: Props) {
  void scales.value;
  const current = plot.current;
  if (!current) return null;
  return (
    <div class="marks below" style={{ left: `${current.plotLeft}px` }}>
      {place(events.filter((event) => !hidden?.has(event.kind)), map, current).map(({ left, events: here }) => {
        const [first] = here;
        if (!first) return null;
        const title = here.slice(0, 8).map((event) => event.text).join("\n") + (here.length > 8 ? "\n…" : "");
        return (
          <button
            key={first.id}
            type="button"
            class="mark"
            style={{ left: `${left}px` }}
            title={title}
            aria-label={title}
            data-count={here.length > 1 ? here.length : undefined}
            onClick={() => onChoose(first)}
          >
            {EVENT_GLYPH[first.kind]}
          </button>
        );
      })}
    </div>
  );
}
