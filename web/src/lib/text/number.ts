/** A number as the API sends it: non-finite values are strings. */
export type Num = number | "NaN" | "Infinity" | "-Infinity";

/** Absent ones are undefined or null. */
export function toNumber(value: Num | null | undefined): number {
  if (value === null || value === undefined) return NaN;
  if (typeof value === "number") return value;
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  return NaN;
}

export const NON_FINITE = { nan: 1, posInf: 2, negInf: 4 } as const;

/** A bit for each kind of non-finite value, 0 for finite and absent ones. */
export function nonFiniteBit(value: Num | null | undefined): number {
  if (value === null || value === undefined) return 0;
  const number = toNumber(value);
  if (Number.isFinite(number)) return 0;
  if (Number.isNaN(number)) return NON_FINITE.nan;
  return number > 0 ? NON_FINITE.posInf : NON_FINITE.negInf;
}

/** As Intl writes numbers in all of the page's languages; its first use costs 20 ms, which the first curve would wait for. */
export const grouped = (value: number): string => String(Number(value.toFixed(3))).replace(/(?<!\.\d*)\B(?=(?:\d{3})+(?!\d))/g, ",");
