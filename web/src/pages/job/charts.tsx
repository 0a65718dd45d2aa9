import type { Incident } from "../../api/types";
import type { Metric } from "../../lib/metrics";
import { compareNatural } from "../../lib/metrics";
import { definitionsHref, parseChartState } from "../../lib/url";
import type { JobStore } from "../../state/job";
import { query } from "../../state/router";
import { Skeleton } from "../../ui/skeleton";
import { Chart } from "./chart";
import { ChartToolbar } from "./toolbar";

/** Incidents of a metric stand on its chart; those of the whole job on the first. */
function incidentsOf(incidents: Incident[], metric: Metric, isFirst: boolean, known: Set<string>): Incident[] {
  return incidents.filter((one) => {
    const isPlaced = one.metric !== undefined && known.has(one.metric);
    return isPlaced ? one.metric === metric.metric : isFirst;
  });
}

export function Charts({ store, onChoose }: { store: JobStore; onChoose: (incident: Incident) => void }) {
  const state = parseChartState(query.value);
  const metrics = store.metrics.value;
  const incidents = store.incidents.rows.value ?? [];
  const streams = [...new Set(metrics?.flatMap((metric) => metric.streams))].sort(compareNatural);
  const known = new Set(metrics?.map((metric) => metric.metric));
  return (
    <div class="charts">
      <ChartToolbar state={state} streams={streams} attempts={store.doc.value?.attempts ?? 1} />
      <div class="plots">
        {!metrics && !store.problem.value && <Skeleton rows={8} />}
        {metrics?.length === 0 && (
          <section class="empty">
            <h2>No metrics yet</h2>
            <p>
              No line of this job has matched a metric definition so far. The log shows what it prints; <a href={definitionsHref(store.name)}>definitions</a> can be tried on it.
            </p>
          </section>
        )}
        {metrics?.map((metric, i) => (
          <Chart
            key={metric.metric}
            store={store}
            metric={metric}
            state={state}
            isLead={i === 0}
            incidents={incidentsOf(incidents, metric, i === 0, known)}
            onChoose={onChoose}
          />
        ))}
      </div>
    </div>
  );
}
