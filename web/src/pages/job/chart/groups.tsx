import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { t } from "../../../i18n/i18n";
import { groupCharts, groupTitle, searchMetrics } from "../../../lib/jobs/groups";
import type { Metric } from "../../../lib/jobs/metrics";
import { patchQuery, query } from "../../../state/core/router";

interface Props {
  metrics: readonly Metric[];
  /** Draws the charts of a group; `lead` is the one that stands out. */
  draw(shown: readonly Metric[], lead: Metric | undefined): ComponentChildren;
}

/** Many charts: by role, each group to fold, all to search through. */
export function Groups({ metrics, draw }: Props) {
  const search = query.value["metrics"] ?? "";
  const groups = useMemo(() => groupCharts(searchMetrics(metrics, search)), [metrics, search]);
  const folded = new Set((query.value["fold"] ?? "").split(",").filter((one) => one !== ""));
  const fold = (group: string): void => {
    const next = new Set(folded);
    if (!next.delete(group)) next.add(group);
    patchQuery({ fold: [...next].join(",") || undefined }, true);
  };
  if (groups.length === 0) return <p class="empty">{t("No metric is called so.")}</p>;
  return (
    <>
      {groups.map(({ key, metrics: inside }, i) => (
        <section key={key} class="chartgroup" aria-label={groupTitle(key)}>
          <h2>
            <button type="button" class="quiet" aria-expanded={!folded.has(key)} onClick={() => fold(key)}>
              {folded.has(key) ? "▸" : "▾"} {groupTitle(key)} <span class="dim">{inside.length}</span>
            </button>
          </h2>
          {!folded.has(key) && draw(inside, i === 0 && search === "" ? inside[0] : undefined)}
        </section>
      ))}
    </>
  );
}
