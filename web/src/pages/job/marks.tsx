import type { Incident } from "../../api/types";
import { incidentTitle, SEVERITY_GLYPH, type Mark } from "../../lib/marks";

/** Incidents over a plot: a shape and a colour each, reachable by Tab. */
export function Marks({ marks, left, onChoose }: { marks: Mark[]; left: number; onChoose: (incident: Incident) => void }) {
  return (
    <div class="marks" style={{ left: `${left}px` }}>
      {marks.map((mark) => {
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
            aria-label={title}
            onClick={() => onChoose(gravest)}
          >
            {SEVERITY_GLYPH[mark.severity]}
            {mark.incidents.length > 1 && <sup>{mark.incidents.length}</sup>}
          </button>
        );
      })}
    </div>
  );
}
