import { signal } from "@preact/signals";

/** The time for ages on the page; ticks once a second while somebody looks. */
export const now = signal(Date.now());

window.setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener("visibilitychange", () => (now.value = Date.now()));
