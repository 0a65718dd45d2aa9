/**
 * Exponential moving average with bias correction, so that the first values are not pulled
 * towards zero. Gaps and non-finite values stay as they are and do not feed the average.
 * counts: how many points each value stands for; the average is then that of the points, however they are put together.
 */
export function ema(values: readonly (number | null)[], weight: number, counts?: readonly number[]): (number | null)[] {
  if (weight <= 0) return values.slice();
  const smooth: (number | null)[] = new Array(values.length);
  let sum = 0;
  let correction = 1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? null;
    if (value === null || !Number.isFinite(value)) {
      smooth[i] = value;
      continue;
    }
    const kept = counts ? weight ** Math.max(1, counts[i] ?? 1) : weight;
    sum = sum * kept + (1 - kept) * value;
    correction *= kept;
    smooth[i] = sum / (1 - correction);
  }
  return smooth;
}
