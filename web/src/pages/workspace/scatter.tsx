// A point a job: two numbers, coloured by a setting, with their rank correlation.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { t, tn } from "../../i18n/i18n";
import { formatCount, formatExact, formatValue } from "../../lib/text/format";
import { jobHref } from "../../lib/url/url";
import type { ScatterPanel } from "../../lib/workspace/document";
import { rankCorrelation } from "../../lib/workspace/correlation";
import { evenSplits, formatLogTick, formatTicks, logRange, logSplits, paddedRange } from "../../plot/axes";
import { navigate } from "../../state/core/router";
import { compareNatural } from "../../lib/text/natural";

export interface Point {
  name: string;
  x: number;
  y: number;
  /** What the setting is; null: it has none. */
  group: string | null;
}

interface Props {
  panel: ScatterPanel;
  points: readonly Point[];
  jobs: number;
  total: number;
}

const MARGIN = { left: 56, right: 14, top: 10, bottom: 34 };
const RADIUS = 4;
const MOST_GROUPS = 8;
const SHAPES = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "M-4 -4h8v8h-8z", "M0 -5L5 4H-5z", "M0 -5.5L5.5 0L0 5.5L-5.5 0z"];

interface Scale {
  place(value: number): number;
  ticks: { at: number; text: string }[];
}

function makeScale(values: readonly number[], isLog: boolean, from: number, to: number): Scale {
  const used = isLog ? values.filter((one) => one > 0) : values;
  const [low, high] = [used.reduce((a, b) => Math.min(a, b), Infinity), used.reduce((a, b) => Math.max(a, b), -Infinity)];
  const [min, max] = isLog ? logRange(low, high) : paddedRange(low, high);
  const size = Math.abs(to - from);
  const part = isLog ? (value: number) => Math.log(value / min) / Math.log(max / min) : (value: number) => (value - min) / (max - min);
  const splits = isLog ? logSplits(min, max, size * (from > to ? 1 : 0.4)) : evenSplits(min, max, size / (from > to ? 32 : 70));
  const texts = isLog ? splits.map(formatLogTick) : formatTicks(splits);
  return { place: (value) => from + part(value) * (to - from), ticks: splits.map((value, i) => ({ at: from + part(value) * (to - from), text: texts[i] ?? "" })) };
}

export function Scatter({ panel, points, jobs, total }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const chosen = useSignal<string | null>(null);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => setSize({ width: Math.floor(entry?.contentRect.width ?? 0), height: Math.floor(entry?.contentRect.height ?? 0) }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const isLogX = panel.xscale === "log";
  const isLogY = panel.scale === "log";
  const inPlace = useMemo(() => points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y) && (!isLogX || x > 0) && (!isLogY || y > 0)), [points, isLogX, isLogY]);
  const groups = useMemo(() => [...new Set(points.map((one) => one.group ?? "–"))].sort(compareNatural), [points]);
  const rank = useMemo(() => rankCorrelation(points.map(({ x, y }) => [x, y])), [points]);
  const hue = (group: string | null): number => (panel.color ? groups.indexOf(group ?? "–") : 0);
  const { width, height } = size ?? { width: 0, height: 0 };
  const isDrawn = width > MARGIN.left + MARGIN.right && height > MARGIN.top + MARGIN.bottom;
  const x = isDrawn ? makeScale(inPlace.map((one) => one.x), isLogX, MARGIN.left, width - MARGIN.right) : null;
  const y = isDrawn ? makeScale(inPlace.map((one) => one.y), isLogY, height - MARGIN.bottom, MARGIN.top) : null;
  const shown = inPlace.find((one) => one.name === chosen.value);
  const left = points.length - inPlace.length;
  const step = (by: number): void => {
    const order = [...inPlace].sort((a, b) => a.x - b.x || a.y - b.y);
    const at = order.findIndex((one) => one.name === chosen.peek());
    chosen.value = order[Math.min(order.length - 1, Math.max(0, at < 0 ? 0 : at + by))]?.name ?? null;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "ArrowRight") step(1);
    else if (event.key === "Enter" && chosen.peek() !== null) navigate(jobHref(chosen.peek() ?? ""));
    else if (event.key === "Escape" && chosen.peek() !== null) chosen.value = null;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div class="scatter" ref={host} role="application" tabIndex={0} aria-label={t("{y} by {x}: {n} jobs. The arrow keys read their values.", { x: panel.x, y: panel.y, n: inPlace.length })} onKeyDown={onKeyDown} onMouseLeave={() => (chosen.value = null)}>
        {x && y && (
          <svg width={width} height={height} aria-hidden="true">
            {x.ticks.map(({ at, text }) => (
              <g key={text}>
                <line x1={at} x2={at} y1={MARGIN.top} y2={height - MARGIN.bottom} />
                <text x={at} y={height - MARGIN.bottom + 14} text-anchor="middle">
                  {text}
                </text>
              </g>
            ))}
            {y.ticks.map(({ at, text }) => (
              <g key={text}>
                <line x1={MARGIN.left} x2={width - MARGIN.right} y1={at} y2={at} />
                <text x={MARGIN.left - 6} y={at + 4} text-anchor="end">
                  {text}
                </text>
              </g>
            ))}
            <text class="axis" x={(MARGIN.left + width - MARGIN.right) / 2} y={height - 4} text-anchor="middle">
              {panel.x}
            </text>
            {inPlace.map((one) => (
              <path
                key={one.name}
                class={one.name === chosen.value ? "near" : undefined}
                d={SHAPES[Math.floor(hue(one.group) / MOST_GROUPS) % SHAPES.length] ?? ""}
                transform={`translate(${x.place(one.x)} ${y.place(one.y)})`}
                fill={`var(--series-${hue(one.group) % MOST_GROUPS})`}
                onMouseEnter={() => (chosen.value = one.name)}
                onClick={() => navigate(jobHref(one.name))}
              />
            ))}
          </svg>
        )}
        {shown && x && y && (
          <div class="curvetip" role="status" style={{ top: `${Math.max(0, y.place(shown.y) - RADIUS)}px`, ...(x.place(shown.x) > width / 2 ? { right: `${width - x.place(shown.x) + 12}px` } : { left: `${x.place(shown.x) + 12}px` }) }}>
            <b>{shown.name}</b>
            <ul>
              <li title={formatExact(shown.y)}>
                <bdi>{panel.y}</bdi> <span>{formatValue(shown.y)}</span>
              </li>
              <li title={formatExact(shown.x)}>
                <bdi>{panel.x}</bdi> <span>{formatValue(shown.x)}</span>
              </li>
              {panel.color && (
                <li>
                  <bdi>{panel.color}</bdi> <span>{shown.group ?? "–"}</span>
                </li>
              )}
            </ul>
          </div>
        )}
      </div>
      <p class="note dim">
        {rank ? t("rank correlation {rho}, n = {n}", { rho: formatValue(rank.rho), n: rank.n }) : tn(points.length, "{n} job", "{n} jobs")}
        {left > 0 && ` · ${t("{n} without a place on a logarithmic axis", { n: left })}`}
        {jobs > points.length && ` · ${t("{n} without both values", { n: formatCount(jobs - points.length) })}`}
        {total > jobs && ` · ${t("the first {n} of {total} jobs", { n: formatCount(jobs), total: formatCount(total) })}`}
      </p>
      {panel.color && (
        <ul class="groups" aria-label={panel.color} tabIndex={0}>
          {groups.slice(0, MOST_GROUPS * 2).map((group, i) => (
            <li key={group}>
              <svg viewBox="-6 -6 12 12" aria-hidden="true">
                <path d={SHAPES[Math.floor(i / MOST_GROUPS) % SHAPES.length] ?? ""} fill={`var(--series-${i % MOST_GROUPS})`} />
              </svg>
              {group}
            </li>
          ))}
          {groups.length > MOST_GROUPS * 2 && <li class="dim">{t("and {n} more", { n: groups.length - MOST_GROUPS * 2 })}</li>}
        </ul>
      )}
    </>
  );
}
