// Scales and tick texts of a chart.
import uPlot from "./uplot";
import { t } from "../i18n/i18n";
import { formatClock, formatDay, formatDuration, formatTime, formatValue, pad } from "../lib/text/format";
import { grouped } from "../lib/text/number";
import { isWork, type Axis } from "../lib/url/url";
import type { PlotColors } from "./colors";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const RELATIVE_INCREMENTS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 20, 50].map((n) => n * DAY),
];

export function xAxis(axis: Axis): Partial<uPlot.Axis> {
  if (isWork(axis)) return { space: 70, splits: splitsAcross(), values: (_, splits) => formatTicks(splits) };
  if (axis === "time") return { space: 64, values: (_, splits, __, ___, step) => splits.map((ms) => formatTimeTick(ms, step)) };
  if (axis === "relative") {
    return {
      space: 70,
      incrs: RELATIVE_INCREMENTS,
      values: (_, splits) => splits.map((ms) => (ms < 0 ? "" : formatDuration(ms / SECOND))),
    };
  }
  return { space: 70, splits: splitsAcross(1), values: (_, splits) => splits.map(formatStep) };
}

/** The clock, and the day where a new one begins. */
export function formatTimeTick(ms: number, step: number): string {
  const clock = formatClock(ms);
  if (step >= DAY || clock === "00:00:00") return formatDay(ms).slice(5);
  if (step < SECOND) return `${clock.slice(3)}.${pad(Math.round(ms) % SECOND, 3)}`;
  return step >= MINUTE ? clock.slice(0, 5) : clock;
}

/** Steps are read off exactly until they get too long for the axis. */
export const formatStep = (step: number): string =>
  Math.abs(step) < 1e7 ? grouped(step) : formatValue(step);

export function formatX(axis: Axis, x: number): string {
  if (axis === "time") return formatTime(x);
  if (axis === "relative") return `${x < 0 ? "−" : "+"}${formatDuration(Math.abs(x) / SECOND)}`;
  if (axis === "tokens") return t("{n} tokens", { n: formatValue(x) });
  if (axis === "flops") return `${formatValue(x)} FLOPs`;
  return t("step {n}", { n: `${axis === "rstep" && x >= 0 ? "+" : ""}${formatStep(x)}` });
}

/** Beyond this the axis ends: the difference of two such values is still a number. What lies there is marked at the edge. */
export const LARGEST = 8e307;
const cap = (value: number): number => Math.min(LARGEST, Math.max(-LARGEST, value));

/** Room above and below the curve; a flat curve lies in the middle. */
export function paddedRange(low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const min = cap(low);
  const max = cap(high);
  // Means of equal values differ by rounding: that is a flat curve too.
  if (max - min <= Math.abs(max) * 1e-9) {
    const room = Math.max(Math.abs(min) * 0.1, 1e-300);
    return min === 0 ? [-1, 1] : [cap(min - room), cap(max + room)];
  }
  const room = (max - min) * 0.06;
  // Curves of positive values do not get a negative axis for the sake of padding.
  return [min >= 0 && min - room < 0 ? 0 : cap(min - room), cap(max + room)];
}

export function logRange(min: number, max: number): [number, number] {
  if (!(min > 0) || !(max > 0) || !Number.isFinite(max)) return [0.1, 10];
  if (min === max) return [Math.max(min / 2, Number.MIN_VALUE), cap(max * 2)];
  const room = (max / min) ** 0.05;
  // From the smallest to the largest number there is no more room.
  return Number.isFinite(room) ? [Math.max(min / room, Number.MIN_VALUE), cap(max * room)] : [min, cap(max)];
}

const LOG_DIGITS = [
  { digits: [1, 2, 3, 4, 5, 6, 7, 8, 9], gap: 0.045 },
  { digits: [1, 2, 5], gap: 0.3 },
  { digits: [1], gap: 1 },
];
const LOG_TICK_SPACE = 16;

/** Round values as close as their texts allow; where a log axis spans too little for those, even steps. */
export function logSplits(min: number, max: number, height: number): number[] {
  const perDecade = height / Math.log10(max / min);
  const { digits } = LOG_DIGITS.find(({ gap }) => gap * perDecade >= LOG_TICK_SPACE) ?? { digits: [1] };
  const splits: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
    for (const digit of digits) {
      const value = Number(`${digit}e${power}`);
      if (value >= min && value <= max) splits.push(value);
    }
  }
  return splits.length >= FEWEST_TICKS || max / min > 10 ? splits : evenSplits(min, max, FEWEST_TICKS);
}

/** With fewer one cannot see what lies between two of them. */
const FEWEST_TICKS = 3;

/** Round values, `most` or a few more: at least three, unless steps that are no multiples of `least` would be needed for it. */
export function evenSplits(min: number, max: number, most: number, least = 0): number[] {
  if (!(max > min)) return [min];
  const rough = Math.max((max - min) / Math.max(most, 1), least);
  const power = Math.floor(Math.log10(rough));
  const steps = [1, 0, -1].flatMap((up) => [5, 2.5, 2, 1].map((digit) => Number(`${digit}e${power + up}`)));
  const wanted = steps.findLastIndex((step) => step >= rough * (1 - 1e-9));
  let splits: number[] = [];
  for (const step of steps.slice(Math.max(0, wanted))) {
    if (!(step > 0) || !Number.isFinite(step) || (least > 0 && step % least !== 0)) continue;
    splits = multiples(step, min, max);
    if (splits.length >= FEWEST_TICKS) break;
  }
  return splits;
}

function multiples(step: number, min: number, max: number): number[] {
  const first = Math.ceil(min / step - 1e-9) * step;
  const count = Math.max(0, Math.floor((max - first) / step + 1e-9) + 1);
  return Array.from({ length: count }, (_, i) => Number((first + i * step).toPrecision(14)));
}

const splitsAcross = (least = 0): uPlot.Axis.Splits => (u, _, min, max) => evenSplits(min, max, u.bbox.width / uPlot.pxRatio / 70, least);

export const formatLogTick = (value: number): string =>
  value >= 1e-3 && value < 1e4 ? String(Number(value.toPrecision(4))) : formatValue(value);

const UNITS = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"], [1, ""]] as const;

/** Ticks share their unit and number of digits, so that the axis reads as a column and no two say the same. */
export function formatTicks(splits: number[], increment = 1): string[] {
  const step = splits.length > 1 ? Math.abs((splits[1] ?? 0) - (splits[0] ?? 0)) : increment;
  const largest = Math.max(...splits.map(Math.abs), 0);
  if (largest >= 1e15 || (largest < 1e-3 && largest > 0) || step < 1e-9) return splits.map(formatValue);
  const [factor, unit] = (largest >= 1e4 && UNITS.find(([size]) => largest >= size)) || [1, ""];
  const digits = digitsOf(step / factor);
  return splits.map((split) => `${(split / factor).toFixed(digits).replace("-", "−")}${split === 0 ? "" : unit}`);
}

/** So many behind the point that a step is written in full: 0.25 has two. */
function digitsOf(step: number): number {
  for (let digits = 0; digits < 9; digits++) {
    const scaled = step * 10 ** digits;
    if (scaled > 0.9 && Math.abs(scaled - Math.round(scaled)) < 1e-4 * scaled) return digits;
  }
  return 9;
}

/** Above there is room for marks, at the right for half of the last step's text. */
export const PADDING: uPlot.Padding = [20, 30, 0, 0];

const LEAST_Y_SIZE = 56;
const DIGIT_WIDTH = 6.6;
const TICK_ROOM = 10;

/** As wide as its longest text, so that none is cut. */
export const ySize = (_: unknown, values: readonly string[] | null): number =>
  Math.max(LEAST_Y_SIZE, Math.ceil(Math.max(0, ...(values ?? []).map((text) => text.length)) * DIGIT_WIDTH) + TICK_ROOM);

const AXIS_FONT = "11px system-ui, sans-serif";

export function axisLook(colors: PlotColors): Partial<uPlot.Axis> {
  return {
    stroke: colors.text,
    font: AXIS_FONT,
    gap: 4,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { stroke: colors.grid, width: 1, size: 4 },
  };
}

/** Powers of ten and what lies between, as far as their texts have room. */
export const xLogTicks = (): Partial<uPlot.Axis> => ({
  splits: (u, _, min, max) => logSplits(min, max, (u.bbox.width / uPlot.pxRatio) * 0.25),
  filter: (_, splits) => splits,
  values: (_, splits) => splits.map(formatLogTick),
});

export function yTicks(logScale: boolean): Partial<uPlot.Axis> {
  if (!logScale) {
    return {
      splits: (u, _, min, max) => evenSplits(min, max, u.bbox.height / uPlot.pxRatio / 32),
      values: (_, splits, __, ___, increment) => formatTicks(splits, increment),
    };
  }
  return {
    splits: (u, _, min, max) => logSplits(min, max, u.bbox.height / uPlot.pxRatio),
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map(formatLogTick),
  };
}
