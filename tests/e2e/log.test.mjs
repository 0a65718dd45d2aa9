// The log of a job: search, all nodes by time, times, text that is gone, download.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { losses, openJob, shot, test, texts, until, waitUntil } from "./support.mjs";

/** Lines of several nodes, two seconds apart; each node has an NCCL warning in colour at its line 90 + 100 k. */
async function sendNodes(server, nodes = 3, count = 400) {
  for (let node = 0; node < nodes; node++) {
    const rows = Array.from({ length: count }, (_, i) => {
      const isWarning = i % 100 === 90;
      const line = isWarning ? `\x1b[33mWARNING\x1b[0m é€ NCCL timeout ${i} on node ${node}` : `step: ${i} loss: ${(2 + 3 * Math.exp(-i / 80)).toFixed(4)}`;
      return JSON.stringify({ line, ts: 1_760_000_000_000 + i * 2000 + node * 10 });
    });
    await server.post(`/api/v1/logs?job=llama&stream=algo-${node}`, `${rows.join("\n")}\n`, { type: "application/x-ndjson" });
  }
}

const countSays = (page, text) => until(page, (words) => document.querySelector(".find .count")?.innerText === words, text, text);
const chosenSays = (page, text) =>
  until(page, (words) => document.querySelector(".line.chosen")?.innerText.includes(words), `the line that says ${text}`, text);
const hitCount = (page, count) => until(page, (n) => document.querySelectorAll(".hit").length === n, `${count} hits`, count);
const hasBars = (page) => until(page, () => document.querySelectorAll(".histogram.of-hits .bar").length > 1, "the histogram");

test("a search goes from hit to hit", async ({ server, page, open }) => {
  await sendNodes(server);
  await openJob(page, open, "llama");
  await page.locator(".find input").first().waitFor();
  const isInField = () => page.evaluate(() => document.activeElement === document.querySelector(".find input"));
  await waitUntil(async () => (await page.keyboard.press("/"), await isInField()), "the field, by a key once keys are heard");
  await page.keyboard.type("nccl");
  await hitCount(page, 12);
  await countSays(page, "12 hits");
  assert.deepEqual([...new Set(await texts(page, ".hit mark"))], ["NCCL"]);
  const [first] = await texts(page, ".hit");
  assert.ok(first.includes("algo-2") && first.includes("timeout 390 on node 2"), first);
  await hasBars(page);
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".line.chosen mark")?.innerText === "NCCL", "the first hit's line");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("n");
  await countSays(page, "2 of 12");
  await chosenSays(page, "on node 1");
  await page.keyboard.press("N");
  await countSays(page, "1 of 12");
  await shot(page, "log-search");
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await countSays(page, "1 of 12");
});

test("hits come live, and alone", async ({ server, page, open }) => {
  await sendNodes(server);
  await open("/jobs/llama?find=nccl%20t.*%201$&find_regex=1&hits=only");
  await hitCount(page, 4);
  assert.equal(await page.locator("[role=log]").count(), 0);
  await server.send("llama", ["nothing", "NCCL timeout again 1", "NCCL timeout 12"]);
  await hitCount(page, 5);
  await waitUntil(async () => (await texts(page, ".hit"))[0].includes("again 1"), "its text");
});

test("the histogram jumps", async ({ server, page, open }) => {
  await sendNodes(server);
  await open("/jobs/llama?find=NCCL");
  await hasBars(page);
  await page.focus(".histogram.of-hits");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await chosenSays(page, "timeout 90 on node 0");
});

test("a wrong expression is told where one types", async ({ server, page, open, allow }) => {
  allow(/400/);
  await sendNodes(server, 1);
  await open("/jobs/llama?find=nccl(&find_regex=1");
  await until(page, () => document.querySelector(".findproblem")?.innerText.includes("offset 5"), "what is wrong");
  assert.equal(await page.locator("[role=log]").count(), 1);
});

test("hits are only text", async ({ server, page, open }) => {
  await server.send("llama", [`<img src=x onerror="document.title='owned'">`, ...losses(1, 5)]);
  await open("/jobs/llama?find=onerror");
  await until(page, () => document.querySelector(".hit mark")?.innerText === "onerror", "the hit");
  assert.equal(await page.locator(".hit img").count(), 0);
  assert.ok(!(await page.title()).includes("owned"));
});

test("deleted text is said", { server: ["--seal-age", "100ms"] }, async ({ server, page, open, allow }) => {
  allow(/410/);
  const noise = (i) => createHash("sha512").update(`${i}`).digest("hex").slice(0, 96);
  await server.send("old", Array.from({ length: 8000 }, (_, i) => `step: ${i} loss: 0.${parseInt(noise(i).slice(0, 5), 16)} ${noise(i)}`));
  await server.post("/api/v1/jobs/old/transitions", { SecondaryStatus: "Completed", time_ms: 1_760_000_000_000 });
  await waitUntil(async () => (await server.get("/api/v1/retention")).body.forecast.next, "the sealer");
  await server.put("/api/v1/retention", { log_bytes: 1000 });
  await waitUntil(async () => (await server.get("/api/v1/jobs/old/logs?stream=algo-1&from=0&limit=1")).status === 410, "the text to go");
  await open("/jobs/old");
  await until(page, () => document.querySelector(".gonenote")?.innerText.includes("deleted on"), "what became of the text");
  await until(page, () => document.querySelector(".line .cut")?.innerText === "deleted", "the rows without text");
  await shot(page, "log-deleted");
});

test("a stream that is held up says so", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 50));
  await page.route("**/api/v1/jobs/llama/streams", async (route) => {
    const reply = await route.fetch();
    const body = await reply.json();
    for (const stream of body.streams) stream.is_held_up = true;
    await route.fulfill({ response: reply, json: body });
  });
  await open("/jobs/llama/logs?stream=algo-1");
  await until(page, () => document.querySelector(".gonenote")?.innerText.startsWith("The server had no memory"), "why no points come");
});

test("all nodes by time", async ({ server, page, open }) => {
  await sendNodes(server);
  await open("/jobs/llama?merged=1");
  await until(page, () => document.querySelectorAll(".merged .line").length > 5, "the merged lines");
  const says = (text) => until(page, (words) => document.querySelector(".merged").innerText.includes(words), `the line ${text}`, text);
  await says("step: 399");
  assert.deepEqual((await texts(page, ".merged .line .node")).slice(-3), ["algo-0", "algo-1", "algo-2"]);
  await server.send("llama", ["now and here"]);
  await says("now and here");
  await page.evaluate(() => (document.querySelector(".merged").scrollTop = 0));
  await until(page, () => document.querySelector(".merged .content").clientHeight > 17 * 400, "older lines");
  await shot(page, "log-merged");
});

test("to a time", async ({ server, page, open }) => {
  await sendNodes(server);
  await open("/jobs/llama?stream=algo-1");
  await page.locator(".goto input").fill("-398s");
  await page.keyboard.press("Enter");
  await until(page, () => /step: 20[01] /.test(document.querySelector(".line.chosen")?.innerText), "the line of that time");
});

test("download", async ({ server, page, open }) => {
  await sendNodes(server);
  await open("/jobs/llama?stream=algo-1");
  const path = await page.locator(".log .toolbar a[download]").getAttribute("href");
  assert.equal((await server.get(path)).raw.filter((byte) => byte === 10).length, 400);
});

test("the log opens with a stream that says something", async ({ server, page, open }) => {
  await server.post("/api/v1/points?job=quiet", { series: [{ metric: "loss", stream: "algo-1", step: [1, 2, 3], value: [3, 2, 1] }] });
  await server.post("/api/v1/logs?job=quiet&stream=alerts", "one warning\n");
  await server.post("/api/v1/logs?job=quiet&stream=console", "loading the data\nsaved to disk\n");
  await open("/jobs/quiet");
  await page.locator(".line", { hasText: "saved to disk" }).waitFor();
});
