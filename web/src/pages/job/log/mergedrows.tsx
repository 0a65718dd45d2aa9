import { useSignal } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { StreamLine } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { seriesIndex } from "../../../lib/chart/color";
import { formatTime, type TimeMode } from "../../../lib/text/format";
import { formatStamp } from "../../../lib/text/stamp";
import type { Range } from "../../../lib/text/matches";
import { rowText } from "../../../lib/log/parts";
import { contentHeight, maxScroll, scrollToMiddle, visibleRows, type ListShape } from "../../../lib/log/vlist";
import type { HitStore } from "../../../state/log/hits";
import type { MergedStore } from "../../../state/log/merged";
import { timeMode } from "../../../state/core/timemode";
import { LineText } from "./linetext";
import { ROW_HEIGHT, SETTLE_MS } from "./logrows";

const OVERSCAN = 12;
const NEAR_END_ROWS = 60;
const NO_RANGES: readonly Range[] = [];

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
  onOnly(stream: string): void;
}

/** The lines of all nodes by time; a node's colour is the same wherever it is named. */
export function MergedRows({ merged, hits, stream, line, atMs, startMs, isFollowing, onFollow, onChoose, onOnly }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const height = useSignal(0);
  const top = useSignal(0);
  void merged.version.value;
  const lines = merged.lines;
  const added = merged.added.value;
  const shape: ListShape = { total: lines.length, rowHeight: ROW_HEIGHT, viewHeight: height.value };
  const isKnown = lines.length > 0 && height.value > 0;
  const { first, end, offset } = visibleRows(shape, isFollowing && isKnown ? maxScroll(shape) : top.value, OVERSCAN);

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

  useEffect(() => {
    if (isFollowing) merged.unseen.value = 0;
  }, [merged, isFollowing, merged.unseen.value]);

  // The end of a scroll that began before one followed is not the reader's wish to leave.
  const followedMs = useRef(-Infinity);
  const wasFollowing = useRef(isFollowing);
  useLayoutEffect(() => {
    if (isFollowing && !wasFollowing.current) followedMs.current = performance.now();
    wasFollowing.current = isFollowing;
  }, [isFollowing]);
  const hasJustFollowed = (): boolean => isFollowing && performance.now() - followedMs.current < SETTLE_MS;

  const onScroll = (event: Event): void => {
    const element = event.currentTarget as HTMLElement;
    if (hasJustFollowed() && element.scrollTop < top.value - 1) return scrollTo(maxScroll(shape));
    const isUp = element.scrollTop < top.value - 1;
    const isDown = element.scrollTop > top.value + 1;
    top.value = element.scrollTop;
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 2;
    if (isFollowing && isUp && !isAtEnd) onFollow(false);
    else if (!isFollowing && isDown && isAtEnd && line === null && merged.newer === null) onFollow(true);
  };
  const latest = useRef({ onChoose, onOnly });
  latest.current = { onChoose, onOnly };
  const actions = useMemo<MergedActions>(
    () => ({ choose: (one) => latest.current.onChoose(one), only: (one) => latest.current.onOnly(one) }),
    [],
  );
  void hits?.hits.value;
  const newLines = isFollowing ? 0 : merged.unseen.value;
  return (
    <div class="logbox">
      <div ref={host} class="lines merged" tabIndex={0} role="log" aria-live="off" aria-label={t("Lines of all nodes by time")} onScroll={onScroll}>
        <div class="content" style={{ height: `${contentHeight(shape)}px` }}>
          <div class="window" style={{ transform: `translateY(${offset}px)` }}>
            {lines.slice(first, end).map((one) => (
              <MergedRow
                key={`${one.n} ${one.stream}`}
                line={one}
                ranges={hits?.rangesOf(one.stream, one) ?? NO_RANGES}
                isChosen={one.n === line && one.stream === stream}
                startMs={startMs}
                timeMode={timeMode.value}
                actions={actions}
              />
            ))}
          </div>
        </div>
        {merged.isLoaded.value && lines.length === 0 && <p class="nolines">{t("No line yet.")}</p>}
      </div>
      {newLines > 0 && !merged.problem.value && (
        <button type="button" class="newlines" onClick={() => onFollow(true)}>
          {tn(newLines, "↓ {n} new line", "↓ {n} new lines")}
        </button>
      )}
    </div>
  );
}

interface MergedActions {
  choose(line: StreamLine): void;
  only(stream: string): void;
}

interface RowProps {
  line: StreamLine;
  ranges: readonly Range[];
  isChosen: boolean;
  startMs: number;
  timeMode: TimeMode;
  actions: MergedActions;
}

class MergedRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const [a, b] = [this.props as unknown as Record<string, unknown>, next as unknown as Record<string, unknown>];
    return Object.keys(b).some((key) => a[key] !== b[key]);
  }

  override render() {
    const { line, ranges, isChosen, startMs, timeMode: mode, actions } = this.props;
    const title = t("{stream}, line {n}, {time}", { stream: line.stream, n: line.n, time: formatTime(line.ts_ms) });
    return (
      <div class={`line ${isChosen ? "chosen" : ""}`} aria-current={isChosen ? "true" : undefined}>
        <button type="button" tabIndex={-1} class="node" title={title} onClick={() => actions.choose(line)} onDblClick={() => actions.only(line.stream)}>
          <i class="swatch" style={{ background: `var(--series-${seriesIndex(line.stream)})` }} />
          {line.stream}
        </button>
        {mode !== "hidden" && <time>{formatStamp(line.ts_ms, mode, startMs)}</time>}
        <span class="text">
          <LineText text={rowText(line.text)} ranges={ranges} />
        </span>
      </div>
    );
  }
}
