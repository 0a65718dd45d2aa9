// The axis of tokens: by the job's own count of them.
import { bucketsFromReply } from "../../lib/chart/buckets";
import { tokensMetric } from "../../lib/jobs/tokens";
import { STEPS, type XMap } from "../../lib/chart/xmap";
import { along } from "../../lib/chart/xalong";
import type { JobStore } from "../job/job";
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
