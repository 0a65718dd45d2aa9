import { signal } from "@preact/signals";
import { getJson, isAnswering } from "../../api/client";
import type { ServerInfo } from "../../api/types";
import { reconnect } from "../../live/client";
import { every } from "../../lib/flow/poll";
import { isSignedOut } from "./session";

const POLL_MS = 10_000;
/** While the server does not answer. */
const KNOCK_MS = 2000;
/** What was known at the start is old by then. */
const EARLY_MS = 10_000;

export const info = signal<ServerInfo | null>(null);

const arrival = performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming | undefined;

/** What the server had when it gave out this page, if it says so to us: all that is asked for comes after it. Out of a cache it is old. */
export const pageSeq = arrival?.transferSize ? arrival.serverTiming?.find((one) => one.name === "seq")?.description : undefined;

/** Asked for while the page still starts: the first view needs it before anything else. */
export const infoLoaded: Promise<ServerInfo | null> = load();
let early: Promise<string | null> | null = pageSeq ? Promise.resolve(pageSeq) : infoLoaded.then(seqOf);

setTimeout(() => (early = null), EARLY_MS);

function seqOf(reply: ServerInfo | null): string | null {
  return reply?.seq ?? null;
}

async function load(): Promise<ServerInfo | null> {
  try {
    info.value = await getJson<ServerInfo>("info");
    return info.value;
  } catch {
    return null;
  }
}

/** At once, also when a time to ask has not come yet. */
export function askNow(): void {
  void load().then((reply) => reply && reconnect());
}

/**
 * The server's sequence before anything else is asked for. A subscription that starts here
 * misses nothing of the replies that follow, whichever of them is answered first.
 */
export async function freshSeq(): Promise<string | null> {
  const seq = early ?? load().then(seqOf);
  early = null;
  return seq;
}

export function pollInfo(): void {
  every(POLL_MS, () => isSignedOut() || void load());
  every(KNOCK_MS, () => isAnswering.value || askNow());
}
