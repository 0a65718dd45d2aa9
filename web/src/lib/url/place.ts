// Which lines are tried: the page of a stream that the address names.
import type { StreamInfo } from "../../api/types";
import type { Query } from "./url";

/** Lines of a page. */
export const PAGE_LINES = 200;

export interface Place {
  stream: string | null;
  /** The first line; null: the last page, as it was when the page was opened. */
  from: number | null;
}

export function parsePlace(query: Query): Place {
  const from = Number(query["from"] ?? NaN);
  return { stream: query["stream"] ?? null, from: Number.isFinite(from) && from >= 0 ? Math.floor(from) : null };
}

/** The place that is meant where the address leaves something open: the first stream, its last lines. */
export function placeOf({ stream, from }: Place, streams: readonly StreamInfo[] | null): { stream: string | null; from: number } {
  const chosen = streams?.find((one) => stream === null || one.stream === stream);
  return { stream: stream ?? chosen?.stream ?? null, from: from ?? lastPage(chosen?.lines ?? 0) };
}

/** Where a page before or behind this one begins; null: there is none. */
export function turn(from: number, total: number, by: -1 | 1): number | null {
  const next = from + by * PAGE_LINES;
  if (by < 0) return from > 0 ? Math.max(0, next) : null;
  return next < total ? next : null;
}

/** Where a page begins that shows a line with what is around it. */
export const pageAround = (line: number): number => Math.max(0, line - PAGE_LINES / 2);

export const lastPage = (total: number): number => Math.max(0, total - PAGE_LINES);
