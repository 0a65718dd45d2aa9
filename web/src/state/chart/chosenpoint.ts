// The points that came from the line which is chosen in the log: a line clicked marks its points in the charts.
import { signal } from "@preact/signals";
import type { Num } from "../../api/types";

export interface ChosenPoint {
  metric: string;
  stream: string;
  line: number;
  step: number;
  ts_ms: number;
  value: Num;
}

export const chosenPoints = signal<readonly ChosenPoint[]>([]);
