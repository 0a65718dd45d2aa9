import { useSignal } from "@preact/signals";
import type { LogBucket } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { coarsen } from "../../../lib/log/coarsen";
import { formatTime } from "../../../lib/text/format";

const HEIGHT = 28;
const LEAST = 3;

interface Props {
  buckets: readonly LogBucket[];
  /** What is counted: hits of a search, or all lines. */
  of: "hits" | "lines";
  /** The time of the line one stands on. */
  atMs: number | null;
  onJump(fromMs: number, toMs: number): void;
}

/** Hits, or lines, over the time of the whole log. A click, or the arrows and Enter, go to the first one of a bar. */
export function Histogram({ buckets: fine, of, atMs, onJump }: Props) {
  const cursor = useSignal<number | null>(null);
  const { buckets, width } = coarsen(fine);
  const first = buckets[0];
  if (!first) return null;
  const most = Math.max(...buckets.map((bucket) => bucket.count));
  const here = atMs === null ? -1 : Math.floor((atMs - first.from_ms) / width);
  const now = Math.min(buckets.length - 1, cursor.value ?? Math.max(0, here));
  const describe = (i: number): string => {
    const { from_ms: from, count } = buckets[i] ?? first;
    const span = { from: formatTime(from), to: formatTime(from + width) };
    return of === "hits" ? tn(count, "{n} hit, {from} to {to}", "{n} hits, {from} to {to}", span) : tn(count, "{n} line, {from} to {to}", "{n} lines, {from} to {to}", span);
  };
  const jump = (i: number): void => {
    const bucket = buckets[i];
    cursor.value = i;
    if (bucket && bucket.count > 0) onJump(bucket.from_ms, bucket.from_ms + width - 1);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) cursor.value = Math.min(buckets.length - 1, Math.max(0, now + step));
    else if (event.key === "Enter") jump(now);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class={`histogram of-${of}`}
      role="slider"
      tabIndex={0}
      aria-label={of === "hits" ? t("Hits over time; Enter goes to the first hit there") : t("Lines over time; Enter goes to the first line there")}
      aria-valuemin={0}
      aria-valuemax={buckets.length - 1}
      aria-valuenow={now}
      aria-valuetext={describe(now)}
      onKeyDown={onKeyDown}
      onBlur={() => (cursor.value = null)}
    >
      <svg viewBox={`0 0 ${buckets.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {buckets.map(({ from_ms: from, count }, i) => {
          const height = count === 0 ? 0 : Math.max(LEAST, Math.sqrt(count / most) * HEIGHT);
          return (
            <g key={from} class={i === here ? "here" : i === cursor.value ? "cursor" : ""} onClick={() => jump(i)}>
              <title>{describe(i)}</title>
              <rect class="room" x={i} y={0} width={1} height={HEIGHT} />
              <rect class="bar" x={i + 0.1} y={HEIGHT - height} width={0.8} height={height} />
            </g>
          );
        })}
      </svg>
    </div>
  );
}
