// Numbers of many jobs: put together as one, and in an order.
import type { Fold } from "./document";

export function foldValues(values: readonly number[], fold: Fold): number | null {
  if (fold === "count") return values.length;
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return null;
  if (fold === "sum") return finite.reduce((sum, one) => sum + one, 0);
  if (fold === "mean") return finite.reduce((sum, one) => sum + one, 0) / finite.length;
  if (fold === "min") return finite.reduce((low, one) => Math.min(low, one));
  if (fold === "max") return finite.reduce((high, one) => Math.max(high, one));
  const sorted = [...finite].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}
