import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { asProblem, getJson, isAbort, jobPath, type Problem } from "../../../api/client";
import { t } from "../../../i18n/i18n";
import { formatCount, formatTime } from "../../../lib/text/format";
import { incidentTitle } from "../../../lib/chart/marks";
import { jobHref } from "../../../lib/url/url";
import { onLive } from "../../../live/client";
import type { JobStore } from "../../../state/job/job";
import { ProblemBox } from "../../../ui/problem";
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

class DeliveryStore {
  readonly rows = signal<Delivery[] | null>(null);
  readonly problem = signal<Problem | null>(null);
  private readonly abort = new AbortController();
  private readonly off: () => void;
  private readonly soon = new Soon(RELOAD_MS, () => void this.load());

  constructor(private readonly name: string) {
    this.off = onLive((event) => {
      if (event.kind === "resync" || (event.kind === "incident" && event.data.job === name)) this.soon.ask();
    });
  }

  async load(): Promise<void> {
    try {
      const { deliveries } = await getJson<{ deliveries: Delivery[] }>(jobPath(this.name, "/deliveries"), { limit: 200 }, this.abort.signal);
      this.rows.value = deliveries;
      this.problem.value = null;
      // No event tells that a receiver has answered.
      if (deliveries.some((one) => one.state === "pending")) this.soon.ask();
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    }
  }

  stop(): void {
    this.abort.abort();
    this.off();
    this.soon.cancel();
  }
}

/** Which messages about the job's incidents went to whom, and what was answered. */
export function DeliveriesPart({ store }: { store: JobStore }) {
  const [own, setOwn] = useState<DeliveryStore | null>(null);
  useEffect(() => {
    const next = new DeliveryStore(store.name);
    setOwn(next);
    void next.load();
    return () => next.stop();
  }, [store]);
  const rows = own?.rows.value;
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
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t("made")}</th>
              <th scope="col">{t("webhook")}</th>
              <th scope="col">{t("about")}</th>
              <th scope="col">{t("state")}</th>
              <th scope="col" class="num">
                {t("tries")}
              </th>
              <th scope="col">{t("last answer")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => {
              const incident = incidents.get(one.incident);
              return (
                <tr key={one.n}>
                  <td>
                    <Age ms={one.created_ms} />
                  </td>
                  <td class="num">{one.webhook ?? ""}</td>
                  <td>
                    <a href={jobHref(store.name, { incident: one.incident })}>{incident ? incidentTitle(incident) : one.incident}</a>
                  </td>
                  <td class={classes[one.state]}>
                    <span class="glyph" aria-hidden="true">
                      {glyphs[one.state]}
                    </span>
                    {states[one.state]} {one.state === "pending" && one.next_ms !== undefined && <span class="dim">{formatTime(one.next_ms)}</span>}
                  </td>
                  <td class="num">{formatCount(one.attempts)}</td>
                  <td>
                    {one.last_code ?? ""} {one.last_error ?? ""}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </div>
  );
}
