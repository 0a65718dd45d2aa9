// The lines that the address names behind its #, as in #L120-L140.
import { signal } from "@preact/signals";
import { linesHash, parseLines, type Lines } from "../../lib/log/lineranges";
import { buildSearch } from "../../lib/url/url";
import { navigate, query } from "../core/router";

const hash = signal(window.location.hash);

const read = (): void => {
  hash.value = window.location.hash;
};
window.addEventListener("popstate", read);
window.addEventListener("hashchange", read);

/** What the address names, be it #L120-L140 or, as charts and incidents say it, line=120. */
export function chosenLines(): Lines | null {
  const asked = query.value["line"];
  const line = asked === undefined || asked.trim() === "" ? NaN : Number(asked);
  if (Number.isFinite(line) && line >= 0) return { from: Math.floor(line), to: Math.floor(line) };
  void hash.value; // who asks hears of a change
  return parseLines(window.location.hash);
}

export function linesHref(lines: Lines | null, patch: Record<string, string | undefined>): string {
  return window.location.pathname + buildSearch(query.value, { ...patch, line: undefined }) + (lines ? linesHash(lines) : "");
}

/** Chooses lines of a stream; what one steps through replaces the address, what one clicks is kept in the history. */
export function chooseLines(lines: Lines | null, patch: Record<string, string | undefined>, replace: boolean): void {
  navigate(linesHref(lines, patch), replace);
  read();
}
