// The whole fleet: asked for every few seconds while somebody looks, and sooner when something happens.
import { signal } from "@preact/signals";
import { getJson } from "../../api/client";
import type { Fleet, Incident, IncidentsReply, PacesReply, PoolsReply, WarmPool } from "../../api/types";
import { onLive, setWant } from "../../live/client";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
import { every, Soon } from "../../lib/flow/poll";

const POLL_MS = 5000;
const SOON_MS = 1000;
const INCIDENTS = 8;
const PACES = 12;
const POOLS = 4;

export class FleetWatch extends Store {
  readonly fleet = signal<Fleet | null>(null);
  readonly paces = signal<PacesReply | null>(null);
  readonly incidents = signal<Incident[] | null>(null);
  /** Some of those that wait for a job. */
  readonly pools = signal<WarmPool[] | null>(null);
  readonly currency = signal("");
  private isAsking = false;
  private readonly soon = new Soon(SOON_MS, () => void this.ask());

  constructor() {
    super();
    this.whenStopped(
      this.soon,
      onLive((event) => {
        if (event.kind === "incident" || event.kind === "resync") this.soon.ask();
      }),
      every(POLL_MS, () => void this.ask()),
    );
  }

  async start(): Promise<void> {
    const seq = await freshSeq();
    if (this.signal.aborted) return;
    setWant({ jobs: null, kinds: ["incident"], after: seq });
    await this.ask();
  }

  async ask(): Promise<void> {
    // What has changed since the one that is under way was asked is not in its reply.
    if (this.isAsking) return this.soon.ask();
    this.isAsking = true;
    const get = <T>(path: string, params = {}): Promise<T> => getJson<T>(path, params, this.signal);
    await this.request(async () => {
      const [fleet, paces, incidents, critical, pools] = await Promise.all([
        get<Fleet>("fleet"),
        get<PacesReply>("fleet/paces", { limit: PACES }),
        get<IncidentsReply>("incidents", { state: "open", limit: INCIDENTS }),
        get<IncidentsReply>("incidents", { state: "open", limit: INCIDENTS, minimum_severity: "critical" }),
        get<PoolsReply>("warm-pools", { state: "available", limit: POOLS }),
      ]);
      this.fleet.value = fleet;
      this.paces.value = paces;
      // What is critical stands first, however much that is not has come since.
      const isFurther = (one: Incident): boolean => one.severity !== "critical";
      const rest = incidents.incidents.filter(isFurther).sort((a, b) => Number(b.severity === "warning") - Number(a.severity === "warning"));
      this.incidents.value = [...critical.incidents, ...rest].slice(0, INCIDENTS);
      this.pools.value = pools.pools;
      this.currency.value = (fleet.last_30_days.cost ?? 0) > 0 ? (fleet.currency ?? "") : "";
    });
    this.isAsking = false;
  }
}
