// A table of any number of jobs, of which the page holds the rows in view. The scroll bar stands for all of them.
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { JobRow } from "../../api/types";
import { say, t } from "../../i18n/i18n";
import { formatCount } from "../../lib/text/format";
import { nextSort, parseSort } from "../../lib/text/sort";
import { sparkShape } from "../../lib/chart/spark";
import { jobHref } from "../../lib/url/url";
import { contentHeight, inSteps, MAX_HEIGHT, rowAt, scrollFor, visibleRows, type ListShape } from "../../lib/log/vlist";
import { seriesIndex } from "../../lib/chart/color";
import type { JobTable } from "../../state/fleet/jobs";
import { useKeys } from "../../state/core/keys";
import { navigate, patchQuery } from "../../state/core/router";
import { Sparks } from "../../state/chart/sparks";
import { placeColumn } from "../../lib/jobs/columns";
import { chooseColumns } from "../../state/fleet/columns";
import { columnFor, columnTitle, type Column } from "./columns";
import type { Selection } from "./selection";
import "../../styles/table";

const MARK_WIDTH = 30;
const TOUCH = 44;
const OVERSCAN = 4;
const ROWS_A_STEP = 8;
/** A million rows are 28 million pixels: some browsers lay out as many, and then a wheel moves a row by its height. */
const WANTED_HEIGHT = 33_000_000;
const SPARK_WIDTH = 76;
const SPARK_HEIGHT = 20;

const lengthOf = ({ width }: Column): string => (typeof width === "number" ? `calc(${width}px - var(--slim, 0px))` : width);

function measureMost(): number {
  const probe = document.createElement("div");
  probe.style.cssText = `position:absolute;visibility:hidden;width:1px;height:${WANTED_HEIGHT}px`;
  const box = document.createElement("div");
  box.style.cssText = "position:absolute;overflow:hidden;width:0;height:0";
  box.append(probe);
  document.body.append(box);
  const height = probe.getBoundingClientRect().height;
  box.remove();
  return Math.abs(height - WANTED_HEIGHT) < 1 ? WANTED_HEIGHT : MAX_HEIGHT;
}

const DRAGGED = "application/x-smfleet-column";

/** A click sorts by the column; dragged to another it takes that one's place. */
function Head({ column, sort, keys }: { column: Column; sort: string; keys: readonly string[] }) {
  const current = parseSort(sort);
  const isSorted = column.sort !== undefined && current?.key === column.sort;
  const direction = isSorted ? (current?.descending ? "descending" : "ascending") : undefined;
  const { sort: key } = column;
  const title = columnTitle(column);
  return (
    <th
      scope="col"
      class={column.class}
      aria-sort={direction}
      title={title}
      draggable
      onDragStart={({ dataTransfer }) => dataTransfer?.setData(DRAGGED, column.key)}
      onDragOver={(event) => event.dataTransfer?.types.includes(DRAGGED) && event.preventDefault()}
      onDrop={(event) => {
        const dragged = event.dataTransfer?.getData(DRAGGED);
        if (!dragged) return;
        event.preventDefault();
        chooseColumns(placeColumn(keys, dragged, column.key));
      }}
    >
      {key === undefined ? (
        title
      ) : (
        <button type="button" onClick={() => patchQuery({ sort: nextSort(sort, key, column.descending ?? false) })}>
          {title}
          <span class="arrow" aria-hidden="true">
            {direction === "descending" ? "▾" : direction === "ascending" ? "▴" : ""}
          </span>
        </button>
      )}
    </th>
  );
}

function Spark({ row, sparks }: { row: JobRow; sparks: Sparks }) {
  const version = sparks.version.value;
  const columns = sparks.of(row.TrainingJobName);
  const shape = useMemo(() => (columns ? sparkShape(columns, SPARK_WIDTH, SPARK_HEIGHT) : null), [columns, version]);
  if (!shape) return null;
  return (
    <svg width={SPARK_WIDTH} height={SPARK_HEIGHT} aria-hidden="true" style={{ color: `var(--series-${seriesIndex(row.TrainingJobName)})` }}>
      <path class="band" d={shape.band} />
      <path d={shape.line} />
      {shape.marks.map((left, i) => (
        <path key={i} class="nan" d={`M${(left - 2).toFixed(1)} 1h4l-2 4z`} />
      ))}
    </svg>
  );
}

interface Props {
  list: JobTable;
  sort: string;
  columns: readonly string[];
  selection: Selection;
  /** Where one was when one went elsewhere. */
  place: { row: number };
  isPointedAt: Signal<boolean>;
}

export function JobsTable({ list, sort, columns: keys, selection, place, isPointedAt }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const viewHeight = useSignal(600);
  const rowHeight = useSignal(28);
  const headHeight = useSignal(26);
  const scrollTop = useSignal(0);
  const chosen = useSignal(0);
  const hasFocus = useRef(false);
  const sparks = useMemo(() => new Sparks(), []);
  const columns = useMemo(() => keys.map(columnFor), [keys.join()]);
  const total = list.total.value ?? 0;
  const version = list.version.value;

  const maxHeight = useMemo(measureMost, []);
  const shape: ListShape = { total, rowHeight: rowHeight.value, viewHeight: viewHeight.value, maxHeight };
  const shown = inSteps(shape, visibleRows(shape, scrollTop.value, OVERSCAN), ROWS_A_STEP);
  const { first, end } = shown;
  const offset = Math.round(shown.offset);

  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const measure = (): void => {
      rowHeight.value = parseFloat(getComputedStyle(box).getPropertyValue("--row")) || 28;
      headHeight.value = box.querySelector("thead")?.clientHeight || 26;
      viewHeight.value = Math.max(rowHeight.value, box.clientHeight - headHeight.value);
    };
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      sparks.stop();
    };
  }, []);

  // Back where one was in this list, as soon as it is known how long it is.
  useLayoutEffect(() => {
    if (total > 0 && scroller.current) scroller.current.scrollTop = scrollFor(shape, place.row);
    chosen.value = Math.floor(place.row);
  }, [place, total > 0]);

  useLayoutEffect(() => {
    const box = scroller.current;
    const head = box?.querySelector("th[aria-sort]")?.getBoundingClientRect();
    if (!box || !head) return;
    // Sideways alone: how far down one is, is another matter.
    const { left } = box.getBoundingClientRect();
    const over = Math.max(0, head.right - left - box.clientWidth);
    box.scrollLeft += over || Math.min(0, head.left - left);
  }, [sort, columns]);

  useEffect(() => {
    list.want(first, end);
  }, [list, first, end]);

  useEffect(() => {
    if (!keys.includes("spark")) return;
    const rows: JobRow[] = [];
    for (let i = first; i < end; i++) {
      const row = list.rowAt(i);
      if (row) rows.push(row);
    }
    sparks.want(rows);
  }, [list, first, end, version, keys.includes("spark")]);

  // The row that has the focus keeps it when rows are drawn anew.
  useEffect(() => {
    if (!hasFocus.current) return;
    const row = body.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${chosen.value + 2}"]`);
    if (row && document.activeElement !== row && !row.contains(document.activeElement)) row.focus({ preventScroll: true });
  });

  const go = (index: number, isRange = false): void => {
    const to = Math.min(total - 1, Math.max(0, index));
    if (total === 0 || !scroller.current) return;
    if (isRange) void selection.extend(to);
    chosen.value = to;
    hasFocus.current = true;
    const top = rowAt(shape, scroller.current.scrollTop);
    const height = Math.floor(shape.viewHeight / shape.rowHeight);
    if (to < top) scroller.current.scrollTop = scrollFor(shape, to);
    else if (to > top + height - 1) scroller.current.scrollTop = scrollFor(shape, to - height + 1);
  };
  const screen = Math.max(1, Math.floor(shape.viewHeight / shape.rowHeight) - 1);
  const step = (by: number, isRange = false): void => go(hasFocus.current ? chosen.value + by : chosen.value, isRange);
  useKeys(say("List of jobs"), [
    { on: ["j", "ArrowDown"], does: say("next job"), run: () => step(1) },
    { on: ["k", "ArrowUp"], does: say("job before"), run: () => step(-1) },
    { on: ["Shift+ArrowDown", "J"], does: say("select on to the next job"), run: () => step(1, true) },
    { on: ["Shift+ArrowUp", "K"], does: say("select on to the job before"), run: () => step(-1, true) },
    { on: "PageDown", does: say("a screen of jobs on"), run: () => step(screen) },
    { on: "PageUp", does: say("a screen of jobs back"), run: () => step(-screen) },
    { on: "Home", does: say("first job"), run: () => go(0) },
    { on: "End", does: say("last job"), run: () => go(total - 1) },
    { on: "Enter", does: say("open the job") },
    { on: "x", does: say("select the job"), run: () => selection.toggle(chosen.value) },
    { on: "y", does: say("copy the job's address"), run: () => selection.copyLink(chosen.value) },
    { on: "Ctrl+a", does: say("select the jobs in view"), run: () => selection.takeAll(...inView()) },
    { on: "Escape", does: say("select none"), run: () => selection.names.value.size > 0 && selection.clear() },
  ]);

  const inView = (): [number, number] => {
    const top = Math.round(rowAt(shape, scroller.current?.scrollTop ?? 0));
    return [top, Math.min(total, top + Math.max(1, Math.floor(shape.viewHeight / shape.rowHeight)))];
  };

  // A row of which nothing has changed is the element that it was: then it is not looked at.
  const drawn = useRef(new Map<number, Drawn>());
  const before = drawn.current;
  drawn.current = new Map();
  const selected = selection.names.value;
  const rowOf = (index: number): VNode => {
    const row = list.rowAt(index);
    const facts = [list, row, list.problemAt(index), columns, row !== undefined && selected.has(row.TrainingJobName), index === tabAt];
    const old = before.get(index);
    const isSame = old?.facts.every((fact, i) => fact === facts[i]) ?? false;
    const one = old && isSame ? old : { facts, element: drawRow(index, row) };
    drawn.current.set(index, one);
    return one.element;
  };
  const drawRow = (index: number, row: JobRow | undefined): VNode => {
    const onFocus = (): void => {
      chosen.value = index;
      hasFocus.current = true;
    };
    const hasTab = index === tabAt;
    if (!row) return <Gap key={index} index={index} list={list} columns={columns.length} hasTab={hasTab} onFocus={onFocus} />;
    const isSelected = selected.has(row.TrainingJobName);
    return <Row key={index} index={index} row={row} columns={columns} sparks={sparks} selection={selection} isSelected={isSelected} hasTab={hasTab} onFocus={onFocus} />;
  };
  const tabAt = chosen.value < first || chosen.value >= end ? first : chosen.value;
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
  // What is left of the width goes to the labels, so that the eye has a short way from name to number.
  const wide = keys.includes("labels") ? "labels" : "name";
  const markWidth = shape.rowHeight >= TOUCH ? TOUCH : MARK_WIDTH;
  const least = `calc(${[`${markWidth}px`, ...columns.map(lengthOf)].join(" + ")})`;
  return (
    <div
      class="jobscroll"
      ref={scroller}
      onScroll={(event) => {
        const top = event.currentTarget.scrollTop;
        place.row = rowAt(shape, top);
        const next = inSteps(shape, visibleRows(shape, top, OVERSCAN), ROWS_A_STEP);
        if (next.first !== first || next.end !== end || Math.round(next.offset) !== offset) scrollTop.value = top;
      }}
      onPointerEnter={() => (isPointedAt.value = true)}
      onPointerLeave={() => (isPointedAt.value = false)}
    >
      <div class="jobspace" style={{ height: `${contentHeight(shape) + headHeight.value}px`, minWidth: least }}>
        <table class="jobs" role="grid" aria-multiselectable="true" aria-label={t("Jobs")} aria-rowcount={total + 1} style={{ top: `${offset}px` }}>
          <colgroup>
            <col style={{ width: `${markWidth}px` }} />
            {columns.map((column) => (
              <col key={column.key} style={column.key === wide ? {} : { width: lengthOf(column) }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              <th scope="col" class="pick">
                <input
                  type="checkbox"
                  aria-label={t("Select the jobs in view")}
                  title={t("Select the jobs in view")}
                  checked={selection.names.value.size > 0}
                  onChange={() => (selection.names.value.size > 0 ? selection.clear() : selection.takeAll(...inView()))}
                />
              </th>
              {columns.map((column) => (
                <Head key={column.key} column={column} sort={sort} keys={keys} />
              ))}
            </tr>
          </thead>
          <tbody ref={body} onFocusOut={(event) => event.relatedTarget && !body.current?.contains(event.relatedTarget as Node) && (hasFocus.current = false)}>
            {indexes.map(rowOf)}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface Drawn {
  facts: unknown[];
  element: VNode;
}

interface RowProps {
  index: number;
  row: JobRow;
  columns: readonly Column[];
  sparks: Sparks;
  selection: Selection;
  isSelected: boolean;
  hasTab: boolean;
  onFocus(): void;
}

function Row({ index, row, columns, sparks, selection, isSelected, hasTab, onFocus }: RowProps) {
  const name = row.TrainingJobName;
  return (
    <tr
      data-name={name}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={hasTab ? 0 : -1}
      onFocus={onFocus}
      onClick={(event) => {
        if ((event.target as Element).closest("a, input")) return;
        event.currentTarget.focus({ preventScroll: true });
        if (event.shiftKey) void selection.extend(index);
        else if (event.ctrlKey || event.metaKey) selection.toggle(index);
      }}
      onDblClick={() => navigate(jobHref(name))}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.target !== event.currentTarget) return;
        event.preventDefault();
        navigate(jobHref(name));
      }}
    >
      <td class="pick">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t("Select {name}", { name })}
          checked={isSelected}
          onClick={(event) => {
            if (event.shiftKey) void selection.extend(index);
            else selection.toggle(index);
          }}
        />
      </td>
      {columns.map((column) => (
        <td key={column.key} class={column.class}>
          {column.key === "spark" ? <Spark row={row} sparks={sparks} /> : column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

/** A row that is not here: its height is, and what became of it. */
function Gap({ index, list, columns, hasTab, onFocus }: { index: number; list: JobTable; columns: number; hasTab: boolean; onFocus(): void }) {
  const problem = list.problemAt(index);
  let said: ComponentChildren = <i class="bar" aria-hidden="true" />;
  if (problem)
    said = (
      <>
        <span class="bad">{problem.title}</span> <span class="dim">{problem.detail}</span>{" "}
        <button type="button" tabIndex={-1} onClick={() => list.retry(index)}>
          {t("Retry")}
        </button>
      </>
    );
  return (
    <tr class="gap" aria-rowindex={index + 2} aria-busy={!problem} tabIndex={hasTab ? 0 : -1} onFocus={onFocus}>
      <td />
      <td colSpan={columns} title={t("Row {n}", { n: formatCount(index + 1) })}>
        {said}
      </td>
    </tr>
  );
}
