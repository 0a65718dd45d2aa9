import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Incident, LogLine } from "../../api/types";
import { formatCount, formatStamp, formatTime } from "../../lib/format";
import { evidenceLine, incidentTitle } from "../../lib/marks";
import type { Range } from "../../lib/matches";
import { contentHeight, isScaled, maxScroll, rowAt, scrollFor, scrollToMiddle, visibleRows, type ListShape } from "../../lib/vlist";
import type { HitStore } from "../../state/hits";
import type { LogStore } from "../../state/log";
import { timeMode } from "../../state/timemode";
import { LineText } from "./linetext";

export const ROW_HEIGHT = 17;
const OVERSCAN = 12;
/** Wrapped lines are taller than a row, so that the last ones need room to be scrolled to. */
const WRAPPED_TAIL_ROWS = 40;
/** Where lines are wrapped nobody knows how far half the view is; a few lines of what went before do. */
const ROWS_ABOVE = 3;

interface Props {
  log: LogStore;
  hits: HitStore | null;
  startMs: number;
  line: number | null;
  isFollowing: boolean;
  isWrapped: boolean;
  incidents: Incident[];
  onFollow(follow: boolean): void;
  onChoose(line: number): void;
}

export function LogRows({ log, hits, startMs, line, isFollowing, isWrapped, incidents, onFollow, onChoose }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const height = useSignal(0);
  const top = useSignal(0);
  const total = log.total.value ?? 0;
  void log.version.value;

  const shape: ListShape = { total, rowHeight: ROW_HEIGHT, viewHeight: height.value };
  const { first, end, offset } = visibleRows(shape, top.value, OVERSCAN);

  useEffect(() => {
    if (!host.current) return;
    const observer = new ResizeObserver(([entry]) => (height.value = Math.floor(entry?.contentRect.height ?? 0)));
    observer.observe(host.current);
    return () => observer.disconnect();
  }, [height]);

  useEffect(() => {
    if (total === 0 || height.value === 0) return;
    // Where the list stands now: following or a chosen line may just have moved it.
    const shown = visibleRows(shape, top.peek(), OVERSCAN);
    log.want(shown.first, shown.end);
  }, [log, first, end, total, height.value]);

  const scrollTo = (position: number): void => {
    if (!host.current) return;
    host.current.scrollTop = position;
    top.value = host.current.scrollTop;
  };

  // Before the browser paints, so that a line that comes does not make the list jump.
  useLayoutEffect(() => {
    if (isFollowing && height.value > 0) scrollTo(isWrapped ? host.current?.scrollHeight ?? 0 : maxScroll(shape));
  }, [isFollowing, isWrapped, total, height.value]);

  const isKnown = total > 0 && height.value > 0;
  useLayoutEffect(() => {
    if (line === null || !isKnown) return;
    scrollTo(isWrapped ? scrollFor(shape, line - ROWS_ABOVE) : scrollToMiddle(shape, line));
  }, [line, isKnown, isWrapped, log]);

  const onScroll = (event: Event): void => {
    const element = event.currentTarget as HTMLElement;
    const isUp = element.scrollTop < top.value - 1;
    top.value = element.scrollTop;
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 2;
    if (isFollowing && isUp && !isAtEnd) onFollow(false);
  };

  // In a list too long for pixels a turn of the wheel would skip whole screens: rows are counted instead.
  const onWheel = (event: WheelEvent): void => {
    if (!isScaled(shape) || event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    const rows = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY : event.deltaY / ROW_HEIGHT;
    if (rows < 0) onFollow(false);
    scrollTo(scrollFor(shape, rowAt(shape, top.value) + rows));
  };

  void hits?.hits.value;
  const firstKept = log.gone.value?.firstKept ?? 0;
  const rows = [];
  for (let n = first; n < end; n++) {
    const one = log.pages.line(n);
    const ranges = one && hits ? hits.rangesOf(log.stream, one) : [];
    rows.push(<Row key={n} n={n} line={one} ranges={ranges} isGone={n < firstKept} isChosen={n === line} startMs={startMs} onChoose={onChoose} />);
  }
  const hitPlaces = total === 0 ? [] : markPlaces(hits, log.stream, total);
  const extra = isWrapped && !isFollowing ? WRAPPED_TAIL_ROWS * ROW_HEIGHT : 0;
  const isPinned = isWrapped && isFollowing;
  return (
    <div class="logbox">
      <div ref={host} class={`lines ${isWrapped ? "wrapped" : ""}`} tabIndex={0} role="log" aria-live="off" aria-label={`Lines of ${log.stream}`} onScroll={onScroll} onWheel={onWheel}>
        <div class="content" style={{ height: `${contentHeight(shape) + extra}px` }}>
          <div class="window" style={isPinned ? { bottom: "0", transform: "none" } : { bottom: "auto", transform: `translateY(${offset}px)` }}>
            {rows}
          </div>
        </div>
        {log.total.value === 0 && <p class="nolines">No line yet.</p>}
      </div>
      <div class="logmarks" aria-hidden="true">
        {hitPlaces.map((place) => (
          <i key={`hit ${place}`} class="hitmark" style={{ top: `${place}%` }} />
        ))}
        {incidents.map((incident) => {
          const at = evidenceLine(incident);
          if (at === null || total === 0) return null;
          const title = `line ${formatCount(at)}: ${incidentTitle(incident)}`;
          return <i key={incident.id} class={`severity ${incident.severity}`} style={{ top: `${(at / total) * 100}%` }} title={title} onClick={() => onChoose(at)} />;
        })}
      </div>
    </div>
  );
}

/** Where hits stand along the scroll bar, in percent; what falls together is one mark. */
function markPlaces(hits: HitStore | null, stream: string, total: number): number[] {
  const own = (hits?.hits.value ?? []).filter((hit) => hit.stream === stream);
  return [...new Set(own.map((hit) => Math.round((hit.n / total) * 400) / 4))];
}

interface RowProps {
  n: number;
  line: LogLine | undefined;
  ranges: readonly Range[];
  isGone: boolean;
  isChosen: boolean;
  startMs: number;
  onChoose(n: number): void;
}

function Row({ n, line, ranges, isGone, isChosen, startMs, onChoose }: RowProps) {
  return (
    <div class={`line ${isChosen ? "chosen" : ""}`} aria-current={isChosen ? "true" : undefined}>
      <button type="button" tabIndex={-1} class="n" title={line ? `line ${n}, ${formatTime(line.ts_ms)}` : `line ${n}`} onClick={() => onChoose(n)}>
        {n}
      </button>
      {line && <time>{formatStamp(line.ts_ms, timeMode.value, startMs)}</time>}
      <span class="text">
        {line && <LineText text={line.text} ranges={ranges} />}
        {!line && isGone && <span class="cut">deleted</span>}
        {line?.cut && <span class="cut" title="The server keeps only the beginning of a line this long"> … cut</span>}
      </span>
    </div>
  );
}
