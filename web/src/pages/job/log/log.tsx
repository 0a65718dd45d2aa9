import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { apiUrl, jobPath, type Problem } from "../../../api/client";
import type { StreamInfo } from "../../../api/types";
import { say, t } from "../../../i18n/i18n";
import { adoptStyle } from "../../../lib/jobs/adopt";
import { mainMetrics } from "../../../lib/jobs/figures";
import type { TimeMode } from "../../../lib/text/format";
import type { Target } from "../../../lib/log/goto";
import type { Lines } from "../../../lib/log/lineranges";
import { evidenceLine } from "../../../lib/chart/marks";
import { jobHref } from "../../../lib/url/url";
import { buildList, logsHref, parseFind, parseLogTarget, type LogTarget } from "../../../lib/log/logurl";
import { choosePoints } from "../../../state/chart/choosepoints";
import { chosenPoints } from "../../../state/chart/chosenpoint";
import type { Hit, HitStore } from "../../../state/log/hits";
import type { JobStore } from "../../../state/job/job";
import { chooseLines, chosenLines } from "../../../state/log/lines";
import { LogStore } from "../../../state/log/log";
import { navigate, patchQuery, query } from "../../../state/core/router";
import { setTimeMode, TIME_MODES, timeMode } from "../../../state/core/timemode";
import { useStore } from "../../../state/core/store";
import style from "../../../styles/log.css?inline";
import { ProblemBox } from "../../../ui/problem";
import { later, lazy, useAwaited } from "../../../ui/lazy";
import { ChosenBar } from "./chosenbar";
import { FindBar } from "./find";
import { Goto } from "./goto";
import { Histogram } from "./histogram";
import { HitList } from "./hitlist";
import { useCaptures, useErrors, useHits, useLogKeys, useMerged } from "./loghooks";
import { LogRows } from "./logrows";
import { MergedRows } from "./mergedrows";
import { StreamChooser } from "./streams";
import { WholeLog } from "./wholelog";
import { compareNatural } from "../../../lib/text/natural";

adoptStyle(style);

const ErrorGroups = lazy(async () => (await import("./errorgroups")).ErrorGroups, 3);

/** The streams as the server lists them; until then, those that metrics name. */
function streamNames(store: JobStore): string[] {
  const listed = store.streams.value?.map((one) => one.stream) ?? [];
  return listed.length > 0 ? listed : [...new Set(store.metrics.value?.flatMap((metric) => metric.streams))].sort(compareNatural);
}

const linesOf = ({ lines }: StreamInfo): number => lines ?? 0;
const hasLines = (one: StreamInfo): boolean => linesOf(one) > 0;

/** The stream to open with: where the loss is printed (Megatron's last rank, rank 0 elsewhere), else the one that says most. */
function openingStream(store: JobStore, streams: string[]): string | null {
  if (store.metrics.value === null) return null;
  const withLoss = mainMetrics(store.metrics.value).get("loss")?.streams[0];
  const said = (store.streams.value ?? []).filter(hasLines);
  if (said.length === 0 || said.some((one) => one.stream === withLoss)) return withLoss ?? streams[0] ?? null;
  return said.reduce((most, one) => (linesOf(one) > linesOf(most) ? one : most)).stream;
}

/** The stream that is shown. Chosen once there is a line of it: a metric that appears later must not swap the log under the reader. */
function useStream(store: JobStore, target: LogTarget, streams: string[]): string | null {
  const opened = useRef<{ store: JobStore; stream: string; isSure: boolean } | null>(null);
  if (opened.current?.store !== store || !opened.current.isSure) {
    const first = openingStream(store, streams);
    const isSure = store.streams.value?.some((one) => one.stream === first && hasLines(one)) ?? false;
    opened.current = first === null ? null : { store, stream: first, isSure };
  }
  return target.stream ?? opened.current?.stream ?? null;
}

function useLog(store: JobStore, stream: string | null, line: number | null): LogStore | null {
  const make = (): LogStore | null => (stream === null ? null : new LogStore(store.name, stream));
  const log = useStore(make, [store, stream], (next) => (line === null ? next.loadTail() : next.loadAt(line)));
  return log?.stream === stream ? log : null;
}

interface Props {
  store: JobStore;
  /** The log fills the view, with a picture of the whole above it. */
  isAlone?: boolean;
}

export function LogPane({ store, isAlone = false }: Props) {
  const target = parseLogTarget(query.value);
  const lines = chosenLines();
  const line = lines?.from ?? null;
  const find = parseFind(query.value);
  const streams = streamNames(store);
  const stream = useStream(store, target, streams);
  const shown = target.isMerged ? null : stream;
  const log = useLog(store, shown, line);
  const merged = useMerged(store.name, target);
  const hits = useHits(store.name, find);
  const errors = useErrors(store.name, shown);
  const captures = useCaptures(store.name, shown, store.metrics.value?.length);
  const input = useRef<HTMLInputElement>(null);
  const isFollowing = useSignal(line === null && target.atMs === null);
  // A place that the address names is not left for a line that comes before the signal says so.
  const follows = isFollowing.value && line === null && target.atMs === null;
  const isWrapped = useSignal(false);
  const isFolding = useSignal(true);
  const top = useRef(0);
  const isOnlyHits = hits !== null && query.value["hits"] === "only";
  const active = hits?.indexOf(target.stream ?? stream, line) ?? -1;
  const isCounted = hits?.total.value !== null;

  useEffect(() => {
    if (line !== null || target.atMs !== null) isFollowing.value = false;
  }, [line, target.stream, target.atMs, isFollowing]);
  useEffect(() => void hits?.tick(shown), [hits, shown, isCounted]);
  const total = log?.total.value ?? 0;
  useEffect(() => {
    if (total > 0) void later(async () => errors?.count(total, false));
  }, [errors, total > 0]);

  const showHit = (hit: { stream: string; n: number; ts_ms: number }): void =>
    chooseLines({ from: hit.n, to: hit.n }, { stream: hit.stream, at: target.isMerged ? String(hit.ts_ms) : undefined }, true);
  const choose = (next: Lines | null, isStep: boolean): void => {
    isFollowing.value = false;
    chooseLines(next, { stream: stream ?? undefined, merged: undefined, at: undefined }, isStep);
  };
  const step = (by: number): void => void stepTo(hits, active, by, showHit, shown === null || line === null ? null : { stream: shown, line });
  const stepError = async (by: number): Promise<void> => {
    if (errors && target.isMerged) {
      const from = line === null || target.stream === null || target.atMs === null ? null : { stream: target.stream, n: line, ts_ms: target.atMs };
      const hit = await errors.nearOfAll(from, by);
      if (hit) showHit(hit);
    }
    if (!errors || !log) return;
    void errors.count(total, true);
    const from = line ?? (by > 0 ? top.current - 1 : follows ? total : top.current);
    const found = await errors.near(from, by, marks.flatMap((one) => evidenceLine(one) ?? []));
    if (found !== null) choose({ from: found, to: found }, true);
  };

  const go = async (to: Target): Promise<void> => {
    if ("line" in to) {
      const last = Math.max(0, (log?.total.value ?? Infinity) - 1);
      const n = Math.min(to.line, last);
      choose({ from: n, to: n }, false);
    } else if (target.isMerged) chooseLines(null, { at: String(to.ms) }, false);
    else {
      const n = await log?.lineAt(to.ms);
      if (n !== null && n !== undefined) choose({ from: n, to: n }, false);
    }
  };
  const follow = (on = !follows): void => {
    isFollowing.value = on;
    if (on && (line !== null || target.atMs !== null)) chooseLines(null, { at: undefined }, true);
  };
  const hasGroups = query.value["errors"] === "1";
  const showGroups = (on: boolean): void => patchQuery({ errors: on ? "1" : undefined }, true);
  useLogKeys({ input, hasHits: hits !== null, step, error: (by) => void stepError(by), firstError: () => showGroups(!hasGroups), follow: () => follow() });

  const chosen = line === null || !log ? undefined : (void log.version.value, log.pages.line(line));
  useChosenPoints(store, stream, chosen, captures);
  const startMs = store.startMs.value;
  // Of a job that says nothing any more no line has come since the page was opened: its streams know when their last one was.
  const endMs = (): number => Math.max(store.lastLineMs.value ?? 0, ...(store.streams.value ?? []).map((one) => one.last_ms ?? 0)) || Date.now();
  const incidents = store.incidents.rows.value;
  const marks = useMemo(() => (incidents ?? []).filter((one) => one.stream === undefined || one.stream === stream), [incidents, stream]);
  const problem = target.isMerged ? merged?.problem.value : log?.problem.value;
  useAwaited(!!problem || (target.isMerged ? !!merged?.isLoaded.value : typeof log?.total.value === "number"));
  const showPoint = (n: number, metric: string): void => {
    // The log alone has no charts beside it: the job's page has them.
    if (isAlone) navigate(`${jobHref(store.name, { stream: stream ?? undefined })}#L${n}`);
    else choose({ from: n, to: n }, false);
    scrollToChart(metric);
  };
  return (
    <section class={`log ${isAlone ? "alone" : ""}`} aria-label={t("Log")}>
      <div class="toolbar" role="toolbar" aria-label={t("Log")}>
        <StreamChooser
          streams={streams}
          stream={stream}
          isMerged={target.isMerged}
          only={target.only}
          onStream={(one) => chooseLines(null, { stream: one, merged: undefined, at: undefined, only: undefined }, false)}
          onMerged={(only) => chooseLines(null, { merged: "1", at: undefined, only: buildList(only) }, false)}
        />
        <Goto total={target.isMerged ? null : (log?.total.value ?? null)} endMs={endMs} onGo={(to) => void go(to)} />
        <span class="grow" />
        <div class="segments" role="group" aria-label={t("Errors")}>
            <button type="button" aria-pressed={hasGroups} aria-keyshortcuts="w" title={t("What failed first: the errors of all nodes, each message once (w)")} onClick={() => showGroups(!hasGroups)}>
              {t("first error")}
            </button>
            <button type="button" title={t("The error before this place (E)")} aria-label={t("The error before this place")} onClick={() => void stepError(-1)}>
              ↑
            </button>
            <button type="button" title={t("The next error (e)")} aria-label={t("The next error")} onClick={() => void stepError(1)}>
              ↓ {t("error")}
            </button>
        </div>
        <TimeButton />
        {!target.isMerged && <Toggle on={isWrapped} text={t("wrap")} title={t("Break long lines")} />}
        {!target.isMerged && <Toggle on={isFolding} text={t("fold")} title={t("Fold stacks and lines that are said again and again")} />}
        <button type="button" aria-pressed={follows} aria-keyshortcuts="f" title={t("Keep the newest line in view (f)")} onClick={() => follow()}>
          {t("follow")}
        </button>
        {shown !== null && (
          <a class="button" download href={apiUrl(jobPath(store.name, "/logs/raw"), { stream: shown })} title={t("All of {stream} as it came", { stream: shown })} aria-label={t("Download the log of {stream}", { stream: shown })}>
            ⤓
          </a>
        )}
        {!isAlone && (
          <a class="button" href={logsHref(store.name, query.value)} title={t("The log alone, in all the room")} aria-label={t("The log alone, in all the room")}>
            ⤢
          </a>
        )}
      </div>
      <FindBar find={find} hits={hits} active={active} input={input} isOnlyHits={isOnlyHits} onStep={step} />
      {hasGroups && <ErrorGroups key={store.name} job={store.name} startMs={startMs} stream={target.stream ?? stream} line={line} onShow={showHit} onClose={() => showGroups(false)} />}
      {isAlone && !hits && <WholeLog job={store.name} stream={shown} atMs={chosen?.ts_ms ?? target.atMs} onJump={(ms) => void go({ ms })} />}
      {hits && <Found hits={hits} active={active} atMs={hits.hits.value?.[active]?.ts_ms ?? null} startMs={startMs} onShow={showHit} onStep={step} isOnlyHits={isOnlyHits} />}
      {problem && <ProblemBox problem={problem} onRetry={() => void (target.isMerged ? merged?.load() : log?.loadTail())} />}
      {!isOnlyHits && log?.gone.value && shown !== null && <Gone firstKept={log.gone.value.firstKept} why={log.gone.value.why} />}
      {store.streams.value?.some((one) => one.is_held_up && one.stream === shown) && (
        <p class="gonenote" role="note">
          {t("The server had no memory to extract this stream: its lines are stored; points and incidents go on by themselves once there is some.")}
        </p>
      )}
      {errors && <ErrorNote end={errors.isEnd.value} isBusy={errors.isBusy.value} problem={errors.problem.value} />}
      {!isOnlyHits && shown !== null && log && (
        <LogRows
          key={shown}
          log={log}
          hits={hits}
          captures={captures}
          errors={errors?.ticks.value ?? null}
          startMs={startMs}
          lines={lines}
          isFollowing={follows}
          isWrapped={isWrapped.value}
          isFolding={isFolding.value}
          incidents={marks}
          onTop={(n) => (top.current = n)}
          onFollow={follow}
          onChoose={choose}
          onPoint={showPoint}
        />
      )}
      {!isOnlyHits && shown !== null && log && lines !== null && <ChosenBar job={store.name} log={log} lines={lines} onClear={() => choose(null, true)} />}
      {!isOnlyHits && target.isMerged && merged && (
        <MergedRows
          merged={merged}
          hits={hits}
          stream={target.stream}
          line={line}
          atMs={target.atMs}
          startMs={startMs}
          isFollowing={follows}
          onFollow={follow}
          onChoose={showHit}
          onOnly={(one) => chooseLines(null, { stream: one, merged: undefined, at: undefined, only: undefined }, false)}
        />
      )}
    </section>
  );
}

/** Tells the charts of the points that came from the chosen line. */
function useChosenPoints(store: JobStore, stream: string | null, chosen: { n: number; ts_ms: number } | undefined, captures: ReturnType<typeof useCaptures>): void {
  const n = chosen?.n ?? null;
  const found = n === null || !captures ? undefined : (void captures.version.value, captures.of(n));
  const known = new Set(store.metrics.value?.map((metric) => metric.metric));
  const key = JSON.stringify(found?.map(({ metric }) => metric).filter((name) => known.has(name)) ?? []);
  useEffect(() => {
    const names = JSON.parse(key) as string[];
    if (!chosen || stream === null || names.length === 0) {
      chosenPoints.value = [];
      return;
    }
    const abort = new AbortController();
    void choosePoints(store.name, stream, chosen.n, chosen.ts_ms, names, abort.signal);
    return () => abort.abort();
  }, [store, stream, n, key]);
  useEffect(() => () => void (chosenPoints.value = []), []);
}

/** The chart is there at once, or comes with the job's page. */
function scrollToChart(metric: string): void {
  const find = (): Element | null => document.querySelector(`figure.chart[aria-label="${CSS.escape(metric)}"]`);
  const show = (element: Element): void => element.scrollIntoView({ block: "nearest" });
  const now = find();
  if (now) return show(now);
  const observer = new MutationObserver(() => {
    const chart = find();
    if (!chart) return;
    observer.disconnect();
    show(chart);
  });
  observer.observe(document.body, { childList: true, subtree: true });
  window.setTimeout(() => observer.disconnect(), 5000);
}

/** A hit further on in the list; from a line that is none the nearest one, wherever it is. */
async function stepTo(hits: HitStore | null, active: number, by: number, show: (hit: { stream: string; n: number; ts_ms: number }) => void, from: { stream: string; line: number } | null): Promise<void> {
  const list = hits?.hits.value;
  if (!hits || !list || list.length === 0) return;
  if (active < 0 && from !== null) {
    const near = await hits.near(from.stream, from.line, by);
    if (near) return show(near);
  }
  const wanted = active < 0 ? 0 : Math.max(0, active + by);
  if (wanted >= list.length && Number.isFinite(by)) await hits.more();
  const now: readonly Hit[] = hits.hits.value ?? list;
  const hit = now[Math.min(wanted, now.length - 1)];
  if (hit) show(hit);
}

const MODES: Record<TimeMode, string> = { local: say("local"), UTC: say("UTC"), relative: say("relative"), hidden: say("no times") };

function TimeButton() {
  const next = TIME_MODES[(TIME_MODES.indexOf(timeMode.value) + 1) % TIME_MODES.length] ?? "local";
  const title = t("Times: {now}. Click for: {next}.", { now: t(MODES[timeMode.value]), next: t(MODES[next]) });
  return (
    <button type="button" title={title} aria-label={title} onClick={() => setTimeMode(next)}>
      {t(MODES[timeMode.value])}
    </button>
  );
}

function Toggle({ on, text, title }: { on: Signal<boolean>; text: string; title: string }) {
  return (
    <button type="button" aria-pressed={on.value} title={title} onClick={() => (on.value = !on.value)}>
      {text}
    </button>
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
      {hits.histogram.value && <Histogram buckets={hits.histogram.value} of="hits" atMs={atMs} onJump={(from, to) => void jump(from, to)} />}
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
      {t("The text before line {n} is not kept any more: {why}. Points and incidents of it stay.", { n: firstKept, why })}
    </p>
  );
}

function ErrorNote({ end, isBusy, problem }: { end: "" | "last" | "first"; isBusy: boolean; problem: Problem | null }) {
  const text = isBusy ? "" : (problem?.detail ?? (end === "last" ? t("No error below this place.") : end === "first" ? t("No error above this place.") : ""));
  return (
    <p class={text === "" ? "hidden" : "gonenote"} role="status">
      {text}
    </p>
  );
}
