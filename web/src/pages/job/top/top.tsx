// What stands above a job's charts, fetched beside them: facts and acts, the timeline, the figures, open incidents.
import { adoptStyle } from "../../../lib/jobs/adopt";
import { factsOf } from "../../../state/job/jobfacts";
import type { JobStore } from "../../../state/job/job";
import style from "../../../styles/jobtop.css?inline";
import { Actions } from "./actions";
import { Facts } from "./facts";
import { JobIncidents } from "./incidents";
import { showIncident } from "../common/place";
import { Strip } from "./strip";
import { Timeline } from "./timeline";

adoptStyle(style);

export function Head({ store }: { store: JobStore }) {
  const facts = factsOf(store);
  const doc = store.doc.value;
  if (!doc) return null;
  return (
    <>
      <Facts store={store} doc={doc} facts={facts} />
      <span class="grow" />
      <Actions store={store} doc={doc} />
      {doc.FailureReason && (
        <p class="reason" title={doc.FailureReason}>
          {doc.FailureReason}
        </p>
      )}
    </>
  );
}

export function Top({ store }: { store: JobStore }) {
  const facts = factsOf(store);
  const doc = store.doc.value;
  return (
    <>
      {doc && (doc.SecondaryStatusTransitions?.length ?? 0) > 0 && <Timeline store={store} doc={doc} />}
      <Strip store={store} facts={facts} />
      <JobIncidents store={store} onChoose={(incident) => showIncident(store, incident)} />
    </>
  );
}
