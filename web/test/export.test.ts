import { expect, test } from "vitest";
import { emptyBuckets, type Buckets } from "../src/lib/chart/buckets";
import { curvesCsv, picturesUrl } from "../src/lib/jobs/export";
import { grouped } from "../src/lib/text/number";
import { parseChartState } from "../src/lib/url/url";

const buckets = (more: Partial<Buckets>): Buckets => ({ ...emptyBuckets(), x: [1], count: [3], min: [0.5], max: [2], mean: [1], nonFinite: [0], ...more });

test("what is drawn as CSV: quoted, no formulas, NaN told from nothing", () => {
  const rows = curvesCsv([
    { job: 'a,"b', metric: "loss", buckets: buckets({}) },
    { job: "=HYPERLINK()", metric: "loss", buckets: buckets({ min: [null], max: [null], mean: [null], nonFinite: [1] }) },
  ]).split("\r\n");
  expect(rows).toEqual(["job,metric,x,count,non_finite,min,max,mean", '"a,""b",loss,1,3,0,0.5,2,1', "'=HYPERLINK(),loss,1,3,1,,,", ""]);
});

test("the server draws a comparison only where its picture is the same", () => {
  const curves = [{ name: "a", metric: "loss" }, { name: "b,c", metric: "loss" }];
  expect(picturesUrl(curves, parseChartState({}))).toBe("/api/v1/jobs/a/chart.svg?metric=loss&jobs=b%252Cc&theme=light");
  expect(picturesUrl(curves, parseChartState({ x: "flops", from: "1e20", to: "2.5e20" }))).toBe("/api/v1/jobs/a/chart.svg?x=flops&from=100000000000000000000&to=250000000000000000000&metric=loss&jobs=b%252Cc&theme=light");
  expect(picturesUrl(curves, parseChartState({ x: "rstep" }))).toBeNull();
  expect(picturesUrl(curves, parseChartState({ clip: "1" }))).toBeNull();
  expect(picturesUrl([...curves, { name: "d", metric: "lm loss" }], parseChartState({}))).toBeNull();
  expect(picturesUrl(Array.from({ length: 21 }, (_, i) => ({ name: `j${i}`, metric: "loss" })), parseChartState({}))).toBeNull();
});

test("thousands are parted, fractions are not", () => {
  expect([0, 999, 1000, 1234567, -12345, 1234.5678, 0.12345].map(grouped)).toEqual(["0", "999", "1,000", "1,234,567", "-12,345", "1,234.568", "0.123"]);
});
