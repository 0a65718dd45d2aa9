import { t, tx } from "../../../i18n/i18n";
import { definitionsHref } from "../../../lib/url/url";

export function NoMetrics({ job }: { job: string }) {
  return (
    <section class="empty">
      <h2>{t("No metrics yet")}</h2>
      <p>
        {tx("No line of this job has matched a metric definition so far. The log shows what it prints; {definitions} can be tried on it.", {
          definitions: <a href={definitionsHref(job)}>{t("definitions")}</a>,
        })}
      </p>
    </section>
  );
}
