// The page's end of the live connection.
import { signal } from "@preact/signals";
import { Soon } from "../lib/flow/poll";
import type { FromHub, LiveEvent, LiveState, ToHub, Want } from "./protocol";

type Listener = (event: LiveEvent) => void;

export const liveState = signal<LiveState>("connecting");
/** Views that show nothing live have no connection to speak of. */
export const isLiveWanted = signal(false);

const listeners = new Set<Listener>();
let want: Want | null = null;
let send: ((message: ToHub) => void) | null = null;
let isAwaited = false;

/** The connection goes on from where the page's data stands, so it can wait until the first of that is drawn. */
const WAIT_MS = 300;
const AGAIN_MS = 2000;
const whenIdle = (run: () => void): unknown => ("requestIdleCallback" in window ? requestIdleCallback(run, { timeout: WAIT_MS }) : setTimeout(run, WAIT_MS));

/** Replaces what this page wants to hear of. */
export function setWant(next: Want | null): void {
  want = next;
  isLiveWanted.value = next !== null;
  send?.({ type: "want", want });
  if (isAwaited) return;
  isAwaited = true;
  whenIdle(() => void dial());
}

/** Without waiting for the next try. */
export const reconnect = (): void => send?.({ type: "retry" });

export function onLive(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What connects is no part of the first view. Its file, too, comes when the server is back. */
async function dial(): Promise<void> {
  try {
    const { connect } = await import("./connect");
    send = connect(() => want, take);
  } catch {
    new Soon(AGAIN_MS, () => void dial()).ask();
  }
}

function take(message: FromHub): void {
  if (message.type === "state") liveState.value = message.state;
  else for (const listener of [...listeners]) listener(message.event);
}
