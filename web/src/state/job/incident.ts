// One incident: itself, what was told of it, what else came of the same cause, and the lines around it.
import { signal } from "@preact/signals";
import type { Delivery, IncidentReply } from "../../api/alerts";
import { jobPath, send, type Problem } from "../../api/client";
import type { Incident, IncidentsReply, LogLine, LogsReply, MergedReply, StreamLine } from "../../api/types";
import { evidenceLine } from "../../lib/chart/marks";
import { quoteText } from "../../lib/url/url";
import { onLive } from "../../live/client";
import { Store } from "../core/store";

const LAST_LINES = 12;
const LINES_BEFORE = 6;
const LINES_SHOWN = 12;
const CAUSES_LOOKED_AT = 500;

export class IncidentStore extends Store {
  readonly incident = signal<Incident | null>(null);
  readonly deliveries = signal<Delivery[]>([]);
  /** Of the same cause, without itself. */
  readonly others = signal<Incident[]>([]);
  readonly lines = signal<LogLine[] | null>(null);
  /** Of a job that failed: what it failed of, and its last lines. */
  readonly reason = signal<string | null>(null);
  readonly last = signal<StreamLine[]>([]);
  /** What an acknowledgement or a mute was answered. */
  readonly refusal = signal<Problem | null>(null);

  constructor(readonly id: string) {
    super();
    this.whenStopped(
      onLive((event) => {
        if (event.kind === "resync" || (event.kind === "incident" && String(event.data.id) === id)) void this.load();
      }),
    );
  }

  async load(): Promise<void> {
    await this.getFor<IncidentReply>(`incidents/${encodeURIComponent(this.id)}`, (reply) => {
      const isFirst = this.incident.value === null;
      this.incident.value = reply.incident;
      this.deliveries.value = reply.deliveries;
      if (isFirst) void this.loadAround(reply.incident);
    });
  }

  async act(what: "ack" | "mute", body: object): Promise<void> {
    const act = (): Promise<Response> => send("POST", `incidents/${encodeURIComponent(this.id)}/${what}`, {}, body, this.signal);
    const reply = await this.request(act, (problem) => (this.refusal.value = problem));
    if (reply) await this.load();
  }

  private async loadAround(incident: Incident): Promise<void> {
    await Promise.all([this.loadLines(incident), this.loadOthers(incident), ...(incident.kind === "job_failed" ? [this.loadEnd(incident)] : [])]);
  }

  private async loadEnd({ job }: Incident): Promise<void> {
    const [doc, log] = await Promise.all([
      this.quietly<{ FailureReason?: string }>(jobPath(job), {}),
      this.quietly<MergedReply>(jobPath(job, "/logs"), { merge: "true", limit: LAST_LINES }),
    ]);
    this.reason.value = doc?.FailureReason ?? null;
    this.last.value = log?.lines ?? [];
  }

  /** Lines that retention has taken, or a stream that there is no more, are no fault of this page: it does without. */
  private async loadLines(incident: Incident): Promise<void> {
    const line = evidenceLine(incident);
    const stream = lineStream(incident);
    if (line === null || !stream) return;
    const from = Math.max(0, line - LINES_BEFORE);
    const reply = await this.quietly<LogsReply>(jobPath(incident.job, "/logs"), { stream, from, limit: LINES_SHOWN });
    if (reply) this.lines.value = reply.lines;
  }

  private async loadOthers(incident: Incident): Promise<void> {
    const q = `name=${quoteText(incident.job)}`;
    const reply = await this.quietly<IncidentsReply>("incidents", { q, limit: CAUSES_LOOKED_AT });
    const cause = causeOf(incident);
    if (reply) this.others.value = reply.incidents.filter((one) => String(one.id) !== this.id && causeOf(one) === cause);
  }

  private quietly<T>(path: string, params: Record<string, string | number>): Promise<T | null> {
    return this.get<T>(path, params, () => undefined);
  }
}

const causeOf = (incident: Incident): string => incident.cause_id ?? String(incident.id);

/** The stream whose line the evidence names: of what lines said, the first that said it. */
export function lineStream(incident: Incident): string | undefined {
  const named = incident.evidence?.["stream"];
  return incident.stream || (typeof named === "string" ? named : undefined);
}
