// Which of a job's metrics says how much of its data it has seen.
import type { Num } from "../../api/types";

const TOKENS = /(^|[^a-z])tokens?([^a-z]|$)/i;
const RATE = /per|\/s|tps|rate|lr|loss|throughput/i;

interface Named {
  metric: string;
  role?: string;
  min?: Num | undefined;
  max?: Num | undefined;
}

/** A count that rises, by its name; undefined: none does. */
export const tokensMetric = (metrics: readonly Named[]): string | undefined =>
  metrics.find(({ metric, role, min, max }) => TOKENS.test(metric) && !RATE.test(metric) && role !== "throughput" && Number(max ?? 0) > Number(min ?? 0))?.metric;
