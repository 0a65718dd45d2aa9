// Lines for the measurements of the log: what a trainer prints, with a traceback now and then.
const BASE_MS = Date.parse("2026-11-01T00:00:00Z");
const BATCH = 20_000;

/** About 100 bytes each; every 100,003rd is an error. Their times are 20 ms apart. */
export function lineAt(n) {
  const time = new Date(BASE_MS + n * 20).toISOString();
  if (n % 100_003 === 100_002) return `${time} ERROR [rank${n % 8}] RuntimeError: CUDA error: an illegal memory access was encountered`;
  const loss = (2 + 3 * Math.exp(-n / 4e6) + ((n * 7919) % 1000) / 20_000).toFixed(5);
  return `${time} INFO step=${n} loss=${loss} grad_norm=0.${(n * 31) % 997} lr=3.0e-04 tokens/s=${190_000 + (n % 4000)} mem=61.2GB`;
}

/** Posts `total` lines as plain text. */
export async function fill(server, job, stream, total) {
  for (let first = 0; first < total; first += BATCH) {
    const lines = [];
    for (let n = first; n < Math.min(total, first + BATCH); n++) lines.push(lineAt(n));
    await server.post(`/api/v1/logs?job=${job}&stream=${stream}`, `${lines.join("\n")}\n`);
  }
}
