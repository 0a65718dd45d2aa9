import { t } from "../../i18n/i18n";
import type { Comparison } from "../../lib/jobs/compare";
import { cutMiddle, NONE } from "../../lib/text/format";
import { patchQuery } from "../../state/core/router";

const LONGEST = 40;

/** Settings, hyperparameters and tags that are not the same in all jobs; on request also those that are. */
export function Differences({ comparison, isAll }: { comparison: Comparison | null; isAll: boolean }) {
  const same = (isAll && comparison?.equal) || [];
  const rows = [...(comparison?.differ ?? []), ...same.map(({ key, value }) => ({ key, values: comparison?.jobs.map(() => value) ?? [] }))];
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
        <table>
          <thead>
            <tr>
              <th scope="col">{t("setting")}</th>
              {comparison.jobs.map((job) => (
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
                  <td key={comparison.jobs[i]} title={value === null ? t("not there") : String(value)}>
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
