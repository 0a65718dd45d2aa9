// What the menu of a right click offers over an element. Pages need not know of it: a row's link, a value's exact text in
// data-value and its source line in data-line are where they are anyway.

export interface Offer {
  link: string | null;
  value: string | null;
  line: string | null;
}

const VALUES = "td, dd, th[scope=row], code, figcaption, .value, .line, time";
const ROWS = "tr, li, article, .line, .figure";
/** There the browser's own menu is the better one. */
const LEFT = "a, input, textarea, select, [contenteditable], dialog";

export function offerFor(target: Element): Offer | null {
  if (target.closest(LEFT)) return null;
  const row = target.closest<HTMLElement>(ROWS);
  const exact = target.closest<HTMLElement>("[data-value]");
  const shown = target.closest<HTMLElement>(VALUES);
  const offer = {
    link: row?.querySelector<HTMLAnchorElement>("a[href]")?.href ?? null,
    value: exact?.dataset["value"] ?? shown?.innerText.trim() ?? null,
    line: target.closest<HTMLElement>("[data-line]")?.dataset["line"] ?? null,
  };
  return offer.link || offer.value || offer.line ? offer : null;
}
