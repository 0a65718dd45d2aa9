// Curves beside the fold.
import type { Buckets } from "./buckets";

/** An older attempt's curve past the step at which a later attempt began again. */
export interface Ghost {
  attempt: number;
  x: number[];
  y: (number | null)[];
}

/** One stream's own curve. */
export interface NodeCurve {
  stream: string;
  buckets: Buckets;
}
