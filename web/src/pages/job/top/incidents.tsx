import type { Incident } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { formatCount } from "../../../lib/text/format";
import { worstFirst } from "../../../lib/chart/incidentorder";
import { stepOf } from "../../../lib/chart/incidentstep";
import { incidentTitle, isOpen, incidentName } from "../../../lib/chart/marks";
import { partHref } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { SeverityMark } from "../../../ui/severity";
import { Age } from "../../../ui/time";

const SHOWN = 2;

/** The worst incidents, open ones first: two of them, of which a window that is not wide shows one. All of them have a tab. */
export function JobIncidents({ store, onChoose }: { store: JobStore; onChoose: (incident: Incident) => void }) {
  const rows = store.incidents.rows.value ?? [];
  if (rows.length === 0) return null;
  return (
    <ul class="jobincidents" aria-label={t("Incidents")}>
      {worstFirst(rows).slice(0, SHOWN).map((incident) => (
        <li key={incident.id}>
          <button type="button" class={isOpen(incident) ? "" : "past"} title={incidentTitle(incident)} onClick={() => onChoose(incident)}>
            <SeverityMark severity={incident.severity} />
            <span class="what">{incidentName(incident)}</span>
            {incident.metric && <code>{incident.metric}</code>}
            {stepOf(incident) !== undefined && <span class="num">@ {formatCount(stepOf(incident))}</span>}
            <span class="dim">{isOpen(incident) ? <Age ms={incident.opened_ms} /> : t("recovered")}</span>
          </button>
        </li>
      ))}
      {rows.length > 1 && (
        <li class={rows.length > SHOWN ? "" : "few"}>
          <a href={partHref(store.name, "incidents")}>{tn(rows.length, "{n} incident", "{n} incidents")}</a>
        </li>
      )}
    </ul>
  );
}
