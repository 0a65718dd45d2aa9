// A workspace as a person makes one: panels, expressions, arranged by hand and by keys, saved, opened elsewhere, exported, imported.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { asked, coloured, shot, test, texts, until, waitUntil } from "./support.mjs";

const JOBS = ["ada", "bea", "cid", "dan", "eve", "fay"];

async function sendRuns(server) {
  const step = Array.from({ length: 400 }, (_, n) => n * 10);
  for (const [r, job] of JOBS.entries()) {
    await server.post("/api/v1/jobs", { TrainingJobName: job, RoleArn: "arn:aws:iam::123456789012:role/r", ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: 2, VolumeSizeInGB: 50 }, HyperParameters: { lr: String(0.001 * (r + 1)), optimizer: r % 2 ? "lion" : "adam" } });
    const metric = (name, of) => ({ metric: name, stream: "algo-1", step, value: step.map(of) });
    const series = [metric("loss", (s, n) => (job === "cid" && n === 211 ? 40 : 2 + r / 10 + 3 / (1 + n / 50))), metric("eval_loss", (s, n) => 2.5 + r / 10 + 3 / (1 + n / 50)), ...[0, 1].map((g) => metric(`gpu/${g}/util`, (s, n) => 90 + g + (n % 5)))];
    await server.post(`/api/v1/points?job=${job}`, { series });
  }
  for (const job of JOBS) await server.waitForPoints(job, "gpu/1/util", 400);
}

const titles = (page) => texts(page, ".panel h2");
const panel = (page, n) => page.locator(`[data-panel="${n}"]`);
const drawn = (page, n) => waitUntil(() => coloured(page, `[data-panel="${n}"] canvas`), `curves in panel ${n}`);
const width = async (page, n) => (await panel(page, n).boundingBox()).width;

test("a person makes a workspace, and another one finds it", async ({ server, page, open, openPage, folder, allow }) => {
  allow(/412/);
  await sendRuns(server);
  await open("/");
  await page.getByRole("link", { name: "Workspace" }).click();
  await page.getByRole("button", { name: "Nothing" }).click();
  // the first panel by its key, with an expression that is wrong at first
  await page.getByRole("button", { name: "Add a panel of curves" }).click();
  const expressions = page.getByLabel("Expressions, one a line");
  await expressions.fill("ema(loss, 1.5)");
  await until(page, () => document.querySelector(".faults")?.innerText.includes("column 11: a weight from 0 to below 1"), "what is wrong, and where");
  await expressions.fill("loss\nema(loss, 0.9)");
  await page.getByLabel("Title").last().fill("training");
  await drawn(page, 0);
  await page.keyboard.press("Escape");
  // others by the menu
  for (const kind of ["Scatter", "Table", "Number", "Text"]) {
    await page.getByRole("button", { name: "+ Panel" }).click();
    await page.locator("#wsadd button", { hasText: new RegExp(`^${kind}`) }).click();
    if (kind === "Text") await page.getByLabel("Text", { exact: true }).fill("# Watch\n- cid");
  }
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelector(".scatter + .note")?.innerText.startsWith("rank correlation 1, n = 6"), "the rank correlation, with its count");
  await until(page, () => document.querySelector(".figure output")?.innerText === "2.334", "the lowest last loss");
  const isWhole = (box) => box.height >= 20 && box.bottom <= document.querySelector(".wsbar .toolbar").getBoundingClientRect().bottom;
  assert.ok(await page.evaluate(`[...document.querySelectorAll(".xrange")].every((one) => (${isWhole})(one.getBoundingClientRect()))`), "from and to are in sight");
  assert.deepEqual(await titles(page), ["training", "loss.final by hp.lr", "Table", "loss.last", "Text"]);
  assert.equal((await texts(page, ".panel.table tbody tr")).length, JOBS.length);

  // carried by its head to the first place
  const [from, to] = [await panel(page, 2).locator("header").boundingBox(), await panel(page, 0).boundingBox()];
  await page.mouse.move(from.x + 60, from.y + 10);
  await page.mouse.down();
  await page.mouse.move(to.x + 20, to.y + 40, { steps: 6 });
  await page.mouse.up();
  await waitUntil(async () => (await titles(page))[0] === "Table", "the table in the first place");
  // and by keys: back, wider, a copy, and that taken back
  await panel(page, 0).focus();
  await page.keyboard.press("Shift+ArrowRight");
  await waitUntil(async () => (await titles(page))[1] === "Table", "the table in the second place");
  await until(page, () => document.activeElement?.getAttribute("data-panel") === "1", "the focus with it");
  const before = await width(page, 1);
  for (let n = 0; n < 6; n++) await page.keyboard.press("w");
  await waitUntil(async () => (await width(page, 1)) > before * 1.8, "a wider panel");
  await page.keyboard.press("d");
  await waitUntil(async () => (await titles(page)).length === 6, "a copy");
  await page.keyboard.press("Control+z");
  await waitUntil(async () => (await titles(page)).length === 5, "no copy");

  // what is not saved is in the address
  await until(page, () => location.hash.startsWith("#w="), "the address to hold it");
  const third = await openPage();
  // the address follows the last change a little later
  await waitUntil(async () => (await third.goto(page.url()), (await titles(third)).length === 5), "the same from the address");

  await page.keyboard.press("Control+s");
  await page.getByLabel("Name", { exact: true }).fill("night / watch");
  await page.keyboard.press("Enter");
  await until(page, () => location.search === "?name=night%20%2F%20watch" && location.hash === "", "the saved one's address");
  await shot(page, "workspace-made");

  // another browser
  const other = await openPage();
  await other.goto(`${server.url}/workspace`);
  await other.getByRole("link", { name: "night / watch" }).click();
  await waitUntil(async () => (await titles(other)).join() === (await titles(page)).join(), "the same panels");
  await other.getByLabel("Title").first().fill("renamed elsewhere");
  await other.keyboard.press("Enter");
  await until(other, () => document.querySelector(".wsbar .state")?.innerText.startsWith("changed"), "that it is changed");
  await other.keyboard.press("Control+s");
  await until(other, () => document.querySelector(".wsbar .state")?.innerText === "saved", "that it is saved");
  // the first one was not asked, and writes over nothing unseen
  await page.getByLabel("Title").first().fill("mine");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".wsbar .state")?.innerText.startsWith("changed"), "that it is changed here, too");
  await page.keyboard.press("Control+s");
  await page.getByText("Somebody else has saved it since you opened it").waitFor();
  await page.getByRole("button", { name: "Take theirs" }).click();
  await until(page, () => document.querySelector(".wsbar .name")?.value === "renamed elsewhere", "theirs");
  await page.getByRole("button", { name: "Undo" }).click();
  await until(page, () => document.querySelector(".wsbar .name")?.value === "mine", "mine again");

  // out as a file, and in again elsewhere
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("button", { name: "Export as JSON" }).click();
  const file = path.join(folder, "workspace.json");
  const text = readFileSync(await (await download).path(), "utf8");
  writeFileSync(file, text);
  assert.equal(JSON.parse(text).title, "mine");
  writeFileSync(path.join(folder, "bad.json"), text.replace('"width": 12', '"width": 13'));
  await other.goto(`${server.url}/workspace`);
  await other.getByLabel("A file").setInputFiles(path.join(folder, "bad.json"));
  await until(other, () => /^panels\[\d\]\.width.*is not a whole number from 2 to 12/.test(document.querySelector(".wsstart .wrong")?.innerText ?? ""), "the place of what is wrong");
  await other.getByLabel("A file").setInputFiles(file);
  await waitUntil(async () => (await titles(other)).join() === (await titles(page)).join(), "the imported panels");
});

test("cursor, zoom and tooltip are of all panels; a spike is drawn", async ({ server, page, open }) => {
  await sendRuns(server);
  await open(`/workspace?lines=${encodeURIComponent('loss;eval_loss / loss;"gpu/*/util"')}`);
  for (const n of [0, 1, 2]) await drawn(page, n);
  assert.ok((await asked(page, "points/query")) <= 2, "the curves of all panels come together; those of names with * once these are known");
  const box = await panel(page, 0).locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.53, box.y + box.height / 2);
  await until(page, (jobs) => document.querySelectorAll(".curvetip li").length === jobs, "all values under the cursor", JOBS.length);
  const at = (n) => page.evaluate((i) => document.querySelector(`[data-panel="${i}"] .u-cursor-x`).getBoundingClientRect().left - document.querySelector(`[data-panel="${i}"] .u-over`).getBoundingClientRect().left, n);
  await waitUntil(async () => Math.abs((await at(0)) - (await at(2))) < 3, "the cursor in the other panels");
  // the spike of one point of 2400 reaches to the upper edge of the plot; what is not near the cursor is faint while it points
  await page.mouse.move(1, 1);
  const isHigh = () =>
    page.evaluate(() => {
      const canvas = document.querySelector('[data-panel="0"] canvas');
      const { data } = canvas.getContext("2d").getImageData(Math.round(canvas.width * 0.3), 0, Math.round(canvas.width * 0.5), Math.round(canvas.height / 3));
      let near = 0;
      for (let i = 0; i < data.length; i += 4) near += data[i + 3] > 60 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 20;
      return near > 5;
    });
  await waitUntil(isHigh, "the spike in the upper third of the plot");
  // by keys: to the end, the last value is read
  await panel(page, 0).locator(".canvas").focus();
  await page.keyboard.press("End");
  await until(page, () => document.querySelector(".curvetip b")?.innerText === "step 3,990", "the last step");
  // a zoom is one of all panels, in the address, and Ctrl+Z takes it back
  await page.mouse.move(box.x + box.width * 0.2, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await until(page, () => Number(document.querySelector(".xrange input")?.value) > 500, "the range of steps");
  await until(page, () => location.hash.startsWith("#w="), "the address");
  await panel(page, 0).focus();
  await page.keyboard.press("Control+z");
  await until(page, () => document.querySelector(".xrange input")?.value === "", "all steps");
  // live
  await server.post("/api/v1/points?job=ada", { series: [{ metric: "loss", stream: "algo-1", step: [9000], value: [1] }] });
  await panel(page, 0).locator(".canvas").focus();
  await waitUntil(async () => {
    await page.keyboard.press("End");
    return (await texts(page, ".curvetip b"))[0] === "step 9,000";
  }, "the new point");
});

test("curves by stream and time, and one of a single point", async ({ server, page, open }) => {
  const step = Array.from({ length: 100 }, (_, n) => n);
  const series = ["algo-1", "algo-2"].map((stream, k) => ({ metric: "loss", stream, step, ts_ms: step.map((n) => 1_790_000_000_000 + n * 60_000), value: step.map((n) => 5 - n / 50 + k) }));
  await server.post("/api/v1/points?job=two", { series: [...series, { metric: "eval_loss", stream: "algo-1", step: [50], ts_ms: [1_790_003_000_000], value: [3] }] });
  await server.waitForPoints("two", "eval_loss", 1);
  await open(`/workspace?lines=${encodeURIComponent("loss;eval_loss")}&x=relative`);
  await drawn(page, 0);
  await drawn(page, 1);
  await panel(page, 0).focus();
  await page.keyboard.press("e");
  await page.getByLabel("A curve for each").selectOption("stream");
  await until(page, () => document.querySelector('[data-panel="0"] .canvas')?.getAttribute("aria-label").includes("2 curves"), "a curve a stream");
  await page.getByRole("button", { name: "time", exact: true }).click();
  await page.getByLabel("Of the clock").selectOption("1");
  await until(page, () => document.querySelector('[data-panel="0"] .nothing'), "nothing of the last hour");
  await page.getByRole("button", { name: "Undo" }).click();
  await drawn(page, 0);
});

test("a panel names its curves, each beside a piece of its line", async ({ server, page, open }) => {
  await sendRuns(server);
  await open("/");
  await page.getByRole("link", { name: "Workspace" }).click();
  await page.getByRole("button", { name: "Nothing" }).click();
  await page.getByRole("button", { name: "Add a panel of curves" }).click();
  await page.getByLabel("Expressions, one a line").fill("loss");
  await drawn(page, 0);
  await waitUntil(async () => (await texts(page, ".panel .groups span")).sort().join() === JOBS.join(), "the names");
  assert.equal(await page.locator(".panel .groups line").count(), JOBS.length);
  await shot(page, "workspace-legend");
});

test("values under the cursor stand with their own steps", async ({ server, page, open }) => {
  const every = (by, of) => Array.from({ length: 1000 / by + 1 }, (_, n) => of(n * by));
  const metric = (name, by) => ({ metric: name, stream: "algo-1", step: every(by, (s) => s), value: every(by, (s) => 5 - s / 1000) });
  await server.post("/api/v1/points?job=one", { series: [metric("loss", 10), metric("eval_loss", 500)] });
  await server.waitForPoints("one", "eval_loss", 3);
  await open("/workspace");
  await page.getByRole("button", { name: "Nothing" }).click();
  await page.getByRole("button", { name: "Add a panel of curves" }).click();
  await page.getByLabel("Expressions, one a line").fill("loss\neval_loss");
  await drawn(page, 0);
  await panel(page, 0).getByRole("application", { name: "2 curves" }).focus(); // before both are there, a key steps along one of them
  for (let n = 0; n < 21; n++) await page.keyboard.press("ArrowRight");
  const said = (name) => page.locator(".curvetip li", { hasText: name }).innerText();
  await until(page, () => document.querySelectorAll(".curvetip li").length === 2, "both curves");
  await until(page, () => /step\s+200/.test(document.querySelector(".curvetip").innerText), "the step of the last key");
  assert.match(await said("eval_loss"), /step 0/);
});

test("what keys read stays under the cursor while points come, and a pointer at rest does not take it away", async ({ server, page, open }) => {
  const loss = (step) => ({ series: [{ metric: "loss", stream: "algo-1", step, value: step.map((s) => 5 - s / 1000) }] });
  await server.post("/api/v1/points?job=ada", loss(Array.from({ length: 101 }, (_, n) => n * 10)));
  await server.waitForPoints("ada", "loss", 101);
  await open("/workspace?lines=loss");
  await drawn(page, 0);
  const over = panel(page, 0).locator(".u-over");
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 30);
  await page.locator(".curvetip").waitFor();
  await panel(page, 0).locator(".canvas").focus();
  await page.keyboard.press("Home");
  for (let n = 0; n < 20; n++) await page.keyboard.press("ArrowRight");
  const at = () => page.evaluate(() => [document.querySelector(".curvetip b")?.innerText, Math.round((100 * (document.querySelector(".u-cursor-x").getBoundingClientRect().left - document.querySelector(".u-over").getBoundingClientRect().left)) / document.querySelector(".u-over").clientWidth)].join(" at "));
  await waitUntil(async () => (await at()) === "step 200 at 20", "the step of the last key");
  await over.evaluate((one, [x, y]) => one.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: x, clientY: y })), [box.x + box.width * 0.7, box.y + 30]);
  assert.equal(await at(), "step 200 at 20");
  await server.post("/api/v1/points?job=ada", loss([2000]));
  await waitUntil(async () => (await at()) === "step 200 at 10", "the same step, elsewhere on the longer axis");
  await page.keyboard.press("ArrowRight");
  await waitUntil(async () => /^step 210 /.test(await at()), "the step behind it");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await until(page, () => document.querySelector(".curvetip b")?.innerText === "step 1,000", "what the pointer is at, once it moves");
});

test("the tooltip stays with the pointer while points come to other panels", async ({ server, page, open }) => {
  const points = (metric, step) => ({ series: [{ metric, stream: "algo-1", step, value: step.map((s) => 5 - s / 1000) }] });
  const step = Array.from({ length: 101 }, (_, n) => n * 10);
  for (const metric of ["loss", "eval_loss"]) await server.post("/api/v1/points?job=ada", points(metric, step));
  await server.waitForPoints("ada", "eval_loss", 101);
  await open(`/workspace?lines=${encodeURIComponent("loss;eval_loss")}`);
  for (const n of [0, 1]) await drawn(page, n);
  const box = await panel(page, 0).locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 30);
  await panel(page, 0).locator(".curvetip").waitFor();
  /** In percent of the width. */
  const at = (n) => panel(page, n).evaluate((one) => Math.round((100 * (one.querySelector(".u-cursor-x").getBoundingClientRect().left - one.querySelector(".u-over").getBoundingClientRect().left)) / one.querySelector(".u-over").clientWidth));
  await waitUntil(async () => (await at(0)) === 50 && (await at(1)) === 50, "the cursor in both panels");
  await server.post("/api/v1/points?job=ada", points("eval_loss", [2000]));
  await waitUntil(async () => (await at(1)) === 25, "the same step in the longer chart");
  assert.equal(await at(0), 50);
  assert.deepEqual([await panel(page, 0).locator(".curvetip").count(), await panel(page, 1).locator(".curvetip").count()], [1, 0]);
});

test("keys read the curves that the page tells of, from the moment it does", async ({ server, page, open }) => {
  await server.post("/api/v1/points?job=ada", { series: [{ metric: "loss", stream: "algo-1", step: [0, 10, 20, 30], value: [4, 3, 2, 1] }] });
  await server.waitForPoints("ada", "loss", 4);
  await open("/workspace");
  await page.getByRole("button", { name: "Nothing" }).click();
  const read = page.evaluate(
    () =>
      new Promise((resolve) => {
        const press = (canvas) => {
          for (let n = 0; n < 3; n++) canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
          setTimeout(() => resolve(document.querySelector(".curvetip b")?.innerText), 0);
        };
        const look = new MutationObserver(() => {
          const canvas = document.querySelector('.canvas[aria-label*="1 curves"]');
          if (!canvas) return;
          look.disconnect();
          queueMicrotask(() => press(canvas)); // before any frame, and any task
        });
        look.observe(document.body, { subtree: true, childList: true, attributes: true });
      }),
  );
  await page.getByRole("button", { name: "Add a panel of curves" }).click();
  assert.equal(await read, "step 20");
});

test("a panel fixes the hue of a run and of an expression, by keys, for whoever opens it", async ({ server, page, open, openPage }) => {
  await sendRuns(server);
  await server.put("/api/v1/workspaces/hues", { version: 1, panels: [{ kind: "line", expressions: ["loss", "eval_loss"], query: "name:ada or name:bea", width: 8, height: 2 }] });
  await open("/workspace?name=hues");
  await drawn(page, 0);
  await panel(page, 0).focus();
  await page.keyboard.press("e");
  const hue = (name) => page.locator(".hues").getByRole("combobox", { name, exact: true });
  await page.locator(".hues summary").focus();
  await page.keyboard.press("Enter");
  await hue("bea").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab"); // the newest job is the first
  await page.keyboard.type("olive");
  assert.equal(await hue("ada").inputValue(), "olive");
  await hue("eval_loss").selectOption("pink");
  await shot(page, "workspace-hues-editor");
  await page.keyboard.press("Control+s");
  await until(page, () => document.querySelector(".wsbar .state")?.innerText === "saved", "that it is saved");
  const saved = (await server.get("/api/v1/workspaces/hues")).body;
  assert.deepEqual(saved.panels[0].colors, { ada: "olive", eval_loss: "pink" });
  for (const [colorScheme, olive, pink] of [["light", "rgb(127, 112, 0)", "rgb(173, 74, 146)"], ["dark", "rgb(223, 210, 79)", "rgb(226, 143, 201)"]]) {
    const other = await openPage({ colorScheme });
    await other.goto(`${server.url}/workspace?name=hues`);
    await drawn(other, 0);
    await other.locator(".canvas").focus();
    await other.keyboard.press("End");
    await until(other, () => document.querySelectorAll(".curvetip li").length === 4, "all curves");
    const lines = await other.locator(".curvetip li").evaluateAll((all) => all.map((one) => [one.querySelector("bdi").innerText, getComputedStyle(one.querySelector("line")).stroke, one.querySelector("line").getAttribute("stroke-dasharray") ?? ""]));
    const of = Object.fromEntries(lines.map(([name, ...look]) => [name, look]));
    assert.equal(of["ada · loss"][0], olive);
    assert.equal(of["ada · eval_loss"][0], olive, "the run's before the expression's");
    assert.equal(of["bea · eval_loss"][0], pink);
    assert.equal(new Set(Object.values(of).map(String)).size, 4, "no two look alike");
    await shot(other, `workspace-hues-${colorScheme}`);
  }
});

test("a job without a count of tokens is not left out silently", async ({ server, page, open }) => {
  const step = Array.from({ length: 50 }, (_, n) => n * 10);
  const metric = (name, of) => ({ metric: name, stream: "algo-1", step, value: step.map(of) });
  await server.post("/api/v1/points?job=counts", { series: [metric("loss", (s) => 5 - s / 500), metric("tokens", (s) => s * 2048)] });
  await server.post("/api/v1/points?job=silent", { series: [metric("loss", (s) => 4 - s / 500)] });
  await server.waitForPoints("silent", "loss", 50);
  await server.waitForPoints("counts", "tokens", 50);
  for (const where of ["/workspace?lines=loss&x=tokens", "/wall?jobs=counts,silent&x=tokens"]) {
    await open(where);
    await until(page, () => document.querySelector(".undrawn summary")?.innerText.includes("silent is not drawn"), `which job is not drawn in ${where}`);
    await page.locator(".undrawn summary").first().click();
    await until(page, () => /silent.*counts no tokens/s.test(document.querySelector(".undrawn ul")?.innerText ?? ""), "the server's reason");
  }
});

test("a table is sorted by an expression; what cannot be kept says so; what was deleted is saved as new", async ({ server, page, open, allow }) => {
  allow(/412|413|404/);
  await sendRuns(server);
  const document = { version: 1, panels: [{ kind: "table", columns: ["name", "0 - hp.lr"], width: 8, height: 3 }] };
  await server.request("PUT", "/api/v1/workspaces/night", document);
  await open("/workspace?name=night");
  await page.getByRole("button", { name: "Sort by 0 - hp.lr" }).click();
  const first = () => page.locator(".panel.table tbody tr").first().innerText();
  await waitUntil(async () => (await first()).startsWith("fay"), "the lowest first");
  await page.getByRole("button", { name: "Sort by 0 - hp.lr" }).click();
  await waitUntil(async () => (await first()).startsWith("ada"), "the highest first");
  const query = page.getByLabel("Which jobs, as a query").first();
  await query.fill(`name~${"x".repeat(8200)}`);
  await until(page, () => document.querySelector(".wsbar .wrong")?.innerText.includes("longer than 8192 bytes"), "why it cannot be kept");
  await until(page, () => document.querySelector(".wsbar .state")?.innerText === "cannot be kept as it is", "that it is not kept");
  await query.fill("name~a");
  await server.request("DELETE", "/api/v1/workspaces/night");
  await until(page, () => document.querySelector(".wsbar .state")?.innerText.startsWith("changed"), "that it is changed");
  await page.keyboard.press("Control+s");
  await page.getByText("Somebody else has deleted it since you opened it").waitFor();
  await page.getByRole("button", { name: "Save as new" }).click();
  await until(page, () => document.querySelector(".wsbar .state")?.innerText === "saved", "that it is saved again");
});

test("a drag that was taken away moves nothing, then or later; what was typed last is saved", async ({ server, page, open }) => {
  await sendRuns(server);
  await open("/workspace?lines=loss;eval_loss");
  await drawn(page, 1);
  const act = (n, what, ...steps) =>
    panel(page, n).locator(what).evaluate((element, all) => {
      element.setPointerCapture = () => undefined;
      const { left, top } = element.getBoundingClientRect();
      for (const [type, x, y] of all) element.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, pointerId: 1, clientX: left + x, clientY: top + y }));
    }, steps);
  // a finger that scrolls after all
  const narrow = await width(page, 0);
  await act(0, ".grip", ["pointerdown", 0, 0], ["pointermove", 400, 0], ["pointercancel", 400, 0]);
  await panel(page, 0).focus();
  await page.keyboard.press("h");
  const height = async () => (await panel(page, 0).boundingBox()).height;
  await waitUntil(async () => (await height()) > 400, "a higher panel");
  assert.equal(await width(page, 0), narrow);
  await act(0, ".grip", ["pointerdown", 0, 0], ["pointermove", 300, 0], ["pointerup", 300, 0]);
  await waitUntil(async () => (await width(page, 0)) > narrow, "a wider panel");
  assert.ok((await height()) > 400, "as high as before");
  await page.getByRole("button", { name: "Undo" }).click();
  await waitUntil(async () => (await width(page, 0)) === narrow, "as wide as before: what was taken away was no change");
  // saved at once behind the last letter
  await page.keyboard.press("Control+s");
  await page.getByLabel("Name", { exact: true }).fill("typed");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".wsbar .state")?.innerText === "saved", "that it is saved");
  await page.getByLabel("Title").first().fill("to the last letter");
  await page.keyboard.press("Enter");
  await page.getByLabel("Title").first().fill("to the very last letter");
  await page.keyboard.press("Control+s");
  await waitUntil(async () => JSON.stringify((await server.request("GET", "/api/v1/workspaces/typed")).body).includes("to the very last letter"), "all of it");
});

test("only panels in sight are drawn", async ({ server, page, open }) => {
  await sendRuns(server);
  await open(`/workspace?lines=${encodeURIComponent(Array.from({ length: 40 }, (_, n) => `loss + ${n}`).join(";"))}`);
  await drawn(page, 0);
  const mounted = () => page.locator(".panel canvas").count();
  assert.ok((await mounted()) < 20, `${await mounted()} of 40`);
  assert.equal(await page.locator("[data-panel]").count(), 40);
  await panel(page, 39).scrollIntoViewIfNeeded();
  await drawn(page, 39);
  await waitUntil(async () => (await panel(page, 0).locator("canvas").count()) === 0, "the first ones to be gone");
});

test("a panel in sight is drawn once, of curves that are asked for together", async ({ server, page, open }) => {
  await sendRuns(server);
  await page.addInitScript(() => {
    window.draws = new Map();
    const { clearRect } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
      window.draws.set(this.canvas, (window.draws.get(this.canvas) ?? 0) + 1);
      clearRect.apply(this, box);
    };
  });
  await open(`/workspace?lines=${encodeURIComponent('loss;eval_loss;"gpu/0/util";"gpu/1/util"')}`);
  for (const n of [0, 1, 2, 3]) await drawn(page, n);
  // what comes when the curves are there draws none of them anew
  await page.locator(".statusline > *").first().waitFor();
  assert.deepEqual(await page.evaluate(() => [...window.draws.values()]), [1, 1, 1, 1]);
  assert.equal(await asked(page, "points/query"), 1);
});

test("a server that takes few charts at a time draws them all", { server: ["--max-chart-queries", "4", "--max-chart-buckets", "5000"] }, async ({ server, page, open, allow }) => {
  allow(/413/);
  await sendRuns(server);
  await open(`/workspace?lines=${encodeURIComponent('loss;eval_loss;"gpu/0/util"')}`);
  for (const n of [0, 1, 2]) await drawn(page, n);
  const box = await panel(page, 0).locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.53, box.y + box.height / 2);
  await until(page, (jobs) => document.querySelectorAll(".curvetip li").length === jobs, "all values under the cursor", JOBS.length);
  assert.equal(await page.locator(".wrong, .problem").count(), 0);
});

test("all metrics of jobs on one wall", async ({ server, page, open }) => {
  await sendRuns(server);
  await open(`/compare?jobs=${JOBS.join()}`);
  await page.getByRole("link", { name: "All metrics" }).click();
  await until(page, () => document.querySelectorAll(".wall .panel canvas").length === 4, "a chart a metric");
  assert.deepEqual((await texts(page, ".wall section > h2")).slice(0, 2), ["▾ without a common prefix 2 metrics", "▾ gpu/ 2 metrics"]);
  await until(page, () => [...document.querySelectorAll(".correlations tbody tr")].some((row) => /hp\.lr\s+1, n = 6/.test(row.innerText)), "the rank correlation with its count");
  const box = await page.locator(".wall .u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 20);
  await until(page, (jobs) => document.querySelectorAll(".curvetip li").length === jobs, "one tooltip for all", JOBS.length);
  await page.keyboard.press("f");
  await page.keyboard.type("gpu 1");
  await until(page, () => document.querySelectorAll(".wall .panel").length === 1, "what is searched");
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelectorAll(".wall .panel").length === 4, "all again");
  await page.locator(".runs button", { hasText: "cid" }).click();
  await until(page, () => decodeURIComponent(location.search).includes("off=cid"), "a job left out");
  // from the comparison to panels of the same jobs
  await open("/compare?jobs=ada,bea");
  await page.getByRole("link", { name: "As a workspace" }).click();
  await drawn(page, 0);
  assert.deepEqual(await titles(page), ["loss", "eval_loss", '"gpu/0/util"', '"gpu/1/util"']);
  // of what was deleted the wall says that it is not there, and one is one
  await open("/wall?jobs=ada,gone");
  await until(page, () => document.querySelector(".wall > .nothing")?.innerText === "Not found, deleted perhaps: gone", "the job that is not there");
  await until(page, () => document.querySelector(".wall .toolbar [role=status]")?.innerText.startsWith("4 metrics of 1 job"), "one job");
  assert.ok(!(await page.locator(".wall .toolbar [role=status]").innerText()).includes("1 jobs"));
  // of four jobs nothing is said
  await open(`/wall?jobs=${JOBS.slice(0, 4).join()}`);
  await until(page, () => [...document.querySelectorAll(".correlations tbody tr")].some((row) => /hp\.lr\s+–, n = 4/.test(row.innerText)), "no rank correlation of four");
});

test("a legend of more than two lines is scrolled by keys", async ({ server, page, open }) => {
  for (let n = 0; n < 14; n++) {
    await server.post("/api/v1/jobs", { TrainingJobName: `run-${n}`, HyperParameters: { lr: String(0.001 * (n + 1)), data: `a corpus of a long name, the ${n}th of many` } });
    await server.post(`/api/v1/points?job=run-${n}`, { series: [{ metric: "loss", stream: "algo-1", step: [0, 1, 2], value: [3, 2, 1 + n / 10] }] });
  }
  for (let n = 0; n < 14; n++) await server.waitForPoints(`run-${n}`, "loss", 3);
  await server.put("/api/v1/workspaces/wide", { version: 1, panels: [{ kind: "scatter", x: "hp.lr", y: "loss.last", color: "hp.data", width: 6, height: 2 }] });
  await open("/workspace?name=wide");
  const legend = page.getByRole("list", { name: "hp.data" });
  await until(page, () => document.querySelectorAll(".panel .groups li").length === 14, "its groups");
  assert.equal(await legend.evaluate((list) => list.tabIndex), 0, "also for browsers that do not give the focus to what scrolls by themselves");
  await panel(page, 0).focus();
  await until(page, () => document.querySelector(".panel .groups").scrollHeight > document.querySelector(".panel .groups").clientHeight, "more than two lines");
  for (let n = 0; n < 12 && !(await legend.evaluate((list) => list === document.activeElement)); n++) await page.keyboard.press("Tab");
  await page.keyboard.press("End");
  await until(page, () => document.querySelector(".panel .groups").scrollTop > 0, "its end");
});
