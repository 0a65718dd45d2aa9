// How a job's charts are put together: by role, and those without one by what their names begin with.
import { t } from "../../i18n/i18n";
import type { Metric } from "./metrics";

export interface Group {
  /** As the address names it when it is folded. */
  key: string;
  metrics: Metric[];
}

/** A prefix is a group when so many share it. */
const ENOUGH = 3;

const prefixOf = (name: string): string => /^[^/:.]+(?=[/:.])/.exec(name)?.[0] ?? "";

export function groupCharts(metrics: readonly Metric[]): Group[] {
  const prefixes = new Map<string, number>();
  for (const one of metrics) if (one.role === "other") prefixes.set(prefixOf(one.metric), (prefixes.get(prefixOf(one.metric)) ?? 0) + 1);
  const groups = new Map<string, Group>();
  for (const metric of metrics) {
    const prefix = prefixOf(metric.metric);
    const key = metric.role !== "other" ? metric.role : prefix !== "" && (prefixes.get(prefix) ?? 0) >= ENOUGH ? `${prefix}/` : "other";
    const group = groups.get(key) ?? { key, metrics: [] };
    group.metrics.push(metric);
    groups.set(key, group);
  }
  const all = [...groups.values()];
  // What belongs nowhere comes last.
  return [...all.filter((one) => one.key !== "other"), ...all.filter((one) => one.key === "other")];
}

export function groupTitle(key: string): string {
  switch (key) {
    case "loss":
      return t("Loss");
    case "eval_loss":
      return t("Evaluation loss");
    case "throughput":
      return t("Throughput");
    case "grad_norm":
      return t("Gradient norm");
    case "learning_rate":
      return t("Learning rate");
    case "step_time":
      return t("Step time");
    case "mfu":
      return t("MFU");
    case "other":
      return t("Others");
    default:
      return key;
  }
}

/** Every word of the search is somewhere in the name. */
export function searchMetrics(metrics: readonly Metric[], text: string): readonly Metric[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return words.length === 0 ? metrics : metrics.filter((one) => (one.family ?? [one]).some(({ metric }) => words.every((word) => metric.toLowerCase().includes(word))));
}
