// From a posted line to a drawn point, in a real browser.
import assert from "node:assert/strict";
import { asked, coloured, fitsWidth, losses, openJob, SERVER_AWAY, shot, test, until, waitUntil } from "./support.mjs";

const hasJob = (page, name) => page.locator(`[data-name=${JSON.stringify(name)}]`).waitFor();
const hasPoints = (page, text) => until(page, (words) => document.querySelector(".kept")?.innerText.startsWith(words), `${text}points`, text);
const logSays = (page, text) => until(page, (words) => document.querySelector("[role=log]")?.innerText.includes(words), `the line ${text}`, text);

test("a posted line becomes a drawn point", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 100));
  await openJob(page, open, "llama");
  await hasPoints(page, "100 ");
  const before = await coloured(page);
  const fetches = await asked(page, "/points?");
  const began = performance.now();
  await server.send("llama", "step: 100 loss: 9.5");
  await hasPoints(page, "101 ");
  const tookMs = performance.now() - began;
  await waitUntil(async () => ![0, before].includes(await coloured(page)), "a chart that changed");
  assert.equal(await asked(page, "/points?"), fetches, "the point was fetched, not pushed");
  assert.ok(tookMs < 5000, `from line to pixel: ${tookMs} ms`);
  await shot(page, "job");
});

test("nothing makes a formatter of Intl before the first curve", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 100));
  await page.addInitScript(() => {
    // The first use of Intl takes 20 ms. uPlot has two formatters, which it makes when it is loaded unless it is told otherwise.
    window.made = [];
    for (const kind of ["NumberFormat", "DateTimeFormat"]) {
      const own = Intl[kind];
      Intl[kind] = new Proxy(own, { construct: (target, options) => (window.made.push(kind), new target(...options)) });
    }
    const look = () => {
      if (document.querySelector(".chart canvas")) window.madeBefore = [...window.made];
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await openJob(page, open, "llama");
  await until(page, () => window.madeBefore !== undefined, "a chart");
  assert.deepEqual(await page.evaluate(() => window.madeBefore), []);
  // And whoever asks for Intl later has the browser's own.
  assert.deepEqual(await page.evaluate(() => [new Intl.NumberFormat("en").format(1234), typeof Intl.DateTimeFormat().resolvedOptions().timeZone]), ["1,234", "string"]);
});

test("a new job appears in the list", async ({ server, page, open }) => {
  await server.send("first", losses(0, 10));
  await open("/jobs");
  await hasJob(page, "first");
  await server.send("second", losses(0, 10));
  await hasJob(page, "second");
  await shot(page, "jobs");
});

test("a new line appears in the log", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 20));
  await openJob(page, open, "llama");
  await logSays(page, "step: 19 ");
  await server.send("llama", "something new under the sun");
  await logSays(page, "new under the sun");
});

test("the text of a log is only text", async ({ server, page, open }) => {
  const evil = [`<img src=x onerror="document.title='owned'">`, "<script>document.title='owned'</script>", "\x1b[31mred\x1b[0m step: 1 loss: 2.5"];
  await server.send("<b>x</b>", [...evil, ...losses(2, 10)]);
  await open("/jobs/%3Cb%3Ex%3C%2Fb%3E");
  await logSays(page, "onerror");
  assert.equal(await page.locator("[role=log] :is(img, script, b)").count(), 0);
  assert.ok(!(await page.title()).includes("owned"));
});

test("an incident is marked", async ({ server, page, open }) => {
  const steady = Array.from({ length: 300 }, (_, n) => `step: ${n} loss: ${(3 + ((n * 7919) % 100) / 1000).toFixed(3)}`);
  await server.send("llama", [...steady, ...[300, 301, 302, 303, 304, 305].map((n) => `step: ${n} loss: 9.0`)]);
  await openJob(page, open, "llama");
  await page.locator(".jobincidents, .marks button, .marks [aria-label]").first().waitFor();
  await open("/incidents");
  await until(page, () => document.querySelector("table.incidents")?.innerText.includes("llama"), "the incident's row");
  await shot(page, "incidents");
});

test("an empty page teaches", async ({ server, page, open }) => {
  await open("/jobs");
  await until(page, () => document.querySelector(".empty")?.innerText.includes("curl"), "the ways");
  const text = await page.locator(".empty").innerText();
  assert.ok(text.includes(server.url.slice("http://".length)) && text.includes("sm_ship.py"), text);
  await shot(page, "empty");
});

for (const held of ["jobs/llama/streams", "points/query", "session"]) {
  test(`an answer of before the sign-in that comes after it asks for no second one: ${held}`, { token: true }, async ({ server, page, open, allow }) => {
    allow(/401/);
    await server.send("llama", losses(0, 20));
    let first = true;
    let letGo;
    const isSignedIn = new Promise((resolve) => (letGo = resolve));
    let isThrough;
    const arrived = new Promise((resolve) => (isThrough = resolve));
    await page.route(`**/api/v1/${held}*`, async (route) => {
      if (!first) return route.continue();
      first = false;
      const reply = await route.fetch();
      await isSignedIn;
      await route.fulfill({ response: reply });
      isThrough();
    });
    await open("/jobs/llama");
    await page.fill("dialog.signin input", server.token);
    await page.keyboard.press("Enter");
    await page.locator("[aria-labelledby=signin-title]").waitFor({ state: "detached" });
    const after = page.waitForResponse((reply) => reply.url().includes(`/api/v1/${held}`));
    letGo();
    await arrived;
    await after;
    await page.locator("figure.chart canvas").first().waitFor();
    // One more turn of the page's own: what the late answer set off has happened.
    await page.evaluate(() => fetch("/healthz"));
    assert.equal(await page.locator("[aria-labelledby=signin-title]").count(), 0);
  });
}

test("sign-in with a token", { token: true }, async ({ server, page, open, allow }) => {
  allow(/401/);
  await server.send("secret-job", losses(0, 10));
  await open("/jobs");
  await page.locator("dialog.signin[open]").waitFor();
  assert.ok(!(await page.locator("body").innerText()).includes("secret-job"));
  await page.fill("dialog.signin input", server.token);
  await page.click("dialog.signin button[type=submit]");
  await hasJob(page, "secret-job");
});

test("the page comes back after a restart", async ({ server, page, open, allow }) => {
  allow(SERVER_AWAY);
  await server.send("llama", losses(0, 50));
  await openJob(page, open, "llama");
  await server.restart();
  await server.send("llama", losses(50, 1));
  await hasPoints(page, "51 ");
});

test("what came while the server was away is in the charts, also when the page tries a part of itself again", async ({ server, page, open, allow }) => {
  allow(SERVER_AWAY);
  await server.send("llama", losses(0, 50));
  // the live connection is made when the part that failed has been tried again
  let connect = () => undefined;
  const isTime = new Promise((resolve) => (connect = resolve));
  await page.route("**/assets/connect-*", async (route) => (await isTime, route.continue()));
  let tries = 0;
  await page.route("**/definitions", async (route) => {
    if (tries++ > 0) return route.continue();
    await server.restart();
    await server.send("llama", losses(50, 1));
    return route.abort();
  });
  const again = page.waitForResponse((reply) => reply.url().endsWith("/definitions"));
  await openJob(page, open, "llama");
  await again;
  connect();
  await hasPoints(page, "51 ");
});

for (const [width, height, name] of [[1440, 900, "wide"], [390, 844, "phone"]]) {
  test(`nothing is wider than the window: ${name}`, { viewport: { width, height } }, async ({ server, page, open }) => {
    const job = "a-rather-long-job-name-that-somebody-chose-2026-11-21";
    await server.send(job, losses(0, 200));
    await openJob(page, open, job);
    assert.ok(await fitsWidth(page));
    await shot(page, `job-${name}`);
  });
}

test("no request leaves the server", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 100));
  await openJob(page, open, "llama");
  const names = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name));
  assert.ok(names.length > 0);
  assert.deepEqual(names.filter((one) => !one.startsWith(`${server.url}/`) && !/^(blob|data):/.test(one)), []);
});

test("the first view does without the log", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 10));
  await open("/jobs");
  await hasJob(page, "llama");
  const loaded = () =>
    page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name).filter((one) => /\/assets\/(log|incidents)-.*[.]js/.test(one)));
  assert.deepEqual(await loaded(), []);
  await page.click("[data-name] a");
  await page.locator("[role=log]").waitFor();
  const [later] = await loaded();
  assert.ok(later, "the log came with its own file");
  const { status, headers } = await server.get(later.slice(server.url.length));
  assert.equal(status, 200);
  assert.match(headers["cache-control"], /immutable/);
  assert.match(headers["content-type"], /^text\/javascript/);
});

// ---- many nodes ----

const chartOf = (page, name) => page.locator(`.chart[aria-label*="${name}"]`);

test("nodes are folded, or drawn one by one", async ({ server, page, open }) => {
  for (const node of [1, 2, 3]) {
    const slow = node === 2 ? 1.5 : 1;
    const line = (n) => `iter ${n}: loss ${(3 - n / 100).toFixed(4)}, time ${(slow * (100 + ((n * 7919) % 9))).toFixed(2)}ms, mfu 12.50%`;
    await server.send("llama", Array.from({ length: 100 }, (_, n) => line(n)), `algo-${node}`);
    await server.waitForPoints("llama", "train:loss", 100, `algo-${node}`);
  }
  await openJob(page, open, "llama");
  const slowChart = chartOf(page, "step_time");
  await waitUntil(async () => (await slowChart.locator(".nodeline button b").allInnerTexts())[0] === "algo-2", "the node that does worst");
  assert.equal(await page.locator(".chart.lead .nodeline button").count(), 0, "all have the same loss");
  const folded = await coloured(page);
  await page.click(".toolbar button:text-is('by node')");
  await page.waitForURL(/\?nodes=each$/);
  await waitUntil(async () => (await slowChart.locator(".nodeline li").count()) === 3, "whose curve is whose");
  await waitUntil(async () => ![0, folded].includes(await coloured(page)), "curves of their own");
  const fetches = await asked(page, "/points?");
  await server.send("llama", "iter 100: loss 9.5, time 100ms, mfu 12.50%", "algo-3");
  await until(page, () => document.querySelector(".kept")?.innerText.includes("301 points"), "the live point");
  assert.equal(await asked(page, "/points?"), fetches, "the point was fetched, not pushed");
  await shot(page, "nodes");
  await slowChart.locator(".nodeline button").first().click();
  await until(page, () => new URLSearchParams(location.search).get("series") === "algo-2", "the worst node alone");
});

test("a derived series says how it was made", async ({ server, page, open }) => {
  await server.post("/api/v1/jobs", { TrainingJobName: "llama", HyperParameters: { global_batch_size: "480", seq_length: "1024" } });
  await server.send("llama", Array.from({ length: 100 }, (_, n) => `iter ${n}: loss ${(3 - n / 100).toFixed(4)}, time 100.00ms, mfu 12.50%`));
  await openJob(page, open, "llama");
  const tag = page.locator(`.chart[aria-label="derived:tokens"] .derived`);
  await tag.waitFor();
  const visibility = () => tag.locator(".tip").evaluate((tip) => getComputedStyle(tip).visibility);
  assert.equal(await visibility(), "hidden");
  await tag.locator("button").focus();
  assert.equal(await visibility(), "visible");
  const said = (await tag.locator(".tip").innerText()) + (await tag.locator("button").getAttribute("aria-label"));
  for (const words of ["step * tokens_per_step", "491,520", "seq_length, HyperParameters"]) assert.equal(said.split(words).length, 3, words);
  assert.equal(await page.locator(`.chart[aria-label="train:loss"] .derived`).count(), 0);
});

test("a job is copied to run again", async ({ server, page, open }) => {
  await server.send("llama", [0, 1, 2].map((n) => `step: ${n} loss: 2.5`));
  await openJob(page, open, "llama");
  const copies = [["aws CLI", "aws sagemaker create-training-job --cli-input-json '{"], ["JSON", '{"TrainingJobName":"llama-2"']];
  for (const [words, begin] of copies) {
    await page.click(".menu summary");
    await page.locator(".menu button", { hasText: words }).click();
    await waitUntil(async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith(begin), `${words} in the clipboard`);
  }
  await until(page, () => document.querySelector(".acts > [role=status]:last-child")?.innerText === "Copied to the clipboard", "what was done");
});
