// The log while lines come: from a line's sending to its pixel, tasks that hold the page up, and the heap. Headless Chromium.
//
//   node tests/bench/page/log_live.mjs [--seconds 30]      SM_BUILD_DIR=build/rel, SM_WEB_ROOT=web/dist
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { Server } from "../../e2e/server.mjs";

const at = process.argv.indexOf("--seconds");
const SECONDS = at < 0 ? 30 : Number(process.argv[at + 1]);
const TICK_MS = 100;
const STREAMS = 64;
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))] ?? NaN;

const folder = mkdtempSync(path.join(os.tmpdir(), "smfleet-log-"));
const server = await new Server(folder).start();
const flags = ["--disable-gpu", "--enable-precise-memory-info"];
const browser = await chromium.launch({ executablePath: process.env.SM_CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: flags, chromiumSandbox: false });

/** `make(k)` gives the objects of tick k; one request a tick, as a shipper of many streams would send. */
async function run(name, address, make) {
  await server.post("/api/v1/logs", `${make(-1).map((one) => JSON.stringify(one)).join("\n")}\n`, { type: "application/x-ndjson" });
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  await page.goto(server.url + address);
  await page.locator(".line").first().waitFor();
  await page.evaluate(() => {
    const seen = new Set();
    window.latencies = [];
    window.skipped = [0, 0];
    const began = Date.now();
    window.tasks = [];
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.tasks.push(entry.duration))).observe({ type: "longtask" });
    const look = () => {
      for (const row of document.querySelectorAll(".logbox .line .text")) {
        const found = /sent=(\d+) id=(\S+)/.exec(row.textContent);
        if (!found || seen.has(found[2])) continue;
        seen.add(found[2]);
        if (Number(found[1]) < began) continue; // was there before the page
        if (Number(found[1]) >= window.skipped[0] && Number(found[1]) < window.skipped[1]) continue;
        // Painted at the end of this frame.
        setTimeout(() => window.latencies.push(Date.now() - Number(found[1])));
      }
      requestAnimationFrame(look);
    };
    look();
  });
  const ticks = (SECONDS * 1000) / TICK_MS;
  const session = await page.context().newCDPSession(page);
  const heapOf = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return page.evaluate(() => performance.memory.usedJSHeapSize);
  };
  // The main thread's own time, whatever else the machine does.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busyOf = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map((one) => [one.name, one.value * 1000]));
  };
  const before = await busyOf();
  let heap = 0;
  let sent = 0;
  const began = Date.now();
  for (let k = 0; k < ticks; k++) {
    const rows = make(k);
    sent += rows.length;
    await server.post("/api/v1/logs", `${rows.map((one) => JSON.stringify(one)).join("\n")}\n`, { type: "application/x-ndjson" });
    if (k === Math.floor(ticks / 4)) {
      // What is on its way while the bench collects garbage waits for the bench, not for the page.
      const from = Date.now() - 1000;
      await page.evaluate((at) => (window.skipped = [at, Infinity]), from);
      heap = await heapOf();
      await page.evaluate(([at, to]) => (window.skipped = [at, to]), [from, Date.now()]);
    }
    const rest = began + (k + 1) * TICK_MS - Date.now();
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
  }
  const tookS = (Date.now() - began) / 1000;
  const after = await busyOf();
  const busy = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].map((key) => `${key.replace("Duration", "").toLowerCase()} ${((after[key] - before[key]) / tookS).toFixed(0)}`);
  const { latencies, tasks } = await page.evaluate(() => ({ latencies: window.latencies, tasks: window.tasks }));
  const grown = (await heapOf()) - heap;
  const over = tasks.reduce((sum, ms) => sum + ms, 0);
  console.log(
    `${name.padEnd(52)} ${(sent / tookS).toFixed(0)} lines/s; to pixel p50 ${quantile(latencies, 0.5)} p99 ${quantile(latencies, 0.99)} ms (${latencies.length} lines); ` +
      `tasks over 50 ms: ${tasks.length} in ${tookS.toFixed(0)} s, ${(over / tookS).toFixed(1)} ms a second, longest ${Math.max(0, ...tasks).toFixed(0)} ms; ` +
      `processor ms a second: ${busy.join(", ")}; heap ${(heap / 1e6).toFixed(1)} MB ${grown >= 0 ? "+" : ""}${(grown / 1e6).toFixed(1)}`,
  );
  await page.close();
}

const line = (job, stream, k, i) => ({ job, stream, line: `step: ${k + 2} loss: ${(2 + Math.sin(k) / 9).toFixed(4)} lr: 3e-4 sent=${Date.now()} id=${stream}.${k}.${i}` });
const streams = Array.from({ length: STREAMS }, (_, i) => `algo-${i + 1}`);

await run(`all ${STREAMS} streams of a job by time`, "/jobs/merged/logs?merged=1", (k) => streams.map((one) => line("merged", one, k, 0)));
await run(`one stream, all of it`, "/jobs/one/logs?stream=algo-1", (k) => streams.map((_, i) => line("one", "algo-1", k, i)));
await run(`${STREAMS} jobs, the page of one`, "/jobs/job-1?stream=algo-1", (k) => streams.map((_, i) => line(`job-${i + 1}`, "algo-1", k, 0)));
await run(`one stream of ${STREAMS}, beside the charts`, "/jobs/many?stream=algo-1", (k) => streams.map((one) => line("many", one, k, 0)));

const all = Array.from({ length: 2048 }, (_, i) => `algo-${i + 1}`);
await run(`2048 streams by time, 640 lines/s`, "/jobs/big/logs?merged=1", (k) =>
  k < 0 ? all.map((one) => line("big", one, k, 0)) : Array.from({ length: STREAMS }, (_, i) => line("big", all[(k * STREAMS + i) % all.length], k, i)),
);
await browser.close();
await server.stop();
rmSync(folder, { recursive: true });
