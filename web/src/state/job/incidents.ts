// Incidents of one job or of all, kept current by live rows.
import { signal } from "@preact/signals";
import type { Problem } from "../../api/client";
import type { Incident, IncidentsReply } from "../../api/types";
import { quoteText } from "../../lib/url/url";
import { mergeIncident, sortIncidents } from "../../lib/chart/incidentorder";
import { noteQueryProblem } from "../core/queryproblem";
import { Store } from "../core/store";
import { onLive } from "../../live/client";
import { Soon } from "../../lib/flow/poll";

const LIMIT = 200;
const RELOAD_MS = 300;

export class IncidentList extends Store {
  readonly rows = signal<Incident[] | null>(null);
  readonly cursor = signal<string | null>(null);
  private readonly again = new Soon(RELOAD_MS, () => void this.load());
  /** Rows that come while the list is asked for: the answer may be older. */
  private heard: Incident[] | null = null;
  private turn = 0;

  constructor(
    private readonly job: string | null,
    private readonly params: { q?: string | undefined; state?: string | undefined; kind?: string | undefined; minimum_severity?: string | undefined; from_ms?: number | undefined } = {},
  ) {
    super();
    this.whenStopped(
      this.again,
      onLive((event) => {
        if (event.kind === "resync") void this.load();
        if (event.kind !== "incident" || (this.job !== null && event.data.job !== this.job)) return;
        // With a filter only the server knows whether the row still belongs to the list.
        if (Object.values(this.params).some((value) => value !== undefined)) {
          this.again.ask();
          return;
        }
        this.heard?.push(event.data);
        if (this.rows.value) this.rows.value = mergeIncident(this.rows.value, event.data);
      }),
    );
  }

  async load(): Promise<void> {
    const turn = ++this.turn;
    const heard: Incident[] = (this.heard = []);
    const reply = await this.ask({});
    if (turn !== this.turn) return;
    this.heard = null;
    if (!reply) return;
    this.rows.value = heard.reduce(mergeIncident, sortIncidents(reply.incidents));
    this.cursor.value = reply.next_cursor ?? null;
  }

  async more(): Promise<void> {
    const reply = await this.ask({ cursor: this.cursor.value ?? undefined });
    if (!reply) return;
    this.rows.value = [...(this.rows.value ?? []), ...reply.incidents];
    this.cursor.value = reply.next_cursor ?? null;
  }

  protected override note(problem: Problem | null): void {
    super.note(problem);
    if (this.job === null) noteQueryProblem(this.params.q ?? "", problem);
  }

  private ask(extra: { cursor?: string | undefined }): Promise<IncidentsReply | null> {
    const params = { limit: LIMIT, ...this.params, ...extra };
    if (this.job !== null) params.q = `name=${quoteText(this.job)}`;
    return this.get<IncidentsReply>("incidents", params);
  }
}
