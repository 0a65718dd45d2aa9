import { useSignal } from "@preact/signals";
import { t, tx } from "../../../i18n/i18n";
import { definitionsHref } from "../../../lib/url/url";
import type { JobStore } from "../../../state/job/job";
import { Shapes } from "../common/shapes";

/** No metrics at all, or no loss among them: the lines that may hold them. */
export function NoMetrics({ store }: { store: JobStore }) {
  if (store.metrics.value?.length === 0) return <None job={store.name} />;
  // Points may have been sent without any line.
  const hasLines = store.streams.value?.some((one) => one.lines && one.role !== "system");
  return hasLines ? <NoLoss job={store.name} /> : null;
}

function None({ job }: { job: string }) {
  return (
    <section class="empty">
      <h2>{t("No metrics yet")}</h2>
      <p>
        {tx("No line of this job has matched a metric definition so far. The log shows what it prints; {definitions} can be tried on it.", {
          definitions: <a href={definitionsHref(job)}>{t("definitions")}</a>,
        })}
      </p>
      <Shapes job={job} />
    </section>
  );
}

/** Asked of the server only by who wants to know: many jobs have no loss. */
function NoLoss({ job }: { job: string }) {
  const isOpen = useSignal(false);
  return (
    <details class="noloss" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{t("No loss was found in the log. Look for it among the lines with numbers.")}</summary>
      {isOpen.value && <Shapes job={job} says={t("No other line has numbers that vary.")} />}
    </details>
  );
}
