// The log alone in its page: permalinks, folds, errors, follow, many streams, hostile lines, what fails.
import assert from "node:assert/strict";
import { fitsWidth, losses, shot, test, texts, until, waitUntil } from "./support.mjs";

const BASE_MS = 1_790_000_000_000;
const ndjson = (lines, base = BASE_MS, stepMs = 500) => lines.map((line, i) => JSON.stringify({ line, ts: base + i * stepMs })).join("\n") + "\n";
const sendAt = (server, job, stream, lines, base, stepMs) =>
  server.post(`/api/v1/logs?job=${job}&stream=${stream}`, ndjson(lines, base, stepMs), { type: "application/x-ndjson" });

const TRACE = ["Traceback (most recent call last):", ...Array.from({ length: 6 }, (_, i) => `  File "/opt/train.py", line ${i}, in f${i}`), "RuntimeError: CUDA error: device-side assert"];
const rowSays = (page, n, text) => until(page, ([id, words]) => document.querySelector(`#L${id} .text`)?.textContent.includes(words), `line ${n} to say ${text}`, [n, text]);
const hashIs = (page, hash) => until(page, (wanted) => location.hash === wanted, `the address ${hash}`, hash);
const isInView = (page, n) =>
  until(
    page,
    (id) => {
      const [row, box] = [document.querySelector(`#L${id}`), document.querySelector(".lines")?.getBoundingClientRect()];
      const at = row?.getBoundingClientRect();
      return Boolean(at && box && at.top >= box.top - 1 && at.bottom <= box.bottom + 1);
    },
    `line ${n} in view`,
    n,
  );

test("lines are chosen, linked, copied, and the way back is kept", async ({ server, page, open }) => {
  await sendAt(server, "llama", "algo-1", losses(0, 2000));
  await open("/jobs/llama/logs?stream=algo-1#L1120-L1124");
  await rowSays(page, 1120, "step: 1120 ");
  await isInView(page, 1120);
  assert.equal(await page.locator(".line.chosen").count(), 5);
  await page.click("#L1126 .n");
  await hashIs(page, "#L1126");
  await page.click("#L1122 .n", { modifiers: ["Shift"] });
  await hashIs(page, "#L1122-L1126");
  await page.click(".chosenbar button:has-text('copy')");
  await until(page, () => navigator.clipboard.readText().then((text) => text.split("\n").length === 5 && text.startsWith("step: 1122 ")), "the lines in the clipboard");
  await page.click(".chosenbar button:has-text('copy link')");
  await until(page, () => navigator.clipboard.readText().then((text) => text.endsWith("/jobs/llama/logs?stream=algo-1#L1122-L1126")), "the link in the clipboard");
  const raw = await page.locator(".chosenbar a[download]").getAttribute("href");
  assert.equal((await server.get(raw)).body.trim().split("\n").length, 5);
  await page.goBack();
  await hashIs(page, "#L1126");
  await page.goBack();
  await until(page, () => document.querySelectorAll(".line.chosen").length === 5, "the first choice again");
  await page.focus(".lines");
  await page.keyboard.press("ArrowDown");
  await hashIs(page, "#L1121");
  await page.keyboard.press("Home");
  await rowSays(page, 0, "step: 0 ");
  await page.keyboard.press("End");
  await isInView(page, 1999);
  await page.keyboard.press("Escape");
  await until(page, () => location.hash === "" && !document.querySelector(".chosenbar"), "nothing chosen");
});

test("a log that is opened at a line asks for the lines around it, and for what stands around them later", async ({ server, page, open }) => {
  await sendAt(server, "llama", "algo-1", losses(0, 2000));
  await open("/jobs/llama/logs?stream=algo-1#L1120");
  await rowSays(page, 1120, "step: 1120 ");
  await page.locator(".histogram").waitFor();
  const asked = await page.evaluate(() => performance.getEntriesByType("resource").map((one) => ({ path: one.name.slice(location.origin.length), from: one.startTime, to: one.responseEnd })));
  const lines = asked.filter(({ path }) => /^\/api\/v1\/jobs\/llama\/logs\?.*from=/.test(path));
  // Where the lines take long the rest waits for this time.
  const soonest = Math.min(lines[0].to, 700);
  for (const part of ["/api/v1/session", "/api/v1/jobs/llama/logs/histogram"]) {
    const { from } = asked.find(({ path }) => path.startsWith(part));
    assert.ok(from >= soonest, `${part} after ${from} ms, the lines after ${soonest}`);
  }
  assert.deepEqual(lines.map(({ path }) => path), ["/api/v1/jobs/llama/logs?stream=algo-1&from=1020&limit=200"]);
});

test("follow is left by scrolling up, and taken up again", async ({ server, page, open, allow }) => {
  allow(/ERR_|Failed to load resource/); // while the server is away
  await server.send("llama", losses(0, 500));
  await open("/jobs/llama/logs?stream=algo-1");
  await isInView(page, 499);
  await server.send("llama", losses(500, 20));
  await isInView(page, 519);
  await page.hover(".lines");
  await page.mouse.wheel(0, -2000);
  await until(page, () => document.querySelector('[aria-keyshortcuts="f"]').ariaPressed === "false", "follow to pause");
  const before = await until(page, () => [...document.querySelectorAll(".line")].at(-1)?.id, "a row");
  await server.send("llama", losses(520, 7));
  await until(page, () => document.querySelector(".newlines")?.innerText.includes("7 new lines"), "how many are new");
  assert.equal(await page.evaluate(() => [...document.querySelectorAll(".line")].at(-1)?.id), before, "the list moved");
  await page.click(".newlines");
  await isInView(page, 526);
  await server.restart();
  await server.send("llama", losses(527, 1));
  await isInView(page, 527);
});

test("stacks and repeated lines fold, errors are found", async ({ server, page, open }) => {
  const lines = [...losses(0, 300), ...TRACE, ...losses(300, 900), ...Array(40).fill("waiting for data"), ...losses(1200, 300), "NCCL WARN timeout", ...losses(1500, 500)];
  await sendAt(server, "llama", "algo-1", lines);
  await open("/jobs/llama/logs?stream=algo-1#L298");
  await until(page, () => document.querySelector("#L300 .badge")?.innerText === "⋯ 6", "the folded stack");
  assert.equal(await page.locator("#L303").count(), 0);
  await page.click("#L300 .badge");
  await rowSays(page, 303, "File");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("e");
  await hashIs(page, "#L307");
  await page.keyboard.press("e");
  await hashIs(page, `#L${lines.indexOf("NCCL WARN timeout")}`);
  await page.keyboard.press("e");
  await until(page, () => document.querySelector(".log [role=status]:not(.count)")?.innerText.includes("No error below"), "that it was the last");
  await page.keyboard.press("E");
  await hashIs(page, "#L307");
  const first = lines.indexOf("waiting for data");
  await page.fill(".goto input", String(first + 20));
  await page.keyboard.press("Enter");
  await isInView(page, first + 20); // a line that is named is shown, folded or not
  await page.click(".toolbar button:has-text('fold') >> nth=0");
  await page.click(".toolbar button:has-text('fold') >> nth=0");
  await page.click(`#L${first} .badge`);
  await until(page, (n) => document.querySelector(`#L${n} .badge`)?.innerText === "×40" && !document.querySelector(`#L${n + 20}`), "the folded lines", first);
  await shot(page, "logs-folds");
});

test("hostile lines are only text", async ({ server, page, open }) => {
  const lines = [
    `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`,
    "user\u202egpj.exe \u0000 \u0007",
    "x".repeat(1_000_000),
    "10%\r50%\r100% done",
    JSON.stringify({ event: "eval", note: "<b>bold</b>", values: [1, 2, 3], long: "y".repeat(60) }),
    "\x1b[1;38;5;208morange\x1b[0m and \x1b[48;2;0;0;90mon blue\x1b[0m",
    "the end",
  ];
  await sendAt(server, "odd", "algo-1", lines);
  await open("/jobs/odd/logs?stream=algo-1");
  await rowSays(page, 6, "the end");
  assert.deepEqual(await texts(page, "#L1 .text"), ["user⟨RLO⟩gpj.exe ⟨NUL⟩ ⟨BEL⟩"]);
  assert.ok((await page.locator("#L2 .text").innerText()).length <= 1000);
  assert.deepEqual(await texts(page, "#L2 .badge"), ["show all 1,000,000 bytes"]);
  assert.deepEqual(await texts(page, "#L3 .text"), ["100% done"]);
  assert.equal(await page.locator(".line img, .line script, .line b").count(), 0);
  await page.click("#L4 .badge");
  await until(page, () => [...document.querySelectorAll(".line.part")].some((row) => row.textContent.includes('"note": "<b>bold</b>"')), "its JSON in lines");
  await page.click("#L3 .badge");
  await until(page, () => [...document.querySelectorAll(".line.part")].some((row) => row.textContent === "50%"), "the bar's states");
  await page.click("#L2 .badge");
  await until(page, () => document.querySelectorAll(".line.part").length > 20, "the whole long line in rows");
  assert.ok(!(await page.title()).includes("owned"));
  assert.ok(await fitsWidth(page));
  await shot(page, "logs-hostile");
});

/** Whether its values are marked, those of the preset's lines and those that no expression reads, and lead to their charts. */
test("a value leads to its chart", async ({ server, page, open }) => {
  // Odd lines are nanoGPT's, even ones are of no preset.
  const lines = losses(0, 300).map((line, step) => (step % 2 ? `iter ${step}: loss ${(3 - step / 1000).toFixed(4)}, time 350.00ms, mfu 40.00%` : line.replace("loss:", "\x1b[32mreward:\x1b[0m \x1b[1m")));
  await sendAt(server, "llama", "algo-1", lines);
  await server.waitForPoints("llama", "train:loss", 150);
  await open("/jobs/llama/logs?stream=algo-1#L120");
  await page.locator("#L121 .captured[title^='train:loss = ']").waitFor();
  assert.deepEqual(await texts(page, "#L121 .captured"), ["2.8790", "350.00", "40.00"]);
  const value = page.locator("#L120 .captured[title^='reward = ']");
  await value.waitFor();
  assert.match(await value.getAttribute("title"), /at step 120: show it in its chart/);
  await shot(page, "logs-captures");
  await value.click();
  await page.locator('figure.chart[aria-label="reward"] canvas').first().waitFor();
  await hashIs(page, "#L120");
  await isInView(page, 120);
  // The line marks its point, at its step and value.
  const mark = page.locator('figure.chart[aria-label="reward"] .chosenmarks i');
  await mark.waitFor();
  assert.match(await mark.getAttribute("title"), /line 120 of algo-1: .* at step 120/);
});

test("a value is marked in a live tail, where the end of its record comes with a later line", async ({ server, page, open }) => {
  const box = (step) => ["-----------------------------", `| train/        |           |`, `|    loss       | ${(0.5 + 1 / step).toFixed(4)} |`, `| iteration     | ${step} |`];
  await server.send("sb", Array.from({ length: 40 }, (_, i) => box(i + 1)).flat());
  await server.waitForPoints("sb", "train:loss", 39);
  await open("/jobs/sb/logs?stream=algo-1");
  await page.locator("#L150 .captured[title^='train:loss = ']").waitFor();
  assert.equal(await page.locator("#L158 .captured").count(), 0);
  await server.send("sb", box(41));
  await page.locator("#L158 .captured[title^='train:loss = 0.525 at step 40']").waitFor();
});

test("one of many streams, and some of them by time", async ({ server, page, open }) => {
  const rows = Array.from({ length: 300 }, (_, i) => JSON.stringify({ job: "big", stream: `algo-${i + 1}`, line: `hello from ${i + 1}`, ts: BASE_MS + i }));
  await server.post("/api/v1/logs", `${rows.join("\n")}\n`, { type: "application/x-ndjson" });
  await open("/jobs/big/logs?merged=1");
  await until(page, () => document.querySelector(".merged")?.innerText.includes("hello from 300"), "the newest line");
  await page.click(".streams .stream");
  await page.keyboard.type("29");
  assert.ok((await page.locator(".streamrow").count()) < 30);
  for (const one of ["algo-29", "algo-290"]) await page.click(`.streamrow[title="${one}"] input`);
  await until(page, () => new URL(location).searchParams.get("only") === "algo-29,algo-290", "the address");
  await until(page, () => document.querySelectorAll(".merged .line").length === 2, "two lines");
  await server.post("/api/v1/logs", `${JSON.stringify({ job: "big", stream: "algo-3", line: "not this" })}\n${JSON.stringify({ job: "big", stream: "algo-29", line: "but this" })}\n`, { type: "application/x-ndjson" });
  await until(page, () => document.querySelectorAll(".merged .line").length === 3, "one more");
  await page.click('.streamrow[title="algo-29"]');
  await until(page, () => document.querySelector("#L1 .text")?.textContent === "but this", "the stream alone");
  await shot(page, "logs-streams");
});

test("the whole log over time, on a phone in Chinese and in the dark", { viewport: { width: 360, height: 740 }, locale: "zh-CN", colorScheme: "dark" }, async ({ server, page, open }) => {
  await sendAt(server, "llama", "algo-1", [...losses(0, 400), ...TRACE, ...losses(400, 100)], BASE_MS, 5000);
  await open("/jobs/llama/logs?stream=algo-1");
  await until(page, () => document.querySelectorAll(".wholelog .bar").length > 20, "the picture of the log");
  await until(page, () => document.querySelector(".toolbar")?.innerText.includes("跟随"), "its tools in Chinese");
  await page.focus(".wholelog .histogram");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await isInView(page, 0);
  assert.ok(await fitsWidth(page));
  await shot(page, "logs-phone-zh-dark");
});

test("what fails is said, and tried again", async ({ server, page, open, allow }) => {
  allow(/Failed to load resource/);
  await server.send("llama", losses(0, 50));
  for (const [status, body] of [[500, { title: "Internal error", detail: "the disk is gone" }], [429, { title: "Too many requests", detail: "wait a moment" }]]) {
    await page.route("**/api/v1/jobs/llama/logs?*", (route) => route.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify(body) }));
    await open("/jobs/llama/logs?stream=algo-1");
    await until(page, (text) => document.querySelector(".log .problem")?.innerText.includes(text), body.detail, body.detail);
    await page.unroute("**/api/v1/jobs/llama/logs?*");
    await page.evaluate(() => document.querySelector(".log .problem button")?.click()); // unless it has tried again by itself
    await isInView(page, 49);
    await waitUntil(async () => (await page.locator(".log .problem").count()) === 0, "the problem to go");
  }
});

test("lines that were there before are not called new, in whichever list", async ({ server, page, open }) => {
  const base = Date.now() - 3_600_000;
  for (const stream of ["algo-1", "algo-2"]) await sendAt(server, "llama", stream, losses(0, 600), base, 1000);
  await open(`/jobs/llama/logs?merged=1&at=${base + 100_000}`);
  await page.locator(".lines.merged .line").first().waitFor();
  assert.deepEqual(await texts(page, ".newlines"), []);
  await server.send("llama", losses(600, 3));
  await until(page, () => document.querySelector(".newlines")?.innerText.includes("3 new lines"), "what is new");
  await page.click(".newlines");
  await page.locator(".lines.merged .line", { hasText: "step: 602 " }).waitFor();
  await until(page, () => !document.querySelector(".newlines"), "nothing new");
});
