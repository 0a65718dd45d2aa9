import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, jobPath } from "../../../api/client";
import type { LogBucket } from "../../../api/types";
import { Histogram } from "./histogram";
import { every } from "../../../lib/flow/poll";
import { later } from "../../../ui/lazy";

const AGAIN_MS = 15_000;

interface Props {
  job: string;
  /** null: all streams. */
  stream: string | null;
  atMs: number | null;
  onJump(ms: number): void;
}

/** How many lines there are over the time of the whole log. */
export function WholeLog({ job, stream, atMs, onJump }: Props) {
  const buckets = useSignal<LogBucket[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const load = async (): Promise<void> => {
      try {
        const reply = await getJson<{ histogram: LogBucket[] }>(jobPath(job, "/logs/histogram"), { stream: stream ?? undefined }, abort.signal);
        buckets.value = reply.histogram;
      } catch {
        // The picture is missing, not the log: that tells of its own problem.
      }
    };
    void later(load);
    const end = every(AGAIN_MS, () => void load());
    return () => {
      abort.abort();
      end();
    };
  }, [job, stream, buckets]);
  // Room for it from the start, so that the log does not move when it comes.
  return <div class="wholelog">{buckets.value.length > 0 && <Histogram buckets={buckets.value} of="lines" atMs={atMs} onJump={(from) => onJump(from)} />}</div>;
}
