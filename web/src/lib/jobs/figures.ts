// What a job's main figures are made of.
import type { Goodput, JobDoc, MetricSummary, Num } from "../../api/types";
import type { Metric } from "./metrics";
import { toNumber } from "../text/number";
import { higherIsBetter } from "./roles";

interface Stepped {
  role: string | undefined;
  isMain: boolean | undefined;
  step: number | undefined;
}

/** How far a job is: by the axis of its loss, else of its eval loss; what another metric counts may be tokens. Of a job without, the furthest of any but a benchmark's, whose places are sizes. null: none has a step. */
export function stepOf(metrics: readonly Stepped[]): number | null {
  const known = metrics.filter((one) => one.step !== undefined && one.step >= 0 && one.role !== "benchmark");
  const lead = ["loss", "eval_loss"].flatMap((role) => known.filter((one) => one.isMain && one.role === role))[0];
  return lead?.step ?? known.reduce<number | null>((most, one) => Math.max(most ?? 0, one.step ?? 0), null);
}

export const lastStep = (metrics: readonly Metric[]): number | null => stepOf(metrics.map((one) => ({ role: one.role, isMain: one.isMain, step: one.lastStep })));

/**
 * Milliseconds to the last step. The server says when that is; without a word from it, from the settings' number of steps and the
 * pace. null: nobody knows, because the job has ended, is silent, has no number of steps or no pace.
 */
export function remainingMs(doc: JobDoc, step: number | null, stepSeconds: number | undefined, nowMs: number, isSilent: boolean): number | null {
  if (doc.TrainingJobStatus !== "InProgress" || isSilent) return null;
  // Its own clock: a browser that is an hour off would be an hour off here, too.
  const heard = doc.last_heard_ms ?? doc.last_line_ms;
  if (doc.eta_ms !== undefined && Number.isFinite(doc.eta_ms)) {
    const skewed = heard !== undefined && heard > nowMs ? heard : nowMs;
    return doc.eta_ms > skewed ? doc.eta_ms - skewed : null;
  }
  const { total_steps: total } = doc;
  if (total === undefined || step === null || stepSeconds === undefined || !(stepSeconds > 0) || step >= total) return null;
  return (total - step) * stepSeconds * 1000;
}

/** How far a value lies from what is usual, as a part of that; null: that cannot be said. */
export function awayFrom(value: Num | undefined, usual: Num | undefined): number | null {
  const [a, b] = [toNumber(value), toNumber(usual)];
  return Number.isFinite(a) && Number.isFinite(b) && b !== 0 ? (a - b) / Math.abs(b) : null;
}

export interface Best {
  value: number;
  step: number | null;
}

/** The best value: the server's, which leaves superseded points out, unless a newer point is better still. */
export function bestOf(metric: Metric, summary: MetricSummary | undefined): Best | null {
  const isHigher = metric.higher ?? higherIsBetter(metric.role);
  const live = isHigher ? metric.max : metric.min;
  const known = toNumber(summary?.best);
  const isLater = metric.lastStep !== undefined && live === toNumber(metric.last);
  if (Number.isFinite(known)) {
    const isBeaten = live !== undefined && isLater && (isHigher ? live > known : live < known);
    return isBeaten ? { value: live, step: metric.lastStep ?? null } : { value: known, step: summary?.best_step ?? null };
  }
  return live === undefined ? null : { value: live, step: isLater ? (metric.lastStep ?? null) : null };
}

/** By role the metric that the server says answers for it; an only one needs no word. What has no role is left to the charts. */
export function mainMetrics(metrics: readonly Metric[]): Map<string, Metric> {
  const main = new Map<string, Metric>();
  for (const one of metrics)
    if (one.role !== "other" && (one.isMain || metrics.every((other) => other === one || other.role !== one.role))) main.set(one.role, one);
  return main;
}

export interface AtRisk {
  step: number;
  /** Since it was written. */
  steps: number;
  seconds: number | null;
  nodeHours: number | null;
}

/** What would be made again if the job died now. */
export function atRisk(goodput: Goodput | null, step: number | null): AtRisk | null {
  const checkpoint = goodput?.checkpoint;
  if (!goodput || !checkpoint || step === null) return null;
  const steps = Math.max(0, step - checkpoint.step);
  const pace = goodput.steps?.step_seconds;
  const seconds = pace !== undefined && pace > 0 ? steps * pace : null;
  return { step: checkpoint.step, steps, seconds, nodeHours: seconds === null ? null : (seconds * Math.max(1, goodput.nodes)) / 3600 };
}

/** In the order of a job's life, as the server names them. */
export const BUCKETS = [
  "capacity",
  "unhealthy_replaced",
  "launch",
  "image",
  "data",
  "first_step",
  "productive",
  "evaluation",
  "checkpoint",
  "redone",
  "stalled",
  "restart",
  "idle",
  "unmeasured",
] as const;
export type BucketName = (typeof BUCKETS)[number];

/** Start-up, work, and what was lost: three colours say more than fourteen. */
export const bucketClass = (name: string): "good" | "start" | "lost" | "other" =>
  name === "productive"
    ? "good"
    : ["redone", "stalled", "restart"].includes(name)
      ? "lost"
      : ["evaluation", "checkpoint", "idle", "unmeasured"].includes(name)
        ? "other"
        : "start";

export const bucketsOf = (goodput: Goodput): { name: string; seconds: number; percent: number; nodeHours: number }[] =>
  Object.entries(goodput.buckets)
    .filter(([, bucket]) => bucket.seconds > 0)
    .map(([name, bucket]) => ({ name, seconds: bucket.seconds, percent: bucket.percent, nodeHours: bucket.node_hours }));

/**
 * What names of one experiment have in common: numbers and dates at the end are taken off, and settings with a number in them as
 * long as two words are left (lr8e-5 of llama-13b-sft-lr8e-5, but not 7b of llama-7b).
 */
export function nameStem(name: string): string {
  const words = name.split(/([-_.])/);
  while (words.length > 1) {
    const last = words[words.length - 1] ?? "";
    const isNumber = /^(v|try|attempt|run|r)?\d[\dTZ:]*$/i.test(last);
    if (!isNumber && !(/\d/.test(last) && words.length > 3)) break;
    words.splice(-2);
  }
  const stem = words.join("");
  return stem.length >= 3 ? stem : name;
}
