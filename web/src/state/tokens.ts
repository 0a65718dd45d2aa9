// The axis of tokens: by the job's own count of them.
import { bucketsFromReply } from "../lib/buckets";
import { tokensMetric } from "../lib/tokens";
import { STEPS, type XMap } from "../lib/xmap";
import { along } from "../lib/xalong";
import type { JobStore } from "./job";
import { askPoints } from "./points";

const BUCKETS = 2000;

/** A job that counts none is drawn by its steps. */
export async function loadTokens(store: JobStore, signal: AbortSignal): Promise<XMap> {
  const metric = tokensMetric(store.metrics.peek() ?? []);
  if (metric === undefined) return STEPS;
  try {
    const { x, max } = bucketsFromReply(await askPoints({ job: store.name, metric, x: "step", buckets: BUCKETS }, signal));
    return along(x, max) ?? STEPS;
  } catch {
    return STEPS;
  }
}
