// The whole fleet on one screen.
import assert from "node:assert/strict";
import { fitsWidth, losses, shot, test, texts, until, waitUntil } from "./support.mjs";

const ODD = 'a "b"/c %2F 😀 \u202Exyz';

const paced = (count, rateOf) => Array.from({ length: count }, (_, n) => `step: ${n} loss: 2.5 tokens/s: ${(rateOf(n) * (1 + (n % 5) / 1000)).toFixed(3)}`);

async function sendFleet(server) {
  await server.send("slow", paced(136, (n) => (n < 96 ? 1000 : 800)));
  await server.send("steady", paced(96, () => 1000));
  await server.send(ODD, [...losses(0, 30), "step: 30 loss: nan"]);
  await server.post("/api/v1/jobs", { TrainingJobName: "over", ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: 2 } });
  await server.post("/api/v1/jobs/over/transitions", { SecondaryStatus: "Failed", FailureReason: "AlgorithmError: x" });
  await server.put("/api/v1/quotas", { quotas: [{ quota: "instances_per_type", instance_type: "ml.p4d.24xlarge", configured: 16 }] });
  const known = async () => (await server.get("/api/v1/fleet/paces")).body.jobs.find((one) => one.percent_of_usual < 90);
  await waitUntil(known, "the pace of the slow job");
  await waitUntil(async () => (await server.get("/api/v1/incidents?state=open&kind=non_finite")).body.incidents.length > 0, "the incident");
}

const countOf = (page, state) => page.locator(`.fleet .state.${state} b`).innerText();

for (const [colorScheme, viewport] of [["light", { width: 1440, height: 900 }], ["dark", { width: 360, height: 740 }]]) {
  test(`the fleet on one screen, ${colorScheme}, ${viewport.width} px`, { colorScheme, viewport }, async ({ server, page, open }) => {
    await sendFleet(server);
    await open("/");
    await waitUntil(async () => (await countOf(page, "running")) === "3", "the jobs that run");
    assert.deepEqual([await countOf(page, "failed"), await countOf(page, "completed")], ["1", "0"]);
    const [slow, steady] = await texts(page, ".fleet .paces li");
    assert.match(slow, /^slow .*−(19|20|21) %$/);
    assert.match(steady, /^steady .*[\d.]+ %$/);
    assert.ok((await texts(page, ".fleet .incidents li")).some((row) => row.includes("non-finite value")));
    assert.equal(await page.locator(".fleet .incidents li a[href*='%2520'], .fleet .incidents li a[href*='%2F']").count() > 0, true);
    assert.ok((await texts(page, ".fleet .quotas li"))[0].includes("/ 16"));
    assert.match(await page.locator(".fleet .ingest").innerText(), /disk left\s+[\d.]+ \wB/);
    assert.ok(await fitsWidth(page));
    await shot(page, `fleet-${colorScheme}-${viewport.width}`);
    await page.click(".fleet .state.failed");
    await until(page, () => location.pathname + location.search === "/jobs?q=status%3Afailed" && document.querySelectorAll("[data-name]").length === 1, "the failed one");
  });
}

test("costs without a price say of how many types, and where to set it", { server: ["--goodput-every", "100ms"] }, async ({ server, page, open }) => {
  for (const [name, type] of [["a", "ml.odd.large"], ["b", "ml.odd.xlarge"], ["c", "ml.known.large"]]) {
    await server.post("/api/v1/jobs", { TrainingJobName: name, ResourceConfig: { InstanceType: type, InstanceCount: 2 } });
    for (const [status, ago] of [["Training", 7200], ["Completed", 3600]])
      await server.post(`/api/v1/jobs/${name}/transitions`, { SecondaryStatus: status, time_ms: Date.now() - ago * 1000 });
  }
  await server.put("/api/v1/prices", { currency: "EUR", prices: [{ instance: "ml.known.large", per_hour: 10 }] });
  const unpriced = async () => (await server.get("/api/v1/fleet")).body.unpriced_types.length === 2;
  await waitUntil(unpriced, "the two types without a price");
  await open("/");
  const link = page.locator(".fleet a", { hasText: "no price for 2 types" });
  await link.waitFor();
  assert.deepEqual((await link.getAttribute("title")).split(", ").sort(), ["ml.odd.large", "ml.odd.xlarge"]);
  // What is known is a sum in its currency: an hour of two nodes at 10.
  await until(page, () => [...document.querySelectorAll(".fleet dl > div")].some((one) => /^cost in 30 days\s+20\.00 EUR$/.test(one.innerText)), "the cost");
  await link.click();
  await page.locator("#prices h2, #prices h3").first().waitFor();
});

test("silent jobs by age, and nothing is asked while hidden", { server: ["--silent-after", "1s"] }, async ({ server, page, open }) => {
  await server.send("quiet-a", losses(0, 5));
  await server.send("quiet-b", losses(0, 5));
  await waitUntil(async () => (await server.get("/api/v1/fleet")).body.jobs.silent === 2, "their silence");
  await open("/");
  await waitUntil(async () => (await texts(page, ".fleet .quiet li .jobname")).join() === "quiet-a,quiet-b", "the silent jobs");
  await page.click(".fleet .quiet header a");
  await until(page, () => document.querySelectorAll("[data-name]").length === 2, "them in the list");
});

test("a fleet without jobs teaches, and an old address of a search leads to the list", async ({ server, page, open }) => {
  await open("/");
  await until(page, () => document.querySelector(".empty")?.innerText.includes("curl"), "the three ways");
  await server.send("first", losses(0, 5));
  await until(page, () => document.querySelector(".fleet .state.running b")?.innerText === "1", "the first job, by itself");
  await open("/?q=name%3Dfirst&sort=-created");
  await until(page, () => location.pathname === "/jobs" && document.querySelectorAll("[data-name]").length === 1, "the list");
});

test("the address that MLflow's client prints leads to the run's job", async ({ server, page, open }) => {
  const runs = [];
  for (const name of ["first", "second"]) runs.push((await server.post("/api/2.0/mlflow/runs/create", { experiment_id: "0", run_name: name })).run.info.run_id);
  await open(`/#/experiments/0/runs/${runs[1]}`);
  await until(page, () => location.pathname === "/jobs" && document.querySelectorAll("[data-name]").length === 1, "the job of the run");
  assert.equal(await page.locator("[data-name]").getAttribute("data-name"), "Default/second");
});
