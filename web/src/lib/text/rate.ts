import { formatValue } from "./format";
import type { Num } from "./number";

/** As it is written in configurations, whatever its size: 3e-4, 1e-3. From a tenth on it is a number like others. */
export function rateText(rate: Num | null | undefined): string {
  const value = typeof rate === "number" ? Math.abs(rate) : 0;
  return value > 0 && value < 0.1 ? Number(rate).toExponential(3).replace(/\.?0*e/, "e").replace("e+", "e").replace(/^-/, "−") : formatValue(rate);
}
