// The list of jobs: any number of rows, columns, selection, what one does with it, and servers that refuse.
import assert from "node:assert/strict";
import { fitsWidth, losses, shot, test, texts, until, waitUntil } from "./support.mjs";

const MANY = 180;
const nameOf = (number) => `job-${String(number).padStart(3, "0")}`;

async function makeJobs(server, count) {
  const make = (number) =>
    server.post("/api/v1/jobs", { TrainingJobName: nameOf(number), HyperParameters: { lr: `${number}e-4` }, Tags: [{ Key: "team", Value: number % 2 ? "nlp" : "vision" }] });
  for (let first = 0; first < count; first += 20) await Promise.all(Array.from({ length: Math.min(20, count - first) }, (_, i) => make(first + i)));
}

const rowAt = (page, number) => page.locator(`tbody tr[aria-rowindex="${number + 2}"][data-name]`);
const hasRow = (page, number, name) => until(page, ([index, text]) => document.querySelector(`tbody tr[aria-rowindex="${index}"]`)?.dataset.name === text, `${name} in row ${number}`, [number + 2, name]);

test("the scroll bar stands for all rows", async ({ server, page, open }) => {
  await makeJobs(server, MANY);
  await open("/jobs?sort=name");
  await hasRow(page, 0, nameOf(0));
  assert.equal(await page.getAttribute("table.jobs", "aria-rowcount"), String(MANY + 1));
  assert.ok((await page.locator("tbody tr").count()) < 60, "rows that nobody sees");
  const height = await page.$eval(".jobspace tbody tr", (row) => row.getBoundingClientRect().height);
  assert.equal(height, 28);
  await page.keyboard.press("j");
  await page.keyboard.press("End");
  await hasRow(page, MANY - 1, nameOf(MANY - 1));
  await until(page, (name) => document.activeElement?.dataset.name === name, "the focus at the end", nameOf(MANY - 1));
  await page.keyboard.press("PageUp");
  await page.keyboard.press("k");
  await until(page, () => Number(document.activeElement?.getAttribute("aria-rowindex")) < 165, "the focus a screen back");
  await page.$eval(".jobscroll", (box) => (box.scrollTop = 100 * 28));
  await hasRow(page, 100, nameOf(100));
  await until(page, () => document.querySelectorAll("tr.gap").length === 0, "all rows in view");
  await page.click("th.name button");
  await hasRow(page, 0, nameOf(MANY - 1));
  assert.equal(await page.getAttribute("th.name", "aria-sort"), "descending");
  await rowAt(page, 0).dblclick();
  await until(page, (name) => location.pathname === `/jobs/${name}`, "the job's page", nameOf(MANY - 1));
});

test("a job is as old in the table as it is sorted and searched", async ({ server, page, open }) => {
  const day0 = Date.UTC(2025, 9, 9, 8), hour = 3600e3;
  const made = { "log-of-day-2": day0 + 48 * hour, "log-of-day-1": day0 + 24 * hour }; // announced now, in this order, and their logs begin then
  for (const [name, begun] of Object.entries(made)) {
    await server.post("/api/v1/jobs", { TrainingJobName: name });
    await server.send(name, [0, 1, 2].map((step) => `${new Date(begun + step * 60e3).toISOString()} step: ${step} loss: 2.5`));
    await waitUntil(async () => (await server.get(`/api/v1/jobs/${name}`)).body.CreationTime * 1000 === begun, `the start of ${name}`);
  }
  await server.post("/api/v1/jobs", { TrainingJobName: "announced-now" });
  await open("/jobs?sort=-created&cols=status,created");
  for (const [at, name] of ["announced-now", ...Object.keys(made)].entries()) await hasRow(page, at, name);
  const times = await page.$$eval("tbody tr[data-name] time", (all) => all.map((one) => one.dateTime));
  assert.deepEqual(times.slice(1), Object.values(made).map((ms) => new Date(ms).toISOString()));
  await open(`/jobs?q=${encodeURIComponent("created<2025-10-11")}&cols=status,created`);
  await hasRow(page, 0, "log-of-day-1");
  assert.equal(await page.locator("tbody tr[data-name]").count(), 1);
});

test("rows that cannot be had say so, and come by themselves", async ({ server, page, open, allow }) => {
  allow(/429|500/);
  await makeJobs(server, 120);
  let refusals = 0;
  await page.route(/\/api\/v1\/jobs\?.*(offset|cursor)=/, (route) => {
    refusals++;
    return route.fulfill({ status: refusals % 2 ? 500 : 429, contentType: "application/problem+json", body: JSON.stringify({ title: "Too busy", detail: "come again" }) });
  });
  await open("/jobs?sort=name");
  await hasRow(page, 0, nameOf(0));
  await page.$eval(".jobscroll", (box) => (box.scrollTop = 60 * 28));
  await until(page, () => document.querySelector("tr.gap .bad") !== null, "what became of the rows");
  await shot(page, "jobs-refused");
  await page.unroute(/\/api\/v1\/jobs\?.*(offset|cursor)=/);
  await page.click("tr.gap button >> nth=0").catch(() => undefined); // it may have tried again by itself
  await hasRow(page, 60, nameOf(60));
  await until(page, () => document.querySelectorAll("tr.gap").length === 0, "all rows");
});

test("columns are chosen, kept, and any property", async ({ server, page, open }) => {
  await makeJobs(server, 5);
  await open("/jobs?sort=name");
  await hasRow(page, 4, nameOf(4));
  await page.click("[popovertarget=columns]");
  await page.fill(".columns form input", "hp.lr");
  await page.click(".columns form button");
  await until(page, () => [...document.querySelectorAll("th")].some((th) => th.innerText.trim() === "hp.lr"), "the column");
  await waitUntil(async () => (await rowAt(page, 3).innerText()).includes("3e-4"), "its values");
  await page.click('.columns [aria-label="Hide type"]');
  await until(page, () => new URLSearchParams(location.search).get("cols")?.endsWith("labels,hp.lr"), "the columns in the address");
  await shot(page, "jobs-columns");
  await page.keyboard.press("Escape");
  await page.click('th button:has-text("hp.lr")');
  await until(page, () => location.search.includes("sort=hp.lr"), "the order");
  await open("/jobs?sort=-hp.lr");
  await hasRow(page, 0, nameOf(4));
  await until(page, () => [...document.querySelectorAll("th")].some((th) => th.innerText.trim().startsWith("hp.lr")), "the columns on another day");
  await page.dragAndDrop('th:has-text("hp.lr")', "th:has-text('cost')");
  await until(page, () => new URLSearchParams(location.search).get("cols")?.includes("started,hp.lr,cost"), "the dragged column in its place");
  await open("/jobs?cols=status,name,loss&sort=-hp.lr");
  await until(page, () => [...document.querySelectorAll("th")].map((th) => th.title).join() === ",state,name,hp.lr,loss now", "the column that the list is sorted by");
  await waitUntil(async () => (await rowAt(page, 0).innerText()).includes("4e-4"), "its values");
  await open("/jobs?cols=name,tag.team,hp.nobody");
  await waitUntil(async () => (await texts(page, "tbody tr")).includes(`${nameOf(1)} nlp –`), "a column that nobody has");
});

test("selected jobs are compared, tagged, deleted", async ({ server, page, open, allow }) => {
  allow(/409/);
  await makeJobs(server, 6);
  for (const number of [1, 2]) await server.post(`/api/v1/jobs/${nameOf(number)}/transitions`, { SecondaryStatus: "Completed" });
  await open("/jobs?sort=name");
  await hasRow(page, 5, nameOf(5));
  for (const key of ["j", "j", "x", "Shift+ArrowDown", "Shift+ArrowDown"]) await page.keyboard.press(key);
  await until(page, () => document.querySelector(".bulk [role=status]")?.innerText === "3 selected", "a stretch of three");
  assert.equal(await page.getAttribute(".bulk a.button", "href"), "/compare?jobs=job-001%2Cjob-002%2Cjob-003");
  await page.click(".bulk button >> text=Tag…");
  await page.fill(".bulk form input >> nth=0", "paper");
  await page.fill(".bulk form input >> nth=1", 'é "x"/%');
  await page.click(".bulk form button >> text=Set");
  await until(page, () => document.querySelector(".bulk .said")?.innerText.includes("Tagged 3 jobs"), "that they are tagged");
  assert.equal((await server.get("/api/v1/jobs?q=tag.paper+exists&total=true")).body.total, 3);
  await page.click(".bulk button >> text=Delete…");
  await page.locator("dialog.askdelete[open]").waitFor();
  assert.deepEqual(await texts(page, ".askdelete li"), ["job-001", "job-002", "job-003"]);
  await shot(page, "jobs-delete");
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelector("dialog.askdelete") === null, "nothing to be deleted");
  await page.click(".bulk button >> text=Delete…");
  await page.click(".askdelete .danger");
  await until(page, () => document.querySelector(".bulk .said")?.innerText.includes("Deleted 2 jobs"), "those that have ended to go");
  assert.match((await texts(page, ".bulk .said li"))[1], /^job-003: /);
  await until(page, () => document.querySelectorAll("[data-name]").length === 4, "the rest");
  assert.equal(await page.locator(".bulk [role=status] >> nth=0").innerText(), "1 selected");
  await page.locator(".bulk").getByRole("button", { name: "Undo" }).press("Enter");
  await until(page, () => document.querySelector(".bulk .said")?.innerText.includes("Restored 2 jobs"), "both to come back");
  await until(page, () => document.querySelectorAll("[data-name]").length === 6, "all six");
});

for (const [colorScheme, viewport] of [["light", { width: 1440, height: 900 }], ["dark", { width: 360, height: 740 }]]) {
  test(`odd names and curves, ${colorScheme}, ${viewport.width} px`, { colorScheme, viewport }, async ({ server, page, open }) => {
    const odd = ['<b>x</b> "q" \'s\'', "a/b%2Fc%", "😀 \u202Ertl", "lone"];
    for (const name of odd.slice(0, 3)) await server.send(name, losses(0, 60));
    await server.send("lone", "step: 1 loss: 2.5");
    await server.send("broken", [...losses(0, 40), "step: 40 loss: nan"]);
    await waitUntil(async () => (await server.get("/api/v1/jobs?q=loss.count%3E0&total=true")).body.total === 5, "the summaries");
    await open("/jobs?sort=name");
    await until(page, () => document.querySelectorAll("[data-name]").length === 5, "the jobs");
    assert.deepEqual((await page.$$eval("[data-name]", (all) => all.map((one) => one.dataset.name))).sort(), [...odd, "broken"].sort());
    assert.equal(await page.locator("table.jobs b, table.jobs i:not(.bar)").count(), 0);
    await until(page, () => [...document.querySelectorAll("td.spark path:not(.band)")].filter((path) => path.getAttribute("d")).length >= 5, "the curves");
    await until(page, () => document.querySelectorAll('[data-name="broken"] .nan').length === 1, "where it was no number");
    await until(page, () => document.querySelector('[data-name="broken"] .labels')?.innerText.includes("non-finite value"), "what is open");
    assert.ok(await fitsWidth(page));
    await shot(page, `jobs-odd-${colorScheme}-${viewport.width}`);
  });
}

test("new jobs wait while one points at the table", async ({ server, page, open }) => {
  await server.send("first", losses(0, 5));
  await open("/jobs");
  await hasRow(page, 0, "first");
  await page.hover("[data-name]");
  await server.send("second", losses(0, 5));
  await page.click(".fresh");
  await hasRow(page, 0, "second");
  await page.mouse.move(5, 5);
  await server.send("third", losses(0, 5));
  await until(page, () => document.querySelectorAll("[data-name]").length === 3, "the third by itself");
});

test("a query is shown in colours", async ({ page, open }) => {
  await open("/jobs");
  await page.fill(".querybar input", 'loss.last>3 name~"é|ö" or not x');
  await until(page, () => document.querySelector(".lexed")?.textContent === 'loss.last>3 name~"é|ö" or not x', "the same text");
  assert.deepEqual(await page.$$eval(".lexed span:not(.space)", (all) => all.map((one) => one.className)), ["name", "op", "number", "name", "op", "text", "keyword", "keyword", "word"]);
  await page.fill(".querybar input", "name~" + "x".repeat(400));
  await page.keyboard.press("End");
  await until(page, () => document.querySelector(".lexed").scrollLeft === document.querySelector(".querybar input").scrollLeft && document.querySelector(".lexed").scrollLeft > 0, "the colours under their letters");
});

test("who is signed out while scrolling goes on where one was", { token: true }, async ({ server, page, open, allow }) => {
  allow(/401/);
  const signIn = async () => {
    await page.locator("dialog.signin[open]").waitFor();
    await page.fill("dialog.signin input", server.token);
    await page.click("dialog.signin button[type=submit]");
  };
  await makeJobs(server, 160);
  await open("/jobs?sort=name");
  await signIn();
  await hasRow(page, 0, nameOf(0));
  await page.context().clearCookies();
  await page.$eval(".jobscroll", (box) => (box.scrollTop = 110 * 28));
  await signIn();
  await hasRow(page, 110, nameOf(110));
  await until(page, () => Math.abs(document.querySelector(".jobscroll").scrollTop - 110 * 28) < 2, "the place where one was");
});

for (const width of [1280, 1400]) {
  test(`at ${width} px all usual columns are in view, with what is open in the last one`, { viewport: { width, height: 900 } }, async ({ server, page, open }) => {
    await makeJobs(server, 60);
    await server.send("broken", [...losses(0, 40), "step: 40 loss: nan"]);
    await waitUntil(async () => (await server.get("/api/v1/jobs?q=name%3Dbroken")).body.jobs[0]?.open_incidents === 1, "the incident");
    await open("/jobs");
    await page.locator('tr[data-name="broken"] .trouble').waitFor();
    const [over, cut] = await page.evaluate(() => {
      const box = document.querySelector(".jobscroll");
      const cell = document.querySelector('tr[data-name="broken"] .labels');
      return [box.scrollWidth - box.clientWidth, cell.scrollWidth - cell.clientWidth];
    });
    assert.deepEqual([over, cut], [0, 0]);
    assert.ok(await page.locator("th.labels").evaluate((head) => head.scrollWidth <= head.clientWidth), "the last title");
    await shot(page, `jobs-${width}`);
  });
}
