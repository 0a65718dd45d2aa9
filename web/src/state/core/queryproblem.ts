// What the server could not read in the query that is applied, for the bar that it was typed in.
import { signal } from "@preact/signals";
import type { Problem } from "../../api/client";
import { indexOfByte } from "../../lib/text/complete";

interface QueryProblem {
  query: string;
  /** Into the query. */
  at: number;
  detail: string;
  /** The detail as the server worded it, with the column. */
  whole: string;
}

export const queryProblem = signal<QueryProblem | null>(null);

export function noteQueryProblem(query: string, problem: Problem | null): void {
  const column = problem?.facts["column"];
  const isNew = problem !== null && typeof column === "number" && query !== "";
  queryProblem.value = isNew ? { query, at: indexOfByte(query, column - 1), detail: problem.detail.replace(/^column \d+: /, ""), whole: problem.detail } : null;
}
