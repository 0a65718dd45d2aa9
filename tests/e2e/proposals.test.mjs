// A log that nothing reads: its shapes of line with numbers, and the curve that one click makes of what is stored.
import assert from "node:assert/strict";
import { coloured, fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";
import { ALL, COLOURS, faults } from "./walk.mjs";

/** Marks that no preset knows. */
const odd = (count) => Array.from({ length: count }, (_, n) => `#${n} xent^${(2 + 3 * Math.exp(-n / 80)).toFixed(4)}^ gradmag^${(0.5 + (n % 9) / 8).toFixed(3)}^ ${900 + (n % 9)} tok/s`);
const chatter = (count) => Array.from({ length: count }, (_, n) => `shard of ${n} rows took ${(n % 5) + 0.25} s, fine`);

const shapes = (page) => until(page, () => document.querySelectorAll(".shapes ol > li").length, "the shapes of line");

async function sendOdd(server, job, count = 400) {
  await server.send(job, [...odd(count), ...chatter(20)]);
  await waitUntil(async () => (await server.get(`/api/v1/jobs/${job}/definitions/proposals`)).body.shapes?.length > 0, "proposals");
}

test("one click makes curves of the stored log", async ({ server, page, open }) => {
  await sendOdd(server, "odd");
  await open("/jobs/odd");
  assert.equal(await shapes(page), 2);
  const marks = await page.$$eval(".shapes li:first-child .example mark", (all) => all.map((one) => `${one.className.split(" ")[0]} ${one.textContent}`));
  const last = (2 + 3 * Math.exp(-399 / 80)).toFixed(4);
  assert.deepEqual(marks, ["step 399", `value ${last}`, "value 0.875", "value 903"]); // 399 % 9 = 3
  const names = (await texts(page, ".shapes ol > li:first-child ul b")).join();
  assert.equal(names, "xent,gradmag,tok/s");
  assert.deepEqual(await faults(page, ALL), []);
  await shot(page, "proposals");
  await page.click(".shapes li:first-child button:text-is('Use')");
  await until(page, () => document.querySelectorAll(".chart canvas").length >= 3, "the charts");
  await waitUntil(() => coloured(page), "a drawn curve");
  const xent = await server.series("odd", "xent");
  assert.deepEqual([xent.count, xent.role], [400, "loss"]);
  assert.equal(await page.locator(".shapes").count(), 0);
  await shot(page, "proposals-used");
});

test("by keyboard, and in the workbench", async ({ server, page, open }) => {
  await sendOdd(server, "odd");
  await open("/jobs/odd/definitions");
  await shapes(page);
  await shot(page, "proposals-bench");
  await page.locator(".shapes li:first-child button").focus();
  await page.keyboard.press("Enter");
  await page.locator(".backfill.done").waitFor();
  await until(page, () => [...document.querySelectorAll(".c-name input")].map((one) => one.value).join() === "xent,gradmag,tok/s", "the definitions in the table");
  await until(page, () => document.querySelectorAll(".tryline mark.value").length > 0, "what they capture");
  assert.equal((await server.series("odd", "xent")).count, 400);
  await until(page, () => document.querySelector(".shapes b.num")?.innerText === "20 lines", "the other shape");
  await shot(page, "proposals-bench-used");
  await page.click(".shapes li:first-child button");
  await until(page, () => document.querySelectorAll(".c-name input").length === 4, "both shapes' definitions");
  await waitUntil(async () => (await server.series("odd", "rows_took"))?.count === 20, "its points");
  assert.equal((await server.series("odd", "xent")).count, 400);
  await until(page, () => document.querySelector(".shapes ol") === null && document.querySelector(".shapes .dim"), "nothing more to propose");
});

test("a job with curves and no loss offers it below them", async ({ server, page, open }) => {
  await server.send("odd", Array.from({ length: 300 }, (_, n) => `step: ${n}, accuracy: ${n / 1000}`));
  await sendOdd(server, "odd", 300);
  await server.waitForPoints("odd", "accuracy", 300);
  await open("/jobs/odd");
  await waitUntil(() => coloured(page), "a drawn curve");
  const asked = () => page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.includes("proposals")).length);
  await page.locator(".noloss summary").waitFor();
  assert.equal(await asked(), 0, "nobody wanted to know yet");
  await page.click(".noloss summary");
  await shapes(page);
  await shot(page, "proposals-noloss");
  await page.click(".shapes li:first-child button:text-is('Use')");
  await until(page, () => document.querySelector(".noloss") === null && document.querySelectorAll(".chart canvas").length >= 4, "the loss beside the accuracy");
  assert.equal((await server.series("odd", "accuracy")).count, 300);
  assert.equal((await server.series("odd", "xent")).count, 300);
});

test("lines that come are waited for, and text is only text", async ({ server, page, open }) => {
  await server.send("odd", odd(10));
  await open("/jobs/odd");
  await until(page, () => document.querySelector(".shapes p")?.innerText.includes("200"), "how many lines it takes");
  await server.send("odd", odd(300).map((line) => `${line} <img src=x onerror="document.title='owned'">`));
  await shapes(page);
  assert.equal(await page.locator(".shapes img").count(), 0);
  assert.ok((await texts(page, ".shapes .example"))[0].includes("<img src=x"));
});

for (const scheme of ["light", "dark"])
  test(`in 390 pixels, in Chinese, ${scheme}`, { viewport: { width: 390, height: 844 }, colorScheme: scheme, locale: "zh-CN" }, async ({ server, page, open }) => {
    await sendOdd(server, "odd");
    await open("/jobs/odd");
    await shapes(page);
    await until(page, () => document.querySelector(".shapes button")?.innerText === "使用", "Chinese");
    assert.ok(await fitsWidth(page));
    await page.locator(".shapes").scrollIntoViewIfNeeded();
    await shot(page, `proposals-zh-390-${scheme}`);
    await open("/jobs/odd/definitions");
    await shapes(page);
    assert.ok(await fitsWidth(page));
  });

test("dark", { colorScheme: "dark" }, async ({ server, page, open }) => {
  await sendOdd(server, "odd");
  await open("/jobs/odd");
  await shapes(page);
  assert.deepEqual(await faults(page, COLOURS), []);
  await shot(page, "proposals-dark");
});
