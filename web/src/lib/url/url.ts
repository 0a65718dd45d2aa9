// Every view is a URL: the path names the view, the query holds its state.

/** The parts of a job's page but for its charts, as the address names them. */
export const JOB_PARTS = ["logs", "nodes", "goodput", "training", "settings", "incidents", "advice", "notes", "files", "deliveries", "document", "definitions"] as const;
export type JobPart = (typeof JOB_PARTS)[number];

export type Route =
  | { view: "fleet" }
  | { view: "jobs" }
  | { view: "job"; name: string; part?: JobPart }
  | { view: "incidents" }
  | { view: "rules" }
  | { view: "webhooks" }
  | { view: "pools" }
  | { view: "nodes" }
  | { view: "compare" }
  | { view: "workspace" }
  | { view: "wall" }
  | { view: "evaluations" }
  | { view: "report" }
  | { view: "definitions" }
  | { view: "settings" }
  | { view: "unknown"; path: string };

export function parseRoute(pathname: string): Route {
  const parts = pathname.split("/").filter((part) => part !== "");
  const [only] = parts;
  if (only === undefined) return { view: "fleet" };
  if (parts.length === 1 && isAlone(only)) return { view: only };
  const [, job = "", part] = parts;
  const isJob = parts[0] === "jobs" && (parts.length === 2 || (parts.length === 3 && isJobPart(part)));
  const name = isJob ? decode(job) : null;
  if (name === null) return { view: "unknown", path: pathname };
  return isJobPart(part) ? { view: "job", name, part } : { view: "job", name };
}

type Alone = "jobs" | "incidents" | "rules" | "webhooks" | "pools" | "nodes" | "compare" | "workspace" | "wall" | "evaluations" | "report" | "definitions" | "settings";
const ALONE: readonly string[] = ["jobs", "incidents", "rules", "webhooks", "pools", "nodes", "compare", "workspace", "wall", "evaluations", "report", "definitions", "settings"] satisfies Alone[];
const isAlone = (part: string | undefined): part is Alone => ALONE.includes(part ?? "");

const isJobPart = (part: string | undefined): part is JobPart => JOB_PARTS.includes(part as JobPart);

export function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

export type Query = Readonly<Record<string, string>>;

export const parseQuery = (search: string): Query => Object.fromEntries(new URLSearchParams(search));

/** Query text in a stable order of keys; undefined and "" take a key away. */
export function buildSearch(base: Query, patch: Record<string, string | undefined> = {}): string {
  const merged = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...base, ...patch })) {
    if (value !== undefined && value !== "") merged.set(key, value);
  }
  const text = merged.toString();
  return text ? `?${text}` : "";
}

export const jobHref = (name: string, query: Record<string, string | undefined> = {}): string =>
  `/jobs/${encodeURIComponent(name)}${buildSearch({}, query)}`;

/** undefined: its charts. */
export const partHref = (name: string, part?: JobPart): string => (part ? `${jobHref(name)}/${part}` : jobHref(name));

export const machineHref = (host: string): string => `/nodes?host=${encodeURIComponent(host)}`;

export const definitionsHref = (name: string): string => partHref(name, "definitions");

export const nodesHref = (name: string): string => partHref(name, "nodes");

/** rstep: steps since the job's first one; tokens, flops: the work that the job had done at each step. */
export type WorkAxis = "tokens" | "flops";
export type Axis = "step" | "time" | "relative" | "rstep" | WorkAxis;
export const AXES: readonly Axis[] = ["step", "time", "relative", "rstep", "tokens", "flops"];
export const isWork = (axis: Axis): axis is WorkAxis => axis === "tokens" || axis === "flops";

export type Smoothing = "ema" | "gauss" | "mean";

/** What one chart may have otherwise than all: `?chart.loss=log,clip,smooth:0.9`. */
export interface ChartLook {
  logScale: boolean;
  logX: boolean;
  smooth: number;
  smoothing: Smoothing;
  /** The y axis leaves outliers out, and says how many. */
  clip: boolean;
}

export interface ChartState extends ChartLook {
  axis: Axis;
  from: number | null;
  to: number | null;
  stream: string | null;
  superseded: boolean;
  /** A curve a node instead of the fold over all. */
  byNode: boolean;
}

export function parseChartState(query: Query): ChartState {
  const axis = AXES.find((one) => one === query["x"]) ?? "step";
  const from = finiteOrNull(query["from"]);
  const to = finiteOrNull(query["to"]);
  const window = from !== null && to !== null && from < to;
  return {
    axis,
    from: window ? from : null,
    to: window ? to : null,
    logScale: query["scale"] === "log",
    logX: query["xscale"] === "log" && axis !== "time",
    smooth: weightOf(query["smooth"]),
    smoothing: smoothingOf(query["smoothing"]),
    clip: query["clip"] === "1",
    stream: query["series"] ?? null,
    superseded: query["attempts"] === "all",
    byNode: query["nodes"] === "each",
  };
}

const weightOf = (text: string | undefined): number => Math.min(0.99, Math.max(0, finiteOrNull(text) ?? 0));
const smoothingOf = (text: string | undefined): Smoothing => (text === "gauss" || text === "mean" ? text : "ema");

export const lookKey = (metric: string): string => `chart.${metric}`;

/** With what the address says of this metric's chart alone. */
export function lookOf(state: ChartState, query: Query, metric: string): ChartState {
  const own = query[lookKey(metric)];
  if (own === undefined) return state;
  const words = new Map<string, string | undefined>(own.split(",").map((word) => [word.split(":")[0] ?? "", word.split(":")[1]]));
  const isOn = (on: string, off: string, other: boolean): boolean => words.has(on) || (other && !words.has(off));
  return {
    ...state,
    logScale: isOn("log", "linear", state.logScale),
    clip: isOn("clip", "whole", state.clip),
    smooth: words.has("smooth") ? weightOf(words.get("smooth")) : state.smooth,
    smoothing: words.has("by") ? smoothingOf(words.get("by")) : state.smoothing,
  };
}

/** Kinds of marks that somebody has switched off: `?hide=checkpoint,node`. */
export const hiddenMarks = (query: Query): ReadonlySet<string> => new Set((query["hide"] ?? "").split(","));

export function finiteOrNull(text: string | undefined): number | null {
  if (text === undefined || text.trim() === "") return null;
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

/** A text literal of the query language. */
export const quoteText = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&")}"`;

/** Searches were once at the root: such addresses still lead to the list of jobs. null: it is where it belongs. */
export function movedTo(path: string, search: string): string | null {
  const { q, sort } = parseQuery(search);
  return path === "/" && (q !== undefined || sort !== undefined) ? `/jobs${search}` : null;
}
