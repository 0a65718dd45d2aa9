// Sizes as people write them: "20 GiB", "1.5 MB", "4096".

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;
const FACTORS: Readonly<Record<string, number>> = {
  "": 1, b: 1,
  k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9, t: 1e12, tb: 1e12,
  ki: 2 ** 10, kib: 2 ** 10, mi: 2 ** 20, mib: 2 ** 20, gi: 2 ** 30, gib: 2 ** 30, ti: 2 ** 40, tib: 2 ** 40,
};

export function formatBytes(bytes: number): string {
  const at = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const size = bytes / 2 ** (10 * at);
  return `${at === 0 ? Math.round(size) : Number(size.toPrecision(3))} ${UNITS[at]}`;
}

/** null: no size. */
export function parseBytes(text: string): number | null {
  const [, number = "", unit = ""] = /^\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const factor = FACTORS[unit.toLowerCase()];
  if (number === "" || factor === undefined) return null;
  const bytes = Math.round(Number(number) * factor);
  return Number.isSafeInteger(bytes) ? bytes : null;
}
