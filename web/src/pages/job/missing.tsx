import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, type Problem } from "../../api/client";
import type { JobsReply } from "../../api/types";
import { t, tx } from "../../i18n/i18n";
import { nameStem } from "../../lib/jobs/figures";
import { buildSearch, jobHref, quoteText } from "../../lib/url/url";

const LIKE = 8;

/** There is no such job: names like it, and what to do. */
export function Missing({ name, problem }: { name: string; problem: Problem }) {
  const found = useSignal<string[]>([]);
  const stem = nameStem(name);
  useEffect(() => {
    const abort = new AbortController();
    getJson<JobsReply>("jobs", { q: `name:${quoteText(stem)}`, sort: "-created", limit: LIKE }, abort.signal).then(
      (reply) => (found.value = reply.jobs.map((one) => one.TrainingJobName)),
      () => undefined,
    );
    return () => abort.abort();
  }, [stem]);
  return (
    <div class="empty">
      <h1>{t("There is no job of this name")}</h1>
      <p>
        <code>{name}</code> · {problem.detail}
      </p>
      <p>{t("It was deleted, or is called a little differently, or nothing has sent a line of it yet: a job is there with its first line.")}</p>
      {found.value.length > 0 && (
        <>
          <h2>{t("Names like it")}</h2>
          <ul>
            {found.value.map((job) => (
              <li key={job}>
                <a href={jobHref(job)}>{job}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      <p>
        {tx("{jobs} or {search}", {
          jobs: <a href="/jobs">{t("See all jobs")}</a>,
          search: <a href={`/jobs${buildSearch({ q: `name:${quoteText(stem)}` })}`}>{t("search for its name")}</a>,
        })}
      </p>
    </div>
  );
}
