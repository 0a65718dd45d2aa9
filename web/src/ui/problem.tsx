import type { Problem } from "../api/client";

/** What happened, what to do, and a way to try again. */
export function ProblemBox({ problem, onRetry }: { problem: Problem; onRetry: () => void }) {
  return (
    <div class="problem" role="alert">
      <span class="glyph" aria-hidden="true">
        ✕
      </span>
      <div>
        <strong>{problem.title}</strong>
        {problem.detail && <p>{problem.detail}</p>}
      </div>
      <button type="button" onClick={onRetry}>
        Retry
      </button>
    </div>
  );
}
