// Charts while lines come: 64 jobs, 10 lines a second each, over an hour of them that is there already. From a line's sending to its
// pixel, tasks that hold the page up, and the heap. Headless Chromium.
//
//   node tests/bench/page/chart_live.mjs [--seconds 30] [--jobs 64] [--history 36000]      SM_BUILD_DIR=build/rel
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { Server } from "../../e2e/server.mjs";

const option = (name, fallback) => Number(process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : fallback);
const SECONDS = option("--seconds", 30);
const JOBS = option("--jobs", 64);
const HISTORY = option("--history", 36_000);
const TICK_MS = 100;
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))] ?? NaN;

const folder = mkdtempSync(path.join(os.tmpdir(), "smfleet-chart-"));
const server = await new Server(folder).start();
const browser = await chromium.launch({ executablePath: process.env.SM_CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: ["--disable-gpu", "--enable-precise-memory-info"], chromiumSandbox: false });
const line = (n, j) => `step: ${n} loss: ${(2 + 3 * Math.exp(-n / 9000) + ((n * 7919 + j) % 1000) / 5000).toFixed(4)} grad_norm: 0.${(n * 31) % 997} lr: 3e-4`;

for (let j = 0; j < JOBS; j++) await server.send(`job-${j}`, Array.from({ length: HISTORY }, (_, n) => line(n, j)));
const [metric] = (await server.get("/api/v1/jobs/job-0/metrics")).body.series.map((one) => one.metric);
for (const j of [0, JOBS - 1]) await server.waitForPoints(`job-${j}`, metric, HISTORY);

/** When how many points were on the lead chart, at the end of the frame that drew them. */
function watch() {
  window.counts = [];
  window.tasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.tasks.push(entry.duration))).observe({ type: "longtask" });
  let last = 0;
  const look = () => {
    const found = /([\d,]+) points/.exec(document.querySelector(".kept")?.textContent ?? "");
    const count = found ? Number(found[1].replaceAll(",", "")) : 0;
    if (count !== last) setTimeout(() => window.counts.push([Date.now(), count]));
    last = count;
    requestAnimationFrame(look);
  };
  look();
}

/** `charts`: how many jobs' points are counted together. */
async function run(name, address, charts) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpuOf = async () => (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
  const heapOf = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return page.evaluate(() => performance.memory.usedJSHeapSize);
  };
  await page.goto(server.url + address);
  // Not how a page opens: the number of points that is looked at comes after the first curve, with what stands around it.
  for (const part of [".kept:has-text('points')", ".connection.live"]) await page.locator(part).first().waitFor();
  await page.evaluate(watch);
  const began = Date.now();
  const sent = [];
  let heap = 0;
  let cpu = await cpuOf();
  for (let k = 0; k < (SECONDS * 1000) / TICK_MS; k++) {
    const rows = Array.from({ length: JOBS }, (_, j) => JSON.stringify({ job: `job-${j}`, stream: "algo-1", line: line(next, j) }));
    next++;
    sent.push([Date.now(), next * charts]);
    await server.post("/api/v1/logs", `${rows.join("\n")}\n`, { type: "application/x-ndjson" });
    if (k === Math.floor((SECONDS * 1000) / TICK_MS / 4)) {
      heap = await heapOf();
      sent.splice(-10); // what is on its way while the bench collects garbage waits for the bench, not for the page
    }
    const rest = began + (k + 1) * TICK_MS - Date.now();
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
  }
  await page.waitForFunction((n) => window.counts.some(([, count]) => count >= n), next * charts).catch(() => undefined);
  const seconds = (Date.now() - began) / 1000;
  cpu = (await cpuOf()) - cpu;
  const { counts, tasks } = await page.evaluate(() => ({ counts: window.counts, tasks: window.tasks }));
  const latencies = sent.flatMap(([at, count]) => {
    const drawn = counts.find(([, there]) => there >= count);
    return drawn ? [drawn[0] - at] : [];
  });
  const grown = (await heapOf()) - heap;
  await page.close();
  return {
    name, seconds: Math.round(seconds), p50_ms: quantile(latencies, 0.5), p99_ms: quantile(latencies, 0.99), drawn: latencies.length, sent: sent.length,
    long_task_ms_a_second: Math.round(tasks.reduce((sum, one) => sum + Math.max(0, one - 50), 0) / seconds), cpu_share: Number((cpu / seconds).toFixed(3)), heap_grown_kib: Math.round(grown / 1024),
  };
}

let next = HISTORY;
const results = [await run("a job's charts", "/jobs/job-0", 1)];
results.push(await run("64 jobs compared", `/compare?jobs=${Array.from({ length: JOBS }, (_, j) => `job-${j}`).join(",")}`, JOBS));
console.log(JSON.stringify(results));
await browser.close();
await server.stop();
rmSync(folder, { recursive: true });
