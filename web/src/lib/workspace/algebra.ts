// Arithmetic on curves that are buckets: the lowest and the highest value that a bucket's points can come to are kept, so that no
// spike is lost on the way. A curve of fewer buckets decides where the result has its own.
import { NON_FINITE } from "../text/number";
import { join, POINTWISE, type FunctionName, type Node, type Op, type Pointwise } from "./expression";
import { emptyBuckets, type Buckets } from "../chart/buckets";
import { ema } from "../chart/ema";

type Column = (number | null)[];
type Values = Pick<Buckets, "min" | "max" | "mean" | "nonFinite">;

/** One curve's names and numbers, for one job. null: it has none. */
export interface Sources {
  curve(metric: string): Buckets | null;
  figure(key: string): number | null;
}

/** null: the job lacks what the expression needs. */
export function evaluateCurve(node: Node, sources: Sources): Buckets | null {
  const value = evaluate(node, sources);
  return typeof value === "number" ? null : value;
}

function evaluate(node: Node, sources: Sources): Buckets | number | null {
  if (node.kind === "number") return node.value;
  if (node.kind === "metric") return sources.curve(node.name);
  if (node.kind === "figure") return sources.figure(node.key);
  if (node.kind === "negate") return joined("*", -1, evaluate(node.of, sources));
  if (node.kind === "join") return joined(node.op, evaluate(node.left, sources), evaluate(node.right, sources));
  const [first, second] = node.args;
  const of = first ? evaluate(first, sources) : null;
  if (of === null) return null;
  if (node.name in POINTWISE) return typeof of === "number" ? POINTWISE[node.name as Pointwise](of) : pointwise(node.name as Pointwise, of);
  if (typeof of === "number") return of;
  return along(node.name, of, second?.kind === "number" ? second.value : 0);
}

function joined(op: Op, a: Buckets | number | null, b: Buckets | number | null): Buckets | number | null {
  if (a === null || b === null) return null;
  if (typeof a === "number" && typeof b === "number") return join(op, a, b);
  if (typeof a === "number") return paired(op, constant(a, b as Buckets), b as Buckets, b as Buckets);
  if (typeof b === "number") return paired(op, a, constant(b, a), a);
  if (b.x.length < a.x.length) return paired(op, onto(b, a), b, b);
  return paired(op, a, onto(a, b), a);
}

function constant(value: number, at: Buckets): Values {
  const column: Column = new Array<number>(at.x.length).fill(value);
  return { min: column, max: column, mean: column, nonFinite: new Array<number>(at.x.length).fill(0) };
}

const withValues = (at: Buckets, values: Values): Buckets => {
  const { line, lineStream } = emptyBuckets();
  return { x: at.x, count: at.count, width: at.width, total: at.total, last: values.mean, line, lineStream, minLine: [], maxLine: [], ...values };
};

function paired(op: Op, a: Values, b: Values, at: Buckets): Buckets {
  const length = at.x.length;
  const out: Values = { min: new Array<null>(length).fill(null), max: new Array<null>(length).fill(null), mean: new Array<null>(length).fill(null), nonFinite: new Array<number>(length).fill(0) };
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.mean[i] ?? null, b.mean[i] ?? null];
    out.nonFinite[i] = (a.nonFinite[i] ?? 0) | (b.nonFinite[i] ?? 0);
    if (x === null || y === null) continue;
    const [low, high] = [b.min[i] ?? y, b.max[i] ?? y];
    put(out, i, join(op, x, y), ends(op, [a.min[i] ?? x, a.max[i] ?? x], [low, high]));
    // Somewhere in the bucket it may be divided by nothing at all.
    if (op === "/" && low <= 0 && high >= 0) out.nonFinite[i] = (out.nonFinite[i] ?? 0) | NON_FINITE.nan;
  }
  return withValues(at, out);
}

function ends(op: Op, [a, b]: [number, number], [c, d]: [number, number]): number[] {
  return [join(op, a, c), join(op, a, d), join(op, b, c), join(op, b, d)];
}

function put(out: Values, i: number, mean: number, values: readonly number[]): void {
  const finite = values.filter(Number.isFinite);
  if (Number.isFinite(mean)) finite.push(mean);
  for (const value of [mean, ...values]) {
    if (Number.isNaN(value)) out.nonFinite[i] = (out.nonFinite[i] ?? 0) | NON_FINITE.nan;
    else if (!Number.isFinite(value)) out.nonFinite[i] = (out.nonFinite[i] ?? 0) | (value > 0 ? NON_FINITE.posInf : NON_FINITE.negInf);
  }
  if (finite.length === 0) return;
  out.min[i] = Math.min(...finite);
  out.max[i] = Math.max(...finite);
  out.mean[i] = Number.isFinite(mean) ? mean : null;
}

/** All of these rise over what they are defined for, or turn at 0. */
function pointwise(name: Pointwise, of: Buckets): Buckets {
  const act = POINTWISE[name];
  const length = of.x.length;
  const out: Values = { min: new Array<null>(length).fill(null), max: new Array<null>(length).fill(null), mean: new Array<null>(length).fill(null), nonFinite: of.nonFinite.slice() };
  for (let i = 0; i < length; i++) {
    const mean = of.mean[i] ?? null;
    if (mean === null) continue;
    const [low, high] = [of.min[i] ?? mean, of.max[i] ?? mean];
    put(out, i, act(mean), [act(low), act(high), ...(low < 0 && high > 0 && name === "abs" ? [0] : [])]);
  }
  return withValues(of, out);
}

/** The buckets of one curve where another has its own: what falls into each of them, else what was before it. */
export function onto(at: Buckets, of: Buckets): Values {
  const out: Values = { min: [], max: [], mean: [], nonFinite: [] };
  let next = 0;
  for (const x of at.x) {
    const end = at.width > 1 ? (Math.floor(x / at.width) + 1) * at.width : x;
    let [low, high, sum, count, bits] = [Infinity, -Infinity, 0, 0, 0];
    const take = (i: number): void => {
      bits |= of.nonFinite[i] ?? 0;
      const mean = of.mean[i] ?? null;
      if (mean === null) return;
      const points = Math.max(1, of.count[i] ?? 1);
      low = Math.min(low, of.min[i] ?? mean);
      high = Math.max(high, of.max[i] ?? mean);
      sum += mean * points;
      count += points;
    };
    // Up to the end of this bucket, or to x itself where the bucket is but one point.
    const begin = at.width > 1 ? end - at.width : x;
    while (next < of.x.length && (of.x[next] ?? 0) < begin) next++;
    let i = next;
    for (; i < of.x.length && ((of.x[i] ?? 0) < end || (of.x[i] ?? 0) === x); i++) take(i);
    if (count === 0 && next > 0) take(next - 1);
    out.min.push(count > 0 ? low : null);
    out.max.push(count > 0 ? high : null);
    out.mean.push(count > 0 ? sum / count : null);
    out.nonFinite.push(bits);
  }
  return out;
}

function along(name: FunctionName, of: Buckets, argument: number): Buckets {
  if (name === "ema") {
    const mean = ema(of.mean, argument, of.count);
    return withValues(of, { min: mean, max: mean, mean, nonFinite: of.nonFinite });
  }
  if (name === "cummin" || name === "cummax") {
    const isMin = name === "cummin";
    let best: number | null = null;
    const mean = (isMin ? of.min : of.max).map((value) => (best = value === null ? best : best === null ? value : isMin ? Math.min(best, value) : Math.max(best, value)));
    return withValues(of, { min: mean, max: mean, mean, nonFinite: of.nonFinite });
  }
  const mean = windowed(name, of, argument);
  return withValues(of, { min: mean, max: mean, mean, nonFinite: of.nonFinite });
}

/** Over as many of the last buckets as hold so many points; a mean and a median weigh each bucket by its points. */
function windowed(name: FunctionName, of: Buckets, points: number): Column {
  const source = name === "min" ? of.min : name === "max" ? of.max : of.mean;
  const out: Column = [];
  let first = 0;
  let held = 0;
  for (let i = 0; i < source.length; i++) {
    held += Math.max(1, of.count[i] ?? 1);
    while (first < i && held - Math.max(1, of.count[first] ?? 1) >= points) held -= Math.max(1, of.count[first++] ?? 1);
    const window: { value: number; count: number }[] = [];
    for (let k = first; k <= i; k++) {
      const value = source[k] ?? null;
      if (value !== null) window.push({ value, count: Math.max(1, of.count[k] ?? 1) });
    }
    out.push((source[i] ?? null) === null || window.length === 0 ? null : fold(name, window));
  }
  return out;
}

function fold(name: FunctionName, window: { value: number; count: number }[]): number {
  const total = window.reduce((sum, one) => sum + one.count, 0);
  if (name === "min") return window.reduce((low, one) => Math.min(low, one.value), Infinity);
  if (name === "max") return window.reduce((high, one) => Math.max(high, one.value), -Infinity);
  if (name === "mean") return window.reduce((sum, one) => sum + one.value * one.count, 0) / total;
  window.sort((a, b) => a.value - b.value);
  let seen = 0;
  for (let i = 0; i < window.length; i++) {
    seen += window[i]?.count ?? 0;
    if (seen * 2 > total) return window[i]?.value ?? 0;
    if (seen * 2 === total) return ((window[i]?.value ?? 0) + (window[i + 1]?.value ?? window[i]?.value ?? 0)) / 2;
  }
  return window[window.length - 1]?.value ?? 0;
}
