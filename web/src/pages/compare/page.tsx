import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { adoptStyle } from "../../lib/adopt";
import { choices, joinNames, MOST_COMPARED, splitNames, type Choice } from "../../lib/compare";
import { parseChartState } from "../../lib/url";
import { CompareStore } from "../../state/compare";
import { patchQuery, query } from "../../state/router";
import "../../styles/charts";
import style from "../../styles/compare.css?inline";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { ChartToolbar } from "../job/toolbar";
import { CompareChart } from "./chart";
import { Differences } from "./differences";
import { CompareTable } from "./table";

adoptStyle(style);

export function ComparePage({ jobs }: { jobs: string }) {
  const [store, setStore] = useState<CompareStore | null>(null);
  useEffect(() => {
    const next = new CompareStore(splitNames(jobs));
    setStore(next);
    void next.start();
    return () => next.stop();
  }, [jobs]);
  return (
    <div class="view compare">
      <h1 class="hidden">Compare jobs</h1>
      {splitNames(jobs).length === 0 ? <NothingChosen /> : store && <Content key={jobs} store={store} />}
    </div>
  );
}

function NothingChosen() {
  return (
    <section class="empty">
      <h2>Nothing is chosen to compare</h2>
      <p>
        Mark jobs in the <a href="/jobs">list of jobs</a> (the boxes at the left, or <kbd>x</kbd>), at most {MOST_COMPARED}, then press Compare. Or write their names into the address:{" "}
        <code>/compare?jobs=a,b,c</code>
      </p>
    </section>
  );
}

function Content({ store }: { store: CompareStore }) {
  const rows = store.rows.value;
  const state = parseChartState(query.value);
  const cursor = useSignal<number | null>(null);
  const chosen = useSignal<string | null>(null);
  const problem = store.problem.value;
  const offered = choices(rows ?? []);
  const asked = query.value["metric"];
  const metric = offered.some((one) => one.key === asked) ? (asked ?? "") : (offered[0]?.key ?? "");
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => store.retry()} />}
      {!rows && !problem && <Skeleton rows={10} />}
      {store.missing.value.length > 0 && <Missing store={store} />}
      {rows && (
        <>
          <ChartToolbar state={state} streams={[]} attempts={1}>
            <Metrics offered={offered} metric={metric} jobs={rows.length} />
          </ChartToolbar>
          {metric !== "" && <CompareChart store={store} state={state} metric={metric} cursor={cursor} chosen={chosen} />}
          {metric === "" && rows.length > 0 && <p class="empty">None of these jobs has a metric yet.</p>}
          {rows.length > 0 && <CompareTable store={store} rows={rows} metric={metric} state={state} cursor={cursor} chosen={chosen} />}
          {rows.length > 1 && <Differences names={rows.map((row) => row.TrainingJobName)} />}
        </>
      )}
    </>
  );
}

function Missing({ store }: { store: CompareStore }) {
  const names = store.missing.value;
  const rest = (store.rows.value ?? []).map((row) => row.TrainingJobName);
  return (
    <p class="missing" role="status">
      There is no job {names.map((name) => `“${name}”`).join(", ")}.{" "}
      <button type="button" onClick={() => patchQuery({ jobs: joinNames(rest) }, true)}>
        Leave {names.length === 1 ? "it" : "them"} out
      </button>
    </p>
  );
}

function Metrics({ offered, metric, jobs }: { offered: Choice[]; metric: string; jobs: number }) {
  return (
    <label>
      <span class="hidden">Metric</span>
      <select value={metric} onChange={(event) => patchQuery({ metric: event.currentTarget.value, from: undefined, to: undefined })}>
        {offered.map((one) => (
          <option key={one.key} value={one.key}>
            {one.title}
            {one.jobs < jobs ? ` (${one.jobs} of ${jobs})` : ""}
          </option>
        ))}
      </select>
    </label>
  );
}
