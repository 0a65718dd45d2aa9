// Lists of incidents: their order, and what becomes of one that changes.
import type { Incident, Severity } from "../../api/types";

export const WEIGHT: Record<Severity, number> = { info: 0, warning: 1, critical: 2 };

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

/** Of those that are of the same harm the order stays; what is for information alone is no harm, open or not. */
export const worstFirst = (list: readonly Incident[]): Incident[] => [...list].sort((a, b) => harmOf(b) - harmOf(a));

const harmOf = (incident: Incident): number => WEIGHT[incident.severity] && WEIGHT[incident.severity] + (isOpen(incident) ? 2 : 0);
