// The part of the address that says where one is in a log, and what is looked for in it.
import { buildSearch, decode, finiteOrNull, partHref, type Query } from "../url/url";

export const logsHref = (name: string, query: Record<string, string | undefined> = {}): string =>
  `${partHref(name, "logs")}${buildSearch({}, query)}`;

export interface LogTarget {
  stream: string | null;
  line: number | null;
  /** All nodes in one list, by time; it opens at `atMs`, else at the newest line. */
  isMerged: boolean;
  atMs: number | null;
  /** Merged, of these streams alone; none: of all. */
  only: readonly string[];
}

export function parseLogTarget(query: Query): LogTarget {
  const line = finiteOrNull(query["line"]);
  return {
    stream: query["stream"] ?? null,
    line: line !== null && line >= 0 ? Math.floor(line) : null,
    isMerged: query["merged"] === "1",
    atMs: finiteOrNull(query["at"]),
    only: parseList(query["only"] ?? ""),
  };
}

/** Names in a list, of which commas are percent-encoded. */
export const parseList = (text: string): string[] => text.split(",").filter((one) => one !== "").map((one) => decode(one) ?? one);

export const buildList = (names: readonly string[]): string => names.map((name) => name.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

/** What is looked for in a log. */
export interface Find {
  text: string;
  isRegex: boolean;
  matchesCase: boolean;
  /** Hits from the oldest on, instead of the newest. */
  isOldest: boolean;
}

export const parseFind = (query: Query): Find => ({
  text: query["find"] ?? "",
  isRegex: query["find_regex"] === "1",
  matchesCase: query["find_case"] === "1",
  isOldest: query["find_order"] === "oldest",
});

export const findQuery = (find: Find): Record<string, string | undefined> => ({
  find: find.text || undefined,
  find_regex: find.isRegex ? "1" : undefined,
  find_case: find.matchesCase ? "1" : undefined,
  find_order: find.isOldest ? "oldest" : undefined,
});
