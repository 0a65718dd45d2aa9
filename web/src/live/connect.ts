// The page's way to the worker that holds the live connection.
import { Soon } from "../lib/flow/poll";
import { PING_MS, type FromHub, type ToHub, type Want } from "./protocol";
import workerUrl from "./worker.ts?sharedworker&url";

const SILENCE_MS = 2000;

/** Opens the connection; returns how to speak to the hub. */
export function connect(wanted: () => Want | null, take: (message: FromHub) => void): (message: ToHub) => void {
  let port: MessagePort;
  const send = (message: ToHub): void => port.postMessage(message);
  const say = (): void => send({ type: "visible", visible: !document.hidden });
  document.addEventListener("visibilitychange", say);
  window.setInterval(() => document.hidden || say(), PING_MS);
  window.addEventListener("pagehide", () => send({ type: "bye" }));
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    // Back from the browser's page cache: what was missed meanwhile is loaded by whoever shows it.
    send({ type: "want", want: wanted() });
    take({ type: "event", event: { kind: "resync", id: "" } });
  });
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
      silence.stop();
      take(message.data);
    };
    mine.postMessage({ type: "want", want: wanted() } satisfies ToHub);
  };
  open();
  return send;
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
