// The node that stands out from the others.
import type { Metric } from "./metrics";
import { isBroken, isHigherBetter, ranked } from "./nodes";

export interface Worst {
  stream: string;
  mean: number | undefined;
  /** How far its mean lies from that of the others, as a part of theirs; null: that cannot be said. */
  away: number | null;
}

/** Nearer to the others than this no node stands out: it is the noise that makes one of them the worst. */
const ALIKE = 0.005;

/** The node that does worst on the whole; null: none stands out, or nobody knows which end is bad. */
export function worstNode(metric: Metric): Worst | null {
  const [first, ...others] = ranked(metric);
  if (!first || others.length === 0 || isHigherBetter(metric) === null) return null;
  const { stream, mean } = first;
  const means = others.map((node) => node.mean).filter((value) => value !== undefined);
  if (isBroken(first) || mean === undefined) return { stream, mean, away: null };
  const usual = means.reduce((sum, value) => sum + value, 0) / means.length;
  const away = usual === 0 ? null : (mean - usual) / Math.abs(usual);
  return away !== null && Math.abs(away) < ALIKE ? null : { stream, mean, away };
}
