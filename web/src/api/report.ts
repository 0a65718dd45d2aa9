// The shape of /report: what happened since somebody last looked.
import type { Incident, JobRow } from "./types";

export interface ReportJobs {
  jobs: JobRow[];
  total: number;
  partial?: boolean;
}

export interface Report {
  from_ms: number;
  to_ms: number;
  incidents: { total: number; critical: number; warning: number; info: number; more: boolean; incidents: Incident[] };
  failed: ReportJobs;
  ended: ReportJobs;
  started: ReportJobs;
  running: ReportJobs;
  lost: { breaks: number; lost_node_hours: number; causes: { cause: string; count: number; lost_steps: number | null; lost_node_hours: number }[] };
}
