import { t } from "../../i18n/i18n";
import { useMemo } from "preact/hooks";
import { previewOf, type PreviewPoint } from "../../lib/log/captures";
import { formatCount, formatValue } from "../../lib/text/format";
import { curvePath } from "../../lib/chart/curve";
import type { Trial } from "../../state/job/workbench";
import { WARNINGS_ID } from "./table";

const WIDTH = 260;
const HEIGHT = 110;

/** What the chosen definition's curve would be over these lines. */
export function Preview({ trial, index, name, color }: { trial: Trial | null; index: number; name: string; color: number }) {
  const { points, hasSteps, metric, series } = useMemo(() => previewOf(trial?.lines ?? [], index), [trial, index]);
  const warnings = trial?.definitions[index]?.warnings ?? [];
  const first = points[0];
  const last = points[points.length - 1];
  return (
    <aside class={`preview s${color}`} aria-label={t("The resulting curve")}>
      <h2 title={name}>{name || "–"}</h2>
      <ul id={WARNINGS_ID} class="warnings">
        {warnings.map((warning) => (
          <li key={warning.code}>
            <span class="glyph" aria-hidden="true">
              ▲
            </span>
            {t(warning.text)}
          </li>
        ))}
      </ul>
      {first && last ? (
        <>
          <Curve points={points} label={t("{name}: {n} values", { name, n: points.length })} />
          <dl>
            {metric && (
              <>
                <dt>{t("series")}</dt>
                <dd>
                  {metric}
                  {series > 1 && t(", one of {n}", { n: series })}
                </dd>
              </>
            )}
            <dt>{t("values")}</dt>
            <dd>{formatCount(points.length)}</dd>
            <dt>{t("first, last")}</dt>
            <dd>
              {formatValue(first.y)} → {formatValue(last.y)}
            </dd>
            <dt>{t("range")}</dt>
            <dd>
              {formatValue(points.reduce((low, one) => Math.min(low, one.y), Infinity))} … {formatValue(points.reduce((high, one) => Math.max(high, one.y), -Infinity))}
            </dd>
            <dt>{t("steps")}</dt>
            <dd>{hasSteps ? `${formatCount(first.x)} … ${formatCount(last.x)}` : t("none captured")}</dd>
          </dl>
        </>
      ) : (
        <p class="dim">{t("No values on these lines.")}</p>
      )}
      <p class="legend" aria-hidden="true">
        <mark class={`value s${color}`}>{t("value")}</mark> <mark class={`step s${color}`}>{t("step")}</mark> <mark class={`name s${color}`}>{t("name")}</mark>
      </p>
    </aside>
  );
}

function Curve({ points, label }: { points: PreviewPoint[]; label: string }) {
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={curvePath(points, WIDTH, HEIGHT)} />
    </svg>
  );
}
