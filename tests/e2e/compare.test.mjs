// Jobs side by side: marked in the list, drawn over each other, read off under the cursor.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { shot, test, texts, until, waitUntil } from "./support.mjs";

const SPIKED = "a, <b>spiked";

/** Two trainers, two names of the loss; one of them has a single point far above its neighbours. */
async function sendJobs(server) {
  for (const [job, metric, start] of [["calm", "loss", 4], [SPIKED, "lm loss", 8]]) {
    const step = Array.from({ length: 5000 }, (_, n) => n);
    const value = step.map((n) => (job === SPIKED && n === 3111 ? 90 : start / (1 + n / 1000)));
    await server.post(`/api/v1/points?job=${encodeURIComponent(job)}`, { series: [{ metric, stream: "algo-1", step, value }] });
    await server.waitForPoints(job, metric, 5000);
  }
  await server.send("mute", ["nothing to see"]);
  for (const [job, rate] of [["calm", "1e-4"], [SPIKED, "<i>3e-4"]]) {
    await server.patch(`/api/v1/jobs/${encodeURIComponent(job)}`, { Tags: [{ Key: "rate", Value: rate }, { Key: "team", Value: "nlp" }] });
  }
}

/** Pixels above the middle of the plot in the colour of the first job. */
const pixelsAbove = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".compare canvas");
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(Math.round(width * 0.1), 0, Math.round(width * 0.85), Math.round(height / 2));
    const hue = getComputedStyle(document.querySelector(".compared .swatch line")).stroke.match(/\d+/g).map(Number);
    let near = 0;
    for (let i = 0; i < data.length; i += 4) near += Math.max(...hue.map((c, k) => Math.abs(c - data[i + k]))) < 48;
    return near;
  });

test("marked jobs are compared", async ({ server, page, open }) => {
  await sendJobs(server);
  await open("/jobs");
  await until(page, () => document.querySelectorAll("table.jobs tbody tr").length === 3, "three jobs");
  for (const name of [SPIKED, "calm"]) {
    await page.focus(`tr[data-name=${JSON.stringify(name)}]`);
    await page.keyboard.press("x");
  }
  await until(page, () => document.querySelector(".bulk [role=status]")?.innerText === "2 selected", "two marked");
  await page.click(".bulk a");
  await until(page, () => document.querySelector(".compare .kept")?.innerText.includes("10,000 points, nothing hidden"), "both curves");
  await until(page, () => document.querySelector("table.compared tbody tr")?.innerText.includes("lm loss"), "the rows' figures");
  const rows = await texts(page, "table.compared tbody tr");
  assert.equal(rows.length, 2);
  assert.ok(rows[0].startsWith(SPIKED) && rows[1].startsWith("calm"), rows.join("\n"));
  assert.equal(await page.locator("table.compared b").count(), 0);
  // the spike is one point of 5000, and is drawn: the axis reaches it, and its colour stands above half of the plot
  await waitUntil(async () => (await pixelsAbove(page)) > 20, "the spike in the plot");
  await shot(page, "compare");
  const settings = () => texts(page, ".differences tbody tr");
  await waitUntil(async () => (await settings()).includes("tag.rate <i>3e-4 1e-4"), "what differs");
  assert.ok(!(await settings()).some((row) => row.includes("tag.team")), "what is the same");
  await page.click(".differences button");
  await waitUntil(async () => (await settings()).includes("tag.team nlp nlp"), "what is the same, on request");
  const box = await page.locator(".compare .u-over").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 10);
  await until(page, () => document.querySelector(".compared th.at").innerText.startsWith("step 2,"), "the step under the cursor");
});

test("a new point is drawn as it comes, along every axis, and what is drawn is saved", async ({ server, page, open }) => {
  await sendJobs(server);
  const kept = (text) => until(page, (words) => document.querySelector(".compare .kept")?.innerText.includes(words), text, text);
  const send = (job, metric, step) => server.post(`/api/v1/points?job=${encodeURIComponent(job)}`, { series: [{ metric, stream: "algo-1", step: [step], value: [2] }] });
  let points = 10_000;
  for (const axis of ["step", "time", "relative", "rstep"]) {
    await open(`/compare?jobs=calm,${encodeURIComponent(SPIKED.replaceAll(",", "%2C"))}&x=${axis}`);
    await kept(`${points.toLocaleString("en-US")} points`);
    await send("calm", "loss", points);
    await send(SPIKED, "lm loss", points);
    points += 2;
    await kept(`${points.toLocaleString("en-US")} points`);
  }
  const download = page.waitForEvent("download");
  await page.locator(".compare .underplot button", { hasText: "CSV" }).click();
  const rows = readFileSync(await (await download).path(), "utf8").trimEnd().split("\r\n");
  assert.equal(rows[0], "job,metric,x,count,non_finite,min,max,mean");
  assert.ok(rows.some((row) => row.startsWith('"a, <b>spiked",')) && rows.some((row) => row.startsWith("calm,")));
  const counted = rows.slice(1).reduce((sum, row) => sum + Number(row.split(",").at(-5)), 0);
  assert.equal(counted, points, "every point is in a bucket that was saved");
});

test("an axis that a job does not have leaves it out", async ({ server, page, open }) => {
  const step = Array.from({ length: 100 }, (_, n) => n);
  const loss = step.map((n) => 4 / (1 + n));
  const series = (metric, value) => ({ metric, stream: "algo-1", step, value });
  await server.post("/api/v1/jobs", { TrainingJobName: "counted", HyperParameters: { num_parameters: "1e9" } });
  await server.post("/api/v1/points?job=counted", { series: [series("loss", loss), series("tokens", step.map((n) => n * 1000))] });
  await server.post("/api/v1/points?job=plain", { series: [series("loss", loss)] });
  for (const job of ["counted", "plain"]) await server.waitForPoints(job, "loss", 100);
  await server.waitForPoints("counted", "tokens", 100);
  const kept = (text) => until(page, (words) => document.querySelector(".compare .kept")?.innerText === words, text, text);
  await open("/compare?jobs=counted,plain");
  await kept("200 points");
  await page.getByRole("button", { name: "tokens" }).click();
  await kept("100 points");
  const leftOut = (why) => until(page, (text) => document.querySelector("p.missing")?.innerText === text, why, why);
  await leftOut("Left out: job 'plain' counts no tokens: none of its metrics is a count of them that rises");
  await page.getByRole("button", { name: "FLOPs" }).click();
  await until(page, () => location.search.includes("x=flops"), "the axis in the address");
  await kept("100 points");
  await page.getByRole("button", { name: "step", exact: true }).click();
  await kept("200 points");
  await until(page, () => !document.querySelector("p.missing"), "that nobody is left out");
  await open("/jobs/counted");
  await until(page, (text) => [...document.querySelectorAll(".toolbar .segments button")].map((one) => one.innerText).join(" ").includes(text), "both axes of work", "tokens FLOPs");
  await page.getByRole("button", { name: "FLOPs" }).click();
  await until(page, () => location.search === "?x=flops" && document.querySelectorAll(".chart canvas").length > 0, "charts by FLOPs");
  await shot(page, "job-by-flops");
  await open("/jobs/plain");
  await until(page, () => document.querySelectorAll(".toolbar .segments button").length > 2, "its axes");
  assert.equal(await page.getByRole("button", { name: "tokens" }).count(), 0, "what it does not count is not offered");
  await open("/jobs/plain?x=flops");
  await until(page, () => location.search === "" && document.querySelectorAll(".chart canvas").length > 0, "its steps, which are not called FLOPs");
});

test("what is not there is said", async ({ server, page, open, allow }) => {
  allow(/404/);
  await sendJobs(server);
  await open("/compare?jobs=calm,nobody,mute");
  await until(page, () => document.querySelector(".missing")?.innerText.includes("“nobody”"), "the name without a job");
  await until(page, () => document.querySelector(".compare select")?.innerText.includes("1 of 2"), "that only one has it");
  await page.click(".missing button");
  await until(page, () => decodeURIComponent(location.search) === "?jobs=calm,mute" && !document.querySelector(".missing"), "the rest");
  await open("/compare");
  await until(page, () => document.querySelector(".empty")?.innerText.includes("Nothing is chosen"), "how to choose");
  await page.setViewportSize({ width: 390, height: 844 });
  await open("/compare?jobs=calm,mute");
  await until(page, () => document.querySelectorAll("table.compared tbody tr").length === 2, "both on a phone");
  await shot(page, "compare-phone");
});
