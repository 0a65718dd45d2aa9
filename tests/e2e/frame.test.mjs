// What is around every view: keys and their help, the menu of a right click, a server that refuses, fails or is gone, a clock
// that is off, a page that nobody looks at, names that break things.
import assert from "node:assert/strict";
import { losses, openJob, SERVER_AWAY, shot, test, texts, until, waitUntil } from "./support.mjs";

const heading = (page, text) => page.locator(`main h1:text("${text}")`).first().waitFor({ state: "attached" });
const pathIs = (page, path) => until(page, (wanted) => location.pathname === wanted, `the address ${path}`, path);
const hasKeys = (page) => page.waitForFunction(() => document.querySelector(".rail") && performance.getEntriesByType("resource").some((one) => one.name.includes("/shortcuts-")));

test("the keyboard reaches every view, and ? says what works here", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 20));
  await open("/settings");
  await hasKeys(page);
  await heading(page, "Settings");
  for (const [keys, path] of [["gj", "/jobs"], ["gc", "/compare"], ["gp", "/pools"], ["gm", "/nodes"], ["ga", "/incidents"], ["gs", "/settings"], ["gf", "/"], ["gj", "/jobs"]]) {
    await waitUntil(async () => {
      await page.keyboard.type(keys);
      return new URL(page.url()).pathname === path;
    }, `${keys} to lead to ${path}`);
  }
  await page.locator("[data-name=llama]").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("?");
  await page.locator("dialog.help[open]").waitFor();
  const help = await page.locator("dialog.help").innerText();
  for (const words of ["Everywhere", "next job", "search jobs", "go to the settings", "back out"]) assert.ok(help.includes(words), `${words} in ${help}`);
  await shot(page, "help");
  await page.keyboard.press("s");
  await pathIs(page, "/jobs");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog.help"), "the help to go");
  // The keys are the page's again a moment after the help has gone.
  const searches = async () => (await page.keyboard.press("/"), page.evaluate(() => document.activeElement.matches(".querybar input")));
  await waitUntil(searches, "the search field");
  await page.keyboard.type("gs");
  await pathIs(page, "/jobs");
  await page.keyboard.press("Escape");
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme ?? "system");
  await page.keyboard.press("t");
  await waitUntil(async () => (await theme()) === "dark", "the dark theme");
  await open("/jobs/llama/definitions");
  await hasKeys(page);
  for (const path of ["/jobs/llama", "/jobs", "/"]) {
    await waitUntil(async () => {
      if (new URL(page.url()).pathname === path) return true;
      await page.keyboard.press("Escape");
      return false;
    }, `the way back to ${path}`);
  }
});

test("a right click offers to copy", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 20));
  await open("/jobs");
  await hasKeys(page);
  // Its code has come; whether it has run already only a menu tells.
  const opens = async () => {
    await page.locator("[data-name=llama] td.num").first().click({ button: "right" });
    return page.locator(".contextmenu [role=menuitem]").first().waitFor({ timeout: 1000 }).then(() => true, () => false);
  };
  await waitUntil(opens, "the menu");
  assert.deepEqual(await texts(page, ".contextmenu [role=menuitem]"), ["Copy link", "Copy value"]);
  await page.keyboard.press("Enter");
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await waitUntil(async () => (await copied()) === `${server.url}/jobs/llama`, "the link in the clipboard");
  await page.locator("[data-name=llama] td.num").first().click({ button: "right" });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector(".contextmenu"), "the menu to go");
  // Whoever is quicker than a frame: the next key is the menu's.
  const left = await page.evaluate(async () => {
    const cell = document.querySelector("[data-name=llama] td.num");
    cell.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, button: 2 }));
    await new Promise((resolve) => queueMicrotask(resolve));
    const wasOpen = document.activeElement.matches(".contextmenu:popover-open button");
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
    return [wasOpen, document.querySelector(".contextmenu:popover-open") !== null];
  });
  assert.deepEqual(left, [true, false]);
});

test("while the server is gone the page says so, keeps what it has, and then catches up", async ({ server, page, open, allow }) => {
  allow(SERVER_AWAY);
  await server.send("llama", losses(0, 50));
  await openJob(page, open, "llama");
  await until(page, () => document.querySelector(".kept")?.innerText.startsWith("50 "), "50 points");
  await server.kill();
  await until(page, () => document.querySelector(".banner")?.innerText.includes("Offline since"), "the banner");
  assert.ok((await page.locator(".kept").first().innerText()).startsWith("50 "), "what was shown is gone");
  await shot(page, "offline");
  await server.start();
  await server.send("llama", losses(50, 2));
  await until(page, () => document.querySelector(".kept")?.innerText.startsWith("52 "), "the points of meanwhile");
  await until(page, () => document.querySelector(".banner").innerText === "", "the banner to go");
  await until(page, () => document.querySelector(".connection").classList.contains("live"), "that it is live again");
});

test("what failed for want of a server is asked for again once there is one", async ({ server, page, open, allow }) => {
  allow(SERVER_AWAY);
  await server.send("llama", losses(0, 20));
  await open("/compare");
  await page.locator(".empty").first().waitFor();
  await page.route("**/api/**", (route) => route.abort());
  await page.locator(".rail a[href='/settings']").click();
  await page.locator(".settings .problem").first().waitFor();
  assert.ok((await page.locator(".settings .problem").first().innerText()).includes("does not answer"));
  await page.unroute("**/api/**");
  await page.locator(".settings meter").waitFor();
  await until(page, () => !document.querySelector(".problem"), "the problems to go");
});

for (const [status, title, extra] of [[429, "asks for fewer requests", { "Retry-After": "1" }], [500, "The server failed", {}]]) {
  test(`an answer of ${status} says what happened, and can be retried`, async ({ server, page, open, allow }) => {
    allow(new RegExp(`${status}`));
    await server.send("llama", losses(0, 20));
    let refused = 0;
    const problem = JSON.stringify({ type: "about:blank", status, title: "Odd", detail: "told by the server: <b>why</b>" });
    await page.route("**/api/v1/retention", async (route) => {
      refused++;
      await route.fulfill({ status, headers: { "Content-Type": "application/problem+json", ...extra }, body: problem });
    });
    await open("/settings");
    const box = page.locator("#retention .problem");
    await box.waitFor();
    const said = await box.innerText();
    assert.ok(said.includes(title) && said.includes("<b>why</b>"), said);
    assert.equal(await page.locator("#tokens .problem").count(), 0, "the other parts stand");
    const before = refused;
    if (status === 429) await waitUntil(() => refused > before, "another try by itself");
    await page.unroute("**/api/v1/retention");
    if (status === 500) await box.locator("button").click();
    await page.locator("#retention meter").waitFor();
    assert.equal(await box.count(), 0);
  });
}

test("a token that was taken back, a wrong one, and another one", { token: true }, async ({ server, page, open, allow }) => {
  allow(/401/);
  const { token } = await server.post("/api/v1/tokens", { name: "guest", scope: "admin" });
  await server.send("llama", losses(0, 20));
  await open("/jobs");
  await page.fill("dialog.signin input", token);
  await page.keyboard.press("Enter");
  await page.locator("[data-name=llama]").waitFor();
  await server.ask("DELETE", "/api/v1/tokens/guest");
  await open("/settings");
  await page.locator("dialog.signin[open]").waitFor();
  await page.fill("dialog.signin input", "smf_wrong");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("dialog.signin .error").innerText.includes("not known"), "that it is wrong");
  await page.fill("dialog.signin input", server.token);
  await page.keyboard.press("Enter");
  await page.locator("#tokens table").waitFor();
});

test("ages go by the server's clock", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 20));
  await page.clock.install({ time: Date.now() + 5 * 3600_000 });
  await open("/settings");
  await page.locator(".settings meter").waitFor();
  await page.clock.runFor(2000);
  const since = page.locator("#about dd", { hasText: /\(.*\)/ }).first();
  await waitUntil(async () => !/h/.test((await since.innerText()).split("(")[1]), "an age without the hours that this clock is off");
});

test("nothing is asked for while nobody looks", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 20));
  await page.clock.install();
  await page.addInitScript(() => {
    window.isAway = false;
    Object.defineProperty(document, "hidden", { get: () => window.isAway });
  });
  const turn = (isAway) =>
    page.evaluate((value) => {
      window.isAway = value;
      document.dispatchEvent(new Event("visibilitychange"));
    }, isAway);
  for (const path of ["/", "/jobs", "/jobs/llama", "/jobs/llama/nodes", "/pools", "/incidents"]) {
    await open(path);
    await page.locator(".statusline :text('1 job')").waitFor();
    await page.locator(".connection.live").waitFor(); // or the clock that is turned on below is ahead of the worker's first answer
    let requests = [];
    const count = (request) => requests.push(request.url());
    page.on("request", count);
    await turn(true);
    let calm = 0;
    await waitUntil(async () => {
      // What is on its way is answered, and may ask for more: so does a part of the page whose file has just come.
      const begun = requests.splice(0);
      const ended = await Promise.all(begun.map((url) => page.evaluate((one) => performance.getEntriesByName(one).length > 0, url)));
      await page.clock.runFor(20_000);
      calm = ended.every(Boolean) && requests.length === 0 ? calm + 1 : 0;
      return calm > 1;
    }, `silence of ${path}`);
    await page.clock.runFor(600_000);
    assert.deepEqual(requests, [], path);
    await turn(false);
    await page.clock.runFor(20_000);
    await waitUntil(() => requests.length > 0, "the first request when somebody looks again");
    page.off("request", count);
  }
});

test("the page is live although the file that connects did not come at first", async ({ server, page, open, allow }) => {
  allow(/ERR_FAILED/);
  let asked = 0;
  await page.route(/assets\/connect-/, (route) => (++asked === 1 ? route.abort() : route.continue()));
  await server.send("llama", losses(0, 50));
  await open("/jobs/llama");
  await page.locator(".connection.live").waitFor();
  assert.ok(asked > 1, "the file was not asked for twice");
  await server.send("llama", losses(50, 52));
  await until(page, () => document.querySelector(".kept")?.innerText.startsWith("102 "), "the points that came live");
});

test("names that break things are only names", async ({ server, page, open }) => {
  const names = ['"><b>quoted</b> / 100% #1 ?', "\u202Egnp.exe", "🚀 emoji 训练 \u05E9\u05DC\u05D5\u05DD", `${"long".repeat(20)}-tail`];
  for (const name of names) {
    await server.send(name, losses(0, 20));
    await server.waitForPoints(name, "train:loss", 20);
  }
  await open("/jobs");
  await until(page, (count) => document.querySelectorAll("[data-name]").length === count, "the jobs", names.length);
  assert.equal(await page.locator("main b:text('quoted')").count(), 0);
  for (const name of names) {
    await open("/jobs");
    await page.locator(`[data-name=${JSON.stringify(name)}] a`).first().click();
    await until(page, () => document.querySelector(".chart canvas"), "its chart");
    assert.equal(decodeURIComponent(new URL(page.url()).pathname), `/jobs/${name}`);
    // the direction of writing ends with the name: in the tab's title, and where it heads the page
    const title = await page.title();
    assert.match(title, /\u2068.*\u2069/u);
    assert.ok(title.endsWith("smfleet"), title);
    const isolates = await page.$$eval(".jobhead h1, .jobhead h1 *, .jobhead bdi", (all) => all.some((one) => getComputedStyle(one).unicodeBidi.includes("isolate")));
    assert.ok(isolates, name);
  }
  await shot(page, "names");
});
