// What stands above a job's charts, fetched beside them: facts and acts, the timeline, the figures, open incidents.
import { useSignal } from "@preact/signals";
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
      <div class="facts">
        <Facts store={store} doc={doc} facts={facts} />
      </div>
      {doc.FailureReason ? <Reason text={doc.FailureReason} /> : <span class="grow" />}
      <Actions store={store} doc={doc} />
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
    </>
  );
}

/** Why the job failed, in the line that there is; a click shows all of it. */
function Reason({ text }: { text: string }) {
  const isWhole = useSignal(false);
  return (
    <button type="button" class={isWhole.value ? "reason whole" : "reason"} title={text} aria-expanded={isWhole.value} onClick={() => (isWhole.value = !isWhole.value)}>
      {text}
    </button>
  );
}

/** The worst incidents, beside the tabs. */
export const Trouble = ({ store }: { store: JobStore }) => <JobIncidents store={store} onChoose={(incident) => showIncident(store, incident)} />;
