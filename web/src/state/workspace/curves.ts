// The curves of one panel: of each job and expression (of each stream, of each metric that a * stands for) one, kept current.
import { signal } from "@preact/signals";
import { asProblem, getJson, isAbort, jobPath, type Problem } from "../../api/client";
import type { JobRow, SeriesInfo, StreamInfo } from "../../api/types";
import type { Buckets } from "../../lib/chart/buckets";
import { STEPS, type XMap } from "../../lib/chart/xmap";
import { Soon } from "../../lib/flow/poll";
import { metricFor } from "../../lib/jobs/compare";
import { toNumber } from "../../lib/text/number";
import type { Axis } from "../../lib/url/url";
import { evaluateCurve } from "../../lib/workspace/algebra";
import type { Each } from "../../lib/workspace/document";
import { metricsOf, type Node } from "../../lib/workspace/expression";
import { expand } from "../../lib/workspace/names";
import { AxisMaps, JobChart, NO_TROUBLE, type Window } from "../chart/jobchart";
import type { JobNotes } from "../chart/jobnotes";
import { DRAWN } from "../chart/points";
import { Store } from "../core/store";
import { compareNatural } from "../../lib/text/natural";

const DRAW_MS = 80;
/** More lie over each other until none can be told from the others. */
export const MOST_CURVES = 200;

export interface CurvesSpec extends Window {
  rows: readonly JobRow[];
  expressions: readonly { text: string; node: Node }[];
  axis: Axis;
  each: Each;
}

export interface PanelCurve {
  job: string;
  /** Which of the panel's expressions. */
  expression: number;
  /** The metric of a *, the stream; "": neither. */
  part: string;
  buckets: Buckets;
  map: XMap;
}

/** One curve to be drawn: what is evaluated, over which series. */
interface Wanted {
  row: JobRow;
  expression: number;
  part: string;
  node: Node;
  stream: string | null;
}

/** A job without the axis that is asked for, and the server's word why. */
export interface Undrawn {
  job: string;
  why: string;
}

export class PanelCurves extends Store {
  readonly curves = signal<PanelCurve[] | null>(null);
  readonly undrawn = signal<readonly Undrawn[]>([]);
  /** How many there would be without a limit. */
  readonly asked = signal(0);
  private readonly charts = new Map<string, JobChart>();
  private wanted: Wanted[] = [];
  private readonly maps = new AxisMaps();
  private readonly lists = new Map<string, Promise<string[]>>();
  private drawing = new AbortController();
  private readonly publish = new Soon(DRAW_MS, () => this.show());
  private spec: CurvesSpec | null = null;

  constructor(private readonly notes: JobNotes) {
    super();
    this.whenStopped(() => this.drawing.abort(), this.publish, () => this.charts.forEach((chart) => chart.stop()));
  }

  retry(): void {
    this.notes.forget();
    if (this.spec) void this.draw(this.spec);
  }

  async draw(spec: CurvesSpec): Promise<void> {
    this.spec = spec;
    this.drawing.abort();
    this.drawing = new AbortController();
    const { signal: abort } = this.drawing;
    try {
      const all = (await Promise.all(spec.rows.map((row) => this.wantOf(row, spec, abort)))).flat();
      if (abort.aborted) return;
      this.asked.value = all.length;
      this.wanted = all.slice(0, MOST_CURVES);
      const without = new Map<string, string>();
      const problems = await this.load(spec, abort, without);
      if (abort.aborted) return;
      this.undrawn.value = [...without].map(([job, why]) => ({ job, why }));
      this.problem.value = problems.find((one) => one !== null) ?? null;
      this.show();
      this.notes.load([...new Set(this.curves.peek()?.map(({ job }) => job))]);
    } catch (error) {
      if (!isAbort(error) && !abort.aborted) this.problem.value = asProblem(error);
    }
  }

  private async wantOf(row: JobRow, { expressions, each }: CurvesSpec, abort: AbortSignal): Promise<Wanted[]> {
    const job = row.TrainingJobName;
    const streams: (string | null)[] = each === "stream" ? await this.list(job, "/streams", abort) : [null];
    const out: Wanted[] = [];
    for (const [expression, { node }] of expressions.entries()) {
      const metrics = metricsOf(node);
      const names = metrics.some((one) => one.includes("*")) ? await this.list(job, "/metrics", abort) : [];
      for (const one of expand(node, metrics, names))
        for (const stream of streams) out.push({ row, expression, part: [one.of, stream ?? ""].filter((text) => text !== "").join(" · "), node: one.node, stream });
    }
    return out;
  }

  /** Asked for once: of what there is later another look of the page tells. */
  private list(job: string, what: "/metrics" | "/streams", abort: AbortSignal): Promise<string[]> {
    const key = `${what} ${job}`;
    const read = async (): Promise<string[]> => {
      const reply = await this.request(() => getList(job, what, this.signal), () => undefined);
      if (!reply && !abort.aborted) this.lists.delete(key);
      return reply ?? [];
    };
    const known = this.lists.get(key) ?? read();
    this.lists.set(key, known);
    return known;
  }

  private async load(spec: CurvesSpec, abort: AbortSignal, without: Map<string, string>): Promise<(Problem | null)[]> {
    const keep = new Set<string>();
    const loads = this.wanted.flatMap((want) =>
      metricsOf(want.node).flatMap((name) => {
        const key = keyOf(want, name);
        if (keep.has(key)) return [];
        keep.add(key);
        const chart = this.charts.get(key) ?? new JobChart(want.row.TrainingJobName, nameOf(want, name), () => this.publish.ask(), want.stream, DRAWN);
        this.charts.set(key, chart);
        return [this.loadOne(chart, spec, abort, without)];
      }),
    );
    for (const [key, chart] of this.charts) if (!keep.has(key)) chart.stop(), this.charts.delete(key);
    return Promise.all(loads);
  }

  private async loadOne(chart: JobChart, spec: CurvesSpec, abort: AbortSignal, without: Map<string, string>): Promise<Problem | null> {
    try {
      await chart.load(() => this.maps.of(chart.job, chart.metric, spec.axis, abort), spec);
    } catch (error) {
      if (isAbort(error)) return null;
      const problem = asProblem(error);
      if (problem.status !== NO_TROUBLE) return problem;
      // That it lacks the metric is said of no axis either.
      if (problem.facts["field"] === "x") without.set(chart.job, problem.detail);
      return null;
    }
    const problem = chart.store.problem.peek();
    return problem?.status === NO_TROUBLE ? null : problem;
  }

  private show(): void {
    this.publish.stop(); // what was to be shown is
    this.curves.value = this.wanted.flatMap((want) => {
      let map: XMap = STEPS;
      const buckets = evaluateCurve(want.node, {
        curve: (name) => {
          const chart = this.charts.get(keyOf(want, name));
          if (!chart?.isShown) return null;
          map = chart.store.map ?? map;
          return chart.store.buckets;
        },
        figure: (key) => figureOf(want.row, key),
      });
      return buckets && buckets.x.length > 0 ? [{ job: want.row.TrainingJobName, expression: want.expression, part: want.part, buckets, map }] : [];
    });
  }
}

async function getList(job: string, what: "/metrics" | "/streams", signal: AbortSignal): Promise<string[]> {
  if (what === "/streams") return (await getJson<{ streams: StreamInfo[] }>(jobPath(job, what), {}, signal)).streams.map((one) => one.stream).sort(compareNatural);
  const { series } = await getJson<{ series: SeriesInfo[] }>(jobPath(job, what), {}, signal);
  return [...new Set(series.map((one) => one.metric))].sort(compareNatural);
}

const nameOf = ({ row }: Wanted, name: string): string => metricFor(row, name)?.metric ?? name;
const keyOf = (want: Wanted, name: string): string => [want.row.TrainingJobName, nameOf(want, name), want.stream ?? ""].join("\n");

/** What a row says of a figure that was asked for. null: the job has none, or it is no number. */
export function figureOf(row: JobRow, key: string): number | null {
  const value = row.fields?.[key];
  if (value === undefined || value === null || value === "") return null;
  const number = typeof value === "number" ? value : Number.isFinite(Number(value)) ? Number(value) : toNumber(value as never);
  return Number.isNaN(number) ? null : number;
}
