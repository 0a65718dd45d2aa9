// A workspace as it is saved, sent by address, exported and imported: what it may hold, and where it does not. The server checks the same
// (server/api/jobs/workspace_check.c); tests/support/workspaces.json has documents that both take and refuse. docs/workspace.md explains.
import { AXES, type Axis } from "../url/url";

export type Each = "job" | "stream";
/** As the hues of series lie in tokens.css. */
export const HUES = ["blue", "orange", "green", "pink", "violet", "amber", "olive", "grey"] as const;
export type Hue = (typeof HUES)[number];
export type Fold = "min" | "max" | "mean" | "median" | "sum" | "count";

interface Common {
  title?: string;
  /** Absent: the workspace's own. */
  query?: string;
  /** Of the grid's twelve columns. */
  width: number;
  /** In rows of the grid. */
  height: number;
}

export interface LinePanel extends Common {
  kind: "line";
  expressions: string[];
  scale?: "linear" | "log";
  /** A curve a job, or one for each of its streams. */
  each?: Each;
  smooth?: number;
  /** So many jobs at most. */
  most?: number;
  /** What has a hue of its own: jobs, or expressions. */
  colors?: Record<string, Hue>;
}

export interface ScatterPanel extends Common {
  kind: "scatter";
  x: string;
  y: string;
  /** The setting that colours the points. */
  color?: string;
  scale?: "linear" | "log";
  xscale?: "linear" | "log";
}

export interface TablePanel extends Common {
  kind: "table";
  columns: string[];
  sort?: string;
}

export interface NumberPanel extends Common {
  kind: "number";
  expression: string;
  fold?: Fold;
}

export interface TextPanel extends Common {
  kind: "text";
  text: string;
}

export type Panel = LinePanel | ScatterPanel | TablePanel | NumberPanel | TextPanel;
export type PanelKind = Panel["kind"];

export interface Workspace {
  version: 1;
  title?: string;
  /** Which jobs; "": all. */
  query?: string;
  x?: Axis;
  /** What is shown of each axis. */
  ranges?: Partial<Record<Axis, [number, number]>>;
  /** Of the clock, where no range is chosen: so many of the last hours. */
  last_hours?: number;
  smooth?: number;
  panels: Panel[];
}

type Check = (value: unknown, at: string) => unknown;
type Fields = Readonly<Record<string, { check: Check; isNeeded?: boolean }>>;

/** What is wrong, and where: `panels[2].width`. */
export class DocumentError extends Error {
  constructor(
    readonly place: string,
    readonly what: string,
  ) {
    super(`${place}: ${what}`);
  }
}

const fail = (place: string, what: string): never => {
  throw new DocumentError(place, what);
};

const text = (most: number): Check => (value, at) =>
  typeof value !== "string" ? fail(at, "is not a text") : new TextEncoder().encode(value).length > most ? fail(at, `is longer than ${most} bytes`) : value;
const oneOf = (...words: string[]): Check => (value, at) => (words.includes(value as string) ? value : fail(at, `is not one of ${words.join(", ")}`));
const whole = (least: number, most: number): Check => (value, at) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most ? value : fail(at, `is not a whole number from ${least} to ${most}`);
const number = (least: number, most: number): Check => (value, at) =>
  typeof value === "number" && Number.isFinite(value) && value >= least && value <= most ? value : fail(at, `is not a number from ${least} to ${most}`);
const list = (most: number, check: Check): Check => (value, at) =>
  !Array.isArray(value) ? fail(at, "is not a list") : value.length > most ? fail(at, `has more than ${most} entries`) : value.map((one, i) => check(one, `${at}[${i}]`));
const range: Check = (value, at) =>
  Array.isArray(value) && value.length === 2 && value.every((one) => typeof one === "number" && Number.isFinite(one)) && (value[0] as number) < (value[1] as number)
    ? value
    : fail(at, "is not two numbers, the lower one first");

function object(fields: Fields): Check {
  return (value, at) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return fail(at || "the document", "is not an object");
    const inside = (key: string): string => (at === "" ? key : `${at}.${key}`);
    const given = value as Record<string, unknown>;
    for (const key of Object.keys(given)) if (!Object.hasOwn(fields, key)) fail(inside(key), "is not known");
    const out: Record<string, unknown> = {};
    for (const [key, { check, isNeeded }] of Object.entries(fields)) {
      if (Object.hasOwn(given, key)) out[key] = check(given[key], inside(key));
      else if (isNeeded) fail(inside(key), "is missing");
    }
    return out;
  };
}

const colors: Check = (value, at) => {
  const names = Object.keys(typeof value === "object" && value !== null ? value : {});
  return names.length > MOST_JOBS ? fail(at, `has more than ${MOST_JOBS} entries`) : object(Object.fromEntries(names.map((name) => [name, { check: oneOf(...HUES) }])))(value, at);
};

export const MOST_PANELS = 100;
export const MOST_EXPRESSIONS = 12;
export const MOST_JOBS = 100;
export const COLUMNS = 12;
export const LEAST_WIDTH = 2;
export const MOST_HEIGHT = 6;

const SCALE = { check: oneOf("linear", "log") };
const EXPRESSION = text(1000);
const COMMON: Fields = {
  kind: { check: oneOf("line", "scatter", "table", "number", "text"), isNeeded: true },
  title: { check: text(200) },
  query: { check: text(8192) },
  width: { check: whole(LEAST_WIDTH, COLUMNS), isNeeded: true },
  height: { check: whole(1, MOST_HEIGHT), isNeeded: true },
};
const OF_KIND: Readonly<Record<PanelKind, Fields>> = {
  line: {
    expressions: { check: list(MOST_EXPRESSIONS, EXPRESSION), isNeeded: true },
    scale: SCALE,
    each: { check: oneOf("job", "stream") },
    smooth: { check: number(0, 0.999) },
    most: { check: whole(1, MOST_JOBS) },
    colors: { check: colors },
  },
  scatter: { x: { check: EXPRESSION, isNeeded: true }, y: { check: EXPRESSION, isNeeded: true }, color: { check: EXPRESSION }, scale: SCALE, xscale: SCALE },
  table: { columns: { check: list(40, EXPRESSION), isNeeded: true }, sort: { check: text(300) } },
  number: { expression: { check: EXPRESSION, isNeeded: true }, fold: { check: oneOf("min", "max", "mean", "median", "sum", "count") } },
  text: { text: { check: text(20_000), isNeeded: true } },
};

const panel: Check = (value, at) => {
  const kind = typeof value === "object" && value !== null ? (value as { kind?: unknown }).kind : undefined;
  const own = typeof kind === "string" && Object.hasOwn(OF_KIND, kind) ? OF_KIND[kind as PanelKind] : {};
  // Of an unknown kind nobody knows what it may hold.
  if (kind !== undefined && own !== OF_KIND[kind as PanelKind]) COMMON["kind"]?.check(kind, `${at}.kind`);
  return object({ ...COMMON, ...own })(value, at);
};

const WORKSPACE: Check = object({
  version: { check: (value, at) => (value === 1 ? value : fail(at, "is not 1, the only one there is")), isNeeded: true },
  title: { check: text(200) },
  query: { check: text(8192) },
  x: { check: oneOf(...AXES) },
  ranges: { check: object(Object.fromEntries(AXES.map((axis) => [axis, { check: range }]))) },
  last_hours: { check: number(0.01, 8760) },
  smooth: { check: number(0, 0.999) },
  panels: { check: list(MOST_PANELS, panel), isNeeded: true },
});

/** Throws a DocumentError that names the place. */
export const readWorkspace = (value: unknown): Workspace => WORKSPACE(value, "") as Workspace;

/** Throws a DocumentError as well where it is no JSON at all. */
export function parseWorkspace(json: string): Workspace {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new DocumentError("the document", `is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return readWorkspace(value);
}
