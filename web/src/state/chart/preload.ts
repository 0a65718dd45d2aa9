// A job's page is asked for while its code is still on the way: the address says what it will need first.
import { getEarly, send } from "../../api/client";
import type { PointsReply } from "../../api/types";
import { parseQuery, parseRoute } from "../../lib/url/url";
import { onLive } from "../../live/client";
import { openingRange } from "../../lib/log/lineranges";
import { chosenLines } from "../log/lines";
import { infoLoaded, pageSeq } from "../core/info";

/** Columns of a chart: what is drawn, said and opened. */
export const CURVE = ["x", "min", "max", "last", "mean", "count", "non_finite", "inf", "neg_inf", "line", "line_stream"] as const;

/** By job: the curve that most jobs show first. */
export const earlyPoints = new Map<string, Promise<PointsReply | null>>();

const PLOT_SHARE = 0.6;
const FRESH_MS = 5000;

export function preload(): void {
  const route = parseRoute(location.pathname);
  if (route.view !== "job" || (route.part && route.part !== "logs")) return;
  const { name, part } = route;
  if (!part) import("../../plot/plot").catch(() => undefined); // whoever needs it says what is wrong
  const query = parseQuery(location.search);
  if (query["embed"] === "1") return;
  const ask = (): void => {
    const path = `jobs/${encodeURIComponent(name)}`;
    if (pageSeq && part && query["stream"] && !query["merged"]) getEarly(`${path}/logs`, { stream: query["stream"], ...openingRange(chosenLines()?.from ?? null) });
    for (const rest of ["", "/metrics", "/streams"]) getEarly(path + rest);
    if (part) return;
    if (query["x"] ?? query["from"] ?? query["series"]) return;
    const buckets = Math.max(100, Math.round(window.innerWidth * window.devicePixelRatio * PLOT_SHARE));
    earlyPoints.set(name, askLoss(name, buckets));
    // Nobody's any more once there are newer points, or when it was not taken while it was new.
    const forget = (): void => void (earlyPoints.delete(name), off());
    const off = onLive((event) => event.kind === "points" && forget());
    setTimeout(forget, FRESH_MS);
  };
  // Not before the sequence is known from which the live connection goes on: between the two nothing may be lost.
  if (pageSeq) ask();
  else void infoLoaded.then((info) => info && ask());
}

/** Asked as one of many, where having none is no failed request. */
async function askLoss(job: string, buckets: number): Promise<PointsReply | null> {
  try {
    const reply = await send("POST", "points/query", {}, { queries: [{ job, metric: "loss", attempts: "live", buckets, columns: CURVE }] });
    const { results } = (await reply.json()) as { results: (PointsReply | { error: unknown })[] };
    const [result] = results;
    return result && !("error" in result) ? result : null;
  } catch {
    return null;
  }
}
