// The SharedWorker: every page of this origin connects here, and the hub holds the connections.
import { browserEnvironment } from "./environment";
import { Hub } from "./hub";
import type { ToHub } from "./protocol";

const hub = new Hub(browserEnvironment);

globalThis.addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  port.onmessage = (message: MessageEvent<ToHub>) => {
    hub.attach(port, (reply) => port.postMessage(reply));
    hub.receive(port, message.data);
  };
});
