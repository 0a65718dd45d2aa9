// Which of a job's metrics stand for it in a list.
import type { JobRow, MetricSummary } from "../api/types";
import { toNumber } from "./number";
import { higherIsBetter, roleRank } from "./roles";

/** What the job says itself before what is derived from it: rows of the list and live rows have not the same ones. */
export const mainMetric = (row: JobRow, role: string): MetricSummary | undefined => {
  const all = (row.metrics ?? []).filter((metric) => metric.role === role);
  return all.find(({ metric }) => !metric.startsWith("derived:")) ?? all[0];
};

/** The job's loss, or whatever metric stands in for it. */
export function leadMetric(row: JobRow): MetricSummary | undefined {
  let lead: MetricSummary | undefined;
  for (const metric of row.metrics ?? []) {
    if (!lead || roleRank(metric.role) < roleRank(lead.role)) lead = metric;
  }
  return lead;
}

export function bestOf(metric: MetricSummary): number | undefined {
  const best = toNumber(metric.best ?? (higherIsBetter(metric.role) ? metric.max : metric.min));
  return Number.isFinite(best) ? best : undefined;
}
