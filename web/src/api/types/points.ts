// Series of points.
import type { Num } from "../../lib/text/number";
import type { MetricSummary } from "./jobs";

export interface SeriesInfo extends MetricSummary {
  stream?: string;
  /** Whether a greater value is the better one, where it is known. */
  higher?: boolean;
  derived?: Derived;
}

/** How a series that no line printed was made. */
export interface Derived {
  formula: string;
  inputs?: Record<string, { value?: Num; from?: string }>;
}

export interface PointColumns {
  x: number[];
  min: Num[];
  max: Num[];
  first?: Num[];
  last: Num[];
  mean: Num[];
  count: number[];
  line: (number | null)[];
  min_line?: (number | null)[];
  max_line?: (number | null)[];
  line_stream?: (string | null)[];
  /** How many values of each bucket are NaN or infinite. */
  non_finite?: number[];
  /** Of these the infinities above and below; min and max are of finite values where there is one. */
  inf?: number[];
  neg_inf?: number[];
}

export interface PointsReply {
  /** The one that was found, when a role was asked for. */
  metric?: string;
  columns: PointColumns;
  total_points: number;
  bucket_width: number;
  /** Of the values; "": nobody says. */
  unit?: string;
  seq?: string;
  attempts?: { attempt: number; first_step: number }[];
  /** With x=tokens and x=flops: what had been done at these steps, and what says so. */
  axis?: { formula: string; inputs: { tokens: string; parameters?: { value: number; from: string } }; steps: number[]; values: number[] };
}

/** Of the axes of work: which metric counts the tokens, or why there is none. */
export type Axes = Record<"tokens" | "flops", { tokens?: string; missing?: string; parameters?: { value: number; from: string } }>;

/** [step, ts_ms, value, line, attempt] */
export type LivePoint = [step: number, ts_ms: number, value: Num, line: number | null, attempt: number];

export interface LiveSeries {
  metric: string;
  stream: string;
  role?: string;
  points: LivePoint[];
}

export interface PointsEvent {
  job: string;
  series: LiveSeries[];
}

/** Streams beside each other: how far each is from the median of all, in thousandths; null: no point, "NaN": none that is finite. */
export interface HeatReply {
  metric: string;
  role: string;
  unit: string;
  higher?: boolean;
  x: "step" | "time";
  from: number;
  bucket_width: number;
  columns: number;
  median: (number | null)[];
  rows: { stream: string; away: (number | null | "NaN")[] }[];
}
