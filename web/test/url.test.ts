import { expect, test } from "vitest";
import { buildSearch, definitionsHref, jobHref, parseChartState, parseQuery, parseRoute, quoteText, lookOf } from "../src/lib/url/url";
import { writeLook } from "../src/lib/url/writelook";
import { buildList, findQuery, parseFind, parseList, parseLogTarget } from "../src/lib/log/logurl";

test("paths name views", () => {
  expect(parseRoute("/")).toEqual({ view: "fleet" });
  expect(parseRoute("/jobs")).toEqual({ view: "jobs" });
  expect(parseRoute("/incidents")).toEqual({ view: "incidents" });
  expect(parseRoute("/jobs/llama")).toEqual({ view: "job", name: "llama" });
  expect(parseRoute("/jobs/a%2Fb%20c")).toEqual({ view: "job", name: "a/b c" });
  expect(parseRoute("/jobs/a%2Fb/definitions")).toEqual({ view: "job", name: "a/b", part: "definitions" });
  expect(parseRoute("/jobs/llama/nothing")).toMatchObject({ view: "unknown" });
  expect(parseRoute("/incidents/llama/definitions")).toMatchObject({ view: "unknown" });
  expect(parseRoute("/jobs/%ff")).toMatchObject({ view: "unknown" });
  expect(parseRoute("/nothing/here")).toMatchObject({ view: "unknown" });
});

test("a job's address survives any name", () => {
  const name = "a/b?c#d,é%";
  expect(parseRoute(jobHref(name))).toEqual({ view: "job", name });
  expect(parseRoute(definitionsHref(name))).toEqual({ view: "job", name, part: "definitions" });
});

test("patches the query and drops what is empty", () => {
  expect(buildSearch({ q: "loss>3", sort: "name" }, { sort: undefined, x: "time" })).toBe("?q=loss%3E3&x=time");
  expect(buildSearch({})).toBe("");
});

test("chart state has defaults and refuses nonsense", () => {
  expect(parseChartState({})).toEqual({
    axis: "step", from: null, to: null, logScale: false, logX: false, smooth: 0, smoothing: "ema", clip: false, stream: null, superseded: false, byNode: false,
  });
  const state = parseChartState(parseQuery("?x=tokens&from=1&to=9&scale=log&xscale=log&smooth=7&smoothing=gauss&clip=1&series=algo-2&attempts=all&nodes=each"));
  expect(state).toEqual({
    axis: "tokens", from: 1, to: 9, logScale: true, logX: true, smooth: 0.99, smoothing: "gauss", clip: true, stream: "algo-2", superseded: true, byNode: true,
  });
  expect(parseChartState({ x: "time", xscale: "log", smoothing: "?", clip: "yes" })).toMatchObject({ logX: false, smoothing: "ema", clip: false });
  expect(parseChartState({ from: "9", to: "1", x: "colour" })).toMatchObject({ axis: "step", from: null, to: null });
});

test("a log target is a stream and a line", () => {
  expect(parseLogTarget(parseQuery("?stream=algo-1&line=120"))).toEqual({
    stream: "algo-1",
    line: 120,
    isMerged: false,
    atMs: null,
    only: [],
  });
  expect(parseLogTarget({ line: "-4" })).toMatchObject({ stream: null, line: null });
  expect(parseLogTarget(parseQuery("?merged=1&at=1700000000000"))).toMatchObject({ isMerged: true, atMs: 1700000000000 });
  const names = ["algo-1", "a,b", "50%"];
  expect(parseList(buildList(names))).toEqual(names);
  expect(parseRoute("/jobs/a/logs")).toEqual({ view: "job", name: "a", part: "logs" });
});

test("text literals are escaped", () => {
  expect(quoteText('a"b\\c')).toBe('"a\\"b\\\\c"');
});

test("a search of the log survives its address", () => {
  const find = { text: "NCCL .* a&b", isRegex: true, matchesCase: false, isOldest: true };
  expect(parseFind(parseQuery(buildSearch({}, findQuery(find))))).toEqual(find);
  expect(findQuery(parseFind({}))).toEqual({ find: undefined, find_regex: undefined, find_case: undefined, find_order: undefined });
});

test("one chart may be otherwise than all, and says so in the address", () => {
  const all = parseChartState({ scale: "log", smooth: "0.5" });
  expect(lookOf(all, { "chart.loss": "linear,clip,smooth:0.9,by:mean" }, "loss")).toMatchObject({ logScale: false, clip: true, smooth: 0.9, smoothing: "mean" });
  expect(lookOf(all, { "chart.loss": "linear" }, "lr")).toBe(all);
  expect(lookOf(all, { "chart.loss": "linear,,:,smooth:9,by:x" }, "loss")).toMatchObject({ logScale: false, smooth: 0.99, smoothing: "ema" });
  const own = { ...all, logScale: false, clip: true };
  expect(writeLook(own, all)).toBe("linear,clip");
  expect(lookOf(all, { "chart.a": writeLook(own, all) ?? "" }, "a")).toEqual(own);
  expect(writeLook(all, all)).toBeUndefined();
});
