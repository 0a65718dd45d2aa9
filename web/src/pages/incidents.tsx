import { useEffect, useState } from "preact/hooks";
import type { Incident } from "../api/types";
import { cutMiddle, formatCount, NONE } from "../lib/format";
import { evidenceLine, isOpen, kindTitle } from "../lib/marks";
import { jobHref } from "../lib/url";
import { setWant } from "../live/client";
import { IncidentList } from "../state/incidents";
import { freshSeq } from "../state/info";
import { patchQuery } from "../state/router";
import { ProblemBox } from "../ui/problem";
import { SeverityMark } from "../ui/severity";
import { Skeleton } from "../ui/skeleton";
import { Age } from "../ui/time";
import "../styles/table";

export function IncidentsPage({ search, state }: { search: string; state: string }) {
  const [list, setList] = useState<IncidentList | null>(null);

  useEffect(() => {
    const next = new IncidentList(null, { q: search || undefined, state: state || undefined });
    setList(next);
    void start(next);
    return () => next.stop();
  }, [search, state]);

  return (
    <div class="view">
      <div class="viewhead">
        <h1>Alerts</h1>
        <div class="segments" role="group" aria-label="Which incidents">
          {["", "open"].map((value) => (
            <button key={value} type="button" aria-pressed={state === value} onClick={() => patchQuery({ state: value || undefined })}>
              {value === "" ? "all" : value}
            </button>
          ))}
        </div>
      </div>
      {list && <Content list={list} />}
    </div>
  );
}

async function start(list: IncidentList): Promise<void> {
  const seq = await freshSeq();
  setWant({ jobs: null, kinds: ["job", "incident"], after: seq });
  await list.load();
}

function Content({ list }: { list: IncidentList }) {
  const rows = list.rows.value;
  const problem = list.problem.value;
  return (
    <>
      {problem && <ProblemBox problem={problem} onRetry={() => void list.load()} />}
      {!rows && !problem && <Skeleton rows={8} />}
      {rows?.length === 0 && (
        <section class="empty">
          <h1>Nothing stands out</h1>
          <p>Loss spikes, non-finite values, stalls and known errors in the logs of all jobs are listed here as they happen.</p>
        </section>
      )}
      {rows && rows.length > 0 && <Table rows={rows} />}
      {list.cursor.value && (
        <div class="more">
          <button type="button" onClick={() => void list.more()}>
            More
          </button>
        </div>
      )}
    </>
  );
}

function Table({ rows }: { rows: Incident[] }) {
  return (
    <table class="jobs incidents">
      <thead>
        <tr>
          <th scope="col">severity</th>
          <th scope="col">what</th>
          <th scope="col">state</th>
          <th scope="col" class="name">
            job
          </th>
          <th scope="col">metric</th>
          <th scope="col" class="num">
            step
          </th>
          <th scope="col" class="num">
            age
          </th>
          <th />
        </tr>
      </thead>
      <tbody>
        {rows.map((incident) => (
          <Row key={incident.id} incident={incident} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ incident }: { incident: Incident }) {
  const line = evidenceLine(incident);
  const href = jobHref(incident.job, {
    incident: String(incident.id),
    stream: incident.stream,
    line: line === null ? undefined : String(line),
  });
  return (
    <tr class={isOpen(incident) ? "" : "past"}>
      <td>
        <SeverityMark severity={incident.severity} withText />
      </td>
      <td>{kindTitle(incident.kind)}</td>
      <td>{incident.state}</td>
      <td class="name">
        <a href={href} title={incident.job}>
          {cutMiddle(incident.job, 48)}
        </a>
      </td>
      <td class="mono">{incident.metric ?? NONE}</td>
      <td class="num">{formatCount(incident.opened_step)}</td>
      <td class="num">
        <Age ms={incident.opened_ms} />
      </td>
      <td />
    </tr>
  );
}
