// Jobs side by side: which metric of each is meant, and how curves of one hue are told apart.
import type { JobRow, MetricSummary } from "../../api/types";
import { seriesIndex } from "../chart/color";
import { mainMetric } from "./lead";
import { compareNatural } from "./metrics";
import { roleRank, roleTitle } from "./roles";
import { buildSearch } from "../url/url";

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
  /** Dashes are the second cue where a hue is taken. */
  dash: number;
}

/** A job has the hue that it has everywhere; the next one of that hue other dashes. */
export function pens(names: readonly string[]): Pen[] {
  const used = new Map<number, number>();
  return names.map((name) => {
    const color = seriesIndex(name);
    const dash = used.get(color) ?? 0;
    used.set(color, dash + 1);
    return { color, dash };
  });
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

