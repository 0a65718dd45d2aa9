import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asProblem, getJson, isAbort, type Problem } from "../../api/client";
import type { JobRow, JobsReply } from "../../api/types";
import { t } from "../../i18n/i18n";
import { cutMiddle } from "../../lib/text/format";
import { definitionsHref } from "../../lib/url/url";
import { setWant } from "../../live/client";
import { freshSeq } from "../../state/core/info";
import { noteQueryProblem } from "../../state/core/queryproblem";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Age } from "../../ui/time";

const SHOWN = 50;

/** Definitions belong to a job: this leads to those of the newest ones, or of those that the query finds. */
export function DefinitionsOf({ search }: { search: string }) {
  const rows = useSignal<JobRow[] | null>(null);
  const problem = useSignal<Problem | null>(null);
  const load = async (signal?: AbortSignal): Promise<void> => {
    try {
      rows.value = (await getJson<JobsReply>("jobs", { q: search, sort: "-created", limit: SHOWN }, signal)).jobs;
      problem.value = null;
    } catch (error) {
      if (!isAbort(error)) problem.value = asProblem(error);
    }
    noteQueryProblem(search, problem.value);
  };
  useEffect(() => {
    const abort = new AbortController();
    // Nothing here is live but the frame's own word on it.
    void freshSeq().then((after) => !abort.signal.aborted && setWant({ jobs: null, kinds: ["incident"], after }));
    void load(abort.signal);
    return () => abort.abort();
  }, [search]);
  return (
    <div class="empty">
      <h1>{t("Definitions")}</h1>
      <p>
        {t("What turns lines into curves: a regular expression for each metric. smfleet chooses a preset by a job's first lines; another one, or expressions of your own, are tried on the job's own lines before they count.")}
      </p>
      {problem.value && <ProblemBox problem={problem.value} onRetry={() => void load()} />}
      {!rows.value && !problem.value && <Skeleton rows={8} />}
      {rows.value?.length === 0 && <p>{search ? t("No job matches") : t("There is no job yet.")}</p>}
      <ul class="names">
        {rows.value?.map(({ TrainingJobName: name, last_heard_ms }) => (
          <li key={name}>
            <a href={definitionsHref(name)} title={name}>
              <bdi>{cutMiddle(name, 72)}</bdi>
            </a>{" "}
            <Age ms={last_heard_ms} />
          </li>
        ))}
      </ul>
    </div>
  );
}
