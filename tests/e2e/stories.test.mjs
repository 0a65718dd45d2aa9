// Ten things that people come for, over the demonstration's fleet, each from where one begins to where one has it; by keys alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { coloured, ROOT, shot, test, texts, until, waitUntil } from "./support.mjs";

const CRASHED = "llama-13b-sft-lr8e-5";
const FINE = "llama-13b-sft-lr5e-5";
const DIVERGED = "moe-16x1b-lr-sweep-7";
const SPIKED = "llama-7b-pretrain-0412";
const STRAGGLING = "titan-8b-fsdp";

const chosen = (page, what) => until(page, (words) => document.querySelector(".line.chosen")?.innerText.includes(words), `the line that says ${what}`, what);
const curve = (page, where) => waitUntil(() => coloured(page, where), "a curve");
const goes = (page, keys) => keys.split(" ").reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
/** The keys work from when they are there. */
const ready = (page) => page.locator(".connection.live").waitFor();

const STORIES = {
  "what is wrong now: from the fleet to the line that says so": async ({ page, open }) => {
    await open("/");
    await page.locator('.fleet .incidents li:has-text("known error in the log") a[href*="olmo-"]').first().press("Enter");
    await page.waitForURL(/\/jobs\/olmo-.*incident=/);
    await page.locator(".chart canvas").first().waitFor(); // its hue is a grey
    await chosen(page, "NCCL");
  },
  "what failed first: over all nodes of a job that died": async ({ page, open }) => {
    await open(`/jobs/${CRASHED}/logs`);
    await page.locator(".line").first().waitFor();
    await ready(page);
    await goes(page, "w");
    await chosen(page, "NCCL");
    assert.match(await page.innerText(".errorgroups header b"), /\d+ messages? · \d+ lines?/);
  },
  "which run is better, and what was different": async ({ page, open }) => {
    await open("/jobs?q=name~13b&sort=loss.best");
    await until(page, () => document.querySelectorAll("table.jobs tbody tr").length === 2, "both jobs");
    assert.match((await texts(page, "table.jobs tbody tr"))[0], new RegExp(FINE), "the better one is first");
    for (const name of [FINE, CRASHED]) {
      await page.focus(`tr[data-name="${name}"]`);
      await goes(page, "x");
    }
    await page.locator(".bulk a").first().press("Enter");
    await curve(page, ".compare canvas");
    await waitUntil(async () => /^hp\.lr 5e-05 8e-05$/.test((await texts(page, ".differences tbody tr"))[0] ?? ""), "the learning rates, above all else that differs");
  },
  "from a point of a curve to its line, and from a value to its curve": async ({ page, open }) => {
    await open(`/jobs/${SPIKED}`);
    await curve(page);
    await page.locator(".chart .canvas").first().focus();
    await goes(page, "Home ArrowRight");
    await until(page, () => /step/.test(document.querySelector(".chart [aria-live]")?.textContent ?? ""), "a value that is read out");
    await goes(page, "Enter");
    await chosen(page, "lm loss");
  },
  "which machine is slow": async ({ server, page, open }) => {
    const { incidents } = (await server.get("/api/v1/incidents?kind=straggler")).body;
    const slow = incidents[0].stream ?? incidents[0].streams[0];
    await open(`/jobs/${STRAGGLING}/nodes`);
    await until(page, (stream) => document.querySelector("main").innerText.includes(stream), "the slow machine", slow);
    await open(`/incidents?kind=straggler`);
    await page.locator("table.incidents tbody tr a").first().press("Enter");
    await until(page, (stream) => document.querySelector(".alertdetail")?.innerText.includes(stream), "whose it is", slow);
  },
  "what idle pools cost, once prices are set": async ({ server, page, open }) => {
    await open("/pools");
    await page.locator("table.pools .lane > *").first().waitFor();
    await server.put("/api/v1/prices", { currency: "USD", prices: ["ml.g5.12xlarge", "ml.p4d.24xlarge"].map((instance) => ({ instance, per_hour: 10, from: "2025-01-01", source: "list" })) });
    await open("/pools");
    await until(page, () => /USD|\$/.test(document.querySelector("table.pools")?.innerText ?? ""), "the cost");
  },
  "several metrics of many runs side by side, kept for the team": async ({ page, open }) => {
    await open("/");
    await ready(page);
    await goes(page, "g w");
    await page.locator(".templates button").first().press("Enter");
    await curve(page, ".panel canvas");
    await goes(page, "Control+s");
    await page.getByLabel("Name", { exact: false }).last().fill("morning");
    await goes(page, "Enter");
    await page.waitForURL(/name=morning/);
    await open("/workspace?name=morning");
    await curve(page, ".panel canvas");
  },
  "curves of a log that nothing reads yet": async ({ server, page, open }) => {
    await server.send("homemade", Array.from({ length: 200 }, (_, n) => `it=${n} objective<${(5 - n / 50).toFixed(4)}>`));
    await open("/jobs/homemade");
    await page.locator(".shapes li button:text-is('Use')").first().press("Enter");
    await curve(page);
  },
  "whether a failed job is to be started again, and how": async ({ page, open }) => {
    await open(`/jobs/${CRASHED}`);
    await page.getByRole("button", { name: "Restart…" }).waitFor();
    await goes(page, "Shift+R");
    await until(page, () => /restart is due/i.test(document.querySelector("dialog.restart")?.innerText ?? ""), "the server's word");
    await page.locator("dialog.restart .copyline").first().waitFor();
  },
  "what the night was": async ({ page, open }) => {
    await open("/");
    await ready(page);
    await goes(page, "g r");
    await until(page, () => document.querySelector(".report .sum")?.innerText.includes("2 jobs failed"), "the sum");
    assert.deepEqual((await texts(page, '.report section[aria-label="Failed"] tbody th a')).sort(), [CRASHED, DIVERGED]);
    await page.getByRole("button", { name: "Mark as read" }).press("Enter");
    await until(page, () => document.querySelector(".report .sum")?.innerText.includes("0 jobs failed"), "that it is read");
  },
};

/** The last twenty minutes of ten jobs; it goes on by itself. */
async function startDemo(server) {
  const demo = spawn("/usr/bin/python3", [path.join(ROOT, "deploy/demo.py"), "--url", server.url], { stdio: "ignore" });
  const kinds = async () => new Set((await server.get("/api/v1/incidents?limit=1000")).body.incidents.map((one) => `${one.kind} ${one.job}`));
  const wanted = [`straggler ${STRAGGLING}`, "log_signature olmo-1b-tied", `job_failed ${CRASHED}`, `non_finite ${DIVERGED}`, `loss_spike ${SPIKED}`];
  await waitUntil(async () => { const known = await kinds(); return wanted.every((one) => known.has(one)); }, "what the demo tells of");
  const ranked = async () => (await server.get("/api/v1/jobs?q=name~13b&sort=loss.best")).body.jobs.map((job) => job.TrainingJobName);
  await waitUntil(async () => (await ranked())[0] === FINE, "which of two runs is better");
  return demo;
}

test("ten stories over the demonstration's fleet", async ({ server, open, page }) => {
  const demo = await startDemo(server);
  const failed = [];
  for (const [name, story] of Object.entries(STORIES)) {
    await story({ server, page, open }).catch((error) => failed.push(`${name}: ${error.message}`));
    await shot(page, `story-${name.split(":")[0].replace(/\W+/g, "-")}`);
  }
  demo.kill();
  assert.deepEqual(failed, []);
});
