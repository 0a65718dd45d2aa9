import { computed, signal } from "@preact/signals";
import { buildSearch, movedTo, parseQuery, parseRoute } from "../../lib/url/url";

function settle(): void {
  const moved = movedTo(window.location.pathname, window.location.search);
  if (moved !== null) history.replaceState(null, "", moved);
}

settle();

const location = signal({ path: window.location.pathname, search: window.location.search });

export const route = computed(() => parseRoute(location.value.path));
export const query = computed(() => parseQuery(location.value.search));

function read(): void {
  settle();
  location.value = { path: window.location.pathname, search: window.location.search };
}

window.addEventListener("popstate", read);

export function navigate(href: string, replace = false): void {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  read();
}

/** Changes the state of this view; what one drags or types replaces, what one chooses is kept in the history. */
export function patchQuery(patch: Record<string, string | undefined>, replace = false): void {
  // Lines that are chosen (#L120) stay so, unless others are.
  const hash = "line" in patch || "stream" in patch ? "" : window.location.hash;
  navigate(window.location.pathname + buildSearch(query.value, patch) + hash, replace);
}

/** Lets the browser keep its gestures: new tab, new window, download. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest("a");
  if (!link || link.origin !== window.location.origin || link.target || link.hasAttribute("download")) return;
  if (/^\/(api|sign-in)\//.test(link.pathname) || link.hash) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
}
