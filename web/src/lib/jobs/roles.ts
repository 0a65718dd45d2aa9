// Roles in the order in which a job's charts stand on its page.
const ORDER = ["loss", "eval_loss", "reward", "throughput", "grad_norm", "learning_rate", "step_time", "mfu", "other"];

export function roleRank(role: string | undefined): number {
  const rank = ORDER.indexOf(role ?? "other");
  return rank < 0 ? ORDER.length - 1 : rank;
}

/** Roles of which a greater value is the better one. */
export const higherIsBetter = (role: string | undefined): boolean => role === "throughput" || role === "mfu" || role === "reward";

const TITLES: Record<string, string> = {
  loss: "loss",
  eval_loss: "eval loss",
  throughput: "throughput",
  grad_norm: "grad norm",
  learning_rate: "lr",
  step_time: "step time",
  mfu: "MFU",
};

/** The role's name, or the metric's own where the role says nothing. */
export const roleTitle = (role: string | undefined, metric: string): string => TITLES[role ?? ""] ?? metric;
