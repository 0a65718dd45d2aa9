// The workbench of a job's definitions: what one types is tried on the job's own lines, saved, and reaches back.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";

const training = (count, first = 0) =>
  Array.from({ length: count }, (_, i) => {
    const n = first + i;
    return `it=${n} objective<${(2 + 3 * Math.exp(-n / 80)).toFixed(4)}> rate<${900 + (n % 9)}/s>`;
  });

async function openBench(page, open, job, query = "") {
  await open(`/jobs/${job}/definitions${query}`);
  await until(page, () => document.querySelectorAll(".tryline").length > 0, "the job's lines");
}

const cell = (page, row, column) => page.locator(`.deftable tbody:nth-of-type(${row}) .c-${column}`).locator("input, textarea").first();
const definitions = async (server, job) => (await server.get(`/api/v1/jobs/${job}/definitions`)).body;
const count = (page, selector, n) =>
  until(page, ([where, wanted]) => document.querySelectorAll(where).length === wanted, `${n} of ${selector}`, [selector, n]);
const says = (page, selector, text) =>
  until(page, ([where, words]) => document.querySelector(where)?.innerText.includes(words), `${selector} that says ${text}`, [selector, text]);
const said = (page, selector) => page.locator(selector).first().innerText();

async function add(page, name, regex) {
  await page.click(".savebar .add");
  const row = await page.locator(".deftable tbody").count();
  await until(page, () => document.activeElement.closest(".c-name") !== null, "the new row's name");
  await page.keyboard.type(name);
  await cell(page, row, "regex").pressSequentially(regex);
  return row;
}

test("a typed expression is seen, saved, and reaches back", async ({ server, page, open }) => {
  await server.send("odd", training(500));
  await open("/jobs/odd");
  await page.locator(".jobtabs").waitFor();
  await page.keyboard.press("d");
  await page.waitForURL(/\/jobs\/odd\/definitions$/);
  await count(page, ".tryline", 200);
  await add(page, "objective", String.raw`it=(?<step>\d+) objective<(?<value>[0-9.]+)>`);
  await count(page, ".tryline mark.value", 200);
  const marks = await page.$$eval(".tryline mark", (all) => all.slice(0, 4).map((one) => `${one.className.split(" ")[0]} ${one.innerText}`));
  assert.deepEqual(marks, ["step 300", "value 2.0706", "step 301", "value 2.0697"]);
  const tried = await said(page, ".deftable .c-tried");
  assert.ok(tried.includes("200") && tried.includes("µs"), tried);
  await until(page, () => document.querySelector(".preview path")?.getAttribute("d").length > 1000, "the curve");
  assert.notEqual((await definitions(server, "odd")).source, "job");
  await page.click(".savebar .save");
  await says(page, ".savebar [role=status]", "Saved");
  const kept = await definitions(server, "odd");
  assert.deepEqual([kept.source, kept.definitions.map((one) => one.Name)], ["job", ["objective"]]);
  await server.send("odd", training(10, 500));
  await server.waitForPoints("odd", "objective", 10);
  await page.click(".savebar button:text-is('Save and back-fill')");
  await page.locator(".backfill.done").waitFor();
  assert.equal((await server.series("odd", "objective")).count, 510);
  await until(page, () => document.querySelector(".c-health").innerText.startsWith("510 of"), "its health over the whole log");
  await shot(page, "definitions");
  await page.evaluate(() => localStorage.setItem("smfleet.theme", "dark"));
  await openBench(page, open, "odd");
  await count(page, ".tryline mark.value", 200);
  await shot(page, "definitions-dark");
});

test("a preset is named with its reason, and another can be taken", async ({ server, page, open }) => {
  await server.send("gpt", Array.from({ length: 300 }, (_, n) => `iter ${n}: loss ${(3 - n / 1000).toFixed(4)}, time 350.12ms, mfu 12.50%`));
  await server.waitForPoints("gpt", "train:loss", 300);
  await openBench(page, open, "gpt");
  await says(page, ".source", "Preset nanogpt");
  assert.ok((await said(page, ".source")).includes((await definitions(server, "gpt")).reason));
  const first = await cell(page, 1, "regex").inputValue();
  assert.ok(first.startsWith(String.raw`^iter (?<step>\d+): loss (?<loss>{N}), time`), first);
  assert.equal(await page.locator(".deftable .error").count(), 0);
  await page.selectOption(".source select", "megatron-lm");
  await says(page, ".preview .warnings", "none of these lines match");
  assert.equal((await definitions(server, "gpt")).preset, "nanogpt", "looking at a preset takes it");
  await page.click(".savebar .save");
  await waitUntil(async () => (await definitions(server, "gpt")).preset === "megatron-lm", "the other preset");
  await says(page, ".source", "Preset megatron-lm");
});

test("the other formats of a log stand beside its preset", async ({ server, page, open }) => {
  const other = (n) => ` iteration ${n}/ 900 | consumed samples: 4 | elapsed time per iteration (ms): 1376.1 | learning rate: 1.5E-04 | lm loss: 2.5E+00 | grad norm: 0.5 |`;
  const lines = Array.from({ length: 300 }, (_, n) => `iter ${n}: loss 2.5, time 350.12ms, mfu 12.50%`);
  await server.send("both", [...lines, other(1), other(2)]);
  await server.waitForPoints("both", "train:loss", 300);
  await openBench(page, open, "both");
  await says(page, ".source", "Preset nanogpt");
  await says(page, "[data-test=formats]", "megatron-lm (2 lines)");
});

test("what is wrong stands under its column", async ({ server, page, open }) => {
  await server.send("odd", training(20));
  await openBench(page, open, "odd");
  const row = await add(page, "bad", "rate<([0-9]+");
  await page.locator(".deftable .error pre").waitFor();
  const [text, caret] = (await page.locator(".deftable .error pre").textContent()).split("\n");
  assert.deepEqual([text, caret.indexOf("^")], ["rate<([0-9]+", text.length]);
  const notes = await said(page, ".deftable .notes");
  assert.ok(notes.includes("column 13") && notes.includes("parenthesis"), notes);
  assert.equal(await cell(page, row, "regex").getAttribute("aria-invalid"), "true");
  await shot(page, "definitions-error");
  await cell(page, row, "regex").press("End");
  await page.keyboard.type(")");
  await count(page, ".tryline mark.value", 20);
  await count(page, ".deftable .error", 0);
  await page.click(".savebar .save");
  await says(page, ".savebar [role=status]", "Saved");
});

test("rows are moved and deleted by keyboard", async ({ server, page, open }) => {
  await server.send("odd", training(20));
  const rows = ["objective", "rate", "third"].map((Name) => ({ Name, Regex: `${Name}<([0-9.]+)` }));
  await server.put("/api/v1/jobs/odd/definitions", { definitions: rows });
  await openBench(page, open, "odd");
  const names = (text) =>
    until(page, (words) => [...document.querySelectorAll(".c-name input")].map((one) => one.value).join(" ") === words, `the rows ${text}`, text);
  await cell(page, 1, "name").click();
  await page.keyboard.press("Alt+ArrowDown");
  await names("rate objective third");
  await until(page, () => document.activeElement.value === "objective", "the focus with it");
  await page.click('button[aria-label="Delete third"]');
  await names("rate objective");
  await page.keyboard.press("Control+Enter");
  await waitUntil(async () => (await definitions(server, "odd")).definitions.map((one) => one.Name).join() === "rate,objective", "the save");
});

test("lines are paged, filtered and pasted, and only text", async ({ server, page, open }) => {
  const evil = `it=1 objective<1.5> <img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
  await server.send("odd", [evil, ...training(450, 1), "chatter"]);
  await server.put("/api/v1/jobs/odd/definitions", { definitions: [{ Name: "objective", Regex: "objective<([0-9.]+)>" }] });
  await openBench(page, open, "odd", "?from=400&show=other");
  await count(page, ".tryline", 1);
  assert.equal(await said(page, ".tryline .n"), "451");
  assert.ok((await said(page, ".tryline")).includes("chatter"));
  await openBench(page, open, "odd", "?from=0");
  await count(page, ".tryline mark.value", 200);
  assert.ok((await said(page, ".tryline")).includes("onerror"));
  assert.equal(await page.locator(".bench :is(img, script)").count(), 0);
  await page.click(".triedlines button:text-is('later')");
  await until(page, () => document.querySelector(".tryline .n").innerText === "200" && location.search.includes("from=200"), "the next page");
  await page.click(".triedlines button:text-is('last match')");
  await page.waitForURL(/from=350/);
  await page.click(".triedlines button:text-is('pasted')");
  await page.fill("textarea.pasted", "objective<7> <b>x</b>\nnothing");
  await count(page, ".tryline", 2);
  await waitUntil(async () => (await texts(page, ".tryline mark.value")).join() === "7", "the value of the pasted line");
  assert.equal(await page.locator(".tryline mark").count(), 1);
  assert.ok(!(await page.title()).includes("owned"));
});

test("edits outlive a look at the charts", async ({ server, page, open }) => {
  await server.send("odd", training(20));
  await openBench(page, open, "odd");
  await add(page, "objective", "objective<([0-9.]+)>");
  await page.locator(".jobtabs a").first().click();
  await page.locator(".charts").waitFor();
  await page.locator(".jobtabs a").last().click();
  await until(page, () => document.querySelector(".c-name input")?.value === "objective", "what was typed");
  assert.ok((await said(page, ".savebar [role=status]")).includes("not saved"));
});

test("the workbench fits a phone", { viewport: { width: 390, height: 844 } }, async ({ server, page, open }) => {
  await server.send("odd", training(20));
  await openBench(page, open, "odd");
  assert.ok(await fitsWidth(page));
  await shot(page, "definitions-phone");
});
