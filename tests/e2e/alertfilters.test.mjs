// Incidents by time, kind, severity and team; why a job failed, with its last lines; what is critical stands first.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";

async function sendAll(server) {
  const fail = async (job, team) => {
    await server.post("/api/v1/jobs", { TrainingJobName: job, Tags: [{ Key: "team", Value: team }] });
    await server.send(job, ["step: 1 loss: 2.5", "[rank5]:[E ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)", "bye"]);
    await server.post(`/api/v1/jobs/${job}/transitions`, { SecondaryStatus: "Failed", FailureReason: "AlgorithmError: exit code 1" });
  };
  await fail("lost", "nlp");
  await fail("other", "vision");
  await waitUntil(async () => (await server.get("/api/v1/incidents?kind=job_failed")).body.incidents.length === 2, "two jobs that failed");
}

const rows = (page, count) => until(page, (wanted) => document.querySelectorAll("table.incidents tbody tr").length === wanted, `${count} rows`, count);

test("incidents are filtered, and one says why the job failed", async ({ server, page, open }) => {
  await sendAll(server);
  await open("/incidents");
  await page.waitForSelector("table.incidents tbody tr");
  assert.match((await texts(page, "table.incidents tbody tr"))[0], /\d{4}-\d\d-\d\d \d\d:\d\d/);
  await page.selectOption("select[aria-label=Kind]", "job_failed");
  await rows(page, 2);
  await page.selectOption("select[aria-label=Team]", "nlp");
  await rows(page, 1);
  await page.selectOption("select[aria-label=Severity]", "critical");
  await page.selectOption("select[aria-label='When they opened']", "1h");
  await rows(page, 1);
  assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { kind: "job_failed", team: "nlp", severity: "critical", since: "1h" });
  await page.click("table.incidents tbody a");
  await page.waitForSelector("text=Why it failed");
  await until(page, () => document.querySelector(".alertdetail")?.innerText.includes("AlgorithmError: exit code 1"), "the reason");
  const panel = await page.innerText(".alertdetail");
  assert.match(panel, /nccl_timeout/);
  assert.match(panel, /bye/);
  await shot(page, "alerts-filtered");
  await page.selectOption("select[aria-label=Kind]", "loss_spike");
  await page.waitForSelector("text=No incident is like that");
});

test("incidents on a phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }, async ({ server, page, open }) => {
  await sendAll(server);
  await open("/incidents");
  await page.waitForSelector("table.incidents tbody tr");
  assert.ok(await fitsWidth(page));
  await shot(page, "alerts-phone-dark");
});
