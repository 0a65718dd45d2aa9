// Which settings go with a metric: Spearman's rank correlation over the jobs of the wall, with how many of them it is of.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { t } from "../../i18n/i18n";
import type { JobRow } from "../../api/types";
import { joinNames, type Comparison } from "../../lib/jobs/compare";
import { formatCount, formatValue, NONE } from "../../lib/text/format";
import { toNumber } from "../../lib/text/number";
import { FEWEST_PAIRS, rankCorrelation, type Correlation } from "../../lib/workspace/correlation";
import type { WallMetric } from "../../lib/workspace/wall";
import { Resource } from "../../state/core/resource";
import { useStore } from "../../state/core/store";
import { DataTable } from "../../ui/datatable";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";

interface Row {
  key: string;
  found: Correlation | null;
  /** Jobs in which both are numbers. */
  n: number;
}

const numberOf = (value: unknown): number | null => (value === null || value === "" || !Number.isFinite(Number(value)) ? null : Number(value));

/** The strongest first, then those of which there are too few. */
export function correlations(comparison: Comparison, finals: ReadonlyMap<string, number>): Row[] {
  const rows = comparison.differ.map(({ key, values }) => {
    const pairs = comparison.jobs.map((job, i) => [numberOf(values[i] ?? null), finals.get(job) ?? null] as const);
    return { key, found: rankCorrelation(pairs), n: pairs.filter((pair) => pair.every((one) => one !== null)).length };
  });
  // What is no number in any job has no rank.
  return rows.filter((row) => row.n > 0).sort((a, b) => Math.abs(b.found?.rho ?? 0) - Math.abs(a.found?.rho ?? 0) || a.key.localeCompare(b.key));
}

export function Correlations({ rows, metrics }: { rows: readonly JobRow[]; metrics: readonly WallMetric[] }) {
  const jobs = joinNames(rows.map((row) => row.TrainingJobName));
  const compared = useStore(() => new Resource<Comparison>("compare", { jobs }), [jobs], (next) => next.load());
  const chosen = useSignal<string | null>(null);
  const metric = chosen.value ?? metrics[0]?.name ?? "";
  const finals = useMemo(() => {
    const out = new Map<string, number>();
    for (const row of rows) {
      const value = toNumber(row.metrics?.find((one) => one.metric === metric)?.final);
      if (Number.isFinite(value)) out.set(row.TrainingJobName, value);
    }
    return out;
  }, [rows, metric]);
  const comparison = compared?.value.value;
  const problem = compared?.problem.value;
  const found = useMemo(() => (comparison ? correlations(comparison, finals) : []), [comparison, finals]);
  return (
    <section class="correlations">
      <h2>{t("Rank correlation of settings with a metric")}</h2>
      <p class="dim">{t("Spearman's, of the setting and the metric's final value, over the jobs above that have both as numbers. It tells what goes together, not what causes what; with fewer than {n} jobs nothing is said.", { n: FEWEST_PAIRS })}</p>
      <label>
        {t("Metric")}{" "}
        <select value={metric} onChange={(event) => (chosen.value = event.currentTarget.value)}>
          {metrics.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
      </label>
      {problem && <ProblemBox problem={problem} onRetry={() => void compared?.load()} />}
      {!comparison && !problem && <Skeleton rows={3} />}
      {comparison && found.length === 0 && <p class="nothing">{t("No setting that is a number differs between these jobs.")}</p>}
      {found.length > 0 && (
        <DataTable
          caption={t("Rank correlation of settings with a metric")}
          columns={[
            { title: t("setting"), isHead: true, cell: (row: Row) => <code>{row.key}</code> },
            { title: t("rank correlation"), isNumber: true, cell: (row) => (row.found ? t("{rho}, n = {n}", { rho: formatValue(row.found.rho), n: row.found.n }) : `${NONE}, n = ${formatCount(row.n)}`) },
            { title: t("direction"), cell: (row) => row.found && <Bar rho={row.found.rho} /> },
          ]}
          rows={found}
          keyOf={(row) => row.key}
        />
      )}
    </section>
  );
}

function Bar({ rho }: { rho: number }) {
  const width = Math.abs(rho) * 50;
  return (
    <svg class="rho" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={rho < 0 ? t("falls as the setting rises") : t("rises with the setting")}>
      <line x1="50" x2="50" y1="0" y2="10" />
      <rect x={rho < 0 ? 50 - width : 50} y="2" width={width} height="6" />
    </svg>
  );
}
