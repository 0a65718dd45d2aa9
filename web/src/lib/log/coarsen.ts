import type { LogBucket } from "../../api/types";

/** Buckets that are no finer than what is counted lies apart: with more of them than lines the picture would be a comb. */
export function coarsen(fine: readonly LogBucket[]): { buckets: readonly LogBucket[]; width: number } {
  const [first, second] = fine;
  if (!first) return { buckets: fine, width: 1 };
  const width = second ? second.from_ms - first.from_ms : 1;
  const total = fine.reduce((sum, one) => sum + one.count, 0);
  const by = total > 0 && second ? Math.ceil(fine.length / total) : 1;
  if (by === 1) return { buckets: fine, width };
  const buckets: LogBucket[] = [];
  fine.forEach(({ from_ms, count }, i) => {
    if (i % by === 0) buckets.push({ from_ms, count: 0 });
    (buckets[buckets.length - 1] as LogBucket).count += count;
  });
  return { buckets, width: width * by };
}
