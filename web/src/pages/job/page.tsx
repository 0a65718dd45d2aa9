import { useEffect, useLayoutEffect } from "preact/hooks";
import type { Incident } from "../../api/types";
import { t } from "../../i18n/i18n";
import { cutMiddle } from "../../lib/text/format";
import type { JobPart } from "../../lib/url/url";
import { JobStore } from "../../state/job/job";
import { query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { ProblemBox } from "../../ui/problem";
import { hasDrawn, later, lazy } from "../../ui/lazy";
import { Status } from "../../ui/status";
import "../../styles/charts";
import { Split } from "../../ui/split";
import { Charts } from "./chart/charts";

// The curves do not wait for what stands around them.
const Head = lazy(async () => (await later(() => import("./top/top"))).Head, 0);
const Top = lazy(async () => (await later(() => import("./top/top"))).Top, 0);
const Trouble = lazy(async () => (await later(() => import("./top/top"))).Trouble, 0);
const JobTabs = lazy(async () => (await later(() => import("./tabs/tabs"))).JobTabs, 0);
const LogPane = lazy(async () => (await later(() => import("./log/log"))).LogPane, 12);
const Missing = lazy(async () => (await import("./missing")).Missing, 4);
const Part = lazy(async () => (await import("./tabs/parts")).Part, 8);

const showIncident = (store: JobStore, incident: Incident): unknown => import("./common/place").then((place) => place.showIncident(store, incident));

/** The document's number of lines is some seconds old, and the streams' is not. */
const hasNoLine = ({ doc, streams }: JobStore): boolean => !!doc.value && !doc.value.lines && (streams.value?.every((one) => !one.lines) ?? false);

export function JobPage({ name, part }: { name: string; part?: JobPart | undefined }) {
  const store = useStore(() => new JobStore(name), [name], (next) => next.start());
  return store && <Content store={store} part={part} />;
}

function Content({ store, part }: { store: JobStore; part: JobPart | undefined }) {
  const doc = store.doc.value;
  const problem = store.problem.value;
  const asked = query.value["incident"];
  const target = store.metrics.value !== null && !part ? store.incidents.rows.value?.find((one) => String(one.id) === asked) : undefined;

  const hasNoCurve = part !== undefined || problem !== null || store.metrics.value?.length === 0;
  useLayoutEffect(() => {
    if (hasNoCurve) hasDrawn();
  }, [hasNoCurve]);
  useEffect(() => {
    if (target) void showIncident(store, target);
  }, [store, target]);

  if (problem?.status === 404) return <Missing name={store.name} problem={problem} />;
  return (
    <div class={part ? "job tabbed" : "job"}>
      <div class="jobtop">
        <header class="jobhead">
          {doc && <Status row={doc} />}
          <h1 title={store.name}>{cutMiddle(store.name, 72)}</h1>
          <Head store={store} />
        </header>
        {store.isGone.value && (
          <p class="notice" role="alert">
            {t("This job was deleted. What is on the page stays until you leave it.")}
          </p>
        )}
        <div class="jobfacts">
          <Top store={store} />
        </div>
        <div class="jobtabsroom">
          <JobTabs name={store.name} part={part} definitions={store.definitions.value} />
          <Trouble store={store} />
        </div>
        {problem && <ProblemBox problem={problem} onRetry={() => void store.start()} />}
      </div>
      {part && <Part store={store} part={part} />}
      {!part && (doc || !problem) && (
        <Split left={<Charts store={store} onChoose={(incident) => showIncident(store, incident)} />} right={<LogPane store={store} />} isRightEmpty={hasNoLine(store)} />
      )}
    </div>
  );
}
