// Spearman's rank correlation: how far one number rises with another, whatever the shape of it.

/** With fewer pairs than these nothing is said: four of them often stand in order by chance. */
export const FEWEST_PAIRS = 5;

export interface Correlation {
  /** From -1 to 1. */
  rho: number;
  n: number;
}

/** 1 for the lowest; equal ones share the mean of their places. */
export function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const out = new Array<number>(values.length).fill(0);
  for (let i = 0; i < order.length; ) {
    let end = i + 1;
    while (end < order.length && values[order[end] ?? 0] === values[order[i] ?? 0]) end++;
    for (let k = i; k < end; k++) out[order[k] ?? 0] = (i + 1 + end) / 2;
    i = end;
  }
  return out;
}

/** null: too few pairs, or one of the two is the same in all of them. */
export function rankCorrelation(pairs: readonly (readonly [number | null, number | null])[]): Correlation | null {
  const whole = pairs.filter((pair): pair is readonly [number, number] => pair.every((one) => one !== null && !Number.isNaN(one)));
  if (whole.length < FEWEST_PAIRS) return null;
  const [a, b] = [ranks(whole.map(([x]) => x)), ranks(whole.map(([, y]) => y))];
  const mean = (whole.length + 1) / 2;
  let [product, left, right] = [0, 0, 0];
  for (let i = 0; i < whole.length; i++) {
    const [x, y] = [(a[i] ?? 0) - mean, (b[i] ?? 0) - mean];
    product += x * y;
    left += x * x;
    right += y * y;
  }
  return left === 0 || right === 0 ? null : { rho: product / Math.sqrt(left * right), n: whole.length };
}
