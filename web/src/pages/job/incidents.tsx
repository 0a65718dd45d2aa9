import { useSignal } from "@preact/signals";
import type { Incident } from "../../api/types";
import { formatCount } from "../../lib/format";
import { incidentTitle, isOpen, kindTitle } from "../../lib/marks";
import { SeverityMark } from "../../ui/severity";
import { Age } from "../../ui/time";

const SHOWN = 4;

export function JobIncidents({ rows, onChoose }: { rows: Incident[]; onChoose: (incident: Incident) => void }) {
  const isAll = useSignal(false);
  if (rows.length === 0) return null;
  const shown = isAll.value ? rows : rows.slice(0, SHOWN);
  return (
    <ul class="jobincidents" aria-label="Incidents">
      {shown.map((incident) => (
        <li key={incident.id}>
          <button type="button" class={isOpen(incident) ? "" : "past"} title={incidentTitle(incident)} onClick={() => onChoose(incident)}>
            <SeverityMark severity={incident.severity} />
            <span>{kindTitle(incident.kind)}</span>
            {incident.metric && <code>{incident.metric}</code>}
            {incident.opened_step !== undefined && <span class="num">{formatCount(incident.opened_step)}</span>}
            <span class="dim">
              {isOpen(incident) ? "" : `${incident.state} · `}
              <Age ms={incident.opened_ms} />
            </span>
          </button>
        </li>
      ))}
      {rows.length > SHOWN && (
        <li>
          <button type="button" class="quiet" aria-expanded={isAll.value} onClick={() => (isAll.value = !isAll.value)}>
            {isAll.value ? "fewer" : `${rows.length - SHOWN} more`}
          </button>
        </li>
      )}
    </ul>
  );
}
