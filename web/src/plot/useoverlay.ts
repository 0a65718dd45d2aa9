// Curves over each other in a component: the plot is made when its look changes, and fed when its curves do.
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Axis, ChartLook } from "../lib/url/url";
import { isDark } from "../state/core/theme";
import { readColors } from "./colors";
import { Overlay, type OverlayCurve, type OverlayEvents } from "./overlay";

export interface Drawing {
  look: ChartLook & { axis: Axis };
  curves: readonly OverlayCurve[] | null;
  window: [number, number] | null;
  /** The range of y that several share; null: its own. */
  y?: [number, number] | null;
  /** The curve that stands out. */
  chosen: Signal<string | null>;
  events: OverlayEvents;
  onWidth(pixels: number): void;
}

/** What the axis of y takes of the width. */
const AXIS_WIDTH = 78;
const SMALLEST = { width: 66, height: 40 };

export function useOverlay(host: { current: HTMLElement | null }, drawing: Drawing): RefObject<Overlay | null> {
  const plot = useRef<Overlay | null>(null);
  const now = useRef(drawing);
  now.current = drawing;
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const { look, curves, window, y = null, chosen } = drawing;
  const { axis, logScale, logX, smooth, smoothing, clip } = look;
  const [from, to] = window ?? [null, null];
  const isDarkNow = isDark();
  // Axes of what is not there yet would be made up, and drawn for nobody.
  const hasCurves = useRef(false);
  hasCurves.current ||= curves !== null;
  const isReady = size !== null && hasCurves.current;

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

  // What is asked for depends on it: not a frame later.
  useLayoutEffect(() => {
    if (size) now.current.onWidth(size.width - AXIS_WIDTH);
  }, [size?.width]);

  // Curves that the page tells of are those that the next key reads: not a frame later, which may take long.
  useLayoutEffect(() => {
    const element = host.current;
    if (!element || !isReady || !size) return;
    const colors = readColors(element, 0, isDarkNow);
    plot.current = new Overlay(element, size, { axis, logScale, logX, smooth, smoothing, clip, colors }, {
      onHover: (x, name) => now.current.events.onHover(x, name),
      onPick: (name) => now.current.events.onPick(name),
      onZoom: (low, high) => now.current.events.onZoom(low, high),
      onReset: () => now.current.events.onReset(),
      onLayout: () => now.current.events.onLayout?.(),
    });
    const stop = chosen.subscribe((name) => plot.current?.choose(name));
    return () => {
      stop();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [axis, logScale, logX, smooth, smoothing, clip, isDarkNow, isReady]);

  useLayoutEffect(() => {
    if (size) plot.current?.resize(size.width, size.height);
  }, [size]);

  useLayoutEffect(() => {
    plot.current?.update([...(curves ?? [])], from !== null && to !== null ? [from, to] : null, y);
  }, [curves, y, from, to, axis, logScale, logX, smooth, smoothing, clip, isDarkNow, isReady]);
  return plot;
}
