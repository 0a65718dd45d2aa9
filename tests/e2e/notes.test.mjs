// Notes at places of a job, on its page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { coloured, fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";
import { ALL, COLOURS, faults } from "./walk.mjs";

const START_MS = Math.floor(Date.now() / 1000 - 4000) * 1000;
const at = (step) => START_MS + step * 1000;

/** Steps 1 to 200, one a second. A note at a step gets its time from them as it is written: they are read by then. */
async function sendRun(server, job = "llama") {
  await server.send(job, Array.from({ length: 200 }, (_, i) => `${new Date(at(i + 1)).toISOString()} step: ${i + 1} loss: ${(3 - i / 100).toFixed(3)}`));
  await server.waitForPoints(job, "train:loss", 200);
}

const notes = async (server, job = "llama") => (await server.get(`/api/v1/jobs/${job}/notes`)).body.notes;
const form = (page) => page.locator("form.noteform");
const shown = (page) => texts(page, ".notelist .notetext");
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("name") ?? document.activeElement?.id);
const lists = (page, ...wanted) => waitUntil(async () => JSON.stringify(await shown(page)) === JSON.stringify(wanted), `the notes ${wanted}`);

async function openNotes(page, open, search = "") {
  await open(`/jobs/llama/notes${search}`);
  await form(page).waitFor();
}

test("a note is written, changed, deleted and taken back, by keys alone", async ({ server, page, open }) => {
  await sendRun(server);
  await open("/jobs/llama");
  await page.locator(".jobtabs a", { hasText: "Notes" }).focus();
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".notes")?.innerText.includes("Nobody has noted anything"), "that there is none");
  assert.equal(await page.evaluate(() => location.pathname), "/jobs/llama/notes");
  await page.locator("select[name=kind]").focus();
  await page.keyboard.press("ArrowDown");
  await until(page, () => location.search === "?at=step%3A200" && document.querySelector("[name=place]"), "the last step");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("120");
  await page.keyboard.press("Tab");
  await page.keyboard.type("rate halved <img src=x onerror=alert(1)>");
  await page.keyboard.press("Control+Enter");
  await lists(page, "rate halved <img src=x onerror=alert(1)>");
  assert.equal(await page.locator(".notes img").count(), 0);
  const [note] = await notes(server);
  assert.deepEqual([note.at, note.step, note.ts_ms, note.text], ["step", 120, at(120), "rate halved <img src=x onerror=alert(1)>"]);
  assert.equal(await focused(page), "text");
  assert.equal(await page.locator("[name=text]").inputValue(), "");

  await page.getByRole("button", { name: "Change the note: step 120" }).focus();
  await page.keyboard.press("Enter");
  const area = page.getByRole("textbox", { name: "Text of the note: step 120" });
  await until(page, () => document.activeElement?.matches(".notelist textarea"), "the focus in the text");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("given up");
  await page.keyboard.press("Escape");
  await area.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => location.pathname), "/jobs/llama/notes", "Escape leaves the field alone");
  await until(page, () => document.activeElement?.matches(".notelist li"), "the focus on the note");
  await page.getByRole("button", { name: "Change the note: step 120" }).press("Enter");
  await until(page, () => document.activeElement?.matches(".notelist textarea"), "the focus in the text");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("rate doubled");
  await page.keyboard.press("Control+Enter");
  await lists(page, "rate doubled");
  assert.equal((await notes(server))[0].text, "rate doubled");

  await page.getByRole("button", { name: "Delete the note: step 120" }).press("Enter");
  await until(page, () => document.activeElement?.id === "note-undo", "the focus on Undo");
  assert.deepEqual(await notes(server), []);
  await page.keyboard.press("Enter");
  await lists(page, "rate doubled");
  await until(page, () => document.activeElement?.matches(".notelist li"), "the focus on the note that is back");
  assert.equal((await notes(server)).length, 1);

  // A deletion outlives the page, and can be taken back for its hour.
  await page.getByRole("button", { name: "Delete the note: step 120" }).press("Enter");
  await until(page, () => document.activeElement?.id === "note-undo", "the focus on Undo");
  await openNotes(page, open, "?state=deleted");
  await page.getByRole("button", { name: "Take the deletion back: step 120" }).press("Enter");
  await until(page, () => document.querySelector(".notes")?.innerText.includes("No note was deleted"), "that none is left");
  assert.equal((await notes(server)).length, 1);
});

test("places: now, a time in the zone of the page, a line that the address names; each leads to its charts", { timezoneId: "Asia/Shanghai" }, async ({ server, page, open }) => {
  await sendRun(server);
  await openNotes(page, open);
  const before = Date.now();
  await page.fill("[name=text]", "now");
  await page.getByRole("button", { name: "Add the note" }).click();
  await lists(page, "now");
  const [now] = await notes(server);
  assert.ok(now.at === "time" && now.ts_ms >= before - 4000 && now.ts_ms <= Date.now() + 4000, JSON.stringify(now));

  await page.selectOption("[name=kind]", "time");
  await page.fill("input[name=place]", new Date(at(50) + 8 * 3_600_000).toISOString().slice(0, 19));
  await page.fill("[name=text]", "a time");
  await page.getByRole("button", { name: "Add the note" }).click();
  await lists(page, "now", "a time");
  assert.deepEqual((await notes(server)).slice(1).map((one) => [one.at, one.ts_ms, one.step]), [["time", at(50), 50]]);

  await openNotes(page, open, "?at=line:99:algo-1");
  await until(page, () => document.activeElement?.getAttribute("name") === "text", "the focus in the text");
  await page.keyboard.type("a line");
  await page.keyboard.press("Control+Enter");
  await lists(page, "now", "a line", "a time");
  const line = (await notes(server)).find((one) => one.text === "a line");
  assert.deepEqual([line.at, line.stream, line.line, line.step], ["line", "algo-1", 99, 100]);
  await page.getByRole("button", { name: "line 99 of algo-1", exact: true }).click();
  await until(page, () => location.pathname === "/jobs/llama" && new URLSearchParams(location.search).get("line") === "99", "the line beside the charts");
});

test("what the server refuses is said and marked, and what was typed stays", { server: ["--max-note-bytes", "20"] }, async ({ server, page, open, allow }) => {
  allow(/422|503/);
  await sendRun(server);
  await openNotes(page, open, "?at=step:1.5");
  await page.fill("[name=text]", "x");
  await page.keyboard.press("Control+Enter");
  await until(page, () => document.querySelector("input[name=place][aria-invalid=true]") === document.activeElement && document.querySelector("#note-wrong").innerText.includes("step"), "the step, marked");
  await page.fill("input[name=place]", "7");
  await page.fill("[name=text]", "a text of 21 bytes...");
  await page.keyboard.press("Control+Enter");
  await until(page, () => document.querySelector("textarea[aria-invalid=true]") && document.querySelector("#note-wrong").innerText.includes("--max-note-bytes"), "the limit");
  assert.equal(await page.locator("[name=text]").inputValue(), "a text of 21 bytes...");
  await page.fill("[name=text]", "a text of 20 bytes..");
  await page.keyboard.press("Control+Enter");
  await lists(page, "a text of 20 bytes..");
  assert.equal(await page.locator("[aria-invalid=true]").count(), 0);
});

test("who may only read sees the notes and has nothing to change them with; a list that does not come is said", { token: true }, async ({ server, page, open, allow }) => {
  allow(/401|503/);
  await sendRun(server);
  await server.post("/api/v1/jobs/llama/notes", { step: 3, text: "kept" });
  const { token } = await server.post("/api/v1/tokens", { name: "guest", scope: "read" });
  let isBroken = true;
  await page.route("**/api/v1/jobs/llama/notes*", (route) => (isBroken ? route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"x","status":503}' }) : route.continue()));
  await open("/jobs/llama/notes");
  await page.fill("dialog.signin input", token);
  await page.keyboard.press("Enter");
  await page.locator(".notes .problem").waitFor();
  await page.locator(".notes .problem button").waitFor();
  isBroken = false;
  // Not click(), which waits for a button that stands still: the page asks again by itself, too, and then there is none.
  await page.evaluate(() => document.querySelector(".notes .problem button")?.click());
  await lists(page, "kept");
  assert.equal(await page.locator(".noteform, .noteacts button").count(), 0);
  assert.match((await texts(page, ".noteplace"))[0], /step 3 .*admin/);
  await open("/jobs/llama/logs#L41");
  await page.locator(".chosenbar").waitFor();
  // Who one is comes after the lines: until then the page offers what it offers where no token is wanted.
  await page.locator(".chosenbar a", { hasText: "note…" }).waitFor({ state: "detached" });
});

test("notes are marked on the charts by step and by time, and on the timeline", async ({ server, page, open }) => {
  await sendRun(server);
  const { id } = await server.post("/api/v1/jobs/llama/notes", { step: 100, text: "half <b>way</b>" });
  const mark = page.locator(".chart .marks.below .mark", { hasText: "✎" });
  for (const axis of ["step", "time"]) {
    await open(`/jobs/llama?x=${axis}`);
    await waitUntil(() => coloured(page), "the curve");
    await mark.first().waitFor();
    assert.equal(await mark.first().getAttribute("aria-label"), "Note: half <b>way</b>");
    // A step a second: on both axes it is in the middle of what the curve covers.
    const share = await page.evaluate(() => {
      const sign = [...document.querySelectorAll(".chart .marks.below .mark")].find((one) => one.innerText.includes("✎"));
      const over = document.querySelector(".chart .u-over").getBoundingClientRect();
      const box = sign.getBoundingClientRect();
      return ((box.left + box.right) / 2 - over.left) / over.width;
    });
    assert.ok(share > 0.4 && share < 0.6, `${axis}: ${share}`);
  }
  await page.getByRole("button", { name: "1 note" }).click();
  await mark.first().waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).searchParams.get("hide"), "note");
  await page.getByRole("button", { name: "1 note" }).click();
  await mark.first().focus();
  await page.keyboard.press("Enter");
  await page.locator(".notelist [aria-current]", { hasText: "half <b>way</b>" }).waitFor();
  assert.equal(new URL(page.url()).search, `?note=${id}`);
  // What is deleted here is marked no more.
  await page.getByRole("button", { name: "Delete the note: step 100" }).click();
  await page.locator(".jobtabs a", { hasText: "Charts" }).click();
  await waitUntil(() => coloured(page), "the curve");
  await page.getByRole("button", { name: "1 note" }).waitFor({ state: "detached" });
  assert.equal(await mark.count(), 0);
});

/** How many pixels of a PNG around the middle of its lower edge have another colour than the corner. */
const drawnBelow = (page, png) =>
  page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const mark = [...document.querySelectorAll(".chart .mark")].find((one) => one.innerText.includes("✎")).getBoundingClientRect();
    const from = document.querySelector(".chart canvas").getBoundingClientRect();
    const scale = image.width / from.width;
    const { data } = context.getImageData((mark.left - from.left) * scale, (mark.top - from.top) * scale, mark.width * scale, mark.height * scale);
    const ground = context.getImageData(0, 0, 1, 1).data;
    let drawn = 0;
    for (let i = 0; i < data.length; i += 4) drawn += [0, 1, 2].some((k) => data[i + k] !== ground[k]) ? 1 : 0;
    return drawn;
  }, `data:image/png;base64,${png.toString("base64")}`);

test("a chart that is saved as PNG has the notes that are marked on it", async ({ server, page, open }) => {
  await sendRun(server);
  const saved = async () => {
    await page.getByRole("button", { name: "More of train:loss" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as PNG" }).click()]);
    return readFileSync(await download.path());
  };
  await open("/jobs/llama");
  await waitUntil(() => coloured(page), "the curve");
  const without = await saved();
  await server.post("/api/v1/jobs/llama/notes", { step: 100, text: "half way" });
  await open("/jobs/llama");
  await waitUntil(() => coloured(page), "the curve");
  await page.locator(".chart .marks.below .mark", { hasText: "✎" }).first().waitFor();
  assert.ok((await drawnBelow(page, await saved())) > (await drawnBelow(page, without)) + 10, "the sign of the note");
});

/** How far between the first and the last step of 200 each mark is, by its name. */
const marked = (page, chart = ".chart") =>
  page.evaluate((within) => {
    const over = document.querySelector(`${within} .u-over`).getBoundingClientRect();
    const shareOf = ({ left, right }) => ((left + right) / 2 - over.left) / over.width;
    return Object.fromEntries([...document.querySelectorAll(`${within} .marks.below .mark`)].map((one) => [one.getAttribute("aria-label"), shareOf(one.getBoundingClientRect())]));
  }, chart);

test("a chart of several jobs has the notes of each, also as PNG, and they lead to their jobs", async ({ server, page, open }) => {
  for (const job of ["llama", "mistral"]) await sendRun(server, job);
  const saved = async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "PNG" }).click()]);
    return readFileSync(await download.path());
  };
  const openBoth = async (axis) => {
    await open(`/compare?jobs=llama,mistral&x=${axis}`);
    await waitUntil(() => coloured(page, ".compare canvas"), "the curves");
  };
  await openBoth("step");
  const without = await saved();
  await server.post("/api/v1/jobs/llama/notes", { step: 100, text: "half <b>way</b>" });
  const { id } = await server.post("/api/v1/jobs/mistral/notes", { ts_ms: at(50), text: "the disk" });
  for (const axis of ["step", "time", "relative"]) {
    await openBoth(axis);
    await waitUntil(async () => Object.keys(await marked(page)).length === 2, `both notes by ${axis}`);
    // (100 - 1) / 199 and (50 - 1) / 199
    const { "llama: Note: half <b>way</b>": half, "mistral: Note: the disk": disk } = await marked(page);
    assert.ok(Math.abs(half - 99 / 199) < 0.01 && Math.abs(disk - 49 / 199) < 0.01, `${axis}: ${half} ${disk}`);
  }
  await openBoth("step");
  await waitUntil(async () => Object.keys(await marked(page)).length === 2, "both notes");
  assert.ok((await drawnBelow(page, await saved())) > (await drawnBelow(page, without)) + 10, "the sign of a note");
  await shot(page, "compare-notes");
  await page.locator(".mark", { hasText: "✎" }).first().focus(); // the left one is mistral's
  await page.keyboard.press("Enter");
  await page.locator(".notelist [aria-current]", { hasText: "the disk" }).waitFor();
  assert.equal(await here(page), `/jobs/mistral/notes?note=${id}`);
});

/** How often the notes of each job were asked for. */
const askedNotes = (page) =>
  page.evaluate(() => {
    const jobs = performance.getEntriesByType("resource").flatMap(({ name }) => /\/jobs\/([^/]+)\/notes/.exec(name)?.[1] ?? []);
    return Object.fromEntries([...new Set(jobs)].sort().map((job) => [job, jobs.filter((one) => one === job).length]));
  });

async function sendNoted(server) {
  for (const job of ["llama", "mistral"]) await sendRun(server, job);
  await server.post("/api/v1/points?job=other", { series: [{ metric: "speed", stream: "algo-1", step: [1, 2], value: [3, 4] }] });
  await server.waitForPoints("other", "speed", 2);
  await server.post("/api/v1/jobs/other/notes", { step: 1, text: "of no curve here" });
  await server.post("/api/v1/jobs/llama/notes", { step: 100, text: "half <b>way</b>" });
  return server.post("/api/v1/jobs/mistral/notes", { ts_ms: at(50), text: "the disk" });
}

/** Both notes, each at its place: (100 - 1) / 199 and (50 - 1) / 199. */
async function marksBoth(page, chart, why) {
  await waitUntil(() => coloured(page, `${chart} canvas`), `the curves ${why}`);
  await waitUntil(async () => Object.keys(await marked(page, chart)).length === 2, `both notes ${why}`);
  const { "llama: Note: half <b>way</b>": half, "mistral: Note: the disk": disk } = await marked(page, chart);
  assert.ok(Math.abs(half - 99 / 199) < 0.01 && Math.abs(disk - 49 / 199) < 0.01, `${why}: ${half} ${disk}`);
}

async function leadsToDisk(page, chart, id) {
  await page.locator(`${chart} .mark`, { hasText: "✎" }).first().focus(); // the left one is mistral's
  await page.keyboard.press("Enter");
  await page.locator(".notelist [aria-current]", { hasText: "the disk" }).waitFor();
  assert.equal(await here(page), `/jobs/mistral/notes?note=${id}`);
}

test("panels of a workspace mark the notes of the jobs that they draw, each asked for once", async ({ server, page, open }) => {
  const { id } = await sendNoted(server);
  for (const axis of ["time", "relative", "step"]) {
    await open(`/workspace?lines=${encodeURIComponent('"train:loss";"train:loss" / 2')}&x=${axis}`);
    for (const n of [0, 1]) await marksBoth(page, `[data-panel="${n}"]`, `in panel ${n} by ${axis}`);
    assert.deepEqual(await askedNotes(page), { llama: 1, mistral: 1 });
  }
  await shot(page, "workspace-notes");
  await leadsToDisk(page, '[data-panel="1"]', id);
});

test("the wall marks the notes of the jobs that it draws, each asked for once", async ({ server, page, open }) => {
  const { id } = await sendNoted(server);
  const chart = '.wall .panel[aria-label="train:loss"]';
  for (const axis of ["time", "relative", "step"]) {
    await open(`/wall?jobs=llama,mistral,other&off=other&x=${axis}`);
    await marksBoth(page, chart, `by ${axis}`);
    assert.deepEqual(await askedNotes(page), { llama: 1, mistral: 1 });
  }
  await shot(page, "wall-notes");
  await page.locator(".runs button", { hasText: "llama" }).click();
  await waitUntil(async () => Object.keys(await marked(page, chart)).join() === "mistral: Note: the disk", "only the note of the job that is still drawn");
  await leadsToDisk(page, chart, id);
});

/** A list of jobs knows their metrics a little later than the points are there, and a page looks again after a while. */
const haveMetric = (server) => waitUntil(async () => (await server.get("/api/v1/jobs")).body.jobs.every(({ metrics }) => metrics?.length > 0), "the metrics of all rows");

/** What waits for `passed` goes on once it is opened. */
function gate() {
  let open;
  const passed = new Promise((resolve) => (open = resolve));
  return { passed, open };
}

test("a curve that is asked for anew before it came keeps the notes of its job", async ({ server, page, open }) => {
  const definitions = [{ Name: "loss", Regex: "loss: ([0-9.]+)" }];
  for (const job of ["llama", "mistral"]) {
    await server.post("/api/v1/jobs", { TrainingJobName: job, AlgorithmSpecification: { MetricDefinitions: definitions } });
    await server.send(job, Array.from({ length: 100 }, (_, i) => `step: ${i + 1} loss: ${(3 - i / 100).toFixed(3)}`));
    await server.waitForPoints(job, "loss", 100);
    await server.post(`/api/v1/jobs/${job}/notes`, { step: 50, text: "slow" });
  }
  await haveMetric(server);
  const [first, second] = [gate(), gate()];
  const asked = [];
  await page.route("**/api/v1/points/query", async (route) => {
    asked.push(route.request().postDataJSON().queries.map(({ job }) => job).sort().join());
    await (asked.length === 1 ? first : second).passed;
    await route.continue();
  });
  await open("/wall?jobs=llama,mistral");
  await waitUntil(() => asked.length === 1, "the first request");
  await page.locator(".connection.live").waitFor();
  // What was read anew is told to the page, which asks again for this job's curve.
  await server.put("/api/v1/jobs/llama/definitions?backfill=true", { definitions: [...definitions, { Name: "other", Regex: "other: ([0-9.]+)" }] });
  await waitUntil(() => asked.length === 2, "the second request");
  assert.deepEqual(asked, ["llama,mistral", "llama"]);
  const came = page.waitForResponse((reply) => reply.url().includes("/points/query"));
  first.open();
  await came;
  await page.locator(".wall .panel .u-over").waitFor(); // the other curve
  second.open();
  await waitUntil(async () => (await page.locator(".wall .panel .mark").first().getAttribute("data-count")) === "2", "the notes of both");
  assert.deepEqual(await askedNotes(page), { llama: 1, mistral: 1 });
});

test("notes that the server could not say just then come a little later", async ({ server, page, open, allow }) => {
  allow(/503/);
  await sendNoted(server);
  let refused = 0;
  await page.route("**/api/v1/jobs/mistral/notes*", (route) =>
    ++refused === 1 ? route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"x","status":503}' }) : route.continue(),
  );
  await open("/wall?jobs=llama,mistral,other&off=other&x=step");
  await marksBoth(page, '.wall .panel[aria-label="train:loss"]', "by step");
  assert.deepEqual(await askedNotes(page), { llama: 1, mistral: 2 });
});

test("of many jobs a chart has the notes of the first twenty", async ({ server, page, open }) => {
  const jobs = Array.from({ length: 22 }, (_, n) => `job-${n + 10}`);
  for (const job of jobs) await server.post(`/api/v1/points?job=${job}`, { series: [{ metric: "speed", stream: "algo-1", step: [1, 2, 3], value: [3, 4, 5] }] });
  for (const job of jobs) await server.waitForPoints(job, "speed", 3);
  for (const job of jobs) await server.post(`/api/v1/jobs/${job}/notes`, { step: 2, text: "slow" });
  await haveMetric(server);
  await open(`/wall?jobs=${jobs.join()}`);
  const mark = page.locator(".wall .panel .mark");
  await waitUntil(async () => (await mark.getAttribute("data-count")) === "20", "the notes of twenty");
  assert.equal(await mark.count(), 1);
  assert.deepEqual(Object.values(await askedNotes(page)), Array(20).fill(1));
});

const here = (page) => page.evaluate(() => location.pathname + decodeURIComponent(location.search));
/** The chart's read-out, by keys: its last point and some before it. */
async function readOut(page, back) {
  await page.locator(".chart .canvas").first().focus();
  await page.keyboard.press("End");
  for (let i = 0; i < back; i++) await page.keyboard.press("ArrowLeft");
}
const spoken = (page, text) => until(page, (wanted) => document.querySelector(".chart [aria-live]")?.innerText.includes(wanted), `the read-out of ${text}`, text);

test("one key leads from the top of a job to its first chart, others from there to a note", async ({ server, page, open }) => {
  await sendRun(server);
  await server.post("/api/v1/points?job=llama", { series: [{ metric: "grad_norm", stream: "algo-1", step: [1, 2, 3], value: [0.3, 0.4, 0.5] }] });
  await server.waitForPoints("llama", "grad_norm", 3);
  await open("/jobs/llama");
  await waitUntil(() => coloured(page), "the curve");
  const chart = () => page.evaluate(() => (document.activeElement?.matches(".canvas") ? document.activeElement.getAttribute("aria-label").split(".")[0] : null));
  await page.getByRole("button", { name: "More of train:loss" }).waitFor();
  // What hears keys comes behind the curve.
  await waitUntil(async () => (await page.keyboard.press("?"), (await page.locator("dialog.help").count()) > 0), "the help");
  await until(page, () => document.querySelector("dialog.help").innerText.includes("to the first chart"), "the key in it");
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  assert.equal(await chart(), "train:loss");
  await shot(page, "job-first-chart-by-key");
  await page.keyboard.press("c");
  assert.notEqual((await chart()) ?? "train:loss", "train:loss", "another chart");
  for (let n = 1; n < (await page.locator(".canvas[tabindex]").count()); n++) await page.keyboard.press("c");
  assert.equal(await chart(), "train:loss", "from the last one to the first");
  await page.keyboard.press("End");
  for (let n = 0; n < 50; n++) await page.keyboard.press("ArrowLeft");
  await spoken(page, "150");
  // Keys have come to a bucket, not to a place: it stays when the chart gets narrower.
  const width = () => page.evaluate(() => document.querySelector(".chart .canvas canvas").getBoundingClientRect().width);
  const wide = await width();
  await page.setViewportSize({ width: 1000, height: 900 });
  await waitUntil(async () => (await width()) < wide - 20, "the narrower chart");
  await page.keyboard.press("m");
  await form(page).waitFor();
  assert.equal(await here(page), "/jobs/llama/notes?at=step:150");
});

test("a note begins at a value of a chart, by a key or by the menu, and at a chosen line", async ({ server, page, open }) => {
  await sendRun(server);
  await open("/jobs/llama");
  await waitUntil(() => coloured(page), "the curve");
  await page.getByRole("button", { name: "More of train:loss" }).waitFor();
  await readOut(page, 50);
  await spoken(page, "150");
  await page.keyboard.press("m");
  await form(page).waitFor();
  assert.equal(await here(page), "/jobs/llama/notes?at=step:150");
  await until(page, () => document.activeElement?.getAttribute("name") === "text", "the focus in the text");
  await page.keyboard.type("seen in the chart");
  await page.keyboard.press("Control+Enter");
  await lists(page, "seen in the chart");
  assert.equal((await notes(server))[0].step, 150);

  await open("/jobs/llama?x=relative");
  await waitUntil(() => coloured(page), "the curve");
  await page.getByRole("button", { name: "More of train:loss" }).waitFor();
  await readOut(page, 10);
  await until(page, () => document.querySelector(".chart [aria-live]")?.innerText, "the read-out");
  await page.locator(".chart .canvas").first().dispatchEvent("contextmenu");
  await page.getByRole("button", { name: "Write a note here" }).press("Enter");
  await form(page).waitFor();
  const [, kind, ms] = /\?at=(\w+):(\d+)$/.exec(await here(page));
  assert.equal(kind, "time");
  assert.ok(Number(ms) >= at(188) && Number(ms) <= at(192), `${ms} is not about ${at(190)}`);

  await open("/jobs/llama/logs#L41-L43");
  await page.locator(".chosenbar a", { hasText: "note…" }).press("Enter");
  await form(page).waitFor();
  assert.equal(await here(page), "/jobs/llama/notes?at=line:41:algo-1");
});

for (const colorScheme of ["light", "dark"]) {
  test(`the notes: ${colorScheme}`, { colorScheme }, async ({ server, page, open }) => {
    await sendRun(server);
    for (const step of [10, 20]) await server.post("/api/v1/jobs/llama/notes", { step, text: `note ${step} ${"long".repeat(100)}` });
    const { id } = await server.post("/api/v1/jobs/llama/notes", { step: 30, text: "the one" });
    await openNotes(page, open, `?at=time:${at(9)}&note=${id}`);
    await page.locator(".notelist [aria-current]", { hasText: "the one" }).waitFor();
    await page.getByRole("button", { name: "Change the note: step 10" }).click();
    await page.getByRole("button", { name: "Delete the note: step 20" }).click();
    await page.locator("#note-undo").waitFor();
    assert.deepEqual(await faults(page, colorScheme === "light" ? ALL : COLOURS), []);
    await shot(page, `notes-${colorScheme}`);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await fitsWidth(page));
  });
}
