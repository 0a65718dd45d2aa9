// One metric as each of many nodes prints it.
import type { Metric, Node } from "./metrics";
import { toNumber } from "../text/number";
import { higherIsBetter } from "./roles";

/** As many curves as one can tell apart: eight hues, then four of them dashed. */
export const MOST_NODES = 12;

const LOWER_IS_BETTER = new Set(["loss", "eval_loss", "step_time"]);

/** null: nobody knows which end is the bad one. */
export function isHigherBetter({ higher, role }: Pick<Metric, "higher" | "role">): boolean | null {
  if (higher !== undefined) return higher;
  return higherIsBetter(role) ? true : LOWER_IS_BETTER.has(role) ? false : null;
}

export const isBroken = (node: Node): boolean => node.mean === undefined || (node.last !== undefined && !Number.isFinite(toNumber(node.last)));

/** Worst first; as they are where no end is the bad one. */
export function ranked(metric: Metric): Node[] {
  const isHigher = isHigherBetter(metric);
  if (isHigher === null) return metric.nodes;
  const badness = (node: Node): number => (isBroken(node) ? Infinity : (node.mean ?? 0) * (isHigher ? -1 : 1));
  return [...metric.nodes].sort((a, b) => (badness(a) === badness(b) ? 0 : badness(b) - badness(a)));
}

/** The streams to draw one by one: all, or the worst of many. In their usual order, so that colours stay. */
export function nodesToDraw(metric: Metric): string[] {
  if (metric.streams.length <= MOST_NODES) return metric.streams;
  const worst = new Set(ranked(metric).slice(0, MOST_NODES).map((node) => node.stream));
  return metric.streams.filter((stream) => worst.has(stream));
}
