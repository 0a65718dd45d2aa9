// How one chart's look is written into the address; lib/url reads it.
import type { ChartLook } from "./url";

/** The same as text; undefined: nothing is otherwise. */
export function writeLook(own: Partial<ChartLook>, all: ChartLook): string | undefined {
  const words = [
    own.logScale !== undefined && own.logScale !== all.logScale && (own.logScale ? "log" : "linear"),
    own.clip !== undefined && own.clip !== all.clip && (own.clip ? "clip" : "whole"),
    own.smooth !== undefined && own.smooth !== all.smooth && `smooth:${own.smooth}`,
    own.smoothing !== undefined && own.smoothing !== all.smoothing && `by:${own.smoothing}`,
  ].filter((word) => word !== false);
  return words.length > 0 ? words.join(",") : undefined;
}
