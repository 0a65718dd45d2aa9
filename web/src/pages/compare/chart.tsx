import { useSignal, type Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t, tn } from "../../i18n/i18n";
import { curvesCsv, download, fileName, picturesUrl, pngUrl } from "../../lib/jobs/export";
import type { NoteMark } from "../../lib/jobs/notes";
import { formatCount } from "../../lib/text/format";
import type { ChartState } from "../../lib/url/url";
import type { OverlayCurve } from "../../plot/overlay";
import { useOverlay } from "../../plot/useoverlay";
import { patchQuery } from "../../state/core/router";
import { NoteMarks } from "../job/chart/notemarks";
import { round } from "../job/chart/plotview";

interface Props {
  title: string;
  /** Of a facet: its value. */
  facet?: string | undefined;
  state: ChartState;
  curves: readonly OverlayCurve[] | null;
  notes: readonly NoteMark[];
  /** The range of y that all facets share. */
  y: [number, number] | null;
  cursor: Signal<number | null>;
  chosen: Signal<string | null>;
  onPick(name: string): void;
  onWidth(pixels: number): void;
}

/** A download has begun by then. */
const FORGET_MS = 10_000;

/** Curves over each other; which they are, and where they come from, is the page's. */
export function CompareChart({ title, facet, state, curves, notes, y, cursor, chosen, onPick, onWidth }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const { from, to } = state;
  const scales = useSignal(0);
  const plot = useOverlay(host, {
    look: state,
    curves,
    window: from !== null && to !== null ? [from, to] : null,
    y,
    chosen,
    onWidth,
    events: {
      onHover: (x, name) => {
        cursor.value = x;
        chosen.value = name;
      },
      onPick,
      onZoom: (low, high) => patchQuery({ from: round(low, high - low), to: round(high, high - low) }),
      onReset: () => patchQuery({ from: undefined, to: undefined }),
      onLayout: () => scales.value++,
    },
  });

  const shown = (curves ?? []).reduce((sum, curve) => sum + curve.buckets.x.length, 0);
  const total = (curves ?? []).reduce((sum, curve) => sum + curve.buckets.total, 0);
  const counts = { shown: formatCount(shown), total: formatCount(total) };
  const said = t("{metric} of {n} curves; the table below has the values.", { metric: title, n: formatCount(curves?.length) });
  return (
    <figure class="chart lead" aria-label={facet === undefined ? title : `${title}, ${facet}`}>
      {facet !== undefined && (
        <figcaption>
          <h2>{facet}</h2>
        </figcaption>
      )}
      <div class="plot">
        <div ref={host} class="canvas" role="img" aria-label={said} />
        <NoteMarks notes={notes} plot={plot} scales={scales} />
      </div>
      <div class="underplot">
        {curves && curves.length > 0 && <Saves title={facet === undefined ? title : `${title}-${facet}`} curves={curves} state={state} host={host} />}
        <p class="kept">
          {curves === null ? "\u00a0" : curves.length === 0 ? t("No points here.") : total > shown ? t("{shown} of {total} points, nothing hidden", counts) : tn(total, "{n} point", "{n} points", { n: counts.total })}
        </p>
      </div>
    </figure>
  );
}

interface SavesProps {
  title: string;
  curves: readonly OverlayCurve[];
  state: ChartState;
  host: { current: HTMLElement | null };
}

function Saves({ title, curves, state, host }: SavesProps) {
  const picture = picturesUrl(curves, state);
  const png = (): void => {
    const canvas = host.current?.querySelector("canvas");
    if (canvas) download(pngUrl(canvas, host.current?.parentElement?.querySelectorAll(".mark")), fileName("compare", title, ".png"));
  };
  const csv = (): void => {
    const url = URL.createObjectURL(new Blob([curvesCsv(curves.map(({ name, metric, buckets }) => ({ job: name, metric: metric ?? title, buckets })))], { type: "text/csv" }));
    download(url, fileName("compare", title, ".csv"));
    setTimeout(() => URL.revokeObjectURL(url), FORGET_MS);
  };
  return (
    <span>
      <button type="button" class="quiet" title={t("Save as PNG")} onClick={png}>
        PNG
      </button>
      {picture && (
        <button type="button" class="quiet" title={t("Save as SVG")} onClick={() => download(picture, fileName("compare", title, ".svg"))}>
          SVG
        </button>
      )}
      <button type="button" class="quiet" title={t("Save what is drawn as CSV")} onClick={csv}>
        CSV
      </button>
    </span>
  );
}
