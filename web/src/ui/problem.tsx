import type { Problem } from "../api/client";
import { queryProblem } from "../state/queryproblem";

/** What happened, what to do, and a way to try again. */
export function ProblemBox({ problem, onRetry }: { problem: Problem; onRetry: () => void }) {
  // The bar above marks the place in the query.
  const isQuery = problem.detail !== "" && problem.detail === queryProblem.value?.whole;
  return (
    <div class={isQuery ? "problem query" : "problem"} role="alert">
      <span class="glyph" aria-hidden="true">
        ✕
      </span>
      <div>
        <strong>{isQuery ? "This query cannot be read" : problem.title}</strong>
        {problem.detail && <p>{problem.detail}</p>}
      </div>
      <button type="button" onClick={onRetry}>
        Retry
      </button>
    </div>
  );
}
