// What an axis stands on: the server counts by step and by time.
import { useComputed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { isWork, type Axis } from "../../lib/url/url";
import { shifted, STEPS, TIMES, type XMap } from "../../lib/chart/xmap";
import { patchQuery } from "../core/router";
import type { JobStore } from "../job/job";

/** null: what it takes is not known yet. */
export function useXMap(store: JobStore, axis: Axis): XMap | null {
  const [work, setWork] = useState<{ axis: Axis; map: XMap } | null>(null);
  const origin = useComputed(() => originOf(store, axis)).value;
  const isKnown = useComputed(() => store.metrics.value !== null).value;
  const [made, setMade] = useState<{ axis: Axis; origin: number; map: XMap } | null>(null);

  useEffect(() => {
    if (!isWork(axis) || !isKnown) return;
    const abort = new AbortController();
    const keep = (map: XMap): void => (abort.signal.aborted ? undefined : setWork({ axis, map }));
    // A job that has none is drawn by its steps, and says so.
    const leave = (): void => (abort.signal.aborted ? undefined : patchQuery({ x: undefined }, true));
    void import("./work").then(({ loadWork }) => loadWork(store.name, store.metrics.peek()?.[0]?.metric ?? "", axis, abort.signal).then(keep, leave));
    return () => abort.abort();
  }, [store, axis, isKnown]);

  if (axis === "step") return STEPS;
  if (axis === "time") return TIMES;
  if (isWork(axis)) return work?.axis === axis ? work.map : null;
  if (origin === null) return null;
  // The same object as long as it means the same, or every chart would be made anew.
  if (made?.axis === axis && made.origin === origin) return made.map;
  const map = shifted(axis === "rstep" ? "step" : "time", origin);
  setMade({ axis, origin, map });
  return map;
}

function originOf(store: JobStore, axis: Axis): number | null {
  if (axis === "relative") return store.startMs.value || null;
  if (axis !== "rstep") return null;
  const first = store.metrics.value?.map((one) => one.firstStep).filter((step) => step !== undefined);
  return first && first.length > 0 ? first.reduce((a, b) => Math.min(a, b)) : null;
}
