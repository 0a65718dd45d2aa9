// Which of a job's metrics stand for it in a list.
import type { JobRow, MetricSummary } from "../../api/types";
import { toNumber } from "../text/number";
import { higherIsBetter, roleRank } from "./roles";

/** The one that the server says answers for the role. */
export const mainMetric = (row: JobRow, role: string): MetricSummary | undefined => row.metrics?.find((one) => one.is_main && one.role === role);

/** The job's loss, or whatever metric stands in for it. */
export function leadMetric(row: JobRow): MetricSummary | undefined {
  let lead: MetricSummary | undefined;
  for (const metric of row.metrics ?? []) {
    if (metric.is_main && (!lead || roleRank(metric.role) < roleRank(lead.role))) lead = metric;
  }
  return lead ?? row.metrics?.[0];
}

/** What a column that says loss shows: no other metric stands in for it. */
export function lossOf(row: JobRow): MetricSummary | undefined {
  const lead = leadMetric(row);
  return lead?.role?.endsWith("loss") ? lead : undefined;
}

export function bestOf(metric: MetricSummary): number | undefined {
  const best = toNumber(metric.best ?? (higherIsBetter(metric.role) ? metric.max : metric.min));
  return Number.isFinite(best) ? best : undefined;
}
