// Serves all open pages of this browser from the fewest connections: HTTP/1.1 allows six a host,
// so one a tab would hang the seventh tab. Pages that watch single jobs share one EventSource. A
// page that watches the whole fleet needs a second, since the API sends lines of named jobs only.
import { Channel, type Environment, type Subscription } from "./channel";
import {
  isWanted,
  LINGER_MS,
  SILENT_MS,
  type FromHub,
  type Kind,
  KINDS,
  type LiveEvent,
  type LiveState,
  type ToHub,
  type Want,
} from "./protocol";

interface Page {
  post(message: FromHub): void;
  want: Want | null;
  visible: boolean;
  seenMs: number;
  state: LiveState | null;
}

export class Hub {
  private readonly pages = new Map<object, Page>();
  private readonly fleet: Channel;
  private readonly named: Channel;
  private linger: number | null = null;
  private watch: number | null = null;

  constructor(private readonly env: Environment) {
    const forward = (fleet: boolean) => (event: LiveEvent) => this.forward(fleet, event);
    this.fleet = new Channel(env, forward(true), () => this.postStates());
    this.named = new Channel(env, forward(false), () => this.postStates());
  }

  /** Makes a page known; a page that is known already, or comes back after a goodbye, is welcome. */
  attach(key: object, post: (message: FromHub) => void): void {
    if (this.pages.has(key)) return;
    this.pages.set(key, { post, want: null, visible: true, seenMs: this.env.now(), state: null });
    this.visibilityChanged();
  }

  receive(key: object, message: ToHub): void {
    const page = this.pages.get(key);
    if (!page) return;
    page.seenMs = this.env.now();
    if (message.type === "bye") {
      this.detach(key);
    } else if (message.type === "retry") {
      this.fleet.hurry();
      this.named.hurry();
    } else if (message.type === "visible") {
      page.visible = message.visible;
      this.visibilityChanged();
    } else {
      page.want = message.want;
      this.resubscribe(page);
      this.postStates();
    }
  }

  private detach(key: object): void {
    this.pages.delete(key);
    this.resubscribe(null);
    this.visibilityChanged();
  }

  private resubscribe(joined: Page | null): void {
    this.apply(this.fleet, true, joined);
    this.apply(this.named, false, joined);
  }

  private apply(channel: Channel, fleet: boolean, joined: Page | null): void {
    const pages = this.wanting(fleet);
    if (pages.length === 0) {
      channel.end();
      return;
    }
    const newcomer = joined && pages.includes(joined) ? joined : null;
    const others = channel.isOpen && pages.some((page) => page !== newcomer);
    const next = union(pages.map((page) => page.want).filter((want) => want !== null));
    // A page that leaves must not cost the others their connection's place.
    channel.subscribe(next, newcomer?.want?.after ?? null, others);
  }

  private wanting(fleet: boolean): Page[] {
    return [...this.pages.values()].filter((page) => page.want !== null && (page.want.jobs === null) === fleet);
  }

  private forward(fleet: boolean, event: LiveEvent): void {
    for (const page of this.wanting(fleet)) {
      if (page.want && isWanted(page.want, event)) page.post({ type: "event", event });
    }
  }

  private postStates(): void {
    for (const page of this.pages.values()) {
      const channel = page.want?.jobs === null ? this.fleet : this.named;
      if (!page.want || page.state === channel.state) continue;
      page.state = channel.state;
      page.post({ type: "state", state: channel.state });
    }
  }

  private visibilityChanged(): void {
    const now = this.env.now();
    const visible = [...this.pages.values()].some((page) => page.visible && now - page.seenMs < SILENT_MS);
    if (visible) {
      if (this.linger !== null) this.env.clearTimer(this.linger);
      this.linger = null;
      this.fleet.resume();
      this.named.resume();
      this.watch ??= this.env.setTimer(() => this.checkSilent(), SILENT_MS);
    } else {
      this.linger ??= this.env.setTimer(() => this.pause(), LINGER_MS);
    }
  }

  /** A page that crashed never says goodbye; it is noticed by its silence. */
  private checkSilent(): void {
    this.watch = null;
    this.visibilityChanged();
  }

  private pause(): void {
    this.linger = null;
    this.fleet.pause();
    this.named.pause();
  }
}

export function union(wants: Want[]): Subscription {
  const kinds = new Set<Kind>(wants.flatMap((want) => want.kinds));
  const names = new Set(wants.flatMap((want) => want.jobs ?? []));
  return {
    jobs: wants.some((want) => want.jobs === null) ? null : [...names].sort(),
    kinds: KINDS.filter((kind) => kinds.has(kind)),
  };
}
