// What failed first: the errors of all nodes, each message once, from the log and from an incident.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until } from "./support.mjs";

const BASE_MS = 1_790_000_000_000;
const send = (server, stream, lines) =>
  server.post(`/api/v1/logs?job=big&stream=${stream}`, lines.map(([at, line]) => JSON.stringify({ line, ts: BASE_MS + at })).join("\n") + "\n", { type: "application/x-ndjson" });
const chosenIs = (page, text) => until(page, (words) => document.querySelector(".line.chosen .text")?.textContent.includes(words), `the chosen line ${text}`, text);

/** Eight nodes say that a peer has gone; the sixth said why, a second before. */
async function fail(server) {
  for (let rank = 0; rank < 8; rank++) {
    const lines = Array.from({ length: 40 }, (_, i) => [i * 100, `step: ${i} loss: ${(3 - i / 100).toFixed(3)} error_rate: 0`]);
    if (rank === 5) lines.push([5000, "RuntimeError: CUDA error: device-side assert triggered"]);
    lines.push([6000 + rank, `[rank${rank}]: torch.distributed.DistBackendError: NCCL error, peer at 10.0.0.${rank} has gone`]);
    await send(server, `algo-${rank + 1}`, lines);
  }
}

test("the first error over all nodes is one key away", async ({ server, page, open }) => {
  await fail(server);
  await open("/jobs/big/logs?stream=algo-1");
  await page.waitForSelector("#L40");
  await page.keyboard.press("w");
  await chosenIs(page, "device-side assert");
  assert.equal(new URL(page.url()).searchParams.get("stream"), "algo-6");
  assert.equal(await page.innerText(".errorgroups header b"), "2 messages · 9 lines");
  const rows = await texts(page, ".errorgroups li");
  assert.match(rows[0], /algo-6 1 × RuntimeError: CUDA error/);
  assert.match(rows[1], /algo-1 8 × on 8 nodes \[rank0\]/);
  await shot(page, "errors-light");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await chosenIs(page, "[rank0]: torch.distributed");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector(".errorgroups"), "the list to be away");

  // The merged log steps from error to error over all nodes.
  await open("/jobs/big/logs?merged=1");
  await page.waitForSelector(".merged .line");
  for (const wanted of ["device-side", "[rank0]", "[rank1]"]) {
    await page.keyboard.press("e");
    await chosenIs(page, wanted);
  }
  await page.keyboard.press("E");
  await chosenIs(page, "[rank0]");

  // A search goes from old to new when asked so.
  await open("/jobs/big/logs?stream=algo-1&find=DistBackend");
  await until(page, () => document.querySelector(".hit .stream")?.textContent === "algo-8", "the newest hit on top");
  await page.click(".find button:has-text('new → old')");
  await until(page, () => document.querySelector(".hit .stream")?.textContent === "algo-1", "the oldest hit on top");
  assert.equal(new URL(page.url()).searchParams.get("find_order"), "oldest");
});

test("an incident leads to the first error", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }, async ({ server, page, open }) => {
  await fail(server);
  await server.post("/api/v1/jobs", { TrainingJobName: "big", TrainingJobStatus: "Failed", FailureReason: "AlgorithmError: ExecuteUserScriptError, exit code 1" });
  await open("/incidents");
  await page.click("tbody tr >> nth=0");
  await page.click("text=first error over all nodes");
  await chosenIs(page, "device-side assert");
  assert.ok(await fitsWidth(page));
  await shot(page, "errors-phone-dark");
});
