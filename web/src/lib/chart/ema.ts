/**
 * Exponential moving average with bias correction, so that the first values are not pulled
 * towards zero. Gaps and non-finite values stay as they are and do not feed the average.
 */
export function ema(values: readonly (number | null)[], weight: number): (number | null)[] {
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
    sum = sum * weight + (1 - weight) * value;
    correction *= weight;
    smooth[i] = sum / (1 - correction);
  }
  return smooth;
}
