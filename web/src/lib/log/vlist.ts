// Arithmetic of a list with rows of one height, of which only the visible ones are in the page.

/** Browsers lay out at most about 17 million pixels; longer lists scroll by proportion. */
export const MAX_HEIGHT = 15_000_000;

export interface ListShape {
  total: number;
  rowHeight: number;
  viewHeight: number;
  /** What this browser lays out, where it is known to be more. */
  maxHeight?: number;
}

export interface ListWindow {
  /** First and one past the last row to render. */
  first: number;
  end: number;
  /** Where the first rendered row stands in the scrolled content. */
  offset: number;
}

const fullHeight = (shape: ListShape): number => shape.total * shape.rowHeight;

export const contentHeight = (shape: ListShape): number => Math.min(fullHeight(shape), shape.maxHeight ?? MAX_HEIGHT);

export const isScaled = (shape: ListShape): boolean => fullHeight(shape) > (shape.maxHeight ?? MAX_HEIGHT);

export const maxScroll = (shape: ListShape): number => Math.max(0, contentHeight(shape) - shape.viewHeight);

/** The row at the top of the view, with its fraction. */
export function rowAt(shape: ListShape, scrollTop: number): number {
  if (shape.total === 0) return 0;
  const top = Math.min(Math.max(0, scrollTop), maxScroll(shape));
  if (!isScaled(shape)) return top / shape.rowHeight;
  const rows = shape.total - shape.viewHeight / shape.rowHeight;
  return (top / maxScroll(shape)) * rows;
}

/** The scroll position that brings a row to the top of the view. */
export function scrollFor(shape: ListShape, row: number): number {
  const limit = maxScroll(shape);
  if (!isScaled(shape)) return Math.min(Math.max(0, row * shape.rowHeight), limit);
  const rows = shape.total - shape.viewHeight / shape.rowHeight;
  return Math.min(Math.max(0, (row / rows) * limit), limit);
}

/** The scroll position that shows a row in the middle of the view. */
export function scrollToMiddle(shape: ListShape, row: number): number {
  return scrollFor(shape, row - Math.floor((shape.viewHeight / shape.rowHeight - 1) / 2));
}

export function visibleRows(shape: ListShape, scrollTop: number, overscan: number): ListWindow {
  const top = rowAt(shape, scrollTop);
  const first = Math.max(0, Math.floor(top) - overscan);
  const end = Math.min(shape.total, Math.ceil(top + shape.viewHeight / shape.rowHeight) + overscan);
  const offset = Math.min(Math.max(0, scrollTop), maxScroll(shape)) + (first - top) * shape.rowHeight;
  return { first, end, offset };
}

/** The same with more rows, of which a scroll by a few changes none: then nothing is to be drawn. */
export function inSteps(shape: ListShape, window: ListWindow, step: number): ListWindow {
  const first = Math.floor(window.first / step) * step;
  const end = Math.min(shape.total, Math.ceil(window.end / step) * step);
  return { first, end, offset: window.offset + (first - window.first) * shape.rowHeight };
}

/** The pages of `size` rows that a window touches. */
export function pagesOf(first: number, end: number, size: number): number[] {
  const pages: number[] = [];
  for (let page = Math.floor(first / size); page * size < end; page++) pages.push(page);
  return pages;
}

/** The row at the top when the last one is at the bottom. */
export const lastTop = (shape: ListShape): number => Math.max(0, shape.total - shape.viewHeight / shape.rowHeight);

const clamp = (shape: ListShape, row: number): number => Math.min(Math.max(0, row), lastTop(shape));

/**
 * The row at the top after the browser scrolled from `before` to `now`. In a list too long for pixels a short way (wheel, finger,
 * keys) counts rows; only a long one, as the thumb of the scroll bar makes, is by proportion.
 */
export function rowAfterScroll(shape: ListShape, row: number, before: number, now: number): number {
  const way = now - before;
  if (!isScaled(shape)) return clamp(shape, now / shape.rowHeight);
  if (Math.abs(way) <= shape.viewHeight * 1.5) return clamp(shape, row + way / shape.rowHeight);
  return clamp(shape, rowAt(shape, now));
}

/** The row at the top that brings another one to the middle. */
export const rowForMiddle = (shape: ListShape, row: number): number =>
  clamp(shape, row - Math.floor((shape.viewHeight / shape.rowHeight - 1) / 2));

/** Rows to render where `row` is at the top and the browser stands at `scrollTop`. */
export function rowsFrom(shape: ListShape, row: number, scrollTop: number, before: number, behind: number): ListWindow {
  const first = Math.max(0, Math.floor(row) - before);
  const end = Math.min(shape.total, Math.ceil(row + shape.viewHeight / shape.rowHeight) + behind);
  return { first, end, offset: scrollTop + (first - row) * shape.rowHeight };
}
