import type { Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pens } from "../../lib/compare";
import { formatCount } from "../../lib/format";
import { jobHref, type ChartState } from "../../lib/url";
import { readColors } from "../../plot/colors";
import { Overlay } from "../../plot/overlay";
import type { CompareStore } from "../../state/compare";
import { navigate, patchQuery } from "../../state/router";
import { isDark } from "../../state/theme";

interface Props {
  store: CompareStore;
  state: ChartState;
  metric: string;
  cursor: Signal<number | null>;
  chosen: Signal<string | null>;
}

const AXIS_WIDTH = 78;
const MOST_BUCKETS = 2000;
const SMALLEST = { width: 66, height: 40 };

export function CompareChart({ store, state, metric, cursor, chosen }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Overlay | null>(null);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const { axis, logScale, smooth, from, to } = state;
  const rows = store.rows.value ?? [];
  const curves = store.curves.value;
  const isDarkNow = isDark();
  const names = rows.map((row) => row.TrainingJobName);
  const buckets = Math.min(MOST_BUCKETS, Math.max(50, Math.round((size?.width ?? 0) / 100) * 100 - AXIS_WIDTH));
  const isSized = size !== null;

  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      const height = Math.floor(entry?.contentRect.height ?? 0);
      if (width >= SMALLEST.width && height >= SMALLEST.height) setSize({ width, height });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const namesKey = names.join("\n");
  useEffect(() => {
    if (isSized) store.draw({ metric, axis, from, to, buckets });
  }, [store, metric, axis, from, to, buckets, isSized, namesKey]);

  useEffect(() => {
    const element = host.current;
    if (!element || !isSized || !size) return;
    const look = { axis, logScale, smooth, colors: readColors(element, 0) };
    plot.current = new Overlay(element, size, look, {
      onHover: (x, name) => {
        cursor.value = x;
        chosen.value = name;
      },
      onPick: (name) => navigate(jobHref(name)),
      onZoom: (low, high) => patchQuery({ from: String(Math.floor(low)), to: String(Math.ceil(high)) }),
      onReset: () => patchQuery({ from: undefined, to: undefined }),
    });
    const stop = chosen.subscribe((name) => plot.current?.choose(name));
    return () => {
      stop();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [axis, logScale, smooth, isDarkNow, isSized]);

  useEffect(() => {
    if (size) plot.current?.resize(size.width, size.height);
  }, [size]);

  useEffect(() => {
    const pen = pens(names);
    const drawn = (curves ?? []).flatMap((curve) => {
      const own = pen[names.indexOf(curve.job)];
      return own ? [{ name: curve.job, pen: own, buckets: curve.buckets }] : [];
    });
    plot.current?.update(drawn, from !== null && to !== null ? [from, to] : null);
  }, [curves, from, to, axis, logScale, smooth, isDarkNow, isSized, namesKey]);

  const shown = (curves ?? []).reduce((sum, curve) => sum + curve.buckets.x.length, 0);
  const total = (curves ?? []).reduce((sum, curve) => sum + curve.buckets.total, 0);
  return (
    <figure class="chart lead" aria-label={`${metric} of ${names.length} jobs`}>
      <div class="plot">
        <div ref={host} class="canvas" role="img" aria-label={`${metric} of ${names.length} jobs; the table below has the values.`} />
      </div>
      <p class="kept">
        {curves === null
          ? "\u00a0"
          : curves.length === 0
            ? "No points here."
            : total > shown
              ? `${formatCount(shown)} of ${formatCount(total)} points, all kept`
              : `${formatCount(total)} points`}
      </p>
    </figure>
  );
}
