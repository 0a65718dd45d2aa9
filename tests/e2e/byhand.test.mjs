// What is worked out of a job is set right by hand on its page.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";
import { ALL, COLOURS, faults } from "./walk.mjs";

/** Whole seconds: a field has no finer ones. */
const START_MS = Math.floor(Date.now() / 1000 - 4000) * 1000;
const END_MS = START_MS + 400_000;
const line = (second, text) => `${new Date(START_MS + second * 1000).toISOString()} ${text}`;

/** Trained from START_MS to END_MS on 2 × ml.p4d.24xlarge, as its document states. */
async function ended(server, job = "llama-2") {
  await server.post("/api/v1/jobs", { TrainingJobName: job, ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: 2, VolumeSizeInGB: 50 } });
  await server.post(`/api/v1/jobs/${job}/transitions`, { SecondaryStatus: "Training", time_ms: START_MS });
  await server.send(job, [1, 2, 3].map((n) => line(n * 100, `step: ${n} loss: 2.5`)));
  await server.post(`/api/v1/jobs/${job}/transitions`, { SecondaryStatus: "Completed", time_ms: END_MS });
}

const byHand = async (server) => (await server.get("/api/v1/jobs/llama-2")).body.by_hand;
const runsOn = (page, text) => page.locator(".jobhead .fact", { hasText: text });
const mark = (page) => page.locator(".jobhead").getByRole("button", { name: "set by hand" });
const form = (page) => page.locator("dialog[open] form.byhand");
const field = (page, name) => form(page).getByRole("textbox", { name });
const isClosed = (page) => waitUntil(async () => (await page.locator("dialog[open]").count()) === 0, "the form's end");
const hint = (page, name) => form(page).locator(`#byhand-${name}`).innerText();

/** By keys alone, from the menu of the job. */
async function openForm(page) {
  await page.locator(".menu summary").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Set right by hand…" }).first().focus();
  await page.keyboard.press("Enter");
  await form(page).waitFor();
}

test("what a job ran on is set, is said, and is taken back, by keys alone", async ({ server, page, open }) => {
  await ended(server);
  await open("/jobs/llama-2");
  await runsOn(page, "2 × p4d.24xlarge").waitFor();
  assert.equal(await mark(page).count(), 0);
  await openForm(page);
  assert.deepEqual([await hint(page, "instance_type"), await hint(page, "nodes"), await hint(page, "price_per_hour")], ["now: ml.p4d.24xlarge", "now: 2", "now: –"]);
  await field(page, "Instance type").focus();
  await page.keyboard.type("ml.p5.48xlarge");
  await page.keyboard.press("Tab");
  await page.keyboard.type("3");
  assert.equal(await hint(page, "nodes"), "not saved yet");
  await page.keyboard.press("Tab");
  await page.keyboard.type("40.5");
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { instance_type: "ml.p5.48xlarge", nodes: 3, price_per_hour: 40.5 });
  await runsOn(page, "3 × p5.48xlarge").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.localName), "summary", "the focus is where it was");

  await mark(page).focus();
  await page.keyboard.press("Enter");
  await form(page).waitFor();
  assert.deepEqual([await hint(page, "nodes"), await hint(page, "start_ms")].map((one) => one.slice(0, 5)), ["set b", "now: "]);
  await form(page).getByRole("button", { name: "Take it back: Nodes" }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("name")), "nodes");
  assert.equal(await hint(page, "nodes"), "will be worked out again");
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { instance_type: "ml.p5.48xlarge", price_per_hour: 40.5 }, "the others stay");
  await runsOn(page, "2 × p5.48xlarge").waitFor();

  await mark(page).click();
  await form(page).getByRole("button", { name: "Take all of it back" }).click();
  await isClosed(page);
  assert.equal(await byHand(server), undefined);
  await runsOn(page, "2 × p4d.24xlarge").waitFor();
  assert.equal(await mark(page).count(), 0);

  // Leaving it, and saving what nobody touched, change nothing.
  await openForm(page);
  await field(page, "Nodes").fill("7");
  await page.keyboard.press("Escape");
  await isClosed(page);
  await openForm(page);
  assert.equal(await field(page, "Nodes").inputValue(), "");
  await page.keyboard.press("Enter");
  assert.equal(await byHand(server), undefined);
});

test("times are set in the zone in which the page shows them", { timezoneId: "Asia/Shanghai" }, async ({ server, page, open }) => {
  await ended(server);
  await open("/jobs/llama-2/goodput");
  await page.locator(".report").getByRole("button", { name: "Set right by hand…" }).click();
  const later = END_MS + 600_000;
  const inShanghai = new Date(later + 8 * 3_600_000).toISOString().slice(0, 19);
  await field(page, "End of the training").fill(inShanghai);
  await field(page, "End of the training").press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { end_ms: later });
  await until(page, () => document.querySelector(".report h2")?.innerText.includes("16 min"), "1000 seconds instead of 400");
  await mark(page).click();
  assert.equal(new Date(`${await field(page, "End of the training").inputValue()}+08:00`).getTime(), later);
  // What nobody touched is not said again: what somebody else set meanwhile stays.
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { end_ms: later + 5 } });
  await field(page, "Nodes").fill("5");
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { end_ms: later + 5, nodes: 5 });
});

test("what the server refuses is said at its field", async ({ server, page, open, allow }) => {
  allow(/422|503/);
  await ended(server);
  await open("/jobs/llama-2");
  await openForm(page);
  for (const [label, name, text, said] of [
    ["Nodes", "nodes", "1.5", /whole number from 1 to/],
    ["Price of one node", "price_per_hour", "forty", /costs an hour/],
    ["Instance type", "instance_type", "m".repeat(256), /1 to 255 bytes/],
    ["End of the training", "end_ms", new Date(START_MS - 86_400_000).toISOString().slice(0, 19), /after its start/],
  ]) {
    const input = field(page, label);
    await input.fill(text);
    await page.keyboard.press("Enter");
    await until(page, (wanted) => document.querySelector(`[name=${wanted}][aria-invalid=true]`), `that ${label} is marked`, name);
    assert.match(await form(page).locator(`#byhand-${name}-wrong`).innerText(), said);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("name")), name);
    assert.match(await input.getAttribute("aria-describedby"), new RegExp(`^byhand-${name}-wrong `));
    assert.equal(await page.locator("[aria-invalid=true]").count(), 1);
    await input.fill("");
  }
  assert.equal(await byHand(server), undefined);
});

test("who may only read sees what was set and has no form for it", { token: true }, async ({ server, page, open, allow }) => {
  allow(/401/);
  await ended(server);
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { nodes: 3 } });
  const { token } = await server.post("/api/v1/tokens", { name: "guest", scope: "read" });
  await open("/jobs/llama-2");
  await page.fill("dialog.signin input", token);
  await page.keyboard.press("Enter");
  await runsOn(page, "3 × p4d.24xlarge").waitFor();
  await runsOn(page, "set by hand").waitFor();
  assert.equal(await mark(page).count(), 0);
  await page.locator(".menu summary").click();
  await page.getByText("Copy as JSON").waitFor();
  assert.equal(await page.getByText("Set right by hand…").count(), 0);
});

test("an open page shows what was set elsewhere, and that it was taken back", async ({ server, page, open }) => {
  await ended(server);
  await open("/jobs/llama-2");
  await runsOn(page, "2 × p4d.24xlarge").waitFor();
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { nodes: 3, instance_type: "ml.p5.48xlarge" } });
  await runsOn(page, "3 × p5.48xlarge").waitFor();
  await mark(page).waitFor();
  await server.patch("/api/v1/jobs/llama-2", { by_hand: null });
  await runsOn(page, "2 × p4d.24xlarge").waitFor();
  assert.deepEqual((await texts(page, ".jobhead .fact")).filter((one) => one.includes("hand")), []);
});

for (const [name, look, rules] of [
  ["light", { colorScheme: "light" }, ALL],
  ["dark", { colorScheme: "dark" }, COLOURS],
  ["phone", { viewport: { width: 390, height: 780 }, locale: "zh-CN" }, ALL],
]) {
  test(`the form, ${name}: nothing for axe, nothing out of the window`, look, async ({ server, page, open, allow }) => {
    allow(/422/);
    await ended(server);
    await server.patch("/api/v1/jobs/llama-2", { by_hand: { nodes: 3, end_ms: END_MS + 1000 } });
    await open("/jobs/llama-2/goodput");
    await page.locator(".report button.byhandopen").click();
    await form(page).waitFor();
    await form(page).locator("[name=price_per_hour]").fill("forty");
    await page.keyboard.press("Enter");
    await form(page).locator(".wrong").waitFor();
    await shot(page, `job-byhand-${name}`);
    assert.ok(await fitsWidth(page));
    assert.ok(await form(page).evaluate((one) => one.scrollWidth <= one.clientWidth), "the form fits its dialog");
    assert.deepEqual(await faults(page, rules, [".rail", ".statusline", ".jobtop .lanes"]), []);
    await page.keyboard.press("Escape");
    await isClosed(page);
    await page.locator(".report button.byhandopen").scrollIntoViewIfNeeded();
    await shot(page, `job-byhand-goodput-${name}`);
    assert.ok(await fitsWidth(page));
  });
}

/** Into the nth row of settings, which may be the empty one. */
async function fillSetting(page, n, ...texts) {
  for (const [i, text] of texts.entries()) await field(page, `${["Name", "Value"][i]} of setting ${n}`).fill(text);
}
const settingRows = (page) => form(page).locator("fieldset input").evaluateAll((all) => all.map((one) => one.value));
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("name"));

test("settings are set by keys alone, row by row, with any value", async ({ server, page, open }) => {
  await ended(server);
  await open("/jobs/llama-2");
  await openForm(page);
  await field(page, "Name of setting 1").focus();
  for (const key of ["train_tokens", "Tab", "2e12", "Tab", "Tab", "args", "Tab", "a=1; b=2"]) await (key === "Tab" ? page.keyboard.press(key) : page.keyboard.type(key));
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { settings: { train_tokens: "2e12", args: "a=1; b=2" } });
  assert.equal(await mark(page).getAttribute("title"), "train_tokens 2e12, args a=1; b=2");
  // One further setting leaves the others whole: also what is no text, or was set elsewhere meanwhile.
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { settings: { num: 3 } } });
  await waitUntil(async () => (await mark(page).getAttribute("title")).includes("num 3"), "the number");
  await mark(page).click();
  assert.deepEqual(await settingRows(page), ["train_tokens", "2e12", "args", "a=1; b=2", "num", "3", "", ""]);
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { settings: { late: 1 } } });
  await fillSetting(page, 4, " lr ", " 2e-4 ");
  await shot(page, "job-byhand-settings");
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { settings: { train_tokens: "2e12", args: "a=1; b=2", num: 3, late: 1, lr: "2e-4" } });
  // One is taken back, by its button; the focus goes on in its place.
  await mark(page).focus();
  await page.keyboard.press("Enter");
  await form(page).getByRole("button", { name: "Take it back: args" }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "settings.1.name");
  assert.equal(await field(page, "Name of setting 2").inputValue(), "num");
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { settings: { train_tokens: "2e12", num: 3, late: 1, lr: "2e-4" } });
});

test("a row that is no setting is refused at its place, and takes nothing back", async ({ server, page, open, allow }) => {
  allow(/422/);
  await ended(server);
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { settings: { a: "1", note: "x" } } });
  await open("/jobs/llama-2");
  await mark(page).click();
  const wrong = form(page).locator(".wrong");
  for (const [name, value, place, said] of [
    ["", "5", "settings.2.name", "This value has no name."],
    ["lr", " ", "settings.2.value", "lr has no value; ✕ takes it back."],
    ["note ", "y", "settings.2.name", "note is here twice."],
  ]) {
    await fillSetting(page, 3, name, value);
    await page.keyboard.press("Enter");
    await wrong.waitFor();
    assert.equal(await wrong.innerText(), said);
    assert.equal(await focused(page), place);
    assert.equal(await page.evaluate(() => document.getElementById(document.activeElement.getAttribute("aria-describedby"))?.innerText), said);
    await shot(page, "job-byhand-refused");
    assert.deepEqual(await faults(page, ALL, [".rail", ".statusline", ".jobtop .lanes"]), []);
  }
  // What the server refuses stands at its row, too.
  await fillSetting(page, 3, "args", "v".repeat(2501));
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("form.byhand .wrong")?.innerText.startsWith("by_hand.settings.args"), "the server's word");
  assert.equal(await focused(page), "settings.2.value");
  assert.deepEqual(await byHand(server), { settings: { a: "1", note: "x" } });
  // Nothing of it in the form, nothing of it left: that is said by taking it back.
  await fillSetting(page, 3, "", "");
  await page.keyboard.press("Enter");
  await isClosed(page);
  assert.deepEqual(await byHand(server), { settings: { a: "1", note: "x" } });
});

test("a checkpoint is denied, another one is added, and both are taken back, by keys alone", { timezoneId: "UTC" }, async ({ server, page, open, allow }) => {
  const steps = Array.from({ length: 90 }, (_, i) => line(i * 4, `step: ${i + 1} loss: 2.5`));
  await server.send("llama-2", [...steps.slice(0, 40), line(160, "saved checkpoint to /ckpt/40 at step 40"), ...steps.slice(40, 80), line(320, "saved checkpoint to /ckpt/80 at step 80"), ...steps.slice(80)]);
  await waitUntil(async () => (await server.get("/api/v1/jobs/llama-2/checkpoints")).body.checkpoints.length === 2, "the checkpoints");
  await open("/jobs/llama-2/goodput");
  const table = page.locator(".report table", { has: page.getByText("said of it") });
  const row = (step) => table.getByRole("row").filter({ has: page.getByRole("rowheader", { name: String(step), exact: true }) });
  const dialog = page.locator("dialog[open]");
  await row(80).getByText("/ckpt/80").waitFor();
  await row(80).getByRole("button", { name: "Set right by hand…" }).focus();
  await page.keyboard.press("Enter");
  await dialog.getByRole("textbox", { name: "Why" }).focus();
  await page.keyboard.type("the file is cut off");
  await page.keyboard.press("Enter");
  await isClosed(page);
  await row(80).getByText("work cannot go on from it").waitFor();
  const { "1:80": denied } = (await byHand(server)).checkpoints;
  assert.deepEqual([denied.usable, denied.why, denied.path], [false, "the file is cut off", undefined], "the line's path is not set by hand with it");
  await row(80).getByText("/ckpt/80").waitFor();

  allow(/422/);
  await page.getByRole("button", { name: "Add a checkpoint…" }).focus();
  await page.keyboard.press("Enter");
  await dialog.getByRole("textbox", { name: "attempt" }).fill("7");
  await dialog.getByRole("textbox", { name: "step" }).fill("60");
  await dialog.locator("[name=time]").fill(new Date(START_MS + 240_000).toISOString().slice(0, 19));
  await dialog.getByRole("textbox", { name: "path" }).fill("s3://b/60");
  await dialog.getByRole("textbox", { name: "Why" }).fill("an asynchronous writer");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").filter({ hasText: "from 1 to 1" }).waitFor();
  await dialog.getByRole("textbox", { name: "attempt" }).fill("1");
  await page.keyboard.press("Enter");
  await isClosed(page);
  await row(60).getByText("s3://b/60").waitFor();
  assert.equal((await server.get("/api/v1/jobs/llama-2/checkpoints")).body.checkpoints[0].ts_ms, START_MS + 240_000);

  for (const step of [80, 60]) {
    await row(step).getByRole("button", { name: "Take it back" }).focus();
    await page.keyboard.press("Enter");
    await waitUntil(async () => !(await byHand(server))?.checkpoints?.[`1:${step}`], "its end");
  }
  assert.equal(await byHand(server), undefined);
  await waitUntil(async () => (await table.getByRole("rowheader").allInnerTexts()).join() === "80,40", "what the log tells of");
});
