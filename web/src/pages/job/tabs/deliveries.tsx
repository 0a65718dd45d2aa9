import { jobPath } from "../../../api/client";
import { t } from "../../../i18n/i18n";
import { formatCount, formatTime } from "../../../lib/text/format";
import { incidentTitle } from "../../../lib/chart/marks";
import { jobHref } from "../../../lib/url/url";
import { onLive } from "../../../live/client";
import { Resource } from "../../../state/core/resource";
import { useStore } from "../../../state/core/store";
import type { JobStore } from "../../../state/job/job";
import { ProblemBox } from "../../../ui/problem";
import { DataTable } from "../../../ui/datatable";
import { Skeleton } from "../../../ui/skeleton";
import { Age } from "../../../ui/time";
import { Soon } from "../../../lib/flow/poll";

interface Delivery {
  n: number;
  webhook?: number;
  incident: string;
  state: "pending" | "done" | "dead";
  attempts: number;
  created_ms: number;
  next_ms?: number;
  done_ms?: number;
  last_code?: number;
  last_error?: string;
}

const RELOAD_MS = 3000;

class DeliveryStore extends Resource<{ deliveries: Delivery[] }> {
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(name: string) {
    super(jobPath(name, "/deliveries"), { limit: 200 });
    this.whenStopped(
      this.soon,
      onLive((event) => {
        if (event.kind === "resync" || (event.kind === "incident" && event.data.job === name)) this.soon.ask();
      }),
      // No event tells that a receiver has answered.
      this.value.subscribe((reply) => reply?.deliveries.some((one) => one.state === "pending") && this.soon.ask()),
    );
  }
}

/** Which messages about the job's incidents went to whom, and what was answered. */
export function DeliveriesPart({ store }: { store: JobStore }) {
  const own = useStore(() => new DeliveryStore(store.name), [store], (next) => next.load());
  const rows = own?.value.value?.deliveries;
  const states = { pending: t("waiting"), done: t("delivered"), dead: t("given up") };
  const glyphs = { pending: "◐", done: "✓", dead: "✕" };
  const classes = { pending: "stopping", done: "completed", dead: "failed" };
  const incidents = new Map((store.incidents.rows.value ?? []).map((one) => [String(one.id), one]));
  return (
    <div class="report wide">
      {own?.problem.value && <ProblemBox problem={own.problem.value} onRetry={() => void own.load()} />}
      {!rows && !own?.problem.value && <Skeleton rows={4} />}
      {rows?.length === 0 && (
        <p class="dim">{t("No message was sent about this job: nothing has happened that a rule tells anybody, or no webhook takes it.")}</p>
      )}
      {rows && rows.length > 0 && (
        <DataTable
          class="plain"
          rows={rows}
          keyOf={(one) => one.n}
          columns={[
            { title: t("made"), cell: (one) => <Age ms={one.created_ms} /> },
            { title: t("webhook"), cellClass: "num", cell: (one) => one.webhook ?? "" },
            {
              title: t("about"),
              cell: (one) => {
                const incident = incidents.get(one.incident);
                return <a href={jobHref(store.name, { incident: one.incident })}>{incident ? incidentTitle(incident) : one.incident}</a>;
              },
            },
            {
              title: t("state"),
              cellClass: (one) => classes[one.state],
              cell: (one) => (
                <>
                  <span class="glyph" aria-hidden="true">
                    {glyphs[one.state]}
                  </span>
                  {states[one.state]} {one.state === "pending" && one.next_ms !== undefined && <span class="dim">{formatTime(one.next_ms)}</span>}
                </>
              ),
            },
            { title: t("tries"), isNumber: true, cell: (one) => formatCount(one.attempts) },
            { title: t("last answer"), cell: (one) => `${one.last_code ?? ""} ${one.last_error ?? ""}` },
          ]}
        />
      )}
    </div>
  );
}
