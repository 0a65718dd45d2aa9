// The settings: tokens, limits with their forecast, the trash, prices, where each option comes from, theme, language, times.
import assert from "node:assert/strict";
import { shot, test, texts, until, waitUntil } from "./support.mjs";

const saysIn = (page, selector, text) =>
  until(page, ([where, words]) => document.querySelector(where)?.innerText.includes(words), `${selector} that says ${text}`, [selector, text]);

test("the first token locks the server, and its maker stays signed in", async ({ server, page, open }) => {
  await open("/settings");
  await saysIn(page, "#tokens", "There is no token");
  await page.fill("#tokens form input >> nth=0", "<b>me");
  await page.click("#tokens form button");
  await saysIn(page, "#tokens .made", "shown this once");
  const text = await page.locator("#tokens .made code").innerText();
  assert.match(text, /^smf-[0-9a-f]{40}$/);
  assert.equal((await server.get("/api/v1/jobs")).status, 401);
  server.token = text;
  assert.equal((await server.get("/api/v1/jobs")).status, 200);
  await saysIn(page, "#look", "Signed in with a token that may admin");
  await shot(page, "settings-token");
  await page.fill("#tokens form input >> nth=0", "sender / 1");
  await page.selectOption("#tokens form select", "write");
  await page.fill("#tokens form input >> nth=1", "nlp");
  await page.click("#tokens form button");
  await until(page, () => document.querySelectorAll("#tokens tbody tr").length === 2, "both tokens");
  const rows = await texts(page, "#tokens tbody tr");
  assert.ok(rows.some((row) => row.startsWith("<b>me admin all")) && rows.some((row) => row.startsWith("sender / 1 write nlp")), rows.join("\n"));
  // one is asked once, and it can be left
  const revoke = page.locator("#tokens tbody tr", { hasText: "sender / 1" }).locator("button");
  await revoke.click();
  await page.locator("dialog.confirm[open]").waitFor();
  assert.ok((await page.locator("dialog.confirm").innerText()).includes("sender / 1"));
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog.confirm"), "the question to go");
  assert.equal((await server.get("/api/v1/tokens")).body.tokens.length, 2);
  await revoke.click();
  await page.click("dialog.confirm .danger");
  await saysIn(page, "#tokens .said", "Revoked sender / 1");
  assert.deepEqual((await server.get("/api/v1/tokens")).body.tokens.map((one) => one.name), ["<b>me"]);
  assert.equal(await page.locator("#tokens b").count(), 0);
});

test("a token that may only read sees what it may", { token: true }, async ({ server, page, open, allow }) => {
  allow(/40[13]/);
  const { token } = await server.post("/api/v1/tokens", { name: "guest", scope: "read" });
  await open("/settings");
  await page.fill("dialog.signin input", token);
  await page.keyboard.press("Enter");
  await saysIn(page, "#tokens", "Only an administrator");
  await saysIn(page, "#options", "Only an administrator");
  await page.locator("#retention meter").waitFor();
});

test("a limit says what will go before it does", { server: ["--seal-age", "100ms"] }, async ({ server, page, open }) => {
  await server.send("old", Array.from({ length: 4000 }, (_, n) => `step: ${n} loss: ${Math.sin(n)} ${(n * 7919) ** 3}`));
  await server.post("/api/v1/jobs/old/transitions", { SecondaryStatus: "Completed", time_ms: 1_760_000_000_000 });
  await waitUntil(async () => (await server.get("/api/v1/retention")).body.forecast.next.length, "the sealer");
  await open("/settings");
  await saysIn(page, "#retention .facts", "The first to go: old");
  const limit = page.locator("#retention form input");
  await limit.fill("1 parsec");
  assert.equal(await limit.getAttribute("aria-invalid"), "true");
  assert.ok(await page.locator("#retention form button").isDisabled());
  await limit.fill("100 KiB");
  await page.keyboard.press("Enter");
  await page.locator("dialog.confirm[open]").waitFor();
  assert.match(await page.locator("dialog.confirm").innerText(), /log text of 1 job goes now[^]*cannot be had back[^]*old/);
  await shot(page, "settings-limit");
  await page.keyboard.press("Escape");
  await limit.fill("50 GiB");
  await page.keyboard.press("Enter");
  await saysIn(page, "#retention .said", "The limits are kept");
  assert.equal((await server.get("/api/v1/retention")).body.log_bytes, 50 * 2 ** 30);
  const row = page.locator("#retention tbody tr").last();
  await row.locator("input").nth(0).fill("nlp");
  await row.locator("input").nth(1).fill("30");
  await row.locator("input").nth(2).fill("2 GiB");
  await row.locator("button").click();
  if (await page.locator("dialog.confirm[open]").count()) await page.click("dialog.confirm .danger");
  await waitUntil(async () => (await server.get("/api/v1/retention")).body.teams.length, "the team's limits");
  assert.deepEqual((await server.get("/api/v1/retention")).body.teams, [{ team: "nlp", max_age_days: 30, max_bytes: 2 * 2 ** 30 }]);
});

test("prices are typed in and kept", async ({ server, page, open, allow }) => {
  allow(/4(00|22)/);
  await open("/settings");
  await page.click("#prices button:text-is('Add a price')");
  const cell = (n) => page.locator("#prices tbody tr").last().locator("input").nth(n);
  await cell(0).fill("ml.p5.48xlarge");
  await cell(1).fill("98,32");
  const save = page.locator("#prices button.primary");
  assert.ok(await save.isDisabled(), "a price that is no number can be saved");
  await cell(1).fill("98.32");
  await cell(2).fill("2026-01-01");
  await cell(3).fill("<i>list");
  await save.click();
  await saysIn(page, "#prices .said", "costs are worked out anew");
  const { body } = await server.get("/api/v1/prices");
  assert.deepEqual(body, { currency: "USD", prices: [{ instance: "ml.p5.48xlarge", per_hour: 98.32, from: "2026-01-01", source: "<i>list" }] });
  await page.click("#prices button:text-is('Add a price')");
  await cell(0).fill("ml.p5.48xlarge");
  await cell(1).fill("90");
  await cell(2).fill("2026-01-01");
  await save.click();
  await page.locator("#prices .problem, #prices .said:not(:empty)").first().waitFor();
});

test("where options come from", { server: ["--max-views", "7"] }, async ({ page, open }) => {
  await open("/settings");
  await page.locator("#options tbody tr").first().waitFor();
  const rows = await texts(page, "#options tbody tr");
  assert.ok(rows.some((row) => row.startsWith("max-views 7 --max-views ")), rows.join("\n"));
  assert.ok(!rows.some((row) => row.startsWith("slice-bytes")), "a default is among what was set");
  await page.fill("#options input", "slice-bytes");
  await until(page, () => [...document.querySelectorAll("#options tbody tr")].some((row) => /^slice-bytes\s+1 MiB\s+default/.test(row.innerText)), "the default that was looked for");
});

test("theme, language and times are kept by the browser", { timezoneId: "Asia/Tokyo" }, async ({ page, open }) => {
  await open("/settings");
  await page.check("#look input[name=theme] >> nth=2");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.check("#look label[lang=zh-CN] input");
  await saysIn(page, "#look h2", "此浏览器");
  await saysIn(page, "#about", " UTC+9 (");
  await page.check("#look input[name=times] >> nth=1");
  await saysIn(page, "#about", " UTC (");
  await page.reload();
  await saysIn(page, "#look h2", "此浏览器");
  await saysIn(page, "#about", " UTC (");
  assert.equal(await page.evaluate(() => [document.documentElement.lang, document.documentElement.dataset.theme].join()), "zh-CN,dark");
});

for (const colorScheme of ["light", "dark"]) {
  test(`deleted jobs are restored, or go for good: ${colorScheme}`, { colorScheme }, async ({ server, page, open }) => {
    for (const job of ["<b>first", "second"]) {
      await server.send(job, "a line");
      await server.post(`/api/v1/jobs/${encodeURIComponent(job)}/transitions`, { SecondaryStatus: "Completed" });
      assert.equal((await server.request("DELETE", `/api/v1/jobs/${encodeURIComponent(job)}`)).status, 204);
    }
    await open("/settings#trash");
    await saysIn(page, "#trash", "2 jobs");
    assert.deepEqual((await texts(page, "#trash tbody th")).map((name) => name.trim()), ["second", "<b>first"]);
    await shot(page, `settings-trash-${colorScheme}`);
    await page.locator("#trash").getByRole("button", { name: "Restore <b>first" }).press("Enter");
    await saysIn(page, "#trash", "<b>first is there again.");
    assert.equal((await server.get(`/api/v1/jobs/${encodeURIComponent("<b>first")}`)).status, 200);
    await page.locator("#trash").getByRole("button", { name: "Delete second" }).press("Enter");
    await page.locator("dialog.confirm").getByRole("button", { name: "Delete" }).press("Enter");
    await saysIn(page, "#trash", "It is empty.");
    assert.equal((await server.get("/api/v1/trash")).body.count, 0);
  });
}
