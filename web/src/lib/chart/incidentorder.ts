// Lists of incidents: their order, and what becomes of one that changes.
import type { Incident } from "../../api/types";

export const isOpen = (incident: Incident): boolean => incident.state === "open";

/** Newest and still open first; the same incident replaces its older state. */
export function mergeIncident(list: readonly Incident[], incident: Incident): Incident[] {
  return sortIncidents([incident, ...list.filter((other) => other.id !== incident.id)]);
}

export function sortIncidents(list: readonly Incident[]): Incident[] {
  return [...list].sort(
    (a, b) => Number(isOpen(b)) - Number(isOpen(a)) || (b.opened_ms ?? 0) - (a.opened_ms ?? 0),
  );
}
