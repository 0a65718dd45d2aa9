// Jobs side by side: which metric of each is meant, and how curves of one hue are told apart.
import type { JobRow, MetricSummary } from "../../api/types";
import { SERIES_COLORS, seriesIndex } from "../chart/color";
import { mainMetric } from "./lead";
import { roleRank, roleTitle } from "./roles";
import { buildSearch } from "../url/url";
import { compareNatural } from "../text/natural";

export const MOST_COMPARED = 100;

/** Of the ranks of roles: a metric under its own name comes behind all of them. */
const LATER = 100;

/** Names in the address are joined by commas; one of their own is written %2C, and a percent sign %25. */
export const joinNames = (names: readonly string[]): string =>
  names.map((name) => name.replace(/%/g, "%25").replace(/,/g, "%2C")).join(",");

export function splitNames(text: string | undefined): string[] {
  const names = (text ?? "").split(",").map((part) => part.replace(/%2C/gi, ",").replace(/%25/g, "%"));
  return [...new Set(names.filter((name) => name !== ""))].slice(0, MOST_COMPARED);
}

export const compareHref = (names: readonly string[]): string =>
  `/compare${buildSearch({}, { jobs: joinNames(names.slice(0, MOST_COMPARED)) })}`;

/** A role stands for what each trainer calls it; else it is a metric's own name. */
export const metricFor = (row: JobRow, key: string): MetricSummary | undefined => mainMetric(row, key) ?? row.metrics?.find((one) => one.metric === key);

export interface Choice {
  key: string;
  title: string;
  /** How many of the jobs have it. */
  jobs: number;
}

/** What can be compared: roles first, then names, each with the number of jobs that have it. */
export function choices(rows: readonly JobRow[]): Choice[] {
  const found = new Map<string, Choice & { rank: number }>();
  for (const row of rows) {
    const own = new Map<string, Choice & { rank: number }>();
    for (const one of row.metrics ?? []) {
      const key = one.is_main ? (one.role ?? "") : one.metric;
      own.set(key, { key, title: one.is_main ? roleTitle(one.role, one.metric) : one.metric, jobs: 0, rank: roleRank(one.role) + (one.is_main ? 0 : LATER) });
    }
    for (const [key, choice] of own) {
      const known = found.get(key) ?? choice;
      known.jobs++;
      found.set(key, known);
    }
  }
  return [...found.values()].sort((a, b) => a.rank - b.rank || b.jobs - a.jobs || a.title.localeCompare(b.title));
}

export interface Pen {
  color: number;
  /** Which of DASHES: the second cue where all hues are taken. */
  dash: number;
}

/**
 * A pen for each of a set, whatever its order: the hue that the job has everywhere, if no other of the set has it, else one that is the
 * least used. With no more jobs than hues no two are alike; then dashes tell those of one hue apart. `fixed`: those whose hue somebody chose.
 */
export function pens(names: readonly string[], fixed: (name: string) => number | null = () => null): Pen[] {
  const used = new Array<number>(SERIES_COLORS).fill(0);
  const found = new Map<string, Pen>();
  const give = (name: string, color: number): void => {
    const dash = used[color] ?? 0;
    used[color] = dash + 1;
    found.set(name, { color, dash });
  };
  const sorted = [...new Set(names)].sort();
  for (const name of sorted) {
    const hue = fixed(name);
    if (hue !== null) give(name, hue);
  }
  for (const name of sorted) if (!found.has(name) && used[seriesIndex(name)] === 0) give(name, seriesIndex(name));
  for (const name of sorted) if (!found.has(name)) give(name, freeHue(used, seriesIndex(name)));
  return names.map((name) => found.get(name) ?? { color: 0, dash: 0 });
}

/** From a name's own hue on, the first of those that fewest have. */
function freeHue(used: readonly number[], own: number): number {
  const from = [...used.slice(own), ...used.slice(0, own)];
  return (own + from.indexOf(Math.min(...used))) % SERIES_COLORS;
}

type Value = string | number | boolean | null;

interface Setting {
  key: string;
  /** In the order of the jobs; null: it has none. */
  values: Value[];
}

/** What GET /compare says. */
export interface Comparison {
  jobs: string[];
  differ: Setting[];
  equal?: { key: string; value: Value }[];
}

export interface Group {
  /** The setting's value, as it is shown. */
  name: string;
  jobs: string[];
}

/** The jobs by what a setting is in each; those without it come last. */
export function groupJobs(names: readonly string[], comparison: Comparison | null, key: string): Group[] {
  const setting = comparison?.differ.find((one) => one.key === key);
  if (!comparison || !setting) return [{ name: "", jobs: [...names] }];
  const groups = new Map<string, Group>();
  for (const name of names) {
    const value = setting.values[comparison.jobs.indexOf(name)] ?? null;
    const title = value === null ? "–" : String(value);
    const group = groups.get(title) ?? { name: title, jobs: [] };
    group.jobs.push(name);
    groups.set(title, group);
  }
  return [...groups.values()].sort((a, b) => Number(a.name === "–") - Number(b.name === "–") || compareNatural(a.name, b.name));
}

