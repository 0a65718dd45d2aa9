// Warm pools: the table and its lanes, filters by address, and which field keeps a job from a pool.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until } from "./support.mjs";

const MINUTE_MS = 60_000;

const document_ = (name, keepAlive, count = 4) => ({
  TrainingJobName: name,
  RoleArn: "arn:aws:iam::123456789012:role/r",
  ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: count, VolumeSizeInGB: 50, ...(keepAlive && { KeepAlivePeriodInSeconds: keepAlive }) },
});

async function move(server, name, SecondaryStatus, time_ms) {
  await server.post(`/api/v1/jobs/${encodeURIComponent(name)}/transitions`, { SecondaryStatus, time_ms });
}

/** A job told afterwards: begins, trains after its start-up, ends. */
async function runJob(server, name, begunMs, startupSeconds, minutes, keepAlive) {
  await server.post("/api/v1/jobs", document_(name, keepAlive));
  await move(server, name, "Starting", begunMs);
  await move(server, name, "Training", begunMs + startupSeconds * 1000);
  await move(server, name, "Completed", begunMs + minutes * MINUTE_MS);
}

/** A pool that two jobs had and that waits, and one in use. */
async function sendChain(server) {
  const now = Date.now();
  await runJob(server, "first", now - 60 * MINUTE_MS, 480, 20, 1800);
  await runJob(server, "<b>second", now - 35 * MINUTE_MS, 30, 15, 3600);
  await server.post("/api/v1/jobs", document_("other", 600, 9));
  await move(server, "other", "Training", now - MINUTE_MS);
}

async function openPools(page, open, search = "") {
  await open(`/pools${search}`);
  await page.locator("table.pools .lane > *").first().waitFor();
}

test("without pools it says how one comes about", async ({ page, open }) => {
  await open("/pools");
  await until(page, () => document.querySelector(".empty")?.innerText.includes("KeepAlivePeriodInSeconds"), "what to do");
});

test("pools, their jobs and their time", async ({ server, page, open }) => {
  await sendChain(server);
  await open("/jobs/first");
  await page.click(".jobhead a[href='/pools?job=first']");
  await page.locator("table.pools .chosen .lane > *").first().waitFor();
  const rows = await texts(page, "table.pools tbody");
  assert.equal(rows.length, 2);
  assert.ok(rows[0].includes("in use 9 × p4d.24xlarge"), rows[0]);
  for (const words of ["available 4 × p4d.24xlarge", "7 min 30 s", "first <b>second"]) assert.ok(rows[1].includes(words), rows[1]);
  assert.equal(await page.locator("table.pools b").count(), 0);
  const kinds = await page.$$eval(".chosen .lane > *", (all) => all.map((one) => one.className));
  assert.deepEqual(kinds, ["job", "wait", "job", "wait", "left"]);
  // 4 machines that wait, at 3 an hour each
  assert.ok(rows[1].includes("set its price"), rows[1]);
  await server.put("/api/v1/prices", { currency: "USD", prices: [{ instance: "ml.p4d.24xlarge", per_hour: 3, from: "2025-01-01", source: "list" }] });
  await page.reload();
  await until(page, () => /\d\.\d\d USD · ≈ 12 an hour/.test(document.querySelector(".chosen")?.innerText), "the cost of waiting");
  const before = await page.locator(".chosen span.left").first().innerText();
  await until(page, (text) => document.querySelector(".chosen span.left").innerText !== text, "the countdown to move", before);
  await shot(page, "pools");
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await fitsWidth(page));
  await shot(page, "pools-phone");
});

test("states by address", async ({ server, page, open, allow }) => {
  allow(/4(00|22)/);
  await sendChain(server);
  await openPools(page, open);
  await page.click(".viewhead button:text-is('available')");
  await until(page, () => location.search === "?state=available" && document.querySelectorAll("table.pools tbody").length === 1, "the one that waits");
  await open("/pools?state=terminated");
  await until(page, () => document.querySelector(".empty")?.innerText.includes("No pool is terminated"), "that there is none");
  await open("/pools?state=sleeping");
  await until(page, () => document.querySelector(".problem")?.innerText.includes("sleeping"), "the server's word on a wrong state");
});

test("would my job match?", async ({ server, page, open, allow }) => {
  allow(/4(00|22)/);
  await sendChain(server);
  await openPools(page, open, "?match=1");
  const ask = async (text) => {
    await page.fill("#matchdoc", text);
    await page.click(".poolmatch button[type=submit]");
  };
  const says = (pattern) =>
    until(page, (source) => new RegExp(source).test(document.querySelector(".poolmatch .said")?.innerText), `${pattern}`, pattern.source);
  await ask(JSON.stringify(document_("next")));
  await says(/start on pool \d+, which <b>second left/);
  await ask(JSON.stringify(document_("next", undefined, 5)));
  await says(/ResourceConfig\.InstanceCount/);
  assert.deepEqual(await texts(page, ".poolmatch tbody td"), ["ResourceConfig.InstanceCount", "5", "4"]);
  await shot(page, "pools-match");
  await ask("{}");
  await says(/InstanceType and InstanceCount/);
  await ask("{");
  await says(/not JSON/);
});
