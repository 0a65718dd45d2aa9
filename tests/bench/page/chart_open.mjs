// Charts from navigation to pixel, and from a zoom's end to its redrawn curve. Headless Chromium, each time with an empty cache; medians.
//
//   node tests/bench/page/chart_open.mjs [--runs 9] [--only first,twelve,zoom,streams,workspace,wall]      SM_BUILD_DIR=build/rel
//   … --against FOLDER: the page that was built there, too, run by run in turns, so that both see the same machine (not of zoom, wall)
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { Server, waitUntil } from "../../e2e/server.mjs";

const option = (name, fallback) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : fallback);
const RUNS = Number(option("--runs", "9"));
const ONLY = option("--only", "first,twelve,zoom,streams,workspace,wall").split(",");
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

const folder = mkdtempSync(path.join(os.tmpdir(), "smfleet-chart-"));
for (const name of ["here", "there"]) mkdirSync(path.join(folder, name));
const OPTIONS = ["--max-chart-buckets", "1000000"];
const server = await new Server(path.join(folder, "here"), OPTIONS).start();
const AGAINST = option("--against", null);
const servers = AGAINST ? [server, await new Server(path.join(folder, "there"), [...OPTIONS, "--web-root", path.resolve(AGAINST)]).start()] : [server];
const flags = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"];
const browser = await chromium.launch({ executablePath: process.env.SM_CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: flags, chromiumSandbox: false });

/** A loss that falls and trembles; other metrics are like it. */
async function fill(job, metrics, streams, points) {
  const step = Array.from({ length: points }, (_, i) => i);
  for (let first = 0; first < streams; first += 64) {
    const series = [];
    for (let s = first; s < Math.min(streams, first + 64); s++)
      for (const metric of metrics) series.push({ metric, stream: `algo-${s + 1}`, step, value: step.map((i) => Number((2 + 3 * Math.exp(-i / 400) + ((i * 7919 + s * 31) % 1000) / 5000).toFixed(4))) });
    for (const one of servers) await one.post(`/api/v1/points?job=${job}`, { series });
  }
  await waitUntil(async () => {
    const replies = await Promise.all(servers.map((one) => one.get(`/api/v1/jobs/${job}/metrics`)));
    return replies.every(({ body: { series } }) => series.length === metrics.length * streams && series.every((one) => one.count === points));
  }, `${job}'s points`);
}

/** Runs in the page before its own scripts: when the first and the n-th chart have a coloured pixel. */
function watch({ charts, selector }) {
  window.drawn = [];
  let isDone = () => undefined;
  window.whenDrawn = new Promise((resolve) => (isDone = resolve));
  // A few columns of the canvas say it: reading all of it would be what is measured, and in one a grey curve may lie over all others.
  const isDrawn = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(Math.floor(canvas.width / 2), 0, 16, canvas.height);
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 40) return true;
    return false;
  };
  const seen = new Set();
  const look = () => {
    for (const canvas of document.querySelectorAll(selector)) {
      if (seen.has(canvas) || !isDrawn(canvas)) continue;
      seen.add(canvas);
      window.drawn.push(performance.now());
    }
    if (seen.size < charts) requestAnimationFrame(look);
    else isDone();
  };
  requestAnimationFrame(look);
}

async function open(address, charts, height, selector = ".chart canvas", from = server) {
  const context = await browser.newContext({ viewport: { width: 1600, height } });
  const page = await context.newPage();
  await page.addInitScript(watch, { charts, selector });
  // What the page's own thread has computed, however busy the machine is.
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(from.url + address, { waitUntil: "commit" });
  // Not by Playwright's own functions: it sends 200 kB of script into the page for them, which the page's thread would read first.
  await session.send("Runtime.evaluate", { expression: "whenDrawn", awaitPromise: true });
  const { metrics } = await session.send("Performance.getMetrics");
  const times = await page.evaluate(() => window.drawn);
  return { context, page, times, cpu_ms: 1000 * metrics.find((one) => one.name === "TaskDuration").value };
}

async function measure(name, address, charts, height, selector) {
  const found = servers.map(() => ({ first: [], all: [], cpu: [] }));
  for (let run = 0; run < RUNS * servers.length; run++) {
    const which = run % servers.length;
    const { context, page, times, cpu_ms } = await open(address, charts, height, selector, servers[which]);
    const { first, all, cpu } = found[which];
    cpu.push(cpu_ms);
    first.push(times[0]);
    all.push(times[charts - 1]);
    if (process.argv.includes("--trace") && run === servers.length) {
      const entries = await page.evaluate(() => performance.getEntriesByType("resource").map((one) => [one.name.replace(location.origin, "").slice(0, 80), Math.round(one.startTime), Math.round(one.responseEnd), one.transferSize]));
      console.error(name, times.map(Math.round), JSON.stringify(entries, null, 0).replaceAll("],", "],\n"));
    }
    await context.close();
  }
  const [here, there] = found.map(({ first, all, cpu }) => ({ first_ms: median(first), all_ms: median(all), best_ms: Math.min(...all), cpu_ms: Math.min(...cpu), cpu_median_ms: median(cpu) }));
  if (!there) return { name, ...here };
  const ratio = (figure) => Number(median(found[0][figure].map((ms, run) => ms / found[1][figure][run])).toFixed(3));
  return { name, ...here, against: { ...there, first_ratio: ratio("first"), all_ratio: ratio("all"), cpu_ratio: ratio("cpu") } };
}

/** From the mouse's release to the frame after the finer curve is there. */
async function measureZoom(address) {
  const { context, page } = await open(address, 1, 1000);
  // whatever stands around it has come; the log's pane is folded where there is little of a log
  for (const part of [".strip", ".chartbar button", "[role=log]"]) await page.locator(part).first().waitFor({ state: "attached" });
  const box = await page.locator(".chart .u-over").first().boundingBox();
  const times = [];
  for (let run = 0; run < RUNS; run++) {
    await page.evaluate(() => {
      window.zoomed = null;
      const kept = document.querySelector(".kept");
      const before = kept.textContent;
      addEventListener("mouseup", () => {
        const began = performance.now();
        const look = () => {
          if (kept.textContent === before) requestAnimationFrame(look);
          else requestAnimationFrame(() => (window.zoomed = performance.now() - began));
        };
        look();
      }, { once: true, capture: true });
    });
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => window.zoomed !== null);
    times.push(await page.evaluate(() => window.zoomed));
    await page.keyboard.press("0");
    await page.waitForFunction(() => !location.search.includes("from="));
    await page.waitForFunction(() => /20,000/.test(document.querySelector(".kept")?.textContent ?? ""));
  }
  await context.close();
  return { name: "zoom", all_ms: median(times), best_ms: Math.min(...times) };
}

/** A wheel turned through the whole wall: how long each frame took, from the first chart to the last one. */
async function measureScroll(name, address) {
  const { context, page } = await open(address, 1, 1000, ".panel canvas");
  await page.locator(".correlations table, .correlations p").first().waitFor();
  const frames = await page.evaluate(async () => {
    const main = document.getElementById("main");
    const times = [];
    let before = await new Promise(requestAnimationFrame);
    while (main.scrollTop + main.clientHeight < main.scrollHeight - 1) {
      main.scrollTop += 24; // as a steady turn of a wheel does
      const now = await new Promise(requestAnimationFrame);
      times.push(now - before);
      before = now;
    }
    return times;
  });
  await context.close();
  frames.sort((a, b) => a - b);
  const p95 = frames[Math.floor(frames.length * 0.95)];
  return { name, first_ms: frames[Math.floor(frames.length / 2)], all_ms: p95, best_ms: frames[0] };
}

const results = [];
if (ONLY.includes("first") || ONLY.includes("zoom")) await fill("plain", ["loss", "grad_norm", "lr", "tokens_per_s"], 1, 20_000);
if (ONLY.includes("first")) results.push({ ...(await measure("first chart", "/jobs/plain", 1, 1000)), budget_ms: 300 });
if (ONLY.includes("zoom")) results.push({ ...(await measureZoom("/jobs/plain")), budget_ms: 100 });
if (ONLY.includes("twelve")) {
  await fill("twelve", ["loss", ...Array.from({ length: 11 }, (_, i) => `m${i}`)], 8, 2000);
  results.push({ ...(await measure("12 charts x 8 series x 2000 points", "/jobs/twelve?nodes=each", 12, 2400)), budget_ms: 350 });
}
if (ONLY.includes("streams")) {
  await fill("streams", ["loss"], 2048, 100);
  results.push({ ...(await measure("one job of 2048 streams", "/jobs/streams", 1, 1000)), budget_ms: 300 });
}
if (ONLY.includes("workspace")) {
  const metrics = ["loss", ...Array.from({ length: 11 }, (_, i) => `m${i}`)];
  for (let run = 0; run < 20; run++) await fill(`ws-${run}`, metrics, 1, 2000);
  const address = `/workspace?q=${encodeURIComponent("name~^ws-")}&lines=${metrics.join(";")}`;
  results.push({ ...(await measure("workspace of 12 panels x 20 runs", address, 12, 2400, ".panel canvas")), budget_ms: 600 });
}
if (ONLY.includes("wall")) {
  const metrics = Array.from({ length: 200 }, (_, i) => `layer${Math.floor(i / 20)}/m${i}`);
  for (let run = 0; run < 20; run++) await fill(`wall-${run}`, metrics, 1, 500);
  // a display shows a frame each 16.7 ms: what is done in less than that is not slower
  results.push({ ...(await measureScroll("wall of 200 metrics x 20 runs, scrolled, a frame at p95", `/wall?q=${encodeURIComponent("name~^wall-")}`)), budget_ms: 17 });
}
console.log(JSON.stringify(results));
await browser.close();
for (const one of servers) await one.stop();
rmSync(folder, { recursive: true });
