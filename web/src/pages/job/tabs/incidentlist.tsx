import { useSignal } from "@preact/signals";
import { asProblem, send } from "../../../api/client";
import type { Incident } from "../../../api/types";
import { t } from "../../../i18n/i18n";
import { formatCount, formatTime, NONE } from "../../../lib/text/format";
import { stepOf } from "../../../lib/chart/incidentstep";
import { evidenceLine, isOpen, incidentName } from "../../../lib/chart/marks";
import type { JobStore } from "../../../state/job/job";
import { patchQuery, query } from "../../../state/core/router";
import { ProblemBox } from "../../../ui/problem";
import { DataTable } from "../../../ui/datatable";
import { SeverityMark } from "../../../ui/severity";
import { Skeleton } from "../../../ui/skeleton";
import { Age } from "../../../ui/time";
import { showIncident } from "../common/place";

const SHOWN = 300;
const MUTE_HOUR_S = 3600;

/** All incidents of the job, with what was done about each. */
export function IncidentsPart({ store }: { store: JobStore }) {
  const rows = store.incidents.rows.value;
  const problem = store.incidents.problem.value;
  const onlyOpen = query.value["state"] === "open";
  const shown = (rows ?? []).filter((one) => !onlyOpen || isOpen(one));
  const said = useSignal("");
  const act = async (incident: Incident, what: "ack" | "mute", body: object, text: string): Promise<void> => {
    try {
      await send("POST", `incidents/${encodeURIComponent(String(incident.id))}/${what}`, {}, body);
      said.value = text;
      await store.incidents.load();
    } catch (error) {
      said.value = asProblem(error).message;
    }
  };
  return (
    <div class="report wide">
      {problem && <ProblemBox problem={problem} onRetry={() => void store.incidents.load()} />}
      <div class="toolbar">
        <div class="segments" role="group" aria-label={t("Which incidents")}>
          <button type="button" aria-pressed={!onlyOpen} onClick={() => patchQuery({ state: undefined })}>
            {t("all of them")}
          </button>
          <button type="button" aria-pressed={onlyOpen} onClick={() => patchQuery({ state: "open" })}>
            {t("only open ones")}
          </button>
        </div>
        <span role="status">{said}</span>
      </div>
      {!rows && !problem && <Skeleton rows={4} />}
      {rows && shown.length === 0 && (
        <p class="dim">{rows.length > 0 ? t("No incident is open.") : t("Nothing has been found amiss: no spike, no stall, no known error in the log.")}</p>
      )}
      {shown.length > 0 && (
        <DataTable
          class="plain"
          rows={shown.slice(0, SHOWN)}
          keyOf={(one) => one.id}
          rowClass={(one) => (isOpen(one) ? "" : "dim")}
          columns={[
            {
              title: t("incident"),
              cell: (one) => (
                <button type="button" class="quiet" title={t("Zoom the charts to it")} onClick={() => showIncident(store, one)}>
                  <SeverityMark severity={one.severity} /> {incidentName(one)}
                </button>
              ),
            },
            { title: t("metric or stream"), cellClass: "mono", cell: (one) => `${one.metric ?? ""} ${one.stream ?? ""}` },
            { title: t("step"), isNumber: true, cell: stepsText },
            { title: t("opened"), cellHint: (one) => formatTime(one.opened_ms), cell: (one) => <Age ms={one.opened_ms} /> },
            { title: t("state"), cell: (one) => t(one.state) },
            {
              title: t("acts"),
              cellClass: "acts",
              cell: (one) => (
                <>
                  {isOpen(one) && (
                    <button type="button" onClick={() => void act(one, "ack", {}, t("Acknowledged"))}>
                      {t("Acknowledge")}
                    </button>
                  )}
                  <button
                    type="button"
                    title={t("No messages for an hour about it, nor about its like in this job")}
                    onClick={() => void act(one, "mute", { for_s: MUTE_HOUR_S }, t("Muted for an hour"))}
                  >
                    {t("Mute 1 h")}
                  </button>
                  {evidenceLine(one) !== null && (
                    <button type="button" onClick={() => showIncident(store, one)}>
                      {t("line {n}", { n: formatCount(evidenceLine(one) ?? undefined) })}
                    </button>
                  )}
                </>
              ),
            },
          ]}
        />
      )}
      {store.incidents.cursor.value !== null && (
        <button type="button" onClick={() => void store.incidents.more()}>
          {t("Older incidents")}
        </button>
      )}
    </div>
  );
}

function stepsText(incident: Incident): string {
  const { first_step, last_step } = incident;
  const opened = stepOf(incident);
  if (opened === undefined) return NONE;
  if (first_step === undefined || last_step === undefined || first_step === last_step) return formatCount(opened);
  return `${formatCount(first_step)} – ${formatCount(last_step)}`;
}
