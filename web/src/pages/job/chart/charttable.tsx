import { formatCount, formatExact, NONE } from "../../../lib/text/format";
import { nonFiniteText } from "../../../lib/chart/nonfinite";
import type { Axis } from "../../../lib/url/url";
import { formatX } from "../../../plot/axes";
import type { ChartStore } from "../../../state/chart/chart";
import { DataTable } from "../../../ui/datatable";

const ROWS = 500;

/** The chart's buckets as a table, newest first: the same data for those who do not see the curve. */
export function ChartTable({ chart, axis, onPick }: { chart: ChartStore; axis: Axis; onPick: (index: number) => void }) {
  void chart.version.value;
  const { x, min, mean, max, count, line, nonFinite } = chart.buckets;
  return (
    <div class="charttable" tabIndex={0}>
      <DataTable
        rows={x.map((_, i) => i).slice(-ROWS).reverse()}
        keyOf={(i) => i}
        columns={[
          { title: axis === "step" ? "step" : "time", isNumber: true, cell: (i) => formatX(axis, x[i] ?? 0).replace(/^step /, "") },
          { title: "lowest", isNumber: true, cell: (i) => formatExact(min[i]) },
          { title: "mean", isNumber: true, cell: (i) => (mean[i] === null ? nonFiniteText(nonFinite[i] ?? 0) || NONE : formatExact(mean[i])) },
          { title: "highest", isNumber: true, cell: (i) => formatExact(max[i]) },
          { title: "points", isNumber: true, cell: (i) => formatCount(count[i]) },
          {
            title: "line",
            isNumber: true,
            cell: (i) =>
              line[i] === null ? (
                NONE
              ) : (
                <button type="button" class="quiet" onClick={() => onPick(i)}>
                  {formatCount(line[i] ?? undefined)}
                </button>
              ),
          },
        ]}
      />
      {x.length > ROWS && <p class="dim">The newest {ROWS} of {formatCount(x.length)}; zoom in to see others.</p>}
    </div>
  );
}
