import { useEffect, useRef } from "preact/hooks";
import { isAnswering, type Problem } from "../api/client";
import { t } from "../i18n/i18n";
import { Soon } from "../lib/flow/poll";
import { queryProblem } from "../state/core/queryproblem";
import { isSignedOut, isSignInOpen } from "../state/core/session";

const BACK_MS = 500;

/** What happened, what to do, and a way to try again; by itself once the server answers again, or at the time that it named. */
export function ProblemBox({ problem, onRetry }: { problem: Problem; onRetry: () => void }) {
  // The bar above marks the place in the query.
  const isQuery = problem.detail !== "" && problem.detail === queryProblem.value?.whole;
  const retry = useRef(onRetry);
  retry.current = onRetry;
  const waitSeconds = problem.status === 429 || problem.status === 503 ? Number(problem.facts["retry_after_seconds"] ?? NaN) : NaN;
  // Another request may have been answered already when this one's failure is shown.
  const isBack = problem.status === 0 && isAnswering.value;

  useEffect(() => {
    const ms = isBack ? BACK_MS : Math.max(1, waitSeconds) * 1000;
    if (!Number.isFinite(ms)) return;
    const soon = new Soon(ms, () => retry.current());
    soon.ask();
    return () => soon.stop();
  }, [problem, isBack]);

  return (
    <div class={isQuery ? "problem query" : "problem"} role="alert">
      <span class="glyph" aria-hidden="true">
        ✕
      </span>
      <div>
        <strong>{isQuery ? t("This query cannot be read") : problem.title}</strong>
        {problem.detail && <p>{problem.detail}</p>}
        {Number.isFinite(waitSeconds) && <p>{t("The page tries again by itself in {n} s.", { n: Math.max(1, waitSeconds) })}</p>}
      </div>
      {problem.status === 401 && isSignedOut() ? (
        <button type="button" onClick={() => (isSignInOpen.value = true)}>
          {t("Sign in")}
        </button>
      ) : (
        <button type="button" onClick={onRetry}>
          {t("Retry")}
        </button>
      )}
    </div>
  );
}
