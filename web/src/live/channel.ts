// One EventSource that is re-opened with backoff and always goes on after the last event it saw.
import { compareSeq } from "../lib/flow/seq";
import { decodeEvent, KINDS, type Kind, type LiveEvent, type LiveState } from "./protocol";
import { liveUrl } from "./liveurl";

/** The part of EventSource that is used; tests bring their own. */
export interface Source {
  onopen: (() => void) | null;
  onerror: (() => void) | null;
  addEventListener(type: string, listener: (event: { data: string; lastEventId: string }) => void): void;
  close(): void;
}

export interface Environment {
  open(url: string): Source;
  setTimer(run: () => void, ms: number): number;
  clearTimer(id: number): void;
  now(): number;
}

export interface Subscription {
  jobs: string[] | null;
  kinds: Kind[];
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;
const OFFLINE_AFTER_FAILURES = 4;

export class Channel {
  private source: Source | null = null;
  private subscription: Subscription | null = null;
  private lastId: string | null = null;
  private failures = 0;
  private retry: number | null = null;
  state: LiveState = "connecting";

  constructor(
    private readonly env: Environment,
    private readonly onEvent: (event: LiveEvent) => void,
    private readonly onState: () => void,
  ) {}

  get isOpen(): boolean {
    return this.subscription !== null;
  }

  /**
   * Subscribes to exactly this. `after` is what a page that just joined has loaded; `others`
   * says that pages are served which must not miss what follows the last event.
   */
  subscribe(next: Subscription, after: string | null, others: boolean): void {
    const last = others ? this.lastId : null;
    const isSame = this.subscription !== null && sameSubscription(this.subscription, next);
    const order = after !== null && last !== null ? compareSeq(after, last) : undefined;
    // Of the same mark the others may have been given something that the page came too late for.
    if (isSame && others && (after === null || (order !== undefined && order > 0))) return;
    this.subscription = next;
    if (!others || (after !== null && (order === undefined || order <= 0))) this.lastId = after;
    // Marks that cannot be ordered: the older pages may miss events, so they load anew.
    if (others && after !== null && last !== null && order === undefined) this.onEvent({ kind: "resync", id: after });
    this.failures = 0;
    this.connect();
  }

  /** Closes the connection but remembers where it stood, for resume(). */
  pause(): void {
    this.disconnect();
  }

  resume(): void {
    if (this.subscription !== null && this.source === null && this.retry === null) this.connect();
  }

  /** Tries at once what waits for its next try. */
  hurry(): void {
    if (this.retry !== null) this.connect();
  }

  end(): void {
    this.disconnect();
    this.subscription = null;
    this.lastId = null;
  }

  private disconnect(): void {
    if (this.retry !== null) this.env.clearTimer(this.retry);
    this.retry = null;
    this.source?.close();
    this.source = null;
  }

  private connect(): void {
    this.disconnect();
    if (this.subscription === null) return;
    const source = this.env.open(liveUrl(this.subscription.jobs, this.subscription.kinds, this.lastId));
    this.source = source;
    source.onopen = () => this.connected(source);
    source.onerror = () => this.failed(source);
    for (const type of [...KINDS, "resync"]) {
      source.addEventListener(type, (message) => this.received(source, type, message));
    }
  }

  private received(source: Source, type: string, message: { data: string; lastEventId: string }): void {
    if (source !== this.source) return;
    const event = decodeEvent(type, message.lastEventId, message.data);
    if (!event) return;
    if (event.id !== "") this.lastId = event.id;
    this.onEvent(event);
  }

  private connected(source: Source): void {
    if (source !== this.source) return;
    this.failures = 0;
    this.setState("live");
  }

  // EventSource would retry by itself, but from the URL's first `after` and without backoff.
  private failed(source: Source): void {
    if (source !== this.source) return;
    this.disconnect();
    this.failures++;
    this.setState(this.failures >= OFFLINE_AFTER_FAILURES ? "offline" : "connecting");
    const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.failures - 1));
    this.retry = this.env.setTimer(() => {
      this.retry = null;
      this.connect();
    }, delay);
  }

  private setState(state: LiveState): void {
    if (this.state === state) return;
    this.state = state;
    this.onState();
  }
}

function sameSubscription(a: Subscription, b: Subscription): boolean {
  return a.kinds.join() === b.kinds.join() && a.jobs?.join("\n") === b.jobs?.join("\n") && (a.jobs === null) === (b.jobs === null);
}
