// All metrics of some jobs: by the prefix that their names share, and those of a search.
import type { JobRow } from "../../api/types";
import { roleRank } from "../jobs/roles";
import { compareNatural } from "../text/natural";

export interface WallMetric {
  name: string;
  /** Of how many jobs. */
  jobs: number;
  rank: number;
}

export interface WallGroup {
  /** "gpu/"; "": of those that share none. */
  prefix: string;
  metrics: WallMetric[];
}

/** Every name once; what a job calls its loss stands first. */
export function wallMetrics(rows: readonly JobRow[]): WallMetric[] {
  const found = new Map<string, WallMetric>();
  for (const { metrics } of rows)
    for (const { metric, role } of metrics ?? []) {
      const known = found.get(metric) ?? { name: metric, jobs: 0, rank: roleRank(role) };
      known.jobs++;
      found.set(metric, known);
    }
  return [...found.values()].sort((a, b) => a.rank - b.rank || compareNatural(a.name, b.name));
}

const prefixOf = (name: string): string => /^[^/:.]+[/:.](?=.)/.exec(name)?.[0] ?? "";

/** A prefix that only one name has is none. Those without one come first, the others by their names. */
export function groupWall(metrics: readonly WallMetric[]): WallGroup[] {
  const groups = new Map<string, WallMetric[]>();
  for (const metric of metrics) {
    const prefix = prefixOf(metric.name);
    const known = groups.get(prefix);
    if (known) known.push(metric);
    else groups.set(prefix, [metric]);
  }
  const alone = [...groups].flatMap(([prefix, own]) => (prefix === "" || own.length === 1 ? own : []));
  const order = new Map(metrics.map((one, i) => [one.name, i]));
  alone.sort((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0));
  const rest = [...groups].filter(([prefix, own]) => prefix !== "" && own.length > 1).map(([prefix, own]) => ({ prefix, metrics: own }));
  rest.sort((a, b) => compareNatural(a.prefix, b.prefix));
  return [...(alone.length > 0 ? [{ prefix: "", metrics: alone }] : []), ...rest];
}

/** Names that hold every word of the text, in any case. */
export function searchWall(metrics: readonly WallMetric[], text: string): WallMetric[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return words.length === 0 ? [...metrics] : metrics.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}
