// Metrics that differ in one number alone, as gpu/0/util … gpu/7/util or those of each rank, are one chart.
import { type Metric } from "./metrics";
import { compareNatural } from "../text/natural";

/** As many curves as one still finds in a list. */
const MOST = 64;
const LABEL = /\{([^{}="]+)="([^"]*)"\}$/;
/** A number by itself, or behind what is counted. */
const NUMBER = /(^|[/._:-])((?:gpu|rank|device|dev|node|worker|core|expert|head|layer|disk|nic|hca|stage)?[_-]?)(\d+)(?=$|[/._:-])/i;

/** What all of them are called, and what this one is among them; null: it has no number. */
export function familyOf(name: string): { family: string; member: string } | null {
  const label = LABEL.exec(name);
  if (label) return { family: `${name.slice(0, label.index)}{${label[1]}}`, member: `${label[1]} ${label[2]}` };
  const found = NUMBER.exec(name);
  if (!found) return null;
  const [all, before = "", counted = "", number = ""] = found;
  return { family: `${name.slice(0, found.index)}${before}${counted}*${name.slice(found.index + all.length)}`, member: `${counted}${number}` };
}

/** In their order, each family where its first member stood. `lead` stays by itself. */
export function foldFamilies(metrics: readonly Metric[], lead: Metric | undefined): Metric[] {
  const families = new Map<string, Metric[]>();
  const keyOf = (one: Metric): string | null => {
    const found = one === lead ? null : familyOf(one.metric);
    return found && `${one.role} ${one.unit} ${found.family}`;
  };
  for (const one of metrics) {
    const key = keyOf(one);
    if (key !== null) families.set(key, [...(families.get(key) ?? []), one]);
  }
  const shown = new Set<string>();
  return metrics.flatMap((one) => {
    const key = keyOf(one);
    const members = key === null ? undefined : families.get(key);
    if (key === null || !members || members.length < 2 || members.length > MOST) return one;
    if (shown.has(key)) return [];
    shown.add(key);
    const sorted = [...members].sort((a, b) => compareNatural(a.metric, b.metric));
    return { ...one, metric: familyOf(one.metric)?.family ?? one.metric, derived: undefined, family: sorted };
  });
}
