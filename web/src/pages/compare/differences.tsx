import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asProblem, getJson, isAbort, type Problem } from "../../api/client";
import { joinNames } from "../../lib/compare";
import { cutMiddle, NONE } from "../../lib/format";
import { patchQuery, query } from "../../state/router";
import { ProblemBox } from "../../ui/problem";

type Value = string | number | boolean | null;

interface Setting {
  key: string;
  /** In the order of the jobs; null: it has none. */
  values: Value[];
}

interface Comparison {
  jobs: string[];
  differ: Setting[];
  equal?: { key: string; value: Value }[];
}

const LONGEST = 40;

/** Settings, hyperparameters and tags that are not the same in all jobs; on request also those that are. */
export function Differences({ names }: { names: string[] }) {
  const reply = useSignal<Comparison | null>(null);
  const problem = useSignal<Problem | null>(null);
  const isAll = query.value["settings"] === "all";
  const jobs = joinNames(names);
  const tries = useSignal(0);
  const attempt = tries.value;

  useEffect(() => {
    const abort = new AbortController();
    const load = async (): Promise<void> => {
      try {
        reply.value = await getJson<Comparison>("compare", { jobs, equal: isAll || undefined }, abort.signal);
        problem.value = null;
      } catch (error) {
        if (!isAbort(error)) problem.value = asProblem(error);
      }
    };
    void load();
    return () => abort.abort();
  }, [jobs, isAll, attempt]);

  const shown = reply.value;
  const same = (isAll && shown?.equal) || [];
  const rows: Setting[] = [...(shown?.differ ?? []), ...same.map(({ key, value }) => ({ key, values: shown?.jobs.map(() => value) ?? [] }))];
  return (
    <section class="differences" aria-label="Differences">
      <header>
        <h2>What differs</h2>
        <button type="button" aria-pressed={isAll} onClick={() => patchQuery({ settings: isAll ? undefined : "all" })}>
          also what is the same
        </button>
      </header>
      {problem.value && <ProblemBox problem={problem.value} onRetry={() => tries.value++} />}
      {shown && rows.length === 0 && <p class="dim">No setting, hyperparameter or tag differs between them.</p>}
      {shown && rows.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">setting</th>
              {shown.jobs.map((job) => (
                <th key={job} scope="col" title={job}>
                  {cutMiddle(job, LONGEST)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row">{row.key}</th>
                {row.values.map((value, i) => (
                  <td key={shown.jobs[i]} title={value === null ? "not there" : String(value)}>
                    {value === null ? <span class="dim">{NONE}</span> : cutMiddle(String(value), LONGEST)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
