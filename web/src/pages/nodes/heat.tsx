import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { getJson, jobPath } from "../../api/client";
import type { HeatReply, PointsReply } from "../../api/types";
import { t, tn } from "../../i18n/i18n";
import { cutMiddle, formatCount, formatTime, formatValue, NONE } from "../../lib/text/format";
import { mainMetrics } from "../../lib/jobs/figures";
import { badSign, levelOf, rowBadness, rowsPerLine, scaleOf, tellingOf, valueOf, worstCell, type Cell } from "../../lib/chart/heat";
import { isOpen } from "../../lib/chart/incidentorder";
import { type Metric } from "../../lib/jobs/metrics";
import { jobHref } from "../../lib/url/url";
import type { JobStore } from "../../state/job/job";
import { HeatStore } from "../../state/job/nodes";
import { navigate, patchQuery, query } from "../../state/core/router";
import { isDark } from "../../state/core/theme";
import { useStore } from "../../state/core/store";
import { ProblemBox } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { DataTable } from "../../ui/datatable";
import { readBytes } from "./colors";
import { compareNatural } from "../../lib/text/natural";

/** So many metrics are looked at, roughly, before one is shown. */
const TRIED = 6;
const ROUGH_COLUMNS = 24;
const MOST_LINES = 512;
const MOST_HEIGHT = 640;
const LEVELS = 12;
const TABLE_ROWS = 50;
const SLOW_CELL = 8;
const LABEL_HEIGHT = 14;

type Row = HeatReply["rows"][number];

/** Where a straggler shows: what an open one was found in, then the usual ones, then whatever several nodes print. */
function likelyMetrics(shared: readonly Metric[], store: JobStore): string[] {
  const main = mainMetrics(shared);
  const found = store.incidents.rows.value?.find((one) => one.kind === "straggler" && isOpen(one))?.metric;
  const names = [found, main.get("step_time")?.metric, main.get("throughput")?.metric, ...shared.map((one) => one.metric)];
  return [...new Set(names.filter((name) => name !== undefined && shared.some((one) => one.metric === name)))].slice(0, TRIED) as string[];
}

/** Of the likely metrics the one in which the nodes are furthest from each other: never a blank picture where another one shows something. */
function useTellingMetric(store: JobStore, likely: readonly string[], isAsked: boolean): string | undefined {
  const told = useSignal<string | undefined>(undefined);
  const key = JSON.stringify(likely);
  useEffect(() => {
    const [first] = likely;
    if (isAsked || told.peek() !== undefined || first === undefined) return;
    if (likely.length === 1) return void (told.value = first);
    const abort = new AbortController();
    const measure = async (metric: string): Promise<number> => {
      try {
        const reply = await getJson<HeatReply>(jobPath(store.name, "/heat"), { metric, buckets: ROUGH_COLUMNS }, abort.signal);
        return tellingOf(reply);
      } catch {
        return -1; // no node prints it
      }
    };
    void Promise.all(likely.map(measure)).then((all) => {
      if (!abort.signal.aborted) told.value = likely[all.indexOf(Math.max(...all))];
    });
    return () => abort.abort();
  }, [store, key, isAsked]);
  return told.value;
}

/** Streams over steps or time: how far each is from the median of all. What is asked for is in the address. */
export function Heat({ store }: { store: JobStore }) {
  const shared = (store.metrics.value ?? []).filter((one) => one.streams.length > 1);
  const asked = query.value["metric"];
  const telling = useTellingMetric(store, likelyMetrics(shared, store), asked !== undefined);
  const metric = asked ?? telling;
  const axis = query.value["x"] === "time" ? "time" : "step";
  const own = useStore(() => (metric === undefined ? null : new HeatStore(store.name, metric, axis)), [store, metric, axis], (next) => next.load());
  const heat = own?.value.value;
  if (metric === undefined) return null;
  const isWorstFirst = query.value["order"] === "worst";
  const isTable = query.value["view"] === "table";
  return (
    <section class="heat" aria-label={t("Nodes against the median of all")}>
      <div class="viewhead">
        <h2>{t("Who is slower than the others")}</h2>
        <label>
          <span class="hidden">{t("Metric")}</span>
          <select value={metric} onChange={(event) => patchQuery({ metric: event.currentTarget.value || undefined })}>
            {shared.slice(0, 200).map((one) => (
              <option key={one.metric} value={one.metric}>
                {one.metric}
              </option>
            ))}
          </select>
        </label>
        <div class="segments" role="group" aria-label={t("Across")}>
          <button type="button" aria-pressed={axis === "step"} onClick={() => patchQuery({ x: undefined })}>
            {t("steps")}
          </button>
          <button type="button" aria-pressed={axis === "time"} onClick={() => patchQuery({ x: "time" })}>
            {t("time")}
          </button>
        </div>
        <div class="segments" role="group" aria-label={t("Order of the nodes")}>
          <button type="button" aria-pressed={!isWorstFirst} onClick={() => patchQuery({ order: undefined })}>
            {t("by name")}
          </button>
          <button type="button" aria-pressed={isWorstFirst} onClick={() => patchQuery({ order: "worst" })}>
            {t("worst first")}
          </button>
        </div>
        <button type="button" class="quiet" aria-pressed={isTable} onClick={() => patchQuery({ view: isTable ? undefined : "table" })}>
          {t("as a table")}
        </button>
      </div>
      {own?.problem.value && <ProblemBox problem={own.problem.value} onRetry={() => void own.load()} />}
      {own?.isMissing.value && <p class="dim">{t("No node prints this metric: choose another one to compare them by.")}</p>}
      {!heat && !own?.problem.value && !own?.isMissing.value && <Skeleton rows={6} />}
      {heat && heat.rows.length > 0 && (isTable ? <HeatTable job={store.name} heat={heat} /> : <Picture job={store.name} heat={heat} isWorstFirst={isWorstFirst} />)}
    </section>
  );
}

const columnText = (heat: HeatReply, column: number): string => {
  const from = heat.from + column * heat.bucket_width;
  const to = from + heat.bucket_width - 1;
  if (heat.x === "time") return `${formatTime(from)} – ${formatTime(to)}`;
  return from === to ? t("step {step}", { step: formatCount(from) }) : t("steps {from} – {to}", { from: formatCount(from), to: formatCount(to) });
};

const percent = (thousandths: number): string => `${thousandths > 0 ? "+" : thousandths < 0 ? "−" : ""}${(Math.abs(thousandths) / 10).toFixed(1)} %`;

function cellText(heat: HeatReply, row: Row, column: number): string {
  const cell = row.away[column] ?? null;
  const median = heat.median[column] ?? null;
  const where = `${row.stream} · ${columnText(heat, column)}`;
  if (cell === null) return `${where}: ${t("no point")}`;
  if (cell === "NaN") return `${where}: ${t("no finite value")}`;
  const unit = heat.unit ? ` ${heat.unit}` : "";
  const value = valueOf(cell, median);
  return `${where}: ${value === null ? NONE : formatValue(value)}${unit}, ${t("{percent} against the median {value}", { percent: percent(cell), value: `${median === null ? NONE : formatValue(median)}${unit}` })}`;
}

/** To the stream's curve around that place, and to its line. */
async function openCell(job: string, heat: HeatReply, row: Row, column: number): Promise<void> {
  const from = heat.from + column * heat.bucket_width;
  const to = from + heat.bucket_width - 1;
  const room = heat.bucket_width * SLOW_CELL;
  let line: number | null = null;
  try {
    const reply = await getJson<PointsReply>(jobPath(job, "/points"), { metric: heat.metric, stream: row.stream, x: heat.x, from, to, buckets: 1 });
    line = reply.columns.line[0] ?? null;
  } catch {
    // The curve is shown all the same.
  }
  navigate(
    jobHref(job, {
      series: row.stream,
      stream: row.stream,
      x: heat.x === "time" ? "time" : undefined,
      from: String(from - room),
      to: String(to + room),
      line: line === null ? undefined : String(line),
    }),
  );
}

function sorted(heat: HeatReply, isWorstFirst: boolean): Row[] {
  const sign = badSign(heat);
  const rows = [...heat.rows];
  if (!isWorstFirst) return rows.sort((a, b) => compareNatural(a.stream, b.stream));
  const rank = new Map(rows.map((row) => [row.stream, rowBadness(row.away, sign)]));
  return rows.sort((a, b) => (rank.get(b.stream) ?? 0) - (rank.get(a.stream) ?? 0) || compareNatural(a.stream, b.stream));
}

function Picture({ job, heat, isWorstFirst }: { job: string; heat: HeatReply; isWorstFirst: boolean }) {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(0);
  const chosen = useSignal<{ row: number; column: number } | null>(null);
  const given = useSignal({ heat, isWorstFirst });
  given.value = given.peek().heat === heat && given.peek().isWorstFirst === isWorstFirst ? given.peek() : { heat, isWorstFirst };
  const rows = useComputed(() => sorted(given.value.heat, given.value.isWorstFirst)).value;
  const sign = badSign(heat);
  const scale = useComputed(() => scaleOf(given.value.heat.rows)).value;
  const each = rowsPerLine(rows.length, MOST_LINES);
  const lines = Math.ceil(rows.length / each);
  const lineHeight = Math.max(1, Math.min(18, Math.floor(MOST_HEIGHT / lines)));
  const height = lines * lineHeight;
  const isLabelled = each === 1 && lineHeight >= LABEL_HEIGHT;
  const dark = isDark();

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => (width.value = element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (host.current && canvas.current) paint(canvas.current, host.current, heat, rows, { each, lines, sign, scale });
  }, [heat, rows, dark, scale]);

  const place = (event: PointerEvent | MouseEvent): { row: number; column: number } => {
    const column = Math.min(heat.columns - 1, Math.max(0, Math.floor((event.offsetX / width.value) * heat.columns)));
    const line = Math.min(lines - 1, Math.max(0, Math.floor(event.offsetY / lineHeight)));
    // Of the streams that share a line of pixels the worst one is the one that is seen.
    const sharing = rows.slice(line * each, (line + 1) * each);
    const worst = worstCell(sharing.map((row) => row.away[column]), sign);
    const at = sharing.findIndex((row) => row.away[column] === worst);
    return { row: line * each + Math.max(0, at), column };
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = chosen.value ?? { row: 0, column: heat.columns - 1 };
    const row = rows[now.row];
    if (event.key === "Enter" && row) return void openCell(job, heat, row, now.column);
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      Home: [0, -heat.columns],
      End: [0, heat.columns],
      PageUp: [-20, 0],
      PageDown: [20, 0],
    };
    const by = moves[event.key];
    if (!by) return;
    event.preventDefault();
    const clamp = (value: number, most: number): number => Math.min(most, Math.max(0, value));
    chosen.value = { row: clamp(now.row + by[0], rows.length - 1), column: clamp(now.column + by[1], heat.columns - 1) };
  };
  const at = chosen.value;
  const row = at ? rows[at.row] : undefined;
  return (
    <>
      <div class={isLabelled ? "labelled" : ""}>
        {isLabelled && (
          <ol class="rownames mono" aria-hidden="true">
            {rows.map((one) => (
              <li key={one.stream} style={{ height: `${lineHeight}px` }} title={one.stream}>
                {cutMiddle(one.stream, 16)}
              </li>
            ))}
          </ol>
        )}
        <div class="picture" ref={host} style={{ height: `${height}px` }}>
          <canvas
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-label={t("Heat map of nodes: arrows go through nodes and buckets, Enter opens the curve and the line. The same as a table: the button above.")}
            onPointerMove={(event) => (chosen.value = place(event))}
            onPointerLeave={() => (chosen.value = null)}
            onFocus={() => (chosen.value ??= { row: 0, column: heat.columns - 1 })}
            onBlur={() => (chosen.value = null)}
            onKeyDown={onKeyDown}
            onClick={(event) => {
              const { row: i, column } = place(event);
              const target = rows[i];
              if (target) void openCell(job, heat, target, column);
            }}
          />
          {at && (
            <i
              class="cursor"
              style={{
                left: `${(at.column / heat.columns) * 100}%`,
                width: `max(3px, ${100 / heat.columns}%)`,
                top: `${Math.floor(at.row / each) * lineHeight}px`,
                height: `${Math.max(3, lineHeight)}px`,
              }}
            />
          )}
        </div>
      </div>
      <p class="heataxis dim">
        <span>{columnText(heat, 0)}</span>
        <span>{columnText(heat, heat.columns - 1)}</span>
      </p>
      <p class="said" role="status">
        {at && row ? cellText(heat, row, at.column) : tn(rows.length, "{n} node", "{n} nodes")}
        {!at && each > 1 && ` · ${t("{n} share a line of pixels: the worst of them is seen", { n: each })}`}
      </p>
      <p class="legend">
        <span>
          −{scale / 10} % <i class="ramp2" aria-hidden="true" data-sign={sign} /> +{scale / 10} %
        </span>
        <span>
          <i class="chip bad" aria-hidden="true" /> {t("not finite")}
        </span>
        <span>
          <i class="chip none" aria-hidden="true" /> {t("no point")}
        </span>
        <span class="dim">{sign === 1 ? t("orange: takes longer than the median") : sign === -1 ? t("orange: does less than the median") : t("orange: above the median")}</span>
      </p>
    </>
  );
}

interface Painting {
  each: number;
  lines: number;
  sign: 1 | -1 | 0;
  scale: number;
}

/** One pixel a cell; the browser scales it up, without smoothing. */
function paint(canvas: HTMLCanvasElement, host: HTMLElement, heat: HeatReply, rows: readonly Row[], { each, lines, sign, scale }: Painting): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  canvas.width = Math.max(1, heat.columns);
  canvas.height = Math.max(1, lines);
  const side = (token: string): string[] => Array.from({ length: LEVELS }, (_, i) => `color-mix(in srgb, ${token} ${Math.round(((i + 1) / LEVELS) * 100)}%, var(--bg-3))`);
  const bytes = readBytes(host, ["var(--bg)", "var(--critical)", "var(--bg-3)", ...side("var(--series-1)"), ...side("var(--series-0)")]);
  const colourOf = (cell: Cell): Uint8ClampedArray | undefined => {
    if (cell === null) return bytes[0];
    if (cell === "NaN") return bytes[1];
    const level = levelOf(sign === -1 ? -cell : cell, scale, LEVELS);
    return level === 0 ? bytes[2] : level > 0 ? bytes[2 + level] : bytes[2 + LEVELS - level];
  };
  const image = context.createImageData(canvas.width, canvas.height);
  for (let line = 0; line < lines; line++) {
    const sharing = rows.slice(line * each, (line + 1) * each);
    for (let column = 0; column < heat.columns; column++) {
      const cell = sharing.length === 1 ? (sharing[0]?.away[column] ?? null) : worstCell(sharing.map((row) => row.away[column]), sign);
      const colour = colourOf(cell);
      if (colour) image.data.set(colour, (line * heat.columns + column) * 4);
    }
  }
  context.putImageData(image, 0, 0);
}

/** The worst nodes in words, for those who do not see colours. */
function HeatTable({ job, heat }: { job: string; heat: HeatReply }) {
  const sign = badSign(heat);
  const rows = sorted(heat, true).slice(0, TABLE_ROWS);
  return (
    <>
      <DataTable
        class="plain"
        rows={rows}
        keyOf={(row) => row.stream}
        columns={[
          { title: t("node"), isHead: true, cellClass: "mono", cell: (row) => <a href={jobHref(job, { stream: row.stream, series: row.stream })}>{row.stream}</a> },
          { title: t("on the whole"), isNumber: true, cell: (row) => textOf(rowMean(row.away)) },
          { title: t("at its worst"), isNumber: true, cell: (row) => textOf(worstCell(row.away, sign)) },
          {
            title: t("where"),
            cell: (row) => {
              const worst = worstCell(row.away, sign);
              const column = row.away.findIndex((cell) => cell === worst);
              return (
                <button type="button" class="quiet" onClick={() => void openCell(job, heat, row, column)}>
                  {columnText(heat, column)}
                </button>
              );
            },
          },
        ]}
      />
      {heat.rows.length > rows.length && <p class="dim">{t("The worst {n} of {all}.", { n: rows.length, all: formatCount(heat.rows.length) })}</p>}
    </>
  );
}

const textOf = (cell: Cell): string => (cell === null ? NONE : cell === "NaN" ? t("not finite") : percent(cell));

function rowMean(away: readonly Cell[]): number | null {
  const finite = away.filter((cell) => typeof cell === "number");
  return finite.length === 0 ? null : finite.reduce((sum, cell) => sum + cell, 0) / finite.length;
}
