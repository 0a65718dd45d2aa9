// End-to-end tests: a real server, a real browser. A test file has one browser; each test a server and a profile of its own.
//
//   import { test, until } from "./support.mjs";
//   test("what is to be seen", async ({ server, page, open }) => { … });
//
// A test fails when the page logs an error, throws, or asks any other host. Waits are for conditions: until(page, …), waitUntil.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test as nodeTest } from "node:test";
import { chromium } from "playwright-core";
import { PATIENCE_MS, ROOT, Server, waitUntil } from "./server.mjs";

export { ROOT, Server, waitUntil } from "./server.mjs";

/** tests/run --all: what is short of it is in tests/support/howlong.py. */
export const IS_LONG = Boolean(process.env.SM_LONG);

const SHOTS = path.join(ROOT, "build/screenshots");
mkdirSync(SHOTS, { recursive: true });

const FLAGS = ["--disable-gpu", "--disable-quic", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

let browser = null;
after(() => browser?.close());

async function launch() {
  const program = process.env.SM_CHROMIUM ?? "/usr/bin/chromium-headless-shell";
  browser ??= await chromium.launch({ executablePath: program, args: FLAGS, chromiumSandbox: false, timeout: PATIENCE_MS });
  return browser;
}

/**
 * A test with what it needs: server (running), page, open(path) and openPage(more) for further ones, allow(pattern) for errors that
 * belong to the test, knows(origin) for another server that does. Options: server (of sm-server), token (the server wants one; server.token is an administrator's), and the
 * context's: viewport, colorScheme, locale…
 */
export function test(name, options, body) {
  if (typeof options === "function") return test(name, {}, options);
  nodeTest(name, { timeout: 5 * PATIENCE_MS }, async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "smfleet-e2e-"));
    const { server: serverOptions = [], token = false, ...look } = options;
    const server = await new Server(folder, serverOptions).start();
    const pages = new Pages(server, look);
    try {
      assert.ok((await server.get("/")).body.includes("/assets/"), "this server was built without its page: run deploy/page, then build again");
      if (token) server.token = (await server.post("/api/v1/tokens", { name: "admin", scope: "admin" })).token;
      const page = await pages.add();
      const open = async (where) => page.goto(server.url + where);
      await body({ server, page, folder, open, openPage: (more) => pages.add(more), allow: (pattern) => pages.allowed.push(pattern), knows: (origin) => pages.known.push(origin) });
      pages.assertQuiet();
    } catch (error) {
      await pages.shoot(name);
      throw error;
    } finally {
      await pages.close();
      await server.stop();
      rmSync(folder, { recursive: true });
    }
  });
}

/** The pages of one test, each with a profile of its own, and what they complain of. */
class Pages {
  constructor(server, look) {
    this.server = server;
    this.look = look;
    this.contexts = [];
    this.errors = [];
    this.strangers = [];
    this.allowed = [];
    this.known = [`${server.url}/`];
  }

  async add(more = {}) {
    const context = await (await launch()).newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US", ...this.look, ...more });
    this.contexts.push(context);
    context.setDefaultTimeout(PATIENCE_MS);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    context.on("request", (request) => this.noteRequest(request.url()));
    context.on("console", (message) => message.type() === "error" && this.errors.push(`${message.text()} (${message.location().url})`));
    context.on("weberror", (error) => this.errors.push(error.error().stack || String(error.error())));
    return context.newPage();
  }

  noteRequest(url) {
    if (!this.known.some((origin) => url.startsWith(origin)) && !/^(blob|data):/.test(url)) this.strangers.push(url);
  }

  assertQuiet() {
    assert.deepEqual(this.errors.filter((text) => !this.allowed.some((pattern) => pattern.test(text))), [], "errors in the console");
    assert.deepEqual(this.strangers, [], "requests to others");
  }

  /** What a test that failed looked at. */
  async shoot(name) {
    const open = this.contexts.flatMap((context) => context.pages());
    for (const [i, page] of open.entries()) {
      const file = path.join(SHOTS, `failed-${name.replace(/\W+/g, "-")}-${i}.png`);
      await page.screenshot({ path: file, timeout: 10_000 }).catch(() => undefined);
    }
  }

  async close() {
    for (const context of this.contexts) {
      // A page may ask again while its test ends: what a route then does with a reply that goes away is nobody's error.
      for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    }
  }
}

/** The first true value of a function that runs in the page; fails with `what` when there was none in time. */
export async function until(page, look, what, argument) {
  try {
    const handle = await page.waitForFunction(look, argument, { polling: 30, timeout: PATIENCE_MS });
    return await handle.jsonValue();
  } catch (error) {
    throw new Error(`in vain for ${what}: ${error.message}`, { cause: error });
  }
}

/** What the browser says while the server is away: for allow(). */
export const SERVER_AWAY = /status of 503|ERR_(CONNECTION_REFUSED|CONNECTION_RESET|SOCKET_NOT_CONNECTED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|FAILED)/;

export const shot = (page, name) => page.screenshot({ path: path.join(SHOTS, `${name}.png`) });

/** Whether nothing stands out of the window at the side. */
export const fitsWidth = (page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);

/** What the selector's elements say, each on one line. */
export const texts = (page, selector) =>
  page.$$eval(selector, (all) => all.map((element) => element.innerText.replace(/\s+/g, " ").trim()));

/** How much of a canvas is in colour: curves and their bands, not axes (grey) or background. */
export const coloured = (page, selector = ".chart canvas") =>
  page.evaluate((where) => {
    const canvas = document.querySelector(where);
    if (!canvas?.width) return 0;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const spread = Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]);
      if (data[i + 3] > 60 && spread > 40) count++;
    }
    return count;
  }, selector);

/** Opens a job's page and waits for its first curve. */
export async function openJob(page, open, job) {
  await open(`/jobs/${encodeURIComponent(job)}`);
  await waitUntil(() => coloured(page), "a drawn curve");
}

/** How often the page has asked for an address that holds the text. */
export const asked = (page, part) =>
  page.evaluate((text) => performance.getEntriesByType("resource").filter((entry) => entry.name.includes(text)).length, part);

/** Lines of a trainer whose loss falls. */
export const losses = (first, count) =>
  Array.from({ length: count }, (_, i) => {
    const n = first + i;
    return `step: ${n} loss: ${(2 + 3 * Math.exp(-n / 80) + ((n * 7919) % 100) / 2000).toFixed(4)} lr: 3e-4`;
  });
