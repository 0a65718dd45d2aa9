// Rows of a list of which only some pages are here: what to fetch for a window, and what may go.

export const PAGE_ROWS = 50;
const MOST_PAGES = 80;

/** Pages that the rows from `first` to `end` touch, the ones in the middle of the view first. */
export function pagesFor(first: number, end: number): number[] {
  const pages: number[] = [];
  for (let page = Math.floor(Math.max(0, first) / PAGE_ROWS); page * PAGE_ROWS < end; page++) pages.push(page);
  const middle = (first + end) / 2 / PAGE_ROWS - 0.5;
  return pages.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

/** Of too many pages those that are farthest from where one is. */
export function pagesToDrop(held: Iterable<number>, at: number): number[] {
  const far = [...held].sort((a, b) => Math.abs(b - at) - Math.abs(a - at));
  return far.slice(0, Math.max(0, far.length - MOST_PAGES));
}
