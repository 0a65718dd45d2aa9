import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { apiUrl, jobPath, type Problem } from "../../api/client";
import { adoptStyle } from "../../lib/adopt";
import type { Target } from "../../lib/goto";
import { compareNatural } from "../../lib/metrics";
import { parseFind, parseLogTarget, type LogTarget } from "../../lib/url";
import type { Hit, HitStore } from "../../state/hits";
import type { JobStore } from "../../state/job";
import { LogStore } from "../../state/log";
import { patchQuery, query } from "../../state/router";
import { setTimeMode, TIME_MODES, timeMode } from "../../state/timemode";
import style from "../../styles/log.css?inline";
import { ProblemBox } from "../../ui/problem";
import { FindBar } from "./find";
import { Goto } from "./goto";
import { Histogram } from "./histogram";
import { HitList } from "./hitlist";
import { LogRows } from "./logrows";
import { MergedRows } from "./mergedrows";
import { useHits, useLogKeys, useMerged } from "./loghooks";

adoptStyle(style);

const MERGED = "\0merged";

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

/** The stream that is shown. Chosen once: a metric that appears later must not swap the log under the reader. */
function useStream(store: JobStore, target: LogTarget, streams: string[]): string | null {
  const opened = useRef<{ store: JobStore; stream: string } | null>(null);
  if (opened.current?.store !== store) {
    const first = openingStream(store, streams);
    opened.current = first === null ? null : { store, stream: first };
  }
  return target.stream ?? opened.current?.stream ?? null;
}

function useLog(store: JobStore, stream: string | null): LogStore | null {
  const [log, setLog] = useState<LogStore | null>(null);
  useEffect(() => {
    if (stream === null) return;
    const next = new LogStore(store.name, stream);
    setLog(next);
    void next.loadTail();
    return () => next.stop();
  }, [store, stream]);
  return log?.stream === stream ? log : null;
}

export function LogPane({ store }: { store: JobStore }) {
  const target = parseLogTarget(query.value);
  const find = parseFind(query.value);
  const streams = streamNames(store);
  const stream = useStream(store, target, streams);
  const log = useLog(store, target.isMerged ? null : stream);
  const merged = useMerged(store.name, target);
  const hits = useHits(store.name, find);
  const input = useRef<HTMLInputElement>(null);
  const isFollowing = useSignal(target.line === null && target.atMs === null);
  const isWrapped = useSignal(false);
  const isOnlyHits = hits !== null && query.value["hits"] === "only";
  const active = hits?.indexOf(target.stream, target.line) ?? -1;

  useEffect(() => {
    if (target.line !== null || target.atMs !== null) isFollowing.value = false;
  }, [target.line, target.stream, target.atMs, isFollowing]);

  const show = (hit: { stream: string; n: number; ts_ms: number }): void =>
    patchQuery({ stream: hit.stream, line: String(hit.n), at: target.isMerged ? String(hit.ts_ms) : undefined }, true);
  const step = (by: number): void => void stepTo(hits, active, by, show);
  useLogKeys(input, hits, step);

  const go = async (to: Target): Promise<void> => {
    if ("line" in to) {
      const last = Math.max(0, (log?.total.value ?? Infinity) - 1);
      patchQuery({ stream: stream ?? undefined, line: String(Math.min(to.line, last)), merged: undefined, at: undefined });
    } else if (target.isMerged) patchQuery({ at: String(to.ms), line: undefined });
    else {
      const line = await log?.lineAt(to.ms);
      if (line !== null && line !== undefined) patchQuery({ stream: stream ?? undefined, line: String(line) });
    }
  };
  const follow = (): void => {
    isFollowing.value = !isFollowing.value;
    if (isFollowing.value) patchQuery({ line: undefined, at: undefined }, true);
  };
  const startMs = store.startMs.value;
  // Of a job that says nothing any more no line has come since the page was opened: its streams know when their last one was.
  const lastMs = (store.streams.value ?? []).map((one) => one.last_ms ?? 0);
  const endMs = Math.max(store.lastLineMs.value ?? 0, ...lastMs) || Date.now();
  const marks = (store.incidents.rows.value ?? []).filter((one) => one.stream === undefined || one.stream === stream);
  const problem = target.isMerged ? merged?.problem.value : log?.problem.value;
  return (
    <section class="log" aria-label="Log">
      <div class="toolbar" role="toolbar" aria-label="Log">
        <StreamSelect streams={streams} stream={stream} isMerged={target.isMerged} />
        <Goto total={target.isMerged ? null : (log?.total.value ?? null)} endMs={endMs} onGo={(to) => void go(to)} />
        <span class="grow" />
        <LookButtons isMerged={target.isMerged} isWrapped={isWrapped} />
        <button type="button" aria-pressed={isFollowing.value} title="Keep the newest line in view" onClick={follow}>
          follow
        </button>
        {!target.isMerged && stream !== null && (
          <a class="button" download href={apiUrl(jobPath(store.name, "/logs/raw"), { stream })} title={`All of ${stream} as it came`} aria-label={`Download the log of ${stream}`}>
            ⤓
          </a>
        )}
      </div>
      <FindBar find={find} hits={hits} active={active} input={input} isOnlyHits={isOnlyHits} onStep={step} />
      {hits && <Found hits={hits} active={active} atMs={hits.hits.value?.[active]?.ts_ms ?? null} startMs={startMs} onShow={show} onStep={step} isOnlyHits={isOnlyHits} />}
      {problem && <ProblemBox problem={problem} onRetry={() => void (target.isMerged ? merged?.load() : log?.loadTail())} />}
      {!isOnlyHits && log?.gone.value && !target.isMerged && <Gone firstKept={log.gone.value.firstKept} why={log.gone.value.why} />}
      {!isOnlyHits && !target.isMerged && log && (
        <LogRows
          key={stream}
          log={log}
          hits={hits}
          startMs={startMs}
          line={target.line}
          isFollowing={isFollowing.value}
          isWrapped={isWrapped.value}
          incidents={marks}
          onFollow={(on) => (isFollowing.value = on)}
          onChoose={(line) => patchQuery({ stream: log.stream, line: String(line) }, true)}
        />
      )}
      {!isOnlyHits && target.isMerged && merged && (
        <MergedRows
          merged={merged}
          hits={hits}
          stream={target.stream}
          line={target.line}
          atMs={target.atMs}
          startMs={startMs}
          isFollowing={isFollowing.value}
          onFollow={(on) => (isFollowing.value = on)}
          onChoose={show}
        />
      )}
    </section>
  );
}

async function stepTo(hits: HitStore | null, active: number, by: number, show: (hit: Hit) => void): Promise<void> {
  const list = hits?.hits.value;
  if (!hits || !list || list.length === 0) return;
  const wanted = active < 0 ? 0 : Math.max(0, active + by);
  if (wanted >= list.length && Number.isFinite(by)) await hits.more();
  const now = hits.hits.value ?? list;
  const hit = now[Math.min(wanted, now.length - 1)];
  if (hit) show(hit);
}

function StreamSelect({ streams, stream, isMerged }: { streams: string[]; stream: string | null; isMerged: boolean }) {
  const choose = (value: string): void =>
    value === MERGED
      ? patchQuery({ merged: "1", line: undefined, at: undefined })
      : patchQuery({ stream: value, merged: undefined, line: undefined, at: undefined });
  return (
    <label>
      <span class="hidden">Stream</span>
      <select value={isMerged ? MERGED : (stream ?? "")} disabled={streams.length === 0} onChange={(event) => choose(event.currentTarget.value)}>
        {streams.length > 1 && <option value={MERGED}>all {streams.length} streams by time</option>}
        {stream !== null && !streams.includes(stream) && <option value={stream}>{stream}</option>}
        {streams.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function LookButtons({ isMerged, isWrapped }: { isMerged: boolean; isWrapped: Signal<boolean> }) {
  const next = TIME_MODES[(TIME_MODES.indexOf(timeMode.value) + 1) % TIME_MODES.length] ?? "local";
  return (
    <>
      <button type="button" title={`Times are ${timeMode.value}. Click for ${next}.`} aria-label={`Times are ${timeMode.value}. Switch to ${next}.`} onClick={() => setTimeMode(next)}>
        {timeMode.value}
      </button>
      {!isMerged && (
        <button type="button" aria-pressed={isWrapped.value} onClick={() => (isWrapped.value = !isWrapped.value)}>
          wrap
        </button>
      )}
    </>
  );
}

interface FoundProps {
  hits: HitStore;
  active: number;
  atMs: number | null;
  startMs: number;
  isOnlyHits: boolean;
  onShow(hit: { stream: string; n: number; ts_ms: number }): void;
  onStep(by: number): void;
}

function Found({ hits, active, atMs, startMs, isOnlyHits, onShow, onStep }: FoundProps) {
  const jump = async (fromMs: number, toMs: number): Promise<void> => {
    const hit = await hits.firstBetween(fromMs, toMs);
    if (hit) onShow(hit);
  };
  return (
    <div class={`found ${isOnlyHits ? "only" : ""}`}>
      {hits.problem.value && <SearchProblem hits={hits} problem={hits.problem.value} />}
      {hits.histogram.value && <Histogram buckets={hits.histogram.value} atMs={atMs} onJump={(from, to) => void jump(from, to)} />}
      {hits.hits.value && <HitList hits={hits} active={active} startMs={startMs} onChoose={onShow} onStep={onStep} />}
    </div>
  );
}

/** What is wrong with the expression is said as one types; a retry is for what may go away by itself. */
function SearchProblem({ hits, problem }: { hits: HitStore; problem: Problem }) {
  if (problem.status !== 400) return <ProblemBox problem={problem} onRetry={() => void hits.start()} />;
  return (
    <p class="findproblem" role="alert">
      {problem.detail || problem.title}
    </p>
  );
}

function Gone({ firstKept, why }: { firstKept: number; why: string }) {
  return (
    <p class="gonenote" role="note">
      The text before line {firstKept} is not kept any more: {why}. Points and incidents of it stay.
    </p>
  );
}
