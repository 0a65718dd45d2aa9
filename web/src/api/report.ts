// The shape of /report: what happened since somebody last looked.
import type { Incident, JobRow } from "./types";

/** Of what happened before the report's time: when the server learned of it. */
export interface Late {
  late?: true;
  known_ms?: number;
}

export type ReportRow = JobRow & Late;

export interface ReportJobs {
  jobs: ReportRow[];
  total: number;
  partial?: boolean;
}

export interface Report {
  from_ms: number;
  to_ms: number;
  incidents: { total: number; critical: number; warning: number; info: number; more: boolean; incidents: (Incident & Late)[] };
  failed: ReportJobs;
  ended: ReportJobs;
  started: ReportJobs;
  running: ReportJobs;
  lost: { breaks: number; lost_node_hours: number; causes: { cause: string; count: number; lost_steps: number | null; lost_node_hours: number }[] };
}
