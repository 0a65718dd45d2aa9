// Everything that a job's page shows but for curves and lines, which have stores of their own.
import { computed, signal } from "@preact/signals";
import { jobPath } from "../../api/client";
import type { Axes, DefinitionsDoc, JobDoc, LinesEvent, LiveSeries, PointsEvent, SeriesInfo, StreamInfo } from "../../api/types";
import { Batch } from "../../lib/flow/batch";
import { SeenPoints } from "../../lib/flow/dedupe";
import { Soon } from "../../lib/flow/poll";
import type { JobEvent } from "../../lib/chart/marks";
import { compareNatural } from "../../lib/text/natural";
import { applyPoints, groupMetrics, markMains, type Metric } from "../../lib/jobs/metrics";
import { onLive, setWant } from "../../live/client";
import type { LiveEvent } from "../../live/protocol";
import { IncidentList } from "./incidents";
import { freshSeq } from "../core/info";
import { Store } from "../core/store";
import { knownRows } from "./knownrows";
import { later } from "../../ui/lazy";

const SHOW_MS = 250;

const STREAMS_MS = 300;

export class JobStore extends Store {
  readonly doc = signal<JobDoc | null>(null);
  readonly streams = signal<StreamInfo[] | null>(null);
  readonly metrics = signal<Metric[] | null>(null);
  /** Which axes its charts have beside steps and time. */
  readonly axes = signal<Axes | null>(null);
  /** Which definitions gave the metrics. */
  readonly definitions = signal<DefinitionsDoc | null>(null);
  readonly lastLineMs = signal<number | null>(null);
  readonly incidents: IncidentList;
  /** Restarts, checkpoints and what became of nodes, for charts and the timeline; who shows them loads them. */
  readonly events = signal<readonly JobEvent[]>([]);
  /** It was there, and is no more. */
  readonly isGone = signal(false);
  /** Where relative time starts: the job's first line, else its start. */
  readonly startMs = computed(() => this.findStart());

  private readonly seen = new SeenPoints();
  // A job of thousands of streams sends hundreds of events a second: what they come to is shown a few times.
  private readonly newLines = new Batch<LinesEvent>(SHOW_MS, (events) => this.takeLines(events));
  private readonly newPoints = new Batch<PointsEvent>(SHOW_MS, (events) => this.takePoints(events.flatMap((event) => event.series)));
  private attempt = 0;
  /** The server's sequence before anything of the job was asked for. */
  private after: string | null = null;
  /** Two thousand nodes that begin at once are one request. */
  private readonly streamsSoon = new Soon(STREAMS_MS, () => void this.reloadStreams());

  constructor(readonly name: string) {
    super();
    this.doc.value = knownRows.get(name) ?? null;
    this.incidents = new IncidentList(name);
    this.whenStopped(
      this.newLines,
      this.newPoints,
      this.incidents,
      this.streamsSoon,
      onLive((event) => this.take(event)),
    );
  }

  /** Also to try again: charts and the log have what they loaded at first, and hear of all that came after that. */
  async start(): Promise<void> {
    this.after ??= await freshSeq();
    if (this.signal.aborted) return;
    this.problem.value = null;
    setWant({ jobs: [this.name], kinds: ["points", "lines", "job", "incident", "backfill"], after: this.after });
    await this.load();
  }

  private async load(): Promise<void> {
    const around = later(() => Promise.all([this.incidents.load(), this.loadDefinitions()]));
    await Promise.all([this.reloadDoc(), this.reloadStreams(), this.loadMetrics(), around]);
  }

  /** The document again, and with it whether the job is still there. */
  reloadDoc(): Promise<void> {
    return this.fetch<JobDoc>("", (doc) => {
      this.doc.value = doc;
      this.sawLine(doc.last_line_ms);
    });
  }

  reloadStreams(): Promise<void> {
    return this.fetch<{ streams: StreamInfo[] }>("/streams", (reply) => {
      this.streams.value = reply.streams.sort((a, b) => compareNatural(a.stream, b.stream));
    });
  }

  private loadMetrics(): Promise<void> {
    return this.fetch<{ series: SeriesInfo[]; axes: Axes }>("/metrics", (reply) => {
      this.axes.value = reply.axes;
      this.metrics.value = groupMetrics(reply.series);
    });
  }

  private loadDefinitions(): Promise<void> {
    return this.fetch<DefinitionsDoc>("/definitions", (reply) => {
      this.definitions.value = reply;
    });
  }

  private async fetch<T>(rest: string, use: (reply: T) => void): Promise<void> {
    await this.getFor<T>(jobPath(this.name, rest), use, {}, (problem) => {
      if (!problem) return; // of several requests, of which another may have failed
      // What is on the page of a job that was deleted stays readable.
      if (problem.status === 404 && rest === "" && this.doc.value?.SecondaryStatusTransitions) this.isGone.value = true;
      else if (!this.isGone.value) this.problem.value = problem;
    });
  }

  private take(event: LiveEvent): void {
    const isReplaced = event.kind === "backfill" && event.data.job === this.name && event.data.state === "done";
    if (event.kind === "resync" || isReplaced) {
      this.seen.clear();
      void this.load();
    } else if (event.kind === "job" && event.data.TrainingJobName === this.name) {
      this.doc.value = { ...this.doc.value, ...event.data };
      if (this.metrics.value) this.metrics.value = markMains(this.metrics.value, event.data.metrics ?? []);
      this.sawLine(event.data.last_line_ms);
    } else if (event.kind === "points" && event.data.job === this.name) this.newPoints.add(event.data);
    else if (event.kind === "lines" && event.data.job === this.name) {
      this.newLines.add(event.data);
    }
  }

  private takeLines(events: readonly LinesEvent[]): void {
    const newest = events.reduce((ms, event) => event.lines.reduce((most, line) => Math.max(most, line.ts_ms), ms), -Infinity);
    if (Number.isFinite(newest)) this.sawLine(newest);
    const known = new Set(this.streams.value?.map((one) => one.stream));
    if (events.some((event) => !known.has(event.stream))) this.streamsSoon.ask();
  }

  private takePoints(series: readonly LiveSeries[]): void {
    const fresh = series.map((one) => ({
      ...one,
      points: one.points.filter(([step, , , line]) => this.seen.take(one.stream, one.metric, line, step)),
    }));
    if (this.metrics.value?.length === 0) void this.loadDefinitions();
    if (this.metrics.value) this.metrics.value = applyPoints(this.metrics.value, fresh);
    const attempt = series.reduce((most, one) => one.points.reduce((attempt, point) => Math.max(attempt, point[4] ?? 0), most), 0);
    // A restart supersedes points that the summaries had counted.
    if (attempt > this.attempt && this.attempt > 0) void this.load();
    this.attempt = Math.max(this.attempt, attempt);
  }

  private sawLine(ms: number | undefined): void {
    if (ms !== undefined) this.lastLineMs.value = Math.max(ms, this.lastLineMs.value ?? ms);
  }

  private findStart(): number {
    const first = (this.streams.value ?? []).map((one) => one.first_ms).filter((ms) => ms !== undefined);
    if (first.length > 0) return Math.min(...first);
    const doc = this.doc.value;
    return (doc?.TrainingStartTime ?? doc?.CreationTime ?? 0) * 1000;
  }
}
