import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Severity } from "../../api/types";
import { t, tn } from "../../i18n/i18n";
import { exitText } from "../../lib/jobs/commands";
import { kindTitle } from "../../lib/chart/marks";
import { formatCount, formatDuration, NONE } from "../../lib/text/format";
import { formatAge } from "../../lib/text/stamp";
import { gridShape, measureOf, MEASURES, moveIn, type GridNode, type Measure, type NodeState } from "../../lib/jobs/nodegrid";
import { jobHref } from "../../lib/url/url";
import { now } from "../../state/core/clock";
import { navigate, patchQuery, query } from "../../state/core/router";
import { isDark } from "../../state/core/theme";
import { cssOf, readBytes } from "./colors";

const STATES: readonly NodeState[] = ["sending", "silent", "failed", "ended", "clock", "over"];
const TOKENS: Record<NodeState, string> = { sending: "var(--running)", silent: "var(--silent)", failed: "var(--failed)", ended: "var(--completed)", clock: "var(--warning)", over: "var(--stopped)" };
const LEVELS = 8;
/** Ages change by the second, their colours need not. */
const REDRAW_MS = 5000;

function stateText(state: NodeState): string {
  switch (state) {
    case "sending":
      return t("sending");
    case "silent":
      return t("silent");
    case "failed":
      return t("ended badly");
    case "ended":
      return t("ended well");
    case "clock":
      return t("wrong clock");
    case "over":
      return t("sends no more");
  }
}

function measureText(measure: Measure): string {
  switch (measure) {
    case "state":
      return t("state");
    case "age":
      return t("age of the last line");
    case "faults":
      return t("incidents");
    case "utilisation":
      return t("utilisation");
  }
}

function describe(node: GridNode, nowMs: number): string {
  const { one, state, faults, kinds, drain, utilisation } = node;
  const heard = one.last_seen_ms ?? one.last_ms;
  const parts = [one.stream, stateText(state)];
  if (drain !== null) parts.push(t("to be drained: {why}", { why: drain }));
  if (kinds.length > 0) parts.push(t("open: {kinds}", { kinds: kinds.map(kindTitle).join(", ") }));
  if (one.role) parts.push(one.role);
  if (one.host) parts.push(t("on {host}", { host: one.host }));
  if (heard !== undefined) parts.push(t("last line {time} ago", { time: formatAge(nowMs - heard) }));
  if (one.exit) parts.push(exitText(one.exit));
  if (faults > 0) parts.push(tn(faults, "{n} incident", "{n} incidents"));
  if (utilisation !== null) parts.push(t("{n} % used", { n: utilisation.toFixed(0) }));
  if ((one.attempt ?? 1) > 1) parts.push(t("attempt {n}", { n: one.attempt ?? 1 }));
  parts.push(tn(one.lines ?? 0, "{n} line", "{n} lines"));
  return parts.join(" · ");
}

const valueText = (measure: Measure, value: number): string =>
  measure === "age" ? formatDuration(value) : measure === "utilisation" ? `${value.toFixed(0)} %` : formatCount(value);

/** All nodes at a glance: a cell each, in one canvas however many they are. */
export function NodeGrid({ job, nodes }: { job: string; nodes: readonly GridNode[] }) {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(0);
  const at = useSignal(0);
  const hovered = useSignal<number | null>(null);
  const isFocused = useSignal(false);
  const asked = query.value["by"];
  const measure = MEASURES.find((one) => one === asked) ?? "state";
  const shape = gridShape(nodes.length, width.value);
  const dark = isDark();
  const tick = measure === "age" ? Math.floor(now.value / REDRAW_MS) : 0;
  const values = nodes.map((node) => measureOf(node, measure, tick * REDRAW_MS + REDRAW_MS));
  const most = values.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  const top = measure === "utilisation" ? 100 : most;

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => (width.value = element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !host.current || width.value === 0) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = shape.columns * shape.size * ratio;
    element.height = Math.max(1, shape.rows * shape.size) * ratio;
    context.scale(ratio, ratio);
    const scale = Array.from({ length: LEVELS + 1 }, (_, i) => `color-mix(in srgb, var(--series-0) ${(i / LEVELS) * 100}%, var(--bg-3))`);
    const bytes = readBytes(host.current, [...STATES.map((state) => TOKENS[state]), "var(--bg)", "var(--text)", ...scale, ...MARKS.map((mark) => `var(--${mark})`)]).map(cssOf);
    const [ground = "", ink = ""] = bytes.slice(STATES.length);
    const markColours = bytes.slice(-MARKS.length);
    const inner = shape.size - 2;
    nodes.forEach((node, i) => {
      const x = (i % shape.columns) * shape.size + 1;
      const y = Math.floor(i / shape.columns) * shape.size + 1;
      const value = values[i] ?? null;
      const level = value === null || top === 0 ? 0 : Math.round((value / top) * LEVELS);
      context.fillStyle = (measure === "state" ? bytes[STATES.indexOf(node.state)] : value === null ? ground : bytes[STATES.length + 2 + level]) ?? "";
      context.fillRect(x, y, inner, inner);
      if (measure === "state") drawShape(context, node.state, x, y, inner, ground);
      if (node.one.role !== undefined) {
        context.strokeStyle = ink;
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
      }
      const mark = node.drain !== null ? "critical" : node.mark;
      if (mark !== null) drawMark(context, mark, markColours[MARKS.indexOf(mark)] ?? "", x, y, inner, ground);
    });
  }, [nodes, measure, width.value, shape.size, dark, tick]);

  const shownAt = hovered.value ?? (isFocused.value ? Math.min(at.value, nodes.length - 1) : null);
  const shown = shownAt === null ? undefined : nodes[shownAt];
  const open = (i: number): void => {
    const stream = nodes[i]?.one.stream;
    if (stream !== undefined) navigate(jobHref(job, { stream, series: stream }));
  };
  const cellAt = (event: PointerEvent | MouseEvent): number | null => {
    const x = Math.floor(event.offsetX / shape.size);
    const i = Math.floor(event.offsetY / shape.size) * shape.columns + x;
    return x >= 0 && x < shape.columns && i < nodes.length ? i : null;
  };
  const counts = new Map<NodeState, number>();
  for (const { state } of nodes) counts.set(state, (counts.get(state) ?? 0) + 1);
  return (
    <section class="nodegrid" aria-label={t("All nodes")}>
      <div class="viewhead">
        <h2>{t("All nodes at a glance")}</h2>
        <label>
          <span class="hidden">{t("Colour by")}</span>
          <select value={measure} onChange={(event) => patchQuery({ by: event.currentTarget.value === "state" ? undefined : event.currentTarget.value })}>
            {MEASURES.map((one) => (
              <option key={one} value={one}>
                {measureText(one)}
              </option>
            ))}
          </select>
        </label>
        <span class="legend">
          {measure === "state" ? (
            STATES.filter((state) => counts.has(state)).map((state) => (
              <span key={state}>
                <i class={`chip n-${state}`} aria-hidden="true" /> {stateText(state)} {formatCount(counts.get(state))}
              </span>
            ))
          ) : (
            <span>
              {valueText(measure, 0)} <i class="ramp" aria-hidden="true" /> {top > 0 ? valueText(measure, top) : NONE}
            </span>
          )}
        </span>
      </div>
      <div class="cells" ref={host}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={t("Grid of nodes: arrows go from one to the next, Enter opens its log and its curve. The table below has the same.")}
          style={{ width: `${shape.columns * shape.size}px`, height: `${Math.max(1, shape.rows * shape.size)}px` }}
          onPointerMove={(event) => (hovered.value = cellAt(event))}
          onPointerLeave={() => (hovered.value = null)}
          onFocus={() => (isFocused.value = true)}
          onBlur={() => (isFocused.value = false)}
          onClick={(event) => {
            const cell = cellAt(event);
            if (cell !== null) open(cell);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") return open(at.value);
            const next = moveIn(shape, nodes.length, at.value, event.key);
            if (next === null) return;
            event.preventDefault();
            at.value = next;
          }}
        />
        {shownAt !== null && (
          <i
            class="cursor"
            style={{
              left: `${(shownAt % shape.columns) * shape.size}px`,
              top: `${Math.floor(shownAt / shape.columns) * shape.size}px`,
              width: `${shape.size}px`,
              height: `${shape.size}px`,
            }}
          />
        )}
      </div>
      <p class="said" role="status">
        {shown ? describe(shown, now.value) : t("Point at a node or focus the grid; a click or Enter opens its log and its curve.")}
      </p>
    </section>
  );
}

const MARKS: readonly Severity[] = ["critical", "warning", "info"];

/** An open incident, or a machine to drain: the mark of its severity on a plate in the corner, whatever the cell's colour says. */
function drawMark(context: CanvasRenderingContext2D, mark: Severity, colour: string, x: number, y: number, size: number, ground: string): void {
  const room = Math.max(6, Math.round(size * 0.55));
  const half = room / 2;
  const [left, top] = [x + size - room, y];
  context.fillStyle = ground;
  context.fillRect(left - 1, top, room + 1, room + 1);
  context.fillStyle = context.strokeStyle = colour;
  context.lineWidth = Math.max(1, size / 16);
  context.beginPath();
  context.moveTo(left + half, top + 1);
  if (mark === "warning") {
    context.lineTo(left + room - 1, top + room - 1);
    context.lineTo(left + 1, top + room - 1);
  } else {
    context.lineTo(left + room - 1, top + half);
    context.lineTo(left + half, top + room - 1);
    context.lineTo(left + 1, top + half);
  }
  context.closePath();
  if (mark === "info") context.stroke();
  else context.fill();
}

/** A shape with each colour: a cross for what failed, a hole for what is silent, a corner for a wrong clock. */
function drawShape(context: CanvasRenderingContext2D, state: NodeState, x: number, y: number, size: number, ground: string): void {
  context.fillStyle = context.strokeStyle = ground;
  context.lineWidth = Math.max(1, size / 8);
  if (state === "failed") {
    context.beginPath();
    context.moveTo(x + 2, y + 2);
    context.lineTo(x + size - 2, y + size - 2);
    context.moveTo(x + size - 2, y + 2);
    context.lineTo(x + 2, y + size - 2);
    context.stroke();
  } else if (state === "silent") context.fillRect(x + size / 4, y + size / 4, size / 2, size / 2);
  else if (state === "clock") {
    context.beginPath();
    context.moveTo(x + size, y);
    context.lineTo(x + size, y + size * 0.6);
    context.lineTo(x + size * 0.4, y);
    context.fill();
  } else if (state === "ended") context.fillRect(x, y + size - Math.max(2, size / 4), size, Math.max(2, size / 4) / 2);
}
