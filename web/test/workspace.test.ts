// What a workspace is: its document, its layout, its address, its expressions over curves, and its rank correlation.
import { expect, test } from "vitest";
import { emptyBuckets, type Buckets } from "../src/lib/chart/buckets";
import { evaluateCurve } from "../src/lib/workspace/algebra";
import { fromQuery, packHash, unpackHash } from "../src/lib/workspace/address";
import { rankCorrelation, ranks } from "../src/lib/workspace/correlation";
import { DocumentError, parseWorkspace, readWorkspace } from "../src/lib/workspace/document";
import { evaluateFigure, ExpressionError, figuresOf, metricsOf, parseExpression } from "../src/lib/workspace/expression";
import { foldValues, isWorked, sortRows } from "../src/lib/workspace/figures";
import { move, neighbour, place, resized } from "../src/lib/workspace/layout";
import { expand, starsOf } from "../src/lib/workspace/names";
import { TEMPLATES } from "../src/lib/workspace/templates";
import manual from "../../docs/workspace.md?raw";
import cases from "../../tests/support/workspaces.json";
import { groupWall, searchWall, wallMetrics } from "../src/lib/workspace/wall";

const CASES: { good: unknown[]; bad: { at: string; document: unknown }[] } = cases;

const at = (document: unknown): string => {
  try {
    readWorkspace(document);
    return "nowhere";
  } catch (error) {
    return error instanceof DocumentError ? error.place : String(error);
  }
};

// ---- the document ----

test("takes what the server takes, and refuses at the place where the server does", () => {
  for (const one of CASES.good) expect(readWorkspace(one)).toEqual(one);
  for (const { at: place, document } of CASES.bad) expect(at(document)).toBe(place);
  expect(() => parseWorkspace("{")).toThrow(/no JSON/);
});

test("templates are workspaces, and all that they ask for can be read", () => {
  for (const { workspace } of TEMPLATES) {
    expect(readWorkspace(workspace)).toEqual(workspace);
    for (const panel of workspace.panels) {
      if (panel.kind === "line") for (const text of panel.expressions) parseExpression(text, "curve");
      if (panel.kind === "number") parseExpression(panel.expression, "figure");
      if (panel.kind === "scatter") for (const text of [panel.x, panel.y]) parseExpression(text, "figure");
    }
  }
});

test("an address holds a whole workspace", async () => {
  for (const one of CASES.good) {
    const hash = await packHash(readWorkspace(one));
    expect(hash).toMatch(/^#w=[\w-]+$/);
    expect(await unpackHash(hash)).toEqual(one);
  }
  await expect(unpackHash("#w=AAAA")).rejects.toThrow();
  const template = TEMPLATES[0]?.workspace;
  if (template) expect((await packHash(template)).length).toBeLessThan(1000);
});

test("a few words of an address are a workspace, too", () => {
  expect(fromQuery({ q: "tag.team=nlp", lines: "loss; ema(loss, 0.9);", x: "time", scale: "log", from: "1", to: "5", smooth: "0.5" })).toEqual({
    version: 1,
    query: "tag.team=nlp",
    x: "time",
    ranges: { time: [1, 5] },
    smooth: 0.5,
    panels: ["loss", "ema(loss, 0.9)"].map((expression) => ({ kind: "line", expressions: [expression], width: 6, height: 2, scale: "log" })),
  });
  expect(fromQuery({ q: "x" })).toBeNull();
});

// ---- the layout ----

const sizes = (...all: [number, number][]) => all.map(([width, height]) => ({ width, height }));

test("panels follow each other through twelve columns, beside higher ones as well", () => {
  expect(place(sizes([6, 2], [6, 2], [6, 2]))).toEqual([{ row: 0, column: 0 }, { row: 0, column: 6 }, { row: 2, column: 0 }]);
  // 8 wide and 4 high; beside it two of 4 by 2 stand over each other
  expect(place(sizes([8, 4], [4, 2], [4, 2], [12, 1]))).toEqual([{ row: 0, column: 0 }, { row: 0, column: 8 }, { row: 2, column: 8 }, { row: 4, column: 0 }]);
  expect(place(sizes([3, 1], [10, 1]))[1]).toEqual({ row: 1, column: 0 });
});

test("moves, resizes, and finds what stands beside", () => {
  expect(move(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
  expect(move(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
  expect(move(["a", "b"], 0, 2)).toEqual(["a", "b"]);
  expect(resized({ width: 6, height: 2 }, 40, 0)).toEqual({ width: 12, height: 1 });
  const all = sizes([6, 2], [6, 2], [4, 2], [4, 2], [4, 2]);
  expect(neighbour(all, 0, "down")).toBe(2);
  expect(neighbour(all, 1, "down")).toBe(4);
  expect(neighbour(all, 4, "up")).toBe(1);
  expect(neighbour(all, 0, "up")).toBe(0);
  expect(neighbour(all, 4, "right")).toBe(4);
});

// ---- expressions ----

const wrong = (text: string, wants: "curve" | "figure" = "curve"): string => {
  try {
    parseExpression(text, wants);
    return "nothing";
  } catch (error) {
    return error instanceof ExpressionError ? error.message : String(error);
  }
};

test("says where an expression is wrong, and what was expected there", () => {
  expect(wrong("loss +")).toBe("column 7: a metric, a number or '(' was expected, not the end");
  expect(wrong("loss loss")).toBe("column 6: +, -, *, / or the end was expected, not 'loss'");
  expect(wrong("(loss")).toBe("column 6: ')' was expected, not the end");
  expect(wrong('"loss')).toBe("column 1: this quote is never closed");
  expect(wrong("loss ? 1")).toBe("column 6: a metric, a number or a sign was expected, not '?'");
  expect(wrong("eam(loss, 0.9)")).toContain("column 1: there is no function 'eam'");
  expect(wrong("ema(loss)")).toContain("column 9: ',' and a weight were expected");
  expect(wrong("ema(loss, 1)")).toBe("column 11: a weight from 0 to below 1 was expected, not '1'");
  expect(wrong("mean(loss, 0)")).toContain("column 12: a number of points from 1 to 10000");
  expect(wrong("1 + 2")).toBe("column 1: a metric must be named");
  expect(wrong("(".repeat(17) + "loss")).toContain("nested at most 16 deep");
  expect(wrong("x".repeat(1000))).toBe("nothing");
  expect(wrong("x".repeat(1001))).toContain("at most 1000 characters");
  expect(wrong("ema(loss, 0.9)", "figure")).toContain("column 1: ema needs a curve");
  expect(wrong('"gpu/*"', "figure")).toContain("column 1: a name with * stands for many");
});

test("the documentation's expressions can be read", () => {
  const [, lines = ""] = /```expression-of-curves\n([^`]*)```/.exec(manual) ?? [];
  const all = lines.trim().split("\n");
  expect(all.length).toBeGreaterThan(5);
  for (const text of all) expect(wrong(text)).toBe("nothing");
});

test("knows curves from figures of a job", () => {
  const node = parseExpression('"train:loss" / hp.batch_size - loss.min + metric."a b".last * nodes', "curve");
  expect(metricsOf(node)).toEqual(["train:loss"]);
  expect(figuresOf(node)).toEqual(["hp.batch_size", "loss.min", 'metric."a b".last', "nodes"]);
  expect(figuresOf(parseExpression('loss + mine + "a/b"', "figure"))).toEqual(["loss.last", 'metric."mine".last', 'metric."a/b".last']);
});

test("numbers go by the usual order of signs", () => {
  const of = (text: string) => evaluateFigure(parseExpression(text, "figure"), (key) => (key === "hp.a" ? 3 : null));
  expect(of("1 + 2 * hp.a")).toBe(7);
  expect(of("-(1 - hp.a) / 4")).toBe(0.5);
  expect(of("10 - 2 - 3")).toBe(5);
  expect(of("sqrt(hp.a * 3)")).toBe(3);
  expect(of("hp.b + 1")).toBeNull();
});

const curve = (x: number[], mean: (number | null)[], more: Partial<Buckets> = {}): Buckets => ({ ...emptyBuckets(), x, mean, min: mean, max: mean, last: mean, count: x.map(() => 1), nonFinite: x.map(() => 0), width: 1, total: x.length, ...more });
const evaluate = (text: string, curves: Record<string, Buckets>, figures: Record<string, number> = {}) =>
  evaluateCurve(parseExpression(text, "curve"), { curve: (name) => curves[name] ?? null, figure: (key) => figures[key] ?? null });

test("curves are joined point by point, where the sparser one has its points", () => {
  const loss = curve([0, 1, 2, 3, 4], [10, 8, 6, 4, 2]);
  expect(evaluate("loss * 2 + hp.c", { loss }, { "hp.c": 1 })?.mean).toEqual([21, 17, 13, 9, 5]);
  const sparse = evaluate("eval_loss / loss", { loss, eval_loss: curve([2, 5], [12, 4]) });
  expect([sparse?.x, sparse?.mean]).toEqual([[2, 5], [2, 2]]);
  expect(evaluate("loss / reward", { loss })).toBeNull();
});

test("a spike in a bucket is in what comes of it", () => {
  const loss = curve([0, 10], [2, 3], { min: [1, 1], max: [3, 100], count: [10, 10], width: 10 });
  const other = curve([0, 10], [2, 2], { min: [1, 2], max: [4, 2], count: [10, 10], width: 10 });
  const sum = evaluate("loss - other", { loss, other });
  expect([sum?.min, sum?.max]).toEqual([[-3, -1], [2, 98]]);
  expect(evaluate("-loss", { loss })?.min).toEqual([-3, -100]);
  // what is finer is folded, not sampled
  const fine = curve([0, 3, 7, 12], [5, 90, 5, 5]);
  expect(evaluate("loss + fine", { loss, fine })?.max).toEqual([93, 105]);
});

test("what is divided by nothing is marked, and not drawn", () => {
  const ratio = evaluate("a / b", { a: curve([0, 1], [1, 1]), b: curve([0, 1], [0, 2]) });
  expect(ratio?.mean).toEqual([null, 0.5]);
  expect(ratio?.nonFinite[0]).toBeGreaterThan(0);
  expect(ratio?.nonFinite[1]).toBe(0);
});

test("averages are of points, however many of them a bucket holds", () => {
  const points = curve([0, 1, 2, 3], [1, 1, 5, 5]);
  const buckets = curve([0, 2], [1, 5], { count: [2, 2], width: 2 });
  const [whole, folded] = [evaluate("ema(loss, 0.5)", { loss: points }), evaluate("ema(loss, 0.5)", { loss: buckets })];
  expect(folded?.mean[1]).toBeCloseTo(whole?.mean[3] ?? NaN, 12);
  // by hand: (1*1 + 1*2 + 5*4 + 5*8) / 15 of weights 1/16, 2/16, 4/16, 8/16
  expect(whole?.mean[3]).toBeCloseTo(63 / 15, 12);
  expect(evaluate("mean(loss, 2)", { loss: points })?.mean).toEqual([1, 1, 3, 5]);
  expect(evaluate("median(loss, 3)", { loss: points })?.mean).toEqual([1, 1, 1, 5]);
  expect(evaluate("max(loss, 2)", { loss: points })?.mean).toEqual([1, 1, 5, 5]);
  expect(evaluate("cummin(loss)", { loss: curve([0, 1, 2], [3, 1, 2]) })?.mean).toEqual([3, 1, 1]);
});

test("a star stands for each metric of that form, and the same in all its places", () => {
  expect(starsOf("gpu/*/util", "gpu/12/util")).toEqual(["12"]);
  expect(starsOf("gpu/*/util", "gpu/12/mem")).toBeNull();
  const node = parseExpression('"gpu/*/used" / "gpu/*/all"', "curve");
  const all = expand(node, metricsOf(node), ["gpu/0/used", "gpu/1/used", "loss"]);
  expect(all.map((one) => [one.of, metricsOf(one.node)])).toEqual([["gpu/0/used", ["gpu/0/used", "gpu/0/all"]], ["gpu/1/used", ["gpu/1/used", "gpu/1/all"]]]);
});

// ---- numbers of many jobs ----

test("folds leave out what is no number", () => {
  expect(foldValues([3, 1, NaN, 2], "median")).toBe(2);
  expect(foldValues([1, 2], "median")).toBe(1.5);
  expect(foldValues([NaN], "min")).toBeNull();
  expect(foldValues([1, Infinity], "sum")).toBe(1);
  expect(foldValues([], "count")).toBe(0);
});

test("rank correlation, by hand", () => {
  expect(ranks([10, 20, 10, 30])).toEqual([1.5, 3, 1.5, 4]);
  const pairs = (a: number[], b: (number | null)[]) => a.map((x, i) => [x, b[i] ?? null] as const);
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [1, 4, 9, 16, 25]))).toEqual({ rho: 1, n: 5 });
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]))?.rho).toBeCloseTo(-1, 12);
  // d = 1 -1 0 1 -1: 1 - 6 * 4 / (5 * 24) = 0.8
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [2, 1, 3, 5, 4]))?.rho).toBeCloseTo(0.8, 12);
  // ties: ranks 1.5 1.5 3 4 5 against 1 2 3 4 5: 9.5 / sqrt(9.5 * 10)
  expect(rankCorrelation(pairs([1, 1, 2, 3, 4], [1, 2, 3, 4, 5]))?.rho).toBeCloseTo(9.5 / Math.sqrt(95), 12);
  expect(rankCorrelation(pairs([1, 2, 3, 4, 5], [1, 2, 3, 4, null]))).toBeNull();
  expect(rankCorrelation(pairs([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]))).toBeNull();
});

// ---- the wall ----

test("metrics are grouped by the prefix that several share, and found by words", () => {
  const metric = (name: string, role = "other") => ({ metric: name, role });
  const rows = [
    { TrainingJobName: "a", TrainingJobStatus: "InProgress", metrics: [metric("gpu/1/util"), metric("gpu/0/util"), metric("train/loss", "loss"), metric("lr", "learning_rate")] },
    { TrainingJobName: "b", TrainingJobStatus: "InProgress", metrics: [metric("gpu/0/util"), metric("derived:tokens")] },
  ] as const;
  const all = wallMetrics(rows as never);
  expect(all.map((one) => [one.name, one.jobs])).toEqual([["train/loss", 1], ["lr", 1], ["derived:tokens", 1], ["gpu/0/util", 2], ["gpu/1/util", 1]]);
  expect(groupWall(all).map(({ prefix, metrics }) => [prefix, metrics.length])).toEqual([["", 3], ["gpu/", 2]]);
  expect(searchWall(all, "GPU 1").map((one) => one.name)).toEqual(["gpu/1/util"]);
});

test("5,000 metrics are searched and grouped well within 100 ms", () => {
  const all = Array.from({ length: 5000 }, (_, i) => ({ name: `layer.${i % 70}/block/${i}/grad`, jobs: 500, rank: 9 }));
  const began = performance.now();
  expect(groupWall(searchWall(all, "grad 77")).flatMap((one) => one.metrics).length).toBe(all.filter((one) => one.name.includes("77")).length);
  expect(performance.now() - began).toBeLessThan(100);
});

// ---- columns of a table ----

test("a column of several words is no name of a search, and says so as an expression", () => {
  expect(["loss.best", '"train loss"', "hp.batch size", "tag.team"].filter(isWorked)).toEqual([]);
  expect(["foo bar", "loss / 2", "abs(loss)"].filter(isWorked)).toHaveLength(3);
  expect(() => parseExpression("foo bar", "figure")).toThrow(ExpressionError);
});

test("rows are sorted by what is worked out, those without a value last", () => {
  const rows = [3, null, 1, NaN, 2];
  expect(sortRows(rows, (one) => one, false)).toEqual([1, 2, 3, null, NaN]);
  expect(sortRows(rows, (one) => one, true)).toEqual([3, 2, 1, null, NaN]);
});
