// Rows that any list has shown: a job's page can name it before its document is there.
import type { JobRow } from "../../api/types";

const MOST_KNOWN = 20_000;

export const knownRows = new Map<string, JobRow>();

export function noteRows(rows: readonly JobRow[]): void {
  if (knownRows.size > MOST_KNOWN) knownRows.clear();
  for (const row of rows) knownRows.set(row.TrainingJobName, row);
}
