// What happened since one last looked, on one page.
import assert from "node:assert/strict";
import { fitsWidth, losses, shot, test, texts, until, waitUntil } from "./support.mjs";
import { ALL, faults } from "./walk.mjs";

const HOUR_MS = 3_600_000;

async function sendNight(server) {
  const now = Date.now();
  const tell = (job, SecondaryStatus, hours, more = {}) => server.post(`/api/v1/jobs/${job}/transitions`, { SecondaryStatus, time_ms: now - hours * HOUR_MS, ...more });
  for (const [job, hours, end, more] of [["old", 90, "Completed", {}], ["good", 20, "Completed", {}], ["broken", 7, "Failed", { FailureReason: "AlgorithmError: NCCL timeout on rank 17" }]]) {
    await server.post("/api/v1/jobs", { TrainingJobName: job });
    await tell(job, "Training", hours);
    await tell(job, end, hours - 6, more);
  }
  await server.send("llama", [...losses(0, 300), "step: 300 loss: nan"]);
  await waitUntil(async () => (await server.get("/api/v1/report")).body.incidents.critical > 0, "the NaN's incident");
  await waitUntil(async () => (await server.get("/api/v1/report")).body.running.jobs.some((job) => "loss.best" in job.fields), "its best loss");
}

const rows = (page, part) => texts(page, `.report section[aria-label="${part}"] tbody th a`);

test("a report says what failed, ended, runs and broke off; once it is read the next one begins there", async ({ server, page, open }) => {
  await sendNight(server);
  await open("/");
  await page.getByRole("link", { name: "Report", exact: true }).click();
  await until(page, () => document.querySelector(".report .sum")?.innerText.includes("1 job failed"), "the sum");
  assert.match(await page.locator(".report .sum").innerText(), /2 critical incidents · 1 job failed · 0 jobs ended · 2 jobs started/);
  assert.deepEqual(await rows(page, "Failed"), ["broken"]);
  assert.match((await texts(page, ".report .why"))[0], /NCCL timeout on rank 17/);
  assert.match((await texts(page, '.report section[aria-label="Running"] tbody tr'))[0], /llama 300 NaN 2\.\d+ @ 2\d\d/);
  await page.getByRole("button", { name: "24 hours" }).click();
  await until(page, () => document.querySelector('.report section[aria-label="Ended"] tbody')?.innerText.includes("good"), "what ended yesterday");
  assert.match((await texts(page, '.report section[aria-label="Ended"] tbody tr'))[0], /good 14 h 6 h/); // ended, duration
  assert.match(page.url(), /hours=24/);
  await page.getByRole("button", { name: "since I last looked" }).click();
  await until(page, () => document.querySelector(".report .sum")?.innerText.includes("0 jobs ended"), "twelve hours again");
  await page.getByRole("button", { name: "Mark as read" }).click();
  await until(page, () => document.querySelector(".report .sum")?.innerText.includes("0 jobs failed · 0 jobs ended · 0 jobs started"), "an empty report");
  await page.reload();
  await until(page, () => document.querySelector(".report .sum")?.innerText.startsWith("0 critical incidents · 0 jobs failed"), "that it is kept");
  assert.deepEqual(await rows(page, "Running"), ["llama"]); // what runs is no news, and there all the same
});

test("an address may state both ends of the time, and which jobs: the page says so, and takes it away", async ({ server, page, open }) => {
  await sendNight(server);
  const now = Date.now();
  const sum = (text) => until(page, (want) => document.querySelector(".report .sum")?.innerText.includes(want), text, text);
  await open(`/report?hours=12&from_ms=${now - 21 * HOUR_MS}&to_ms=${now - 5 * HOUR_MS}&q=name%3Dgood`);
  await sum("0 jobs failed · 1 job ended · 1 job started");
  assert.deepEqual(await rows(page, "Ended"), ["good"]);
  assert.match(await page.locator(".report .sum").innerText(), /node-hours lost, of all jobs/);
  assert.equal(await page.locator(".report .viewhead code").innerText(), "name=good");
  assert.equal(await page.locator('.report .segments [aria-pressed="true"]').count(), 0);
  await page.getByRole("button", { name: "Take the query away" }).click();
  await sum("0 jobs failed · 1 job ended · 2 jobs started");
  assert.equal(await page.locator(".report .viewhead code").count(), 0);
  await page.getByRole("button", { name: "12 hours" }).click();
  await sum("1 job failed · 0 jobs ended");
  assert.doesNotMatch(page.url(), /_ms=/);
});

test("what came late is in the next report, with both times; hours that are none are said", async ({ server, page, open }) => {
  const tell = (SecondaryStatus, minutes, more = {}) => server.post("/api/v1/jobs/cut-off/transitions", { SecondaryStatus, time_ms: Date.now() - minutes * 60_000, ...more });
  await server.post("/api/v1/jobs", { TrainingJobName: "cut-off" });
  await tell("Training", 50);
  await open("/report?hours=9999999");
  await until(page, () => document.querySelector(".report .sum")?.innerText.includes("1 job started"), "the usual report");
  assert.match(await page.locator(".report .wrong").innerText(), /9999999.* is no number of hours from 1 to 87,?600/);
  assert.equal(await page.locator('.report .segments [aria-pressed="true"]').innerText(), "since I last looked");
  await page.getByRole("button", { name: "Mark as read" }).click();
  await until(page, () => document.querySelector(".report .sum")?.innerText.includes("0 jobs failed · 0 jobs ended · 0 jobs started"), "an empty report");
  await tell("Failed", 5, { FailureReason: "AlgorithmError: NCCL timeout" });
  await open("/report");
  await until(page, () => document.querySelector(".report .sum")?.innerText.includes("1 job failed"), "what came late");
  assert.equal(await page.locator(".report .wrong").count(), 0);
  assert.match((await texts(page, '.report section[aria-label="Failed"] tbody tr'))[0], /5 min.* came late \d+ s/);
  assert.match(await page.locator('.report section[aria-label="Failed"] .late').getAttribute("title"), /before this report's time, and the server learned of it at \d{4}-/);
  assert.match((await texts(page, '.report section[aria-label="Incidents"] li'))[0], /came late/);
});

for (const [name, look] of [["desktop-light", {}], ["desktop-dark", { colorScheme: "dark" }], ["phone-light", { viewport: { width: 390, height: 844 } }], ["phone-dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark", locale: "zh-CN" }]])
  test(`the report, ${name}: nothing for axe, nothing out of the window`, look, async ({ server, page, open }) => {
    await sendNight(server);
    await open("/report?hours=24");
    await until(page, () => document.querySelectorAll(".report tbody tr").length > 3, "its rows");
    assert.ok(await fitsWidth(page));
    await page.locator(".connection.live").waitFor();
    assert.deepEqual(await faults(page, ALL), []);
    await shot(page, `report-${name}`);
  });
