// All machines: which to drain, their faults, and what of it a job's grid of nodes shows.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";

const XID = "kernel: NVRM: Xid (PCI:0000:a1:00): 79, pid=4123, GPU has fallen off the bus";
const lines = Array.from({ length: 60 }, (_, i) => `step: ${i} loss: ${(3 - i / 100).toFixed(3)}`);

async function sendAll(server) {
  for (let node = 1; node <= 4; node++) {
    const all = lines.map((line) => `${line} tokens_per_sec=${node === 3 ? 3000 : 4000}`);
    await server.post(`/api/v1/logs?job=big&stream=algo-${node}&host=gpu-${node}`, all.join("\n") + (node === 2 ? `\n${XID}` : "") + "\n", { type: "text/plain" });
  }
  await waitUntil(async () => (await server.get("/api/v1/nodes")).body.drain?.length === 1, "the machine to drain");
}

test("all machines, which to drain, and one of them", async ({ server, page, open }) => {
  await open("/nodes");
  await page.waitForSelector("text=No machine is known by name yet");
  await sendAll(server);
  await open("/jobs");
  await page.locator("[data-name=big]").waitFor();
  await waitUntil(async () => {
    await page.keyboard.type("gm");
    return new URL(page.url()).pathname === "/nodes";
  }, "g m to lead to the machines");
  await until(page, () => document.querySelectorAll(".machinescroll tbody tr").length === 4, "four machines");
  assert.equal(await page.innerText(".rail [aria-current]"), "Machines");
  assert.match((await texts(page, ".drain"))[0], /1 machine should be drained gpu-2 .*xid_79/);
  const row = (await texts(page, ".machinescroll tbody tr"))[1];
  assert.match(row, /^gpu-2 ◆ drain xid_79 0/);
  const asked = page.waitForRequest((request) => request.url().includes("in_trouble=true")); // not what is on the first page alone
  await page.click(".viewhead button:has-text('in trouble')");
  await asked;
  await until(page, () => document.querySelector(".machinescroll tbody")?.innerText.includes("gpu-2") && !document.querySelector(".machinescroll tbody").innerText.includes("gpu-1"), "those in trouble");
  await page.click(".machinescroll a:has-text('gpu-2')");
  await page.waitForSelector(".machine .faultlines");
  assert.match(await page.innerText(".machine"), /xid_79/);
  assert.match(await page.innerText(".machine .faultlines"), /GPU has fallen off the bus/);
  const [shown, whole] = await page.$eval(".faultlines li > bdi", (text) => [text.clientWidth, text.scrollWidth]);
  assert.ok(shown > 200 && whole <= shown, `the fault's text is cut: ${shown} of ${whole} pixels`);
  await shot(page, "machines-light");
  await page.click(".faultlines a");
  await until(page, () => document.querySelector(".line.chosen .text")?.textContent.includes("fallen off"), "the line of the fault");
  await open("/nodes?find=gpu-4");
  await until(page, () => document.querySelectorAll(".machinescroll tbody tr").length === 1, "the machine that was searched");

  // The job's grid says it of the node, and its heat map opens with the metric that shows who is behind.
  await open("/jobs/big/nodes");
  await page.locator(".cells canvas").focus();
  await page.keyboard.press("ArrowRight");
  await until(page, () => document.querySelector(".nodegrid .said")?.textContent.includes("to be drained: "), "what the grid says of algo-2");
  await page.waitForSelector(".heat canvas");
  assert.match(await page.inputValue(".heat select"), /tokens_per_sec|throughput/);
  await shot(page, "nodes-marked");
});

test("a fault that is not the machine's is set right, and counts again", async ({ server, page, open }) => {
  await sendAll(server);
  await open("/nodes?host=gpu-2");
  await page.getByRole("button", { name: "Not the machine's…" }).click();
  await page.getByRole("dialog").getByLabel("Why").fill("the riser was pulled");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Not the machine's, as somebody said" }).waitFor();
  assert.match(await page.innerText(".machine .faultlines"), /the riser was pulled/);
  assert.deepEqual((await server.get("/api/v1/nodes")).body.drain, []);
  assert.deepEqual((await server.get("/api/v1/jobs/big")).body.by_hand, { faults: { "algo-2:60": "the riser was pulled" } });
  await shot(page, "machines-set-right");
  await page.getByRole("button", { name: "It is: count it again" }).click();
  await page.getByRole("button", { name: "Not the machine's…" }).waitFor();
  assert.equal((await server.get("/api/v1/nodes")).body.drain.length, 1);
});

const DAY_MS = 86_400_000;
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - 1.5 * DAY_MS; // of the day before yesterday, UTC

const timed = (rows) => rows.map(([second, line]) => JSON.stringify({ line, ts: NOON_MS + second * 1000 })).join("\n");

const sendTimed = (server, job, stream, host, rows) => server.post(`/api/v1/logs?job=${job}&stream=${stream}&host=${host}`, timed(rows), { type: "application/x-ndjson" });

test("a machine that was replaced, why, and that its fault went with it", async ({ server, page, open }) => {
  const steps = (from, to) => Array.from({ length: (to - from) / 60 }, (_, i) => [from + i * 60, `step: ${from / 60 + i} loss: 2.5`]);
  await sendTimed(server, "swap", "algo-1", "gpu-1", [...steps(0, 6000), [6000, XID]]);
  await sendTimed(server, "swap", "algo-1", "gpu-9", steps(6720, 13200));
  await sendTimed(server, "other", "algo-7", "gpu-1", [[7200, "step: 1 loss: 2"], [8400, XID]]);
  await waitUntil(async () => (await server.get("/api/v1/jobs/swap/replacements")).body.replacements[0]?.fault_followed === "machine", "the fault on the old machine");
  await open("/jobs/swap/nodes");
  const cells = page.locator(".replaced tbody th, .replaced tbody td");
  await cells.first().waitFor();
  const [node, from, to, , silent, why, since] = await cells.allInnerTexts();
  assert.deepEqual([node, from, to, silent, why, since], ["algo-1", "gpu-1", "gpu-9", "12 min", "xid_79 on gpu-1", "came again on the old machine\nWhat it is worked out from"]);
  assert.match(await page.locator(".replaced tbody td span").last().getAttribute("title"), /other .*fallen off the bus/);
  assert.ok(await fitsWidth(page));
  await page.locator(".replaced").getByText("What it is worked out from").click();
  // the old machine worked 6000 s before its fault, the new one has worked from 6720 to its last line, 13 140
  assert.deepEqual((await page.locator(".replaced details tbody tr").allInnerTexts()).map((row) => row.replaceAll(/[^\w\t]/g, "")), ["observed_ms\t6420000", "needed_ms\t6000000"]);
  assert.match(await page.innerText(".replaced details code"), /^needed_ms = min\(24 h, max\(1 h, /);
  assert.ok(await fitsWidth(page));
  await shot(page, "nodes-replaced");
  await page.locator(".replaced tbody a").last().click();
  await until(page, () => document.querySelector(".line.chosen .text")?.textContent.includes("fallen off"), "the line of the fault");
});

test("what a machine is expected to break off can be worked out again", async ({ server, page, open }) => {
  const MetricDefinitions = [{ Name: "loss", Regex: String.raw`step (?<step>\d+) loss (?<value>\S+)` }];
  await server.post("/api/v1/jobs", { TrainingJobName: "j", AlgorithmSpecification: { MetricDefinitions }, ResourceConfig: { InstanceType: "ml.p5.48xlarge", InstanceCount: 2, VolumeSizeInGB: 5 } });
  const parts = Array.from({ length: 7 }, (_, part) => part);
  await sendTimed(server, "j", "system/bad", "bad", [[0, "up"], ...parts.slice(0, 6).map((part) => [30 * part + 21, XID]), [200, "down"]]);
  await sendTimed(server, "j", "algo-1", "good", parts.flatMap((part) => Array.from({ length: 20 }, (_, i) => [30 * part + i, `step ${10 * part + i + 1} loss 2.0`])));
  await server.post("/api/v1/jobs/j/transitions", { SecondaryStatus: "Completed", time_ms: NOON_MS + 200_000 });
  await waitUntil(async () => (await server.get("/api/v1/nodes/bad")).body.restarts === 6, "what the machine broke off");
  await open("/nodes?host=bad");
  await page.getByText("What it is worked out from").click();
  const rows = Object.fromEntries((await page.locator(".machine details tbody tr").allInnerTexts()).map((row) => row.split("\t")));
  assert.deepEqual([rows.events, rows.charged, rows.shape, rows.ahead], ["6", "6", "7", "7"]);
  const number = (name) => Number(rows[name].replaceAll(/[^\d.e-]/g, ""));
  assert.ok(Math.abs(number("exposure") - (number("machine_days") + number("fleet.machine_days") / 6)) < 1e-6, JSON.stringify(rows));
  assert.match(await page.innerText(".machine details code"), /shape \/ exposure \* ahead/);
  await shot(page, "machines-forecast");
});

test("machines on a phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }, async ({ server, page, open }) => {
  await sendAll(server);
  await open("/nodes?host=gpu-2");
  await page.waitForSelector(".machine .faultlines");
  assert.ok(await fitsWidth(page));
  await shot(page, "machines-phone-dark");
});

test("a view of nothing live says nothing of a connection, and one of a job does", async ({ server, page, open }) => {
  await server.post("/api/v1/logs?job=j&stream=algo-1&host=n1", "step 1 loss 2\n");
  await open("/jobs/j");
  await page.locator(".connection.live").waitFor();
  await open("/nodes");
  await page.getByRole("cell", { name: "n1" }).or(page.getByRole("link", { name: "n1" })).first().waitFor();
  assert.equal(await page.locator(".connection").count(), 0);
});
