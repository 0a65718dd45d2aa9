import { expect, test } from "vitest";
import { familyOf, foldFamilies } from "../src/lib/jobs/families";
import { groupMetrics } from "../src/lib/jobs/metrics";

test.each([
  ["gpu/0/util", "gpu/*/util", "0"],
  ["gpu.7.memory", "gpu.*.memory", "7"],
  ["step_ms/rank12", "step_ms/rank*", "rank12"],
  ['train:loss{rank="3"}', "train:loss{rank}", "rank 3"],
  ["grad/layer_4/head_2", "grad/layer_*/head_2", "layer_4"],
])("%s is of %s", (name, family, member) => {
  expect(familyOf(name)).toEqual({ family, member });
});

test.each(["loss", "top5", "acc@1", "f1_macro", "bleu4/newstest"])("%s is of none", (name) => {
  expect(familyOf(name)).toBeNull();
});

test("a family is one, where its first stood, in the order of numbers; one alone and the lead stay", () => {
  const metrics = groupMetrics(["loss", "gpu/10/util", "gpu/2/util", "gpu/0/temp", "odd"].map((metric) => ({ metric, ...(metric === "loss" ? { role: "loss" } : {}) })));
  const folded = foldFamilies(metrics, metrics[0]);
  expect(folded.map(({ metric, family }) => (family ? `${metric}: ${family.map((one) => one.metric).join(" ")}` : metric))).toEqual([
    "loss", "gpu/0/temp", "gpu/*/util: gpu/2/util gpu/10/util", "odd",
  ]);
  const ranks = groupMetrics(["0", "1"].map((rank) => ({ metric: `loss{rank="${rank}"}`, role: "loss" })));
  expect(foldFamilies(ranks, ranks[0]).map((one) => one.metric)).toEqual(['loss{rank="0"}', 'loss{rank="1"}']);
});
