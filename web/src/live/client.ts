// The page's end of the live connection.
import { signal } from "@preact/signals";
import { Soon } from "../state/poll";
import { PING_MS, type FromHub, type LiveEvent, type LiveState, type ToHub, type Want } from "./protocol";
import workerUrl from "./worker.ts?sharedworker&url";

type Listener = (event: LiveEvent) => void;

export const liveState = signal<LiveState>("reconnecting");

const listeners = new Set<Listener>();
let want: Want | null = null;
let send: ((message: ToHub) => void) | null = null;
let isAwaited = false;

/** The connection goes on from where the page's data stands, so it can wait until the first of that is drawn. */
const WAIT_MS = 300;
const SILENCE_MS = 2000;
const whenIdle = (run: () => void): unknown => ("requestIdleCallback" in window ? requestIdleCallback(run, { timeout: WAIT_MS }) : setTimeout(run, WAIT_MS));

/** Replaces what this page wants to hear of. */
export function setWant(next: Want | null): void {
  want = next;
  send?.({ type: "want", want });
  if (isAwaited) return;
  isAwaited = true;
  whenIdle(() => (send = connect()));
}

/** Without waiting for the next try. */
export const reconnect = (): void => send?.({ type: "retry" });

export function onLive(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function take(message: FromHub): void {
  if (message.type === "state") liveState.value = message.state;
  else for (const listener of [...listeners]) listener(message.event);
}

function connect(): (message: ToHub) => void {
  const say = (): void => send?.({ type: "visible", visible: !document.hidden });
  document.addEventListener("visibilitychange", say);
  window.setInterval(() => document.hidden || say(), PING_MS);
  window.addEventListener("pagehide", () => send?.({ type: "bye" }));
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    // Back from the browser's page cache: what was missed meanwhile is loaded by whoever shows it.
    send?.({ type: "want", want });
    take({ type: "event", event: { kind: "resync", id: "" } });
  });
  let port: MessagePort;
  // The hub answers every first word with its state. Silence: its file did not come, the server being away just then.
  const open = (): void => {
    const mine = (port = "SharedWorker" in window ? connectWorker() : connectHere());
    const silence = new Soon(SILENCE_MS, () => {
      mine.onmessage = null;
      mine.postMessage({ type: "bye" } satisfies ToHub);
      open();
    });
    silence.ask();
    mine.onmessage = (message: MessageEvent<FromHub>) => {
      silence.cancel();
      take(message.data);
    };
    mine.postMessage({ type: "want", want } satisfies ToHub);
  };
  open();
  return (message) => port.postMessage(message);
}

function connectWorker(): MessagePort {
  return new SharedWorker(workerUrl, { type: "module", name: "smfleet-live" }).port;
}

/** Without SharedWorker the very same script runs in the page, and is connected to in the same way. */
function connectHere(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  import(/* @vite-ignore */ workerUrl).then(
    () => globalThis.dispatchEvent(new MessageEvent("connect", { ports: [port2] })),
    () => undefined, // the silence tells
  );
  return port1;
}
