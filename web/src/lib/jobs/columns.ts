// Which columns the table of jobs shows: in the address, else as this browser had them last.
import { joinNames, splitNames } from "./compare";

export const DEFAULT_COLUMNS = ["status", "name", "spark", "loss", "best", "throughput", "step", "age", "nodes", "type", "started", "cost", "labels"];

const OWN = new Set([...DEFAULT_COLUMNS, "goodput", "team", "created", "ended", "duration", "secondary", "streams", "lines", "eta"]);
const AGGREGATES = "last min max mean count step best best_step final";
const FIELD = new RegExp(`^((hp|tag|env|label)\\..+|attempts|failure|pool|owner|project|image|role|billable|silent|[A-Z].*|.+\\.(${AGGREGATES.replaceAll(" ", "|")}))$`);
export const MOST_COLUMNS = 40;

/** Any property of a job can be one; the server says its name in the same way as a query does. */
export const isField = (key: string): boolean => !OWN.has(key) && !key.includes(",") && key.length <= 255 && FIELD.test(key);

/** What is no column is left out; the name is always there, because rows are known by it. */
export function parseColumns(text: string | undefined): string[] {
  const keys = splitNames(text).filter((key) => OWN.has(key) || isField(key)).slice(0, MOST_COLUMNS);
  if (keys.length === 0) return DEFAULT_COLUMNS;
  return keys.includes("name") ? keys : ["name", ...keys];
}

export const printColumns = (keys: readonly string[]): string | undefined =>
  keys.join() === DEFAULT_COLUMNS.join() ? undefined : joinNames(keys);

export const ownColumns = [...OWN];

/** The dragged column at the place of another. */
export function placeColumn(keys: readonly string[], key: string, at: string): string[] {
  const [from, to] = [keys.indexOf(key), keys.indexOf(at)];
  if (from < 0 || to < 0) return [...keys];
  const next = keys.filter((one) => one !== key);
  next.splice(to, 0, key);
  return next;
}

/** What the list is sorted by can be seen in it: behind the name, where it is no column of its own. */
export function withSorted(keys: readonly string[], sorted: string | undefined): readonly string[] {
  if (sorted === undefined || keys.includes(sorted) || !(OWN.has(sorted) || isField(sorted))) return keys;
  const at = keys.indexOf("name") + 1;
  return [...keys.slice(0, at), sorted, ...keys.slice(at)];
}

/** A column one place to the left or right. */
export function moveColumn(keys: readonly string[], key: string, by: -1 | 1): string[] {
  const next = [...keys];
  const at = next.indexOf(key);
  const to = at + by;
  if (at < 0 || to < 0 || to >= next.length) return next;
  next.splice(at, 1);
  next.splice(to, 0, key);
  return next;
}
