// Smoothing of what is drawn; gaps and values that are not finite stay as they are and feed nothing.
import { ema } from "./ema";
import type { Smoothing } from "../url/url";

type Values = readonly (number | null)[];

/** One slider for all three: weight w reaches about as far as an exponential average that keeps w of what was before. */
export function smooth(values: Values, weight: number, by: Smoothing): (number | null)[] {
  if (by === "ema" || weight <= 0) return ema(values, weight);
  const reach = 1 / (1 - weight);
  return by === "mean" ? windowed(values, Math.round(reach), () => 1) : windowed(values, Math.ceil(reach * 2), gaussian(reach * 0.7));
}

const gaussian = (sigma: number) => (away: number): number => Math.exp(-0.5 * (away / sigma) ** 2);

/** A weighted mean of the values around each; at the ends, and beside gaps, of those that are there. */
function windowed(values: Values, half: number, weigh: (away: number) => number): (number | null)[] {
  const weights = Array.from({ length: half + 1 }, (_, away) => weigh(away));
  return values.map((value, i) => {
    if (value === null) return null;
    let sum = 0;
    let total = 0;
    for (let k = Math.max(0, i - half); k <= i + half && k < values.length; k++) {
      const other = values[k] ?? null;
      if (other === null) continue;
      const weight = weights[Math.abs(k - i)] ?? 0;
      sum += weight * other;
      total += weight;
    }
    return sum / total;
  });
}
