// A score over the checkpoints' steps, with its standard errors and, as lines across, what named models have.
import { useState } from "preact/hooks";
import type { Evaluations } from "../../../api/training";
import { t } from "../../../i18n/i18n";
import { formatCount, formatValue } from "../../../lib/text/format";

const WIDTH = 640, HEIGHT = 200, LEFT = 66, RIGHT = 150, BOTTOM = 18, TOP = 8;
const LABEL_HEIGHT = 12;

interface Place {
  step: number;
  value: number;
  error: number;
  isBest: boolean;
}

interface Across {
  name: string;
  source: string | null;
  value: number;
}

function placesOf(reply: Evaluations, score: string): Place[] {
  return reply.checkpoints.flatMap((one) => {
    const value = one.scores[score];
    if (one.step === null || value === undefined) return [];
    const isBest = reply.best !== null && reply.best.step === one.step && reply.best.path === one.path;
    return [{ step: one.step, value, error: one.details[score]?.stderr ?? 0, isBest }];
  });
}

/** The highest first, as their labels stand. */
function acrossOf(reply: Evaluations, score: string): Across[] {
  const all = reply.references.flatMap((one): Across[] => {
    const value = one.scores[score];
    return value === undefined ? [] : [{ name: one.shots === null ? one.model : t("{model}, {shots} shots", { model: one.model, shots: one.shots }), source: one.source, value }];
  });
  return all.sort((a, b) => b.value - a.value);
}

/** Scores that a line can be drawn of: at two steps at least. */
export function drawable(reply: Evaluations): string[] {
  const names = [...new Set(reply.checkpoints.flatMap((one) => Object.keys(one.scores)))].sort();
  return names.filter((name) => new Set(placesOf(reply, name).map((one) => one.step)).size > 1);
}

export function EvaluationChart({ reply }: { reply: Evaluations }) {
  const names = drawable(reply);
  const weighed = Object.keys(reply.best?.weights ?? {}).find((name) => names.includes(name));
  const [chosen, choose] = useState<string | null>(null);
  const score = chosen !== null && names.includes(chosen) ? chosen : (weighed ?? names[0]);
  if (score === undefined) return null;
  return (
    <>
      {names.length > 1 && (
        <label>
          {t("score")}{" "}
          <select value={score} onChange={(event) => choose(event.currentTarget.value)}>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Drawn places={placesOf(reply, score)} across={acrossOf(reply, score)} score={score} />
    </>
  );
}

/** Of labels from above to below none upon the one before. */
function labelPlaces(heights: readonly number[]): number[] {
  const places: number[] = [];
  for (const height of heights) places.push(Math.max(height, (places[places.length - 1] ?? -LABEL_HEIGHT) + LABEL_HEIGHT));
  return places;
}

function Drawn({ places, across, score }: { places: readonly Place[]; across: readonly Across[]; score: string }) {
  const first = places[0]?.step ?? 0;
  const last = places[places.length - 1]?.step ?? 0;
  const values = [...places.flatMap((one) => [one.value - one.error, one.value + one.error]), ...across.map((one) => one.value)];
  const least = Math.min(...values);
  const most = Math.max(...values);
  const x = (step: number): number => LEFT + 8 + (last > first ? (step - first) / (last - first) : 0) * (WIDTH - LEFT - RIGHT - 16);
  const y = (value: number): number => TOP + (most > least ? (most - value) / (most - least) : 0.5) * (HEIGHT - TOP - BOTTOM);
  const labels = labelPlaces(across.map((one) => y(one.value) + 4));
  return (
    <figure class="rates">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t("{score} by step, with named models; the table below has the values", { score })}>
        <path class="axis" d={`M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`} />
        {across.map((one, i) => (
          <g key={one.name} class="reference">
            <title>{[one.name, formatValue(one.value), one.source].filter(Boolean).join(" · ")}</title>
            <path class="declared" d={`M${LEFT} ${y(one.value).toFixed(1)}H${WIDTH - RIGHT}`} />
            <text x={WIDTH - RIGHT + 4} y={labels[i]}>{one.name}</text>
          </g>
        ))}
        <path class="observed" d={places.map((one, i) => `${i ? "L" : "M"}${x(one.step).toFixed(1)} ${y(one.value).toFixed(1)}`).join("")} />
        {places.map((one) => (
          <g key={one.step}>
            <title>{t("step {step}", { step: formatCount(one.step) })}: {formatValue(one.value)}</title>
            {one.error > 0 && <path class="observed" d={`M${x(one.step).toFixed(1)} ${y(one.value - one.error).toFixed(1)}V${y(one.value + one.error).toFixed(1)}`} />}
            <circle cx={x(one.step).toFixed(1)} cy={y(one.value).toFixed(1)} r={one.isBest ? 5 : 3} />
          </g>
        ))}
        <text x={LEFT - 6} y={TOP + 8} text-anchor="end">{formatValue(most)}</text>
        <text x={LEFT - 6} y={HEIGHT - BOTTOM} text-anchor="end">{formatValue(least)}</text>
        <text x={LEFT} y={HEIGHT - 4}>{formatCount(first)}</text>
        <text x={WIDTH - RIGHT} y={HEIGHT - 4} text-anchor="end">{formatCount(last)}</text>
      </svg>
    </figure>
  );
}
