// A chart as a file: its picture and its points by the server, what is on the screen by the canvas.
import { apiUrl, jobPath, send } from "../../api/client";
import type { Buckets } from "../chart/buckets";
import { isWork, type ChartState } from "../url/url";
import { joinNames } from "./compare";
import { STEPS, TIMES, type XMap } from "../chart/xmap";

export interface Drawn {
  job: string;
  metric: string;
  state: ChartState;
  map: XMap;
}

/** The picture that the server draws of the same window. */
export function pictureUrl({ job, metric, state, map }: Drawn, look: { width?: number; height?: number; theme?: string } = {}): string {
  return apiUrl(jobPath(job, "/chart.svg"), { ...shared(state, map), metric: joinNames([metric]), ...pictureLook(state), ...look });
}

const pictureLook = (state: ChartState) => ({ scale: state.logScale ? "log" : undefined, smooth: state.smooth || undefined });

/** As the server's: more curves are no picture. */
const MOST_IN_A_PICTURE = 20;

/** Of several jobs; null where the server draws another one: too many, groups, several names of a metric, or a look that it does not have. */
export function picturesUrl(curves: readonly { name: string; metric?: string }[], state: ChartState): string | null {
  const [first, ...rest] = curves.map((curve) => curve.name);
  const metrics = [...new Set(curves.flatMap(({ metric }) => metric ?? []))];
  const { axis, logX, clip, smooth, smoothing } = state;
  const isOurs = (axis === "step" || axis === "time" || isWork(axis)) && !logX && !clip && (smooth === 0 || smoothing === "ema");
  if (first === undefined || metrics.length !== 1 || curves.length > MOST_IN_A_PICTURE || !isOurs) return null;
  return apiUrl(jobPath(first, "/chart.svg"), { ...shared(state, axis === "time" ? TIMES : STEPS), metric: joinNames(metrics), jobs: joinNames(rest), ...pictureLook(state), theme: "light" });
}

/** Every point of the window as CSV. */
export const csvUrl = ({ job, metric, state, map }: Drawn): string =>
  apiUrl(jobPath(job, "/points"), { ...shared(state, map), metric, format: "csv", x: isWork(state.axis) ? state.axis : map.axis });

function shared(state: ChartState, map: XMap): Record<string, string | number | undefined> {
  const stream = state.stream ?? undefined;
  if (isWork(state.axis)) return { x: state.axis, from: state.from ?? undefined, to: state.to ?? undefined, stream };
  return {
    x: state.axis === "time" ? "time" : state.axis === "relative" ? "time" : undefined,
    from: state.from === null ? undefined : Math.floor(map.toServer(state.from)),
    to: state.to === null ? undefined : Math.ceil(map.toServer(state.to)),
    stream,
  };
}

/** An address of this chart that needs no token. */
export async function signUrl(url: string): Promise<string> {
  const reply = await send("POST", "signatures", {}, { url });
  return location.origin + ((await reply.json()) as { url: string }).url;
}

export function embedUrl(job: string, metric: string, query: Readonly<Record<string, string>>): string {
  const kept = ["x", "scale", "xscale", "smooth", "smoothing", "clip", "from", "to", "series"];
  const params = new URLSearchParams({ embed: "1", metric });
  for (const key of kept) if (query[key] !== undefined) params.set(key, query[key]);
  return `/jobs/${encodeURIComponent(job)}?${params}`;
}

export function download(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

interface Curve {
  job: string;
  metric: string;
  buckets: Buckets;
}

/** What is drawn of many jobs: a line a bucket (RFC 4180). A name that a spreadsheet would take for a formula has an apostrophe before it. */
export function curvesCsv(curves: readonly Curve[]): string {
  const safe = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${safe(text).replaceAll('"', '""')}"` : safe(text));
  const lines = curves.flatMap(({ job, metric, buckets: { x, count, nonFinite, min, max, mean } }) =>
    x.map((at, i) => [quoted(job), quoted(metric), at, count[i], nonFinite[i] ? 1 : 0, min[i] ?? "", max[i] ?? "", mean[i] ?? ""].join(",")),
  );
  return ["job,metric,x,count,non_finite,min,max,mean", ...lines, ""].join("\r\n");
}

/** Names of jobs and metrics may hold what no file's name can. */
export const fileName = (job: string, metric: string, suffix: string): string =>
  `${job}-${metric}`.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 120) + suffix;

/** The canvas as it is, on the page's background: without one a dark chart is unreadable elsewhere. Marks are elements over it: they are drawn where they are. */
export function pngUrl(canvas: HTMLCanvasElement, marks: Iterable<Element> = []): string {
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext("2d");
  if (context) {
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
    for (const mark of marks) drawMark(context, mark, canvas);
  }
  return copy.toDataURL("image/png");
}

function drawMark(context: CanvasRenderingContext2D, mark: Element, canvas: HTMLCanvasElement): void {
  const at = canvas.getBoundingClientRect();
  const { left, top, width, height } = mark.getBoundingClientRect();
  const { color, fontSize, fontFamily } = getComputedStyle(mark);
  const scale = canvas.width / at.width;
  context.fillStyle = color;
  context.font = `${parseFloat(fontSize) * scale}px ${fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(mark.textContent ?? "", (left + width / 2 - at.left) * scale, (top + height / 2 - at.top) * scale);
}
