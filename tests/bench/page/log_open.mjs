// A log of ten million lines: how long until any line of it is on the screen. Medians, in headless Chromium.
//
//   node tests/bench/page/log_open.mjs [--lines N] [--keep FOLDER] [--runs 15]      SM_BUILD_DIR=build/rel, SM_WEB_ROOT=web/dist
//   … --against FOLDER: the page that was built there, too, run by run in turns, so that both see the same machine; only how it opens
//
// With --keep the database stays in the folder, and is used again when it has the lines: to make a GB of log takes minutes.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { Server } from "../../e2e/server.mjs";
import { fill } from "./log_fill.mjs";

const option = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const LINES = Number(option("--lines", 10_000_000));
const kept = option("--keep", null);
const RUNS = Number(option("--runs", 15));
const AGAINST = option("--against", null);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const row = (name, list) => console.log(`${name.padEnd(58)} median ${median(list).toFixed(0).padStart(5)} ms   worst ${Math.max(...list).toFixed(0).padStart(5)} ms`);

const folder = kept ?? mkdtempSync(path.join(os.tmpdir(), "smfleet-log-"));
mkdirSync(folder, { recursive: true });
const server = await new Server(folder).start();
const has = await server.get("/api/v1/jobs/big/streams");
const total = has.status === 200 ? (has.body.streams[0]?.lines ?? 0) : 0;
if (total < LINES) {
  console.log(`sending ${LINES} lines …`);
  await fill(server, "big", "algo-1", LINES);
}

const browser = await chromium.launch({ executablePath: process.env.SM_CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: ["--disable-gpu"], chromiumSandbox: false });
const anyLine = (i) => Math.floor(((i * 0.618033988749895 + 0.1) % 1) * LINES);

/** In the page: resolves when the line's row with its text has been painted, which is after the frame that has it. */
function watch() {
  window.shown = (n) =>
    new Promise((resolve) => {
      const look = () => {
        const text = document.querySelector(`#L${n} .text`)?.textContent ?? "";
        if (text.includes("step=") || text.includes("ERROR")) setTimeout(() => resolve(performance.now()));
        else requestAnimationFrame(look);
      };
      look();
    });
  if (location.hash) window.whenShown = window.shown(location.hash.slice(2)); // performance.now() counts from the navigation
}

async function pageFor(from) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  const session = await context.newCDPSession(page);
  // What the page's own thread has computed, however busy the machine is.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const computed = async () => 1000 * (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
  /** Not by Playwright's own functions: it sends 200 kB of script into the page for them, which the page's thread would read first. */
  const open = async (line) => {
    const before = await computed();
    await page.goto(`${from.url}/jobs/big/logs?stream=algo-1#L${line}`, { waitUntil: "commit" });
    const { result } = await session.send("Runtime.evaluate", { expression: "whenShown", awaitPromise: true, returnByValue: true });
    const cpu = await computed();
    return { ms: result.value, cpu_ms: cpu < before ? cpu : cpu - before };
  };
  return { page, open, close: () => context.close() };
}

/** An empty cache: a context of its own each time. Else the files of the page are there, and the document is asked for again. */
async function measure(name, servers, hasCache) {
  const kept = hasCache ? await Promise.all(servers.map(pageFor)) : null;
  const found = servers.map(() => []);
  for (let i = 0; i < RUNS * servers.length; i++) {
    const which = i % servers.length;
    const one = kept?.[which] ?? (await pageFor(servers[which]));
    found[which].push(await one.open(anyLine(i)));
    if (hasCache) await one.page.goto("about:blank");
    else await one.close();
  }
  kept?.forEach((one) => void one.close());
  for (const figure of ["ms", "cpu_ms"]) {
    const [here, there] = found.map((runs) => runs.map((one) => one[figure]));
    row(`${name}${figure === "ms" ? "" : ", the page's thread"}`, here);
    if (there) console.log(`    ${median(here.map((ms, run) => ms / there[run])).toFixed(3)} of the other page's, median of ${RUNS} pairs; the other's median ${median(there).toFixed(0)}, least ${Math.min(...here).toFixed(0)} and ${Math.min(...there).toFixed(0)}`);
  }
}

const servers = [server];
if (AGAINST) {
  await server.stop(); // two servers do not share a database
  const copy = mkdtempSync(path.join(os.tmpdir(), "smfleet-log-"));
  process.on("exit", () => rmSync(copy, { recursive: true }));
  cpSync(folder, copy, { recursive: true });
  await server.start();
  servers.push(await new Server(copy, ["--web-root", path.resolve(AGAINST)]).start());
}
await measure(`log of ${LINES} lines: page opened at any line`, servers, true);
await measure("  with an empty cache", servers, false);
if (AGAINST) {
  await browser.close();
  for (const one of servers) await one.stop();
  process.exit(0);
}

const { page } = await pageFor(server);
const shown = (line) => page.evaluate((n) => window.shown(n), line);
await page.goto(`${server.url}/jobs/big/logs?stream=algo-1`);
await page.locator(".line").first().waitFor();
const jumped = [];
for (let i = 0; i < RUNS; i++) {
  const line = anyLine(i + 100);
  const began = await page.evaluate((n) => {
    const input = document.querySelector(".goto input");
    input.value = String(n);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    const now = performance.now();
    input.form.requestSubmit();
    return now;
  }, line);
  jumped.push((await shown(line)) - began);
}
row("  from there to any other line", jumped);

const dragged = [];
for (let i = 0; i < RUNS; i++) {
  dragged.push(
    await page.evaluate(
      (share) =>
        new Promise((resolve) => {
          const list = document.querySelector(".lines");
          const began = performance.now();
          list.scrollTop = share * list.scrollHeight;
          const look = () => {
            const box = list.getBoundingClientRect();
            const rows = [...list.querySelectorAll(".line")].filter((one) => {
              const at = one.getBoundingClientRect();
              return at.bottom > box.top && at.top < box.bottom;
            });
            const isDone = rows.length > 10 && rows.every((one) => one.querySelector(".text").textContent !== "");
            if (isDone) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
            else requestAnimationFrame(look);
          };
          requestAnimationFrame(look);
        }),
      anyLine(i + 200) / LINES,
    ),
  );
}
row("  the scroll bar's thumb moved anywhere", dragged);

const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
console.log(`${"  heap afterwards".padEnd(58)} ${(heap / 1e6).toFixed(1)} MB`);
await browser.close();
await server.stop();
if (!kept) rmSync(folder, { recursive: true });
