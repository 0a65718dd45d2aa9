import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Incident } from "../../../api/types";
import { t, tn } from "../../../i18n/i18n";
import { extendLines, type Lines } from "../../../lib/log/lineranges";
import type { Range } from "../../../lib/text/matches";
import type { RowMap } from "../../../lib/log/rowmap";
import { contentHeight, isScaled, lastTop, rowAfterScroll, rowForMiddle, rowsFrom, scrollFor, type ListShape } from "../../../lib/log/vlist";
import type { HitStore, Ticks } from "../../../state/log/hits";
import type { LogStore } from "../../../state/log/log";
import type { CaptureStore } from "../../../state/log/logcaptures";
import { timeMode } from "../../../state/core/timemode";
import { nextFrame } from "../../../ui/lazy";
import { LogMarks } from "./logmarks";
import { PartRow, Row, type RowActions } from "./logrow";

export const ROW_HEIGHT = 17;
const OVERSCAN = 12;
/** Wrapped lines are taller than a row, so that the last ones need room to be scrolled to. */
const WRAPPED_TAIL_ROWS = 40;
/** Where lines are wrapped nobody knows how far half the view is; a few lines of what went before do. */
const ROWS_ABOVE = 3;
/** After so long without scrolling the scroll bar says where one is. */
const REST_MS = 200;
/** A scroll that goes on by itself has ended by then. */
export const SETTLE_MS = 1000;
const NO_RANGES: readonly Range[] = [];

interface Props {
  log: LogStore;
  hits: HitStore | null;
  captures: CaptureStore | null;
  errors: Ticks | null;
  startMs: number;
  lines: Lines | null;
  isFollowing: boolean;
  isWrapped: boolean;
  isFolding: boolean;
  incidents: Incident[];
  /** The line at the top of the view, for those who ask where one is. */
  onTop(line: number): void;
  onFollow(follow: boolean): void;
  onChoose(lines: Lines | null, isStep: boolean): void;
  onPoint: RowActions["showPoint"];
}

interface View {
  /** The row at the top, with its fraction. */
  row: number;
  /** Where the browser's scroll bar stands. */
  top: number;
}

/** What is at the top of the view, however rows above it come and go. */
interface Anchor {
  line: number;
  part: number;
  rest: number;
}

export function LogRows(props: Props) {
  const { log, hits, lines, isFollowing, isWrapped, isFolding, onFollow, onChoose } = props;
  const host = useRef<HTMLDivElement>(null);
  const height = useSignal(0);
  /** Where the list stands, and where what is drawn of it stands: it is drawn anew where they differ. */
  const view = useRef<View>({ row: 0, top: 0 });
  const drawn = useRef<View>(view.current);
  const moves = useSignal(0);
  void moves.value;
  const isPlaced = useRef(false);
  const overscan = useSignal(0);
  const anchor = useRef<Anchor>({ line: 0, part: 0, rest: 0 });
  const mapped = useRef<RowMap | null>(null);
  const rest = useRef(0);
  const seen = useRef<number | null>(null);
  const total = log.total.value ?? 0;
  const version = log.version.value;
  const unfolded = log.unfolded.value;
  const parts = log.parts.value;
  const map = useMemo(() => log.rowMap(isFolding), [log, version, isFolding, unfolded, parts]);
  const shape: ListShape = { total: map.rows, rowHeight: ROW_HEIGHT, viewHeight: height.value };
  const isKnown = total > 0 && height.value > 0;

  const from = lines?.from ?? null;
  let now = view.current;
  if (isKnown && isFollowing) now = at(shape, lastTop(shape), now.top);
  // Opened at a line the list stands there from its first row on.
  else if (isKnown && !isPlaced.current && from !== null && from < total && !isWrapped) now = at(shape, rowForMiddle(shape, map.rowOf(from)), now.top);
  else if (mapped.current !== map && mapped.current !== null) {
    const { line, part, rest: fraction } = anchor.current;
    const row = Math.min(lastTop(shape), map.rowOf(line) + Math.min(part, map.partsOf(line)) + fraction);
    // Rows that came or went above: what one reads stays where it is.
    if (Math.abs(row - now.row) > 1e-6) now = at(shape, row, now.top);
  }
  mapped.current = map;
  drawn.current = now;
  const window = rowsFrom(shape, now.row, now.top, isWrapped ? 0 : overscan.value, overscan.value);

  const settle = (next: View): void => {
    const place = map.placeAt(Math.floor(next.row));
    anchor.current = { ...place, rest: next.row - Math.floor(next.row) };
    view.current = next;
    if (drawn.current.row !== next.row || drawn.current.top !== next.top) moves.value++;
    props.onTop(place.line);
  };
  const scrollTo = (row: number): void => {
    const element = host.current;
    if (!element) return;
    const next = at(shape, Math.min(Math.max(0, row), lastTop(shape)), view.current.top);
    element.scrollTop = next.top;
    settle({ row: next.row, top: element.scrollTop });
  };

  useEffect(() => {
    if (!host.current) return;
    const observer = new ResizeObserver(([entry]) => (height.value = Math.floor(entry?.contentRect.height ?? 0)));
    observer.observe(host.current);
    return () => observer.disconnect();
  }, [height]);

  // Before the browser paints, so that a line that comes does not make the list jump.
  useLayoutEffect(() => {
    const element = host.current;
    if (!element || !isKnown) return;
    if (isFollowing && isWrapped) element.scrollTop = element.scrollHeight;
    else if (Math.abs(element.scrollTop - now.top) >= 1) element.scrollTop = now.top;
    settle({ row: now.row, top: element.scrollTop });
    isPlaced.current = true;
  }, [isKnown, isFollowing, isWrapped, map, height.value]);
  // Rows that nobody sees come after those that one came for.
  useEffect(() => {
    if (isKnown) void nextFrame().then(() => (overscan.value = OVERSCAN));
  }, [isKnown]);

  /** The chosen line while the reader folds and opens. */
  const folded = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (from === null || !isKnown || from >= total) return;
    const head = map.headOf(from);
    // Unless it is the reader who folds it away.
    if (head !== null && folded.current !== from) return log.toggleFold(head);
    if (head !== null) return;
    const row = map.rowOf(from);
    const isInView = row >= view.current.row && row + 1 <= view.current.row + height.value / ROW_HEIGHT;
    if (!isInView || isWrapped) scrollTo(isWrapped ? row - ROWS_ABOVE : rowForMiddle(shape, row));
  }, [from, isKnown, from !== null && from < total, from === null ? null : map.headOf(from), isWrapped, log]);

  const shownFrom = isKnown ? map.placeAt(window.first).line : 0;
  const shownTo = isKnown ? map.placeAt(Math.max(window.first, window.end - 1)).line + 1 : 0;
  useEffect(() => {
    if (!isKnown) return;
    log.want(shownFrom, shownTo);
    props.captures?.want(shownFrom, shownTo);
  }, [log, props.captures, shownFrom, shownTo, isKnown]);

  useEffect(() => {
    if (isKnown && (isFollowing || seen.current === null)) seen.current = total;
  }, [isFollowing, isKnown, total]);
  useEffect(() => () => globalThis.clearTimeout(rest.current), []);

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
    const before = view.current;
    const scrolled = element.scrollTop;
    if (Math.abs(scrolled - before.top) < 1) return;
    if (hasJustFollowed() && scrolled < before.top && !isWrapped) return scrollTo(lastTop(shape));
    const row = rowAfterScroll(shape, before.row, before.top, scrolled);
    settle({ row, top: scrolled });
    // A view that grew is clamped by the browser before its new height is known here: that is no scrolling up.
    const isAtBottom = scrolled + element.clientHeight >= element.scrollHeight - 2;
    const isAtEnd = isWrapped ? isAtBottom : row >= lastTop(shape) - 0.5;
    if (isFollowing && scrolled < before.top && !isAtEnd && !isAtBottom) onFollow(false);
    else if (!isFollowing && scrolled > before.top && isAtEnd && from === null) onFollow(true);
    globalThis.clearTimeout(rest.current);
    if (isScaled(shape)) rest.current = Number(globalThis.setTimeout(() => scrollTo(view.current.row), REST_MS));
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Home" || event.key === "End") {
      if (event.key === "Home") onFollow(false);
      scrollTo(event.key === "Home" ? 0 : lastTop(shape));
    } else if (event.key === "Enter" && lines === null) onChoose(single(map.placeAt(Math.ceil(view.current.row)).line), true);
    else if (event.key === "Escape" && lines !== null) onChoose(null, true);
    else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && lines !== null) {
      const by = event.key === "ArrowUp" ? -1 : 1;
      const start = cursor.current === lines.to ? lines.to : lines.from;
      const end = start === lines.from ? lines.to : lines.from;
      const row = map.rowOf(event.shiftKey ? end : start) + by;
      const next = map.placeAt(Math.min(map.rows - 1, Math.max(0, row))).line;
      onChoose(event.shiftKey ? extendLines(start, next) : single(next), true);
      if (!event.shiftKey) cursor.current = next;
    } else return;
    event.preventDefault();
  };

  /** The line that was chosen first: a range goes from it. */
  const cursor = useRef<number | null>(null);
  const latest = useRef({ props, lines });
  latest.current = { props, lines };
  const actions = useMemo<RowActions>(
    () => ({
      choose: (n, isRange) => {
        const chosen = latest.current.lines;
        const start = chosen && cursor.current === chosen.to ? chosen.to : (chosen?.from ?? n);
        if (!isRange) cursor.current = n;
        latest.current.props.onChoose(isRange && chosen ? extendLines(start, n) : single(n), false);
      },
      toggleFold: (head) => {
        folded.current = latest.current.lines?.from ?? null;
        latest.current.props.onFollow(false); // who opens something reads it
        log.toggleFold(head);
      },
      togglePart: (n) => {
        latest.current.props.onFollow(false);
        log.togglePart(n);
      },
      showPoint: (n, metric) => latest.current.props.onPoint(n, metric),
    }),
    [log],
  );

  void hits?.hits.value;
  void props.captures?.version.value;
  const newLines = isFollowing ? 0 : total - (seen.current ?? total);
  const extra = isWrapped && !isFollowing ? WRAPPED_TAIL_ROWS * ROW_HEIGHT : 0;
  const isPinned = isWrapped && isFollowing;
  return (
    <div class="logbox">
      <div
        ref={host}
        class={`lines ${isWrapped ? "wrapped" : ""}`}
        tabIndex={0}
        role="log"
        aria-live={isFollowing && log.isCalm.value ? "polite" : "off"}
        aria-label={t("Lines of {stream}", { stream: log.stream })}
        aria-description={t("Enter chooses a line, arrows move, with Shift they choose more")}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        <div class="content" style={{ height: `${contentHeight(shape) + extra}px` }}>
          <div class="window" style={isPinned ? { bottom: "0", transform: "none" } : { bottom: "auto", transform: `translateY(${window.offset}px)` }}>
            {isKnown && renderRows(props, map, window, actions)}
          </div>
        </div>
        {log.total.value === 0 && <p class="nolines">{t("No line yet.")}</p>}
      </div>
      <LogMarks
        total={total}
        height={height.value}
        hits={hits?.ticks.value ?? null}
        errors={props.errors}
        incidents={props.incidents}
        chosen={from}
        onJump={(line) => onChoose(single(line), false)}
      />
      {newLines > 0 && (
        <button type="button" class="newlines" onClick={() => onFollow(true)}>
          {tn(newLines, "↓ {n} new line", "↓ {n} new lines")}
        </button>
      )}
    </div>
  );
}

const single = (line: number): Lines => ({ from: line, to: line });

/** Where the scroll bar stands for a row; where it stands about right already, it is left alone. */
function at(shape: ListShape, row: number, top: number): View {
  const next = scrollFor(shape, row);
  // In whole pixels, as the browser keeps it.
  return { row, top: Math.abs(next - top) < 1 ? top : Math.round(next) };
}

function renderRows({ log, hits, captures, lines, isFolding, startMs }: Props, map: RowMap, window: { first: number; end: number }, actions: RowActions): ComponentChildren[] {
  const firstKept = log.gone.value?.firstKept ?? 0;
  const rows: ComponentChildren[] = [];
  for (let row = window.first; row < window.end; row++) {
    const { line: n, part } = map.placeAt(row);
    if (part > 0) {
      rows.push(<PartRow key={`${n} ${part}`} text={log.parts.value.get(n)?.[part - 1] ?? ""} />);
      continue;
    }
    const line = log.pages.line(n);
    const fold = isFolding ? map.folds.get(n) : undefined;
    rows.push(
      <Row
        key={n}
        n={n}
        line={line}
        ranges={line && hits ? hits.rangesOf(log.stream, line) : NO_RANGES}
        captures={captures?.of(n)}
        folded={fold?.count ?? 0}
        foldKind={fold?.kind ?? null}
        isUnfolded={map.opened.has(n)}
        isOpened={map.partsOf(n) > 0}
        isGone={n < firstKept}
        isChosen={lines !== null && n >= lines.from && n <= lines.to}
        isCurrent={lines !== null && n === lines.from}
        startMs={startMs}
        timeMode={timeMode.value}
        actions={actions}
      />,
    );
  }
  return rows;
}
