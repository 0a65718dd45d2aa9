// Figures of machines.
import { NONE } from "../text/format";

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** How far a machine's GPUs were used, else its CPUs. */
export function usedOf(means: Readonly<Record<string, number>>): string {
  const used = means["GPUUtilization"] ?? means["CPUUtilization"];
  return used === undefined ? NONE : `${used.toFixed(0)} %`;
}
