// Charts in a real browser: what is zoomed, clicked, read off by keys, put together and shown elsewhere.
import assert from "node:assert/strict";
import { coloured, shot, test, texts, until, waitUntil } from "./support.mjs";

const POINTS = 20_000;
const SPIKE = 13_337;

/** A quiet curve with one point far above it, as lines of a log. */
async function sendSpike(server, job = "llama") {
  const lines = Array.from({ length: POINTS }, (_, n) => `step: ${n} loss: ${n === SPIKE ? 90 : (2 + ((n * 7919) % 100) / 1000).toFixed(4)}`);
  await server.send(job, lines);
  await waitUntil(async () => ((await server.get(`/api/v1/jobs/${job}/metrics`)).body.series ?? []).some((one) => one.count === POINTS), "all points");
}

const kept = (page, text) => until(page, (words) => document.querySelector(".kept")?.innerText.includes(words), text, text);

/** How many pixels of the lead chart are in colour in its upper half, where nothing but the spike is. */
const spikePixels = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".chart canvas");
    const { data } = canvas.getContext("2d").getImageData(canvas.width * 0.08, canvas.height * 0.1, canvas.width * 0.9, canvas.height * 0.4);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) count += data[i + 3] > 60 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 40;
    return count;
  });

for (const colorScheme of ["light", "dark"]) {
  test(`one point is seen at every zoom: ${colorScheme}`, { colorScheme }, async ({ server, page, open }) => {
    await sendSpike(server);
    await open("/jobs/llama");
    await kept(page, "nothing hidden");
    for (const width of [POINTS, 5000, 800, 60]) {
      if (width < POINTS) {
        await open(`/jobs/llama?from=${SPIKE - width / 2}&to=${SPIKE + width / 2}`);
        await until(page, () => document.querySelector(".kept")?.innerText.includes("point"), `a window of ${width}`);
      }
      await waitUntil(async () => (await spikePixels(page)) > 10, `the spike in a window of ${width}`);
    }
    await shot(page, `charts-spike-${colorScheme}`);
  });
}

test("zoom by drag and keys; Back undoes, 0 resets, a click opens the line", async ({ server, page, open }) => {
  await sendSpike(server);
  await open("/jobs/llama");
  await kept(page, "nothing hidden");
  const over = page.locator(".chart .u-over").first();
  const box = await over.boundingBox();
  const window = async () => new URL(page.url()).searchParams.get("from");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 50, { steps: 4 });
  await page.mouse.up();
  await waitUntil(window, "a window by a drag");
  await page.goBack();
  await waitUntil(async () => (await window()) === null, "Back undoes");
  await page.locator(".chart .canvas").first().focus();
  await page.keyboard.press("+");
  await waitUntil(window, "a window by a key, too");
  await page.keyboard.press("0");
  await waitUntil(async () => (await window()) === null, "0 resets");
  await page.locator(".chart .canvas").first().focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await until(page, () => /step/.test(document.querySelector(".chart [aria-live]")?.textContent ?? ""), "a value that is read out");
  await page.keyboard.press("Enter");
  await waitUntil(() => new URL(page.url()).searchParams.has("line"), "the line of the point");
  await page.keyboard.press("+");
  await waitUntil(window, "a window by a key");
});

test("the wheel zooms with Alt, about the place under it", async ({ server, page, open }) => {
  await sendSpike(server);
  await open("/jobs/llama");
  await kept(page, "nothing hidden");
  await page.locator(".chartbar [role=toolbar]").waitFor();
  const box = await page.locator(".chart .u-over").first().boundingBox();
  const window = () => ["from", "to"].map((end) => Number(new URL(page.url()).searchParams.get(end)));
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  await page.keyboard.down("Alt");
  // The window is that of the wheel at rest; turns before the page listens are nobody's.
  const turn = async () => (await page.mouse.wheel(0, -240), page.waitForURL(/from=/, { timeout: 1000 }).then(() => true, () => false));
  await waitUntil(turn, "a window by the wheel");
  await page.keyboard.up("Alt");
  const [from, to] = window();
  assert.ok(from > 0 && to < POINTS && to > from, `${from} to ${to}`);
  assert.ok(Math.abs((from + to) / 2 - POINTS / 2) < POINTS / 50, `${from} to ${to} lies about the middle`);
  await page.keyboard.press("0");
  await waitUntil(() => window()[1] === 0, "0 resets");
});

test("many metrics are grouped, searched, and mounted only where one looks", async ({ server, page, open }) => {
  const series = Array.from({ length: 2000 }, (_, i) => ({ metric: `layer.${i}/norm`, stream: `algo-${i % 4}`, step: [1, 2, 3], value: [1, 2, i] }));
  for (let i = 0; i < series.length; i += 1000) await server.post("/api/v1/points?job=wide", { series: series.slice(i, i + 1000) });
  await waitUntil(async () => ((await server.get("/api/v1/jobs/wide/metrics")).body.series ?? []).length === series.length, "all series");
  await open("/jobs/wide");
  await waitUntil(() => coloured(page), "a drawn curve");
  assert.ok((await page.locator(".chart").count()) < 100, "charts out of sight are not there");
  await page.getByLabel("Find a metric").fill("1999");
  await until(page, () => document.querySelectorAll(".chart").length === 1, "the one that is searched for");
  assert.deepEqual(await texts(page, ".chart h2"), ["layer.1999/norm"]);
});

test("a chart's menu: its own look in the address, its picture, its frame", { server: ["--embed-origin", "http://127.0.0.1:1"], token: true }, async ({ server, page, open, openPage, allow }) => {
  allow(/401/);
  await sendSpike(server);
  await open("/");
  await page.getByLabel(/token/i).first().fill(server.token);
  await page.keyboard.press("Enter");
  await until(page, () => !document.querySelector("dialog[open]"), "the sign-in's end");
  await open("/jobs/llama");
  await kept(page, "nothing hidden");
  await page.getByRole("button", { name: /^More of/ }).first().click();
  await page.locator(".chartmenu").getByLabel("clip").check();
  await waitUntil(() => [...new URL(page.url()).searchParams.values()].includes("clip"), "the look in the address");
  await page.getByRole("button", { name: "Copy the address of its picture" }).click();
  const copied = await waitUntil(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    return text.includes("/chart.svg?") && text.includes("sig=") && text;
  }, "the signed address");
  const picture = await server.get(copied.slice(server.url.length), { token: null });
  assert.equal(picture.status, 200);
  assert.match(picture.body, /^<svg /);
  await page.getByRole("button", { name: "Copy the address for a frame" }).click();
  const framed = await waitUntil(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    return text.includes("embed=1") && text;
  }, "the frame's address");
  const stranger = await openPage();
  await stranger.goto(framed);
  await waitUntil(() => coloured(stranger), "the curve without a token");
  assert.equal(await stranger.locator(".frame").count(), 0, "nothing stands around it");
  await shot(stranger, "charts-embed");
});

test("runs are coloured, drawn apart and put together by a setting", async ({ server, page, open }) => {
  for (const [job, lr, level] of [["a", "1e-3", 2], ["b", "1e-3", 3], ["c", "3e-4", 5]]) {
    await server.post("/api/v1/jobs", { TrainingJobName: job, HyperParameters: { lr } });
    await server.post(`/api/v1/points?job=${job}`, { series: [{ metric: "loss", stream: "algo-1", step: [0, 1, 2, 3], value: [level, level, level, level] }] });
    await server.waitForPoints(job, "loss", 4);
  }
  await waitUntil(async () => (await server.get("/api/v1/jobs?q=loss.last%3E0")).body.jobs.length === 3, "the search to know them");
  await open("/compare?q=loss.last%3E0");
  await until(page, () => document.querySelectorAll("table.compared tbody tr").length === 3, "the jobs of the search");
  const key = await until(page, () => [...(document.querySelectorAll(".toolbar select")[1]?.options ?? [])].map((one) => one.value).find((value) => /lr/.test(value)), "what differs");
  await page.getByLabel("group by").selectOption(key);
  await page.getByLabel("Curves of a group").selectOption("mean");
  await until(page, () => /1 run/.test(document.querySelector(".legend")?.innerText ?? "") && /2 runs/.test(document.querySelector(".legend").innerText), "two groups");
  await page.getByLabel("split by").selectOption(key);
  await until(page, () => document.querySelectorAll(".facets .chart").length === 2, "two charts");
  await shot(page, "compare-groups");
  await page.getByLabel("Draw the curve of a").click();
  await waitUntil(() => new URL(page.url()).searchParams.get("off") === "a", "a curve that is hidden, in the address");
});

test("metrics of one family are one chart, with what each comes to and has under the cursor", async ({ server, page, open }) => {
  const GPUS = 8;
  const COUNT = 50;
  const names = Array.from({ length: GPUS }, (_, gpu) => `gpu/${gpu}/util`);
  const rows = Array.from({ length: COUNT }, (_, step) => [{ metric: "loss", step, value: 3 - step / 50 }, ...names.map((metric, gpu) => ({ metric, step, value: 10 * gpu + step / 10, unit: "%" }))]).flat();
  await server.post("/api/v1/points?job=run&stream=s", rows.map((row) => `${JSON.stringify(row)}\n`).join(""), { type: "application/x-ndjson" });
  await server.waitForPoints("run", "gpu/7/util", COUNT, "s");
  await open("/jobs/run");
  const family = page.getByRole("group", { name: "gpu/*/util" });
  await waitUntil(() => coloured(page, ".family canvas"), "the family's curves");
  assert.deepEqual(await texts(page, ".familylist th[scope=row]"), ["0", "1", "2", "3", "4", "5", "6", "7"]);
  assert.deepEqual(await texts(page, ".familylist tbody tr:nth-child(4) td"), ["30", "34.90", "34.90"]);
  assert.equal(await page.locator('figure[aria-label="gpu/3/util"]').count(), 0);
  await family.scrollIntoViewIfNeeded();
  const over = await family.locator(".u-over").boundingBox();
  await page.mouse.move(over.x + over.width / 2, over.y + over.height / 2);
  await family.getByText(/^step 2[45]$/).waitFor();
  const values = await texts(page, ".familylist .now");
  assert.deepEqual(values.map((text) => Math.floor(Number(text) / 10)), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.ok(values.every((text) => /^\d?2\.[45]/.test(text)), values.join(" "));
  await shot(page, "charts-family");
  await family.getByRole("button", { name: "3", exact: true }).click();
  await page.locator('figure[aria-label="gpu/3/util"] canvas').waitFor();
  assert.match(await page.locator(".range").innerText(), /^min 30 · max 34.90 · last 34.90$/);
});

test("each node's value stands beside its name while one points", async ({ server, page, open }) => {
  for (const [i, stream] of ["algo-1", "algo-2", "algo-3"].entries()) await server.send("llama", Array.from({ length: 40 }, (_, n) => `step: ${n} loss: ${(i + 1 + n / 1000).toFixed(4)}`), stream);
  await server.waitForPoints("llama", "train:loss", 40, "algo-3");
  await open("/jobs/llama?nodes=each");
  await waitUntil(() => coloured(page), "curves");
  await page.locator(".nodeline li").nth(2).waitFor();
  const over = await page.locator(".chart .u-over").first().boundingBox();
  await page.mouse.move(over.x + over.width / 2, over.y + over.height / 2);
  await waitUntil(async () => (await texts(page, ".nodeline li")).join(" ").match(/algo-1 1\.0\d+ algo-2 2\.0\d+ algo-3 3\.0\d+/), "the three values");
});
