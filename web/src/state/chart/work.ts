// The axes of work, tokens and FLOPs: the server says what had been done at which step.
import { Problem } from "../../api/client";
import { t } from "../../i18n/i18n";
import type { WorkAxis } from "../../lib/url/url";
import type { XMap } from "../../lib/chart/xmap";
import { along } from "../../lib/chart/xalong";
import { askPoints } from "./points";

/** `metric`: any that the job has. A Problem 404 says why there is no such axis. */
export async function loadWork(job: string, metric: string, axis: WorkAxis, signal: AbortSignal, sig?: string): Promise<XMap> {
  const reply = await askPoints({ job, metric, x: axis, buckets: 1, sig }, signal);
  const map = along(reply.axis?.steps ?? [], reply.axis?.values ?? []);
  if (!map) throw new Problem(404, t("No such axis"), t("the count does not rise"), { field: "x" });
  return map;
}
