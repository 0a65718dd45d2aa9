// A log of ten million lines: how long until any line of it is on the screen. Medians, in headless Chromium.
//
//   node tests/bench/page/log_open.mjs [--lines N] [--keep FOLDER]      SM_BUILD_DIR=build/rel, SM_WEB_ROOT=web/dist
//
// With --keep the database stays in the folder, and is used again when it has the lines: to make a GB of log takes minutes.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
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
const RUNS = 15;
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
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });

/** From now until the line's row with its text is painted. */
const shown = (line) =>
  page.evaluate(
    (n) =>
      new Promise((resolve) => {
        const look = () => {
          const text = document.querySelector(`#L${n} .text`)?.textContent ?? "";
          // Two frames on it was painted.
          if (text.includes("step=") || text.includes("ERROR")) requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
          else requestAnimationFrame(look);
        };
        look();
      }),
    line,
  );
const anyLine = (i) => Math.floor(((i * 0.618033988749895 + 0.1) % 1) * LINES);

const loaded = [];
for (let i = 0; i < RUNS; i++) {
  const line = anyLine(i);
  await page.goto(`${server.url}/jobs/big/logs?stream=algo-1#L${line}`, { waitUntil: "commit" });
  loaded.push(await shown(line)); // performance.now() counts from the navigation
  await page.goto("about:blank");
}
row(`log of ${LINES} lines: page opened at any line`, loaded);

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
