// What is written of values that are no numbers.
import { NON_FINITE } from "../text/number";

export function nonFiniteText(bits: number): string {
  const parts: string[] = [];
  if (bits & NON_FINITE.nan) parts.push("NaN");
  if (bits & NON_FINITE.posInf) parts.push("+Inf");
  if (bits & NON_FINITE.negInf) parts.push("−Inf");
  return parts.join(", ");
}
