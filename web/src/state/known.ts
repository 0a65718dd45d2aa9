// What lists have said of jobs: a job's page shows it until its own reply is there.
import type { JobRow } from "../api/types";

export const knownRows = new Map<string, JobRow>();
