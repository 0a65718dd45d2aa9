import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { compareNatural } from "../../lib/metrics";
import { formatCount } from "../../lib/format";
import { parseLogTarget } from "../../lib/url";
import type { JobStore } from "../../state/job";
import { LogStore } from "../../state/log";
import { patchQuery, query } from "../../state/router";
import { ProblemBox } from "../../ui/problem";
import { LogRows } from "./logrows";

/** The streams as the server lists them; until then, those that metrics name. */
function streamNames(store: JobStore): string[] {
  const listed = store.streams.value?.map((one) => one.stream) ?? [];
  return listed.length > 0 ? listed : [...new Set(store.metrics.value?.flatMap((metric) => metric.streams))].sort(compareNatural);
}

/** The stream to open with: where the loss is printed (Megatron's last rank, rank 0 elsewhere), else the first. */
function openingStream(store: JobStore, streams: string[]): string | null {
  if (store.metrics.value === null) return null;
  return store.metrics.value.find((metric) => metric.role === "loss")?.streams[0] ?? streams[0] ?? null;
}

export function LogPane({ store }: { store: JobStore }) {
  const target = parseLogTarget(query.value);
  const streams = streamNames(store);
  // Chosen once: a metric that appears later must not swap the log under the reader.
  const opened = useRef<{ store: JobStore; stream: string } | null>(null);
  if (opened.current?.store !== store) {
    const first = openingStream(store, streams);
    opened.current = first === null ? null : { store, stream: first };
  }
  const stream = target.stream ?? opened.current?.stream ?? null;
  const [log, setLog] = useState<LogStore | null>(null);
  const isFollowing = useSignal(target.line === null);
  const isWrapped = useSignal(false);

  useEffect(() => {
    if (stream === null) return;
    const next = new LogStore(store.name, stream);
    setLog(next);
    void next.loadTail();
    return () => next.stop();
  }, [store, stream]);

  useEffect(() => {
    if (target.line !== null) isFollowing.value = false;
  }, [target.line, target.stream, isFollowing]);

  const marks = (store.incidents.rows.value ?? []).filter((one) => one.stream === undefined || one.stream === stream);
  return (
    <section class="log" aria-label="Log">
      <div class="toolbar" role="toolbar" aria-label="Log">
        <label>
          <span class="hidden">Stream</span>
          <select value={stream ?? ""} disabled={streams.length === 0} onChange={(event) => patchQuery({ stream: event.currentTarget.value, line: undefined })}>
            {stream !== null && !streams.includes(stream) && <option value={stream}>{stream}</option>}
            {streams.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <GoToLine stream={stream} total={log?.total.value ?? null} />
        <span class="grow" />
        <button type="button" aria-pressed={isWrapped.value} onClick={() => (isWrapped.value = !isWrapped.value)}>
          wrap
        </button>
        <button
          type="button"
          aria-pressed={isFollowing.value}
          title="Keep the newest line in view"
          onClick={() => {
            isFollowing.value = !isFollowing.value;
            if (isFollowing.value && target.line !== null) patchQuery({ line: undefined }, true);
          }}
        >
          follow
        </button>
      </div>
      {log?.problem.value && <ProblemBox problem={log.problem.value} onRetry={() => void log.loadTail()} />}
      {log && log.stream === stream && (
        <LogRows
          key={stream}
          log={log}
          line={target.line}
          isFollowing={isFollowing.value}
          isWrapped={isWrapped.value}
          incidents={marks}
          onFollow={(follow) => (isFollowing.value = follow)}
          onChoose={(line) => patchQuery({ stream, line: String(line) }, true)}
        />
      )}
    </section>
  );
}

function GoToLine({ stream, total }: { stream: string | null; total: number | null }) {
  const text = useSignal("");
  return (
    <form
      class="goto"
      onSubmit={(event) => {
        event.preventDefault();
        const line = Number(text.value.replaceAll(",", ""));
        if (stream === null || !Number.isInteger(line) || line < 0) return;
        patchQuery({ stream, line: String(total === null ? line : Math.min(line, Math.max(0, total - 1))) });
        text.value = "";
      }}
    >
      <input
        type="text"
        inputMode="numeric"
        pattern="[0-9,]*"
        aria-label="Go to line"
        placeholder="line"
        value={text}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <span class="dim">of {formatCount(total ?? undefined)}</span>
    </form>
  );
}
