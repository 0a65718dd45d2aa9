import { t } from "../../i18n/i18n";
import { cutMiddle } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import { JobStore } from "../../state/job/job";
import { query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import "../../styles/charts";
import { isHere } from "../../ui/lazy";
import { ProblemBox } from "../../ui/problem";
import { Status } from "../../ui/status";
import { JobTabs } from "./tabs/tabs";
import { LogPane } from "./log/log";

/** The log alone: it fills the view. */
export function LogsPage({ name }: { name: string }) {
  const store = useStore(() => new JobStore(name), [name], (next) => next.start());
  if (!store) return null;
  const doc = store.doc.value;
  const problem = store.problem.value;
  return (
    <div class="logspage">
      <header class="logshead">
        {doc && <Status row={doc} />}
        <h1 title={name}>
          <a href={jobHref(name, { stream: query.value["stream"] })} title={t("The job: its charts with the log beside them")}>
            {cutMiddle(name, 60)}
          </a>
        </h1>
        <span class="grow" />
        <JobTabs name={name} part="logs" definitions={store.definitions.value} />
      </header>
      {problem && <ProblemBox problem={problem} onRetry={() => void store.start()} />}
      {(doc || !problem) && <LogPane store={store} isAlone />}
    </div>
  );
}

isHere("logs", LogsPage);
