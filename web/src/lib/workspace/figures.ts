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

/** Of a table's columns: what is no plain name of a search is an expression, or says as one what is wrong with it. */
export const isWorked = (column: string): boolean => /[-+*/()]/.test(unquoted(column)) || (/\s/.test(unquoted(column).trim()) && !/^(hp|tag|env|label)\./.test(column));

const unquoted = (text: string): string => text.replace(/"[^"]*"/g, "");

/** By a value of each; those without one come last. */
export function sortRows<T>(rows: readonly T[], valueOf: (row: T) => number | null, isFalling: boolean): T[] {
  const known = rows.map((row) => ({ row, value: valueOf(row) ?? NaN }));
  return known
    .sort((a, b) => Number(Number.isNaN(a.value)) - Number(Number.isNaN(b.value)) || (isFalling ? b.value - a.value : a.value - b.value) || 0)
    .map(({ row }) => row);
}
