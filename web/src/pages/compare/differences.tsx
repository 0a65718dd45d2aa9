import { t } from "../../i18n/i18n";
import type { Comparison } from "../../lib/jobs/compare";
import { cutMiddle, NONE } from "../../lib/text/format";
import { patchQuery } from "../../state/core/router";
import { DataTable } from "../../ui/datatable";

const LONGEST = 40;

interface Row {
  key: string;
  values: unknown[];
}

/** What one tunes before where its results went. */
const tunedFirst = (a: Row, b: Row): number => Number(b.key.startsWith("hp.")) - Number(a.key.startsWith("hp."));

/** Settings, hyperparameters and tags that are not the same in all jobs; on request also those that are. */
export function Differences({ comparison, isAll }: { comparison: Comparison | null; isAll: boolean }) {
  const same = (isAll && comparison?.equal) || [];
  const rows = [...(comparison?.differ ?? []), ...same.map(({ key, value }) => ({ key, values: comparison?.jobs.map(() => value) ?? [] }))].sort(tunedFirst);
  return (
    <section class="differences" aria-label={t("Differences")} tabIndex={0}>
      <header>
        <h2>{t("What differs")}</h2>
        <button type="button" aria-pressed={isAll} onClick={() => patchQuery({ settings: isAll ? undefined : "all" })}>
          {t("also what is the same")}
        </button>
      </header>
      {comparison && rows.length === 0 && <p class="dim">{t("No setting, hyperparameter or tag differs between them.")}</p>}
      {comparison && rows.length > 0 && (
        <DataTable
          rows={rows}
          keyOf={(row) => row.key}
          columns={[
            { title: t("setting"), isHead: true, cell: (row) => row.key },
            ...comparison.jobs.map((job, i) => ({
              title: cutMiddle(job, LONGEST),
              hint: job,
              cellHint: ({ values }: Row) => (values[i] === null ? t("not there") : String(values[i])),
              cell: ({ values }: Row) => (values[i] === null ? <span class="dim">{NONE}</span> : cutMiddle(String(values[i]), LONGEST)),
            })),
          ]}
        />
      )}
    </section>
  );
}
