import type { Backfill } from "../../api/types";

/** How much of the log has been read again, from 0 to 1; null: nobody knows yet. By bytes, since lines differ. */
export function backfillShare({ lines, lines_total, bytes, bytes_total }: Backfill): number | null {
  const [done, all] = bytes_total ? [bytes ?? 0, bytes_total] : [lines ?? 0, lines_total ?? 0];
  return all > 0 ? Math.min(1, Math.max(0, done / all)) : null;
}
