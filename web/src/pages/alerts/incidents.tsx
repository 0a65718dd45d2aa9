// The list on the left, by days; what is chosen on the right.
import { useEffect, useRef } from "preact/hooks";
import type { Incident } from "../../api/types";
import { say, t, tn } from "../../i18n/i18n";
import { cutMiddle, formatCount, formatTime, NONE } from "../../lib/text/format";
import { stepOf } from "../../lib/chart/incidentstep";
import { incidentName, isOpen, kindTitle } from "../../lib/chart/marks";
import { KINDS } from "../../lib/jobs/kindsnoticed";
import { quoteText } from "../../lib/url/url";
import { IncidentList } from "../../state/job/incidents";
import { hearIncidents } from "../../state/job/hearincidents";
import { useKeys } from "../../state/core/keys";
import { now } from "../../state/core/clock";
import { patchQuery, query } from "../../state/core/router";
import { useStore } from "../../state/core/store";
import { ProblemBox } from "../../ui/problem";
import { SeverityMark } from "../../ui/severity";
import { Skeleton } from "../../ui/skeleton";
import { Age } from "../../ui/time";
import { IncidentDetail } from "./detail";
import { useTeams } from "./teams";

const STATES = [
  ["", say("all")],
  ["open", say("open")],
  ["recovered", say("recovered")],
] as const;

const END_WORDS: Readonly<Record<string, string>> = {
  job_ended: say("until the job ended"),
  attempt_ended: say("until the training began again"),
  job_deleted: say("until the job was deleted"),
  rule_changed: say("until the rule was changed"),
  rule_deleted: say("until the rule was deleted"),
  rule_disabled: say("until the rule was disabled"),
  definitions_changed: say("until other metric definitions did not find it"),
  fault_cleared: say("until its fault was set right by hand"),
  new_level: say("until it became the new level"),
};

export function IncidentsView({ search, state, id }: { search: string; state: string; id: string }) {
  const { severity = "", kind = "", since = "", team = "" } = query.value;
  const make = (): IncidentList =>
    new IncidentList(null, {
      q: [search && team ? `(${search})` : search, team && `tag.team=${quoteText(team)}`].filter(Boolean).join(" ") || undefined,
      state: state || undefined,
      kind: kind || undefined,
      minimum_severity: severity || undefined,
      from_ms: SPAN_MS[since] === undefined ? undefined : now.peek() - SPAN_MS[since],
    });
  const list = useStore(make, [search, state, severity, kind, since, team], start);
  return (
    <>
      <div class="toolbar">
        <div class="segments" role="group" aria-label={t("Which incidents")}>
          {STATES.map(([value, label]) => (
            <button key={value} type="button" aria-pressed={state === value} onClick={() => patchQuery({ state: value || undefined, id: undefined })}>
              {t(label)}
            </button>
          ))}
        </div>
        <Choose name="severity" label={t("Severity")} value={severity} values={SEVERITIES} />
        <Choose name="since" label={t("When they opened")} value={since} values={SPANS} />
        <Choose name="kind" label={t("Kind")} value={kind} values={[["", t("every kind")], ...KINDS.map((one) => [one, kindTitle(one)] as const)]} />
        <Teams value={team} />
      </div>
      {list && <Content list={list} id={id} isFiltered={[search, state, severity, kind, since, team].some((one) => one !== "")} />}
    </>
  );
}

const HOUR_MS = 3_600_000;
const SPAN_MS: Readonly<Record<string, number>> = { "1h": HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS };
const SPANS = [
  ["", say("any time")],
  ["1h", say("the last hour")],
  ["24h", say("the last 24 hours")],
  ["7d", say("the last 7 days")],
  ["30d", say("the last 30 days")],
] as const;
const SEVERITIES = [
  ["", say("every severity")],
  ["warning", say("warnings and worse")],
  ["critical", say("critical alone")],
] as const;

interface ChooseProps {
  name: string;
  label: string;
  value: string;
  values: readonly (readonly [string, string])[];
}

function Choose({ name, label, value, values }: ChooseProps) {
  return (
    <select aria-label={label} title={label} value={value} onChange={(event) => patchQuery({ [name]: event.currentTarget.value || undefined, id: undefined })}>
      {values.map(([one, text]) => (
        <option key={one} value={one}>
          {t(text)}
        </option>
      ))}
    </select>
  );
}

/** Of jobs with a tag `team`; where no job has one there is nothing to choose. */
function Teams({ value }: { value: string }) {
  const names = useTeams();
  if (names.length === 0 && value === "") return null;
  return <Choose name="team" label={t("Team")} value={value} values={[["", t("every team")], ...[...new Set([...names, value])].filter(Boolean).map((one) => [one, one] as [string, string])]} />;
}

async function start(list: IncidentList): Promise<void> {
  await hearIncidents();
  await list.load();
}

const choose = (id: string, replace = false): void => patchQuery({ id }, replace);

function Content({ list, id, isFiltered }: { list: IncidentList; id: string; isFiltered: boolean }) {
  const rows = list.rows.value;
  const problem = list.problem.value;

  const move = (by: number): boolean => {
    if (!rows || rows.length === 0) return false;
    const at = rows.findIndex((row) => String(row.id) === id);
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next) choose(String(next.id), true);
    return true;
  };
  useKeys(say("Alerts"), [
    { on: ["j", "ArrowDown"], does: say("next incident"), run: () => move(1) },
    { on: ["k", "ArrowUp"], does: say("previous incident"), run: () => move(-1) },
    { on: "Escape", does: say("close the incident"), run: () => id !== "" && (choose(""), true) },
  ]);

  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void list.load()} />}
      {!rows && !problem && <Skeleton rows={8} />}
      {rows?.length === 0 && !id && (isFiltered ? <NoneSo /> : <NoneAtAll />)}
      {(id !== "" || (rows && rows.length > 0)) && (
        <div class={id ? "alerts chosen" : "alerts"}>
          <div class="alertlist">
            {rows && <Table rows={rows} id={id} />}
            {list.cursor.value && (
              <div class="more">
                <button type="button" onClick={() => void list.more()}>
                  {t("More")}
                </button>
              </div>
            )}
          </div>
          {id !== "" && <IncidentDetail key={id} id={id} />}
        </div>
      )}
    </>
  );
}

function NoneAtAll() {
  return (
    <section class="empty">
      <h1>{t("Nothing stands out")}</h1>
      <p>{t("Loss spikes, non-finite values, stalls and known errors in the logs of all jobs are listed here as they happen.")}</p>
    </section>
  );
}

function NoneSo() {
  return (
    <section class="empty">
      <h1>{t("No incident is like that")}</h1>
      <button type="button" onClick={() => patchQuery({ state: undefined, q: undefined, severity: undefined, kind: undefined, since: undefined, team: undefined, id: undefined })}>
        {t("Show all incidents")}
      </button>
    </section>
  );
}

function Table({ rows, id }: { rows: Incident[]; id: string }) {
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => body.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest" }), [id]);
  return (
    <table class="jobs incidents">
      <thead>
        <tr>
          <th scope="col">{t("severity")}</th>
          <th scope="col">{t("what")}</th>
          <th scope="col">{t("state")}</th>
          <th scope="col" class="name">
            {t("job")}
          </th>
          <th scope="col">{t("metric")}</th>
          <th scope="col" class="num">
            {t("step")}
          </th>
          <th scope="col">{t("opened")}</th>
          <th scope="col" class="num">
            {t("age")}
          </th>
          <td />
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((incident) => (
          <Row key={incident.id} incident={incident} isChosen={String(incident.id) === id} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ incident, isChosen }: { incident: Incident; isChosen: boolean }) {
  const streams = incident.stream_count ?? 1;
  return (
    <tr class={`${isOpen(incident) ? "" : "past"} ${isChosen ? "chosen" : ""}`} onClick={() => choose(String(incident.id))}>
      <td>
        <SeverityMark severity={incident.severity} withText />
      </td>
      <td>
        <a href={`/incidents?id=${encodeURIComponent(incident.id)}`} aria-current={isChosen ? "true" : undefined} onClick={pick(incident)}>
          {incidentName(incident)}
        </a>
        {streams > 1 && <span class="dim"> {tn(streams, "on {n} node", "on {n} nodes")}</span>}
      </td>
      <td>
        {isOpen(incident) ? t("open") : incident.closed_why ? t(END_WORDS[incident.closed_why] ?? "recovered") : t("recovered")}
        {incident.acknowledged_ms !== undefined && <span title={t("somebody saw it")}> ✓</span>}
        {incident.muted_until_ms !== undefined && <span class="dim"> {t("muted")}</span>}
      </td>
      <td class="name">
        <bdi title={incident.job}>{cutMiddle(incident.job, 48)}</bdi>
      </td>
      <td class="mono">{incident.metric || NONE}</td>
      <td class="num">{formatCount(stepOf(incident))}</td>
      <td class="dim opened">{formatTime(incident.opened_ms)}</td>
      <td class="num">
        <Age ms={incident.opened_ms} />
      </td>
      <td />
    </tr>
  );
}

/** The list stays where it is, with its filter. */
const pick = (incident: Incident) => (event: MouseEvent) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  event.stopPropagation();
  choose(String(incident.id));
};
