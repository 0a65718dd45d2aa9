import type { Incident } from "../../api/types";

/** Of a job and no series, like its failure: it has no step unless one is said, and is not drawn at step 0. */
export const stepOf = ({ metric, opened_step }: Incident): number | undefined => (metric || opened_step ? opened_step : undefined);

/** Where a chart by that axis marks it, as the server counts. */
export const placeOf = (incident: Incident, axis: string): number | undefined => (axis === "step" ? stepOf(incident) : incident.opened_ms);
