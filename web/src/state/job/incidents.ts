// Incidents of one job or of all, kept current by live rows.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, type Problem } from "../../api/client";
import type { Incident, IncidentsReply } from "../../api/types";
import { quoteText } from "../../lib/url/url";
import { mergeIncident, sortIncidents } from "../../lib/chart/incidentorder";
import { noteQueryProblem } from "../core/queryproblem";
import { onLive } from "../../live/client";
import { Soon } from "../../lib/flow/poll";

const LIMIT = 200;
const RELOAD_MS = 300;

export class IncidentList {
  readonly rows = signal<Incident[] | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly cursor = signal<string | null>(null);
  private readonly abort = new AbortController();
  private readonly off: () => void;
  private readonly again = new Soon(RELOAD_MS, () => void this.load());
  /** Rows that come while the list is asked for: the answer may be older. */
  private heard: Incident[] | null = null;
  private turn = 0;

  constructor(
    private readonly job: string | null,
    private readonly params: { q?: string | undefined; state?: string | undefined } = {},
  ) {
    this.off = onLive((event) => {
      if (event.kind === "resync") void this.load();
      if (event.kind !== "incident" || (this.job !== null && event.data.job !== this.job)) return;
      // With a filter only the server knows whether the row still belongs to the list.
      if (this.params.q || this.params.state) {
        this.again.ask();
        return;
      }
      this.heard?.push(event.data);
      if (this.rows.value) this.rows.value = mergeIncident(this.rows.value, event.data);
    });
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

  stop(): void {
    this.abort.abort();
    this.again.cancel();
    this.off();
  }

  private note(problem: Problem | null): void {
    this.problem.value = problem;
    if (this.job === null) noteQueryProblem(this.params.q ?? "", problem);
  }

  private async ask(extra: { cursor?: string | undefined }): Promise<IncidentsReply | null> {
    const params = { limit: LIMIT, ...this.params, ...extra };
    if (this.job !== null) params.q = `name=${quoteText(this.job)}`;
    try {
      const reply = await getJson<IncidentsReply>("incidents", params, this.abort.signal);
      this.note(null);
      return reply;
    } catch (error) {
      if (!isAbort(error)) this.note(asProblem(error));
      return null;
    }
  }
}
