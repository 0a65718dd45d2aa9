import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { StreamLine } from "../../api/types";
import { seriesIndex } from "../../lib/color";
import { formatStamp, formatTime } from "../../lib/format";
import type { Range } from "../../lib/matches";
import { contentHeight, maxScroll, scrollToMiddle, visibleRows, type ListShape } from "../../lib/vlist";
import type { HitStore } from "../../state/hits";
import type { MergedStore } from "../../state/merged";
import { timeMode } from "../../state/timemode";
import { LineText } from "./linetext";
import { ROW_HEIGHT } from "./logrows";

const OVERSCAN = 12;
const NEAR_END_ROWS = 60;

interface Props {
  merged: MergedStore;
  hits: HitStore | null;
  stream: string | null;
  line: number | null;
  atMs: number | null;
  startMs: number;
  isFollowing: boolean;
  onFollow(follow: boolean): void;
  onChoose(line: StreamLine): void;
}

/** The lines of all nodes by time; a node's colour is the same wherever it is named. */
export function MergedRows({ merged, hits, stream, line, atMs, startMs, isFollowing, onFollow, onChoose }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const height = useSignal(0);
  const top = useSignal(0);
  const lines = merged.lines.value ?? [];
  const added = merged.added.value;
  const shape: ListShape = { total: lines.length, rowHeight: ROW_HEIGHT, viewHeight: height.value };
  const { first, end, offset } = visibleRows(shape, top.value, OVERSCAN);
  const isKnown = lines.length > 0 && height.value > 0;

  useEffect(() => {
    if (!host.current) return;
    const observer = new ResizeObserver(([entry]) => (height.value = Math.floor(entry?.contentRect.height ?? 0)));
    observer.observe(host.current);
    return () => observer.disconnect();
  }, [height]);

  const scrollTo = (position: number): void => {
    if (!host.current) return;
    host.current.scrollTop = position;
    top.value = host.current.scrollTop;
  };

  // Before the browser paints: what was put before the first line must not move what one reads.
  const before = useRef(added);
  useLayoutEffect(() => {
    if (added > before.current) scrollTo(top.peek() + (added - before.current) * ROW_HEIGHT);
    before.current = added;
  }, [added]);
  useLayoutEffect(() => {
    if (isFollowing && isKnown) scrollTo(maxScroll(shape));
  }, [isFollowing, isKnown, lines.length, height.value]);
  useLayoutEffect(() => {
    if (!isKnown || isFollowing) return;
    const chosen = lines.findIndex((one) => one.n === line && one.stream === stream);
    const place = chosen >= 0 || atMs === null ? chosen : lines.findIndex((one) => one.ts_ms >= atMs);
    if (place >= 0) scrollTo(scrollToMiddle(shape, place));
  }, [isKnown, stream, line, atMs, merged]);

  useEffect(() => {
    if (!isKnown) return;
    if (first < NEAR_END_ROWS) void merged.loadOlder();
    if (end > lines.length - NEAR_END_ROWS) void merged.loadNewer();
  }, [merged, isKnown, first, end, lines.length]);

  const onScroll = (event: Event): void => {
    const element = event.currentTarget as HTMLElement;
    const isUp = element.scrollTop < top.value - 1;
    top.value = element.scrollTop;
    if (isFollowing && isUp) onFollow(false);
  };
  return (
    <div class="logbox">
      <div ref={host} class="lines merged" tabIndex={0} role="log" aria-live="off" aria-label="Lines of all nodes by time" onScroll={onScroll}>
        <div class="content" style={{ height: `${contentHeight(shape)}px` }}>
          <div class="window" style={{ transform: `translateY(${offset}px)` }}>
            {lines.slice(first, end).map((one) => (
              <MergedRow
                key={`${one.n} ${one.stream}`}
                line={one}
                ranges={hits?.rangesOf(one.stream, one) ?? []}
                isChosen={one.n === line && one.stream === stream}
                startMs={startMs}
                onChoose={onChoose}
              />
            ))}
          </div>
        </div>
        {merged.lines.value?.length === 0 && <p class="nolines">No line yet.</p>}
      </div>
    </div>
  );
}

interface RowProps {
  line: StreamLine;
  ranges: readonly Range[];
  isChosen: boolean;
  startMs: number;
  onChoose(line: StreamLine): void;
}

function MergedRow({ line, ranges, isChosen, startMs, onChoose }: RowProps) {
  return (
    <div class={`line ${isChosen ? "chosen" : ""}`} aria-current={isChosen ? "true" : undefined}>
      <button type="button" tabIndex={-1} class="node" title={`${line.stream}, line ${line.n}, ${formatTime(line.ts_ms)}`} onClick={() => onChoose(line)}>
        <i class="swatch" style={{ background: `var(--series-${seriesIndex(line.stream)})` }} />
        {line.stream}
      </button>
      <time>{formatStamp(line.ts_ms, timeMode.value, startMs)}</time>
      <span class="text">
        <LineText text={line.text} ranges={ranges} />
      </span>
    </div>
  );
}
