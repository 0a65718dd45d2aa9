import type { Signal } from "@preact/signals";
import type { Incident } from "../../../api/types";
import { incidentTitle, layoutMarks, SEVERITY_GLYPH } from "../../../lib/chart/marks";
import type { Plot } from "../../../plot/plot";

const GAP = 24;

interface Props {
  /** With their places on the plot's x. */
  incidents: readonly { x: number; incident: Incident }[];
  plot: { current: Plot | null };
  /** Changes with the plot's scales. */
  scales: Signal<number>;
  onChoose(incident: Incident): void;
}

/** Incidents over a plot: a shape and a colour each, reachable by Tab. */
export function Marks({ incidents, plot, scales, onChoose }: Props) {
  void scales.value;
  const current = plot.current;
  if (!current) return null;
  const placed = incidents.flatMap(({ x, incident }) => {
    const place = current.place(x);
    return place.inside ? [{ left: place.left, incident }] : [];
  });
  return (
    <div class="marks" style={{ left: `${current.plotLeft}px` }}>
      {layoutMarks(placed, GAP).map((mark) => {
        const gravest = mark.incidents.find((incident) => incident.severity === mark.severity);
        if (!gravest) return null;
        const title = mark.incidents.map(incidentTitle).join("\n");
        return (
          <button
            key={gravest.id}
            type="button"
            class={`mark severity ${mark.severity}`}
            style={{ left: `${mark.left}px` }}
            title={title}
            aria-label={mark.incidents.length > 1 ? `${mark.incidents.length}: ${title}` : title}
            data-count={mark.incidents.length > 1 ? mark.incidents.length : undefined}
            onClick={() => onChoose(gravest)}
          >
            {SEVERITY_GLYPH[mark.severity]}
          </button>
        );
      })}
    </div>
  );
}
