// The x of an axis that another series of the job stands for.
import type { XMap } from "./xmap";

/**
 * By another series of the job: at each step what that series had come to. Between two of its points, and beyond the last two, it is
 * taken to go on evenly; where it falls (a restart), the highest so far holds. null: it does not rise.
 */
export function along(steps: readonly number[], values: readonly (number | null)[]): XMap | null {
  const at: number[] = [];
  const value: number[] = [];
  steps.forEach((step, i) => {
    const next = values[i] ?? null;
    if (next === null || (value.length > 0 && next <= (value[value.length - 1] ?? 0))) return;
    at.push(step);
    value.push(next);
  });
  if (at.length < 2) return null;
  return { axis: "step", toServer: (x) => interpolate(value, at, x), fromServer: (x) => interpolate(at, value, x) };
}

function interpolate(from: readonly number[], to: readonly number[], x: number): number {
  let low = 0;
  let high = from.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((from[middle] ?? 0) <= x) low = middle;
    else high = middle - 1;
  }
  const [x0 = 0, x1 = 1] = [from[low], from[low + 1]];
  const [y0 = 0, y1 = 0] = [to[low], to[low + 1]];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}
