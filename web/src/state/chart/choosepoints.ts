import { getJson, jobPath } from "../../api/client";
import type { Num } from "../../api/types";
import { chosenPoints, type ChosenPoint } from "./chosenpoint";

interface RawReply {
  series: { step: number[]; ts_ms: number[]; value: Num[]; line: number[] }[];
}

/** Looks the line's points up: all points of these metrics at the line's time, of which those of the line are meant. */
export async function choosePoints(job: string, stream: string, line: number, ts_ms: number, metrics: readonly string[], abort: AbortSignal): Promise<void> {
  try {
    const found = await Promise.all(
      [...new Set(metrics)].map(async (metric) => {
        const params = { metric, stream, x: "time", from: ts_ms, to: ts_ms, raw: true };
        const reply = await getJson<RawReply>(jobPath(job, "/points"), params, abort);
        return reply.series.flatMap((part) =>
          part.line.flatMap((n, i): ChosenPoint[] =>
            n === line ? [{ metric, stream, line, step: part.step[i] ?? 0, ts_ms: part.ts_ms[i] ?? ts_ms, value: part.value[i] ?? "NaN" }] : [],
          ),
        );
      }),
    );
    if (!abort.aborted) chosenPoints.value = found.flat();
  } catch {
    // Without its points the line is still chosen: charts then mark nothing.
  }
}
