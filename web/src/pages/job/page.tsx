import { useEffect, useState } from "preact/hooks";
import type { Incident } from "../../api/types";
import { evidenceLine, incidentWindow } from "../../lib/marks";
import { parseChartState } from "../../lib/url";
import { JobStore } from "../../state/job";
import { patchQuery, query } from "../../state/router";
import { ProblemBox } from "../../ui/problem";
import { lazy } from "../../ui/lazy";
import "../../styles/charts";
import { Split } from "../../ui/split";
import { Charts } from "./charts";
import { JobHeader, Ribbon } from "./header";
import { JobIncidents } from "./incidents";
import { Strip } from "./strip";

const LogPane = lazy(async () => (await import("./log")).LogPane, 12);

export function JobPage({ name }: { name: string }) {
  const [store, setStore] = useState<JobStore | null>(null);

  useEffect(() => {
    const next = new JobStore(name);
    setStore(next);
    void next.start();
    return () => next.stop();
  }, [name]);

  return store && <Content store={store} />;
}

/** Zooms the charts to an incident and the log to its line. */
function showIncident(store: JobStore, incident: Incident): void {
  const { axis } = parseChartState(query.value);
  const lastStep = Math.max(0, ...(store.metrics.value ?? []).map((metric) => metric.lastStep ?? 0));
  const window = incidentWindow(incident, axis, store.startMs.value, lastStep);
  const line = evidenceLine(incident);
  patchQuery({
    incident: undefined,
    ...(window ? { from: String(Math.round(window[0])), to: String(Math.round(window[1])) } : {}),
    ...(line === null ? {} : { stream: incident.stream, line: String(line) }),
  });
}

function Content({ store }: { store: JobStore }) {
  const doc = store.doc.value;
  const problem = store.problem.value;
  const incidents = store.incidents.rows.value ?? [];
  const isLoaded = store.metrics.value !== null;
  const asked = query.value["incident"];
  const target = isLoaded ? incidents.find((one) => String(one.id) === asked) : undefined;

  useEffect(() => {
    if (target) showIncident(store, target);
  }, [store, target]);

  return (
    <div class="job">
      <div class="jobtop">
        <JobHeader store={store} />
        {(doc?.SecondaryStatusTransitions?.length ?? 0) > 0 && <Ribbon transitions={doc?.SecondaryStatusTransitions ?? []} />}
        <Strip metrics={store.metrics.value ?? []} />
        {problem && <ProblemBox problem={problem} onRetry={() => void store.start()} />}
        <JobIncidents rows={incidents} onChoose={(incident) => showIncident(store, incident)} />
      </div>
      {(doc || !problem) && (
        <Split
          left={<Charts store={store} onChoose={(incident) => showIncident(store, incident)} />}
          right={<LogPane store={store} />}
        />
      )}
    </div>
  );
}
