// Incidents.

export type Severity = "info" | "warning" | "critical";

export interface Incident {
  id: string | number;
  kind: string;
  severity: Severity;
  state: string;
  job: string;
  metric?: string;
  stream?: string;
  first_step?: number;
  last_step?: number;
  opened_step?: number;
  opened_ms?: number;
  closed_ms?: number;
  closed_why?: string;
  acknowledged_ms?: number;
  muted_until_ms?: number;
  /** The incident of the same job that came first; absent: itself. */
  cause_id?: string;
  streams?: string[];
  stream_count?: number;
  line?: number;
  evidence?: Record<string, unknown>;
}

export interface IncidentsReply {
  incidents: Incident[];
  next_cursor?: string;
}
