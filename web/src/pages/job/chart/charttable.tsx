import { formatCount, formatExact, NONE } from "../../../lib/text/format";
import { nonFiniteText } from "../../../lib/chart/nonfinite";
import type { Axis } from "../../../lib/url/url";
import { formatX } from "../../../plot/axes";
import type { ChartStore } from "../../../state/chart/chart";

const ROWS = 500;

/** The chart's buckets as a table, newest first: the same data for those who do not see the curve. */
export function ChartTable({ chart, axis, onPick }: { chart: ChartStore; axis: Axis; onPick: (index: number) => void }) {
  void chart.version.value;
  const { x, min, mean, max, count, line, nonFinite } = chart.buckets;
  const indexes = x.map((_, i) => i).slice(-ROWS).reverse();
  return (
    <div class="charttable" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {[axis === "step" ? "step" : "time", "lowest", "mean", "highest", "points", "line"].map((title) => (
              <th key={title} scope="col" class="num">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {indexes.map((i) => (
            <tr key={i}>
              <td class="num">{formatX(axis, x[i] ?? 0).replace(/^step /, "")}</td>
              <td class="num">{formatExact(min[i])}</td>
              <td class="num">{mean[i] === null ? nonFiniteText(nonFinite[i] ?? 0) || NONE : formatExact(mean[i])}</td>
              <td class="num">{formatExact(max[i])}</td>
              <td class="num">{formatCount(count[i])}</td>
              <td class="num">
                {line[i] === null ? (
                  NONE
                ) : (
                  <button type="button" class="quiet" onClick={() => onPick(i)}>
                    {formatCount(line[i] ?? undefined)}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {x.length > ROWS && <p class="dim">The newest {ROWS} of {formatCount(x.length)}; zoom in to see others.</p>}
    </div>
  );
}
