import { expect, test } from "vitest";
import { compareNatural } from "../src/lib/text/natural";

const sorted = (...names: string[]): string[] => names.sort(compareNatural);

test("numbers within names by their value, letters without their case", () => {
  expect(sorted("algo-10", "algo-2", "algo-1")).toEqual(["algo-1", "algo-2", "algo-10"]);
  expect(sorted("b", "B2", "a", "A1", "b10")).toEqual(["a", "A1", "b", "B2", "b10"]);
  expect(sorted("layer/10/w", "layer/9/w", "layer/9/b")).toEqual(["layer/9/b", "layer/9/w", "layer/10/w"]);
  expect(sorted("x99999999999999999999", "x100000000000000000000")).toEqual(["x99999999999999999999", "x100000000000000000000"]);
});

test("signs before digits before letters, a beginning before what goes on", () => {
  expect(sorted("ab", "a1", "a_b", "a-b", "a", "")).toEqual(["", "a", "a_b", "a-b", "a1", "ab"]);
});

test("one order, whichever came first", () => {
  for (const pair of [["a01", "a1"], ["Loss", "loss"], ["a", "a\u0301"]]) expect(sorted(...pair)).toEqual(sorted(...pair.reverse()));
  expect(compareNatural("loss", "loss")).toBe(0);
});

test("as the browser's own orders names of metrics and nodes", () => {
  const names = ["loss", "eval/loss", "gpu/0/util", "gpu/7/util", "gpu/10/util", "grad_norm", "grad_norm_max", "Lr", "lr", "step-time", "step_time", "tokens_per_s", "algo-1", "algo-12", "algo-3", "ip-10-0-0-12", "ip-10-0-0-3", "rank 3", "rank 12", "1", "01", "2B", "2a"];
  const { compare } = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  for (const a of names) for (const b of names) {
    const theirs = Math.sign(compare(a, b));
    if (theirs !== 0) expect([a, b, Math.sign(compareNatural(a, b))]).toEqual([a, b, theirs]);
    expect(Math.sign(compareNatural(a, b)) + Math.sign(compareNatural(b, a))).toBe(0);
  }
});
