// Every page, in both themes, both languages and on a phone: axe finds nothing, nothing stands out of the window, and a picture
// of each is kept in build/screenshots. A new page is one line of PAGES.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fitsWidth, ROOT, shot, test } from "./support.mjs";
import { sendFleet } from "./fleet.mjs";

/** Name, address, what is there once the page is, and what a part of it may be told to leave to its next owner. */
const PAGES = [
  ["jobs", "/jobs", "table.jobs tbody tr"],
  ["job", "/jobs/llama-7b", ".chart canvas"],
  ["job-nodes", "/jobs/llama-7b/nodes", "[data-stream]"],
  ["job-definitions", "/jobs/llama-7b/definitions", ".tryline"],
  ["compare", "/compare?jobs=llama-7b,llama-7b-%22quoted%22%20%2F%20100%25", ".compare canvas"],
  ["incidents", "/incidents", "table.incidents tbody tr"],
  ["pools", "/pools", "table.pools .lane > *"],
  ["settings", "/settings", ".settings meter"],
  ["nowhere", "/no/such/page", ".empty h1"],
];

const AXE = readFileSync(path.join(ROOT, "tests/node_modules/axe-core/axe.min.js"), "utf8");
const RULES = { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] } };

/** What axe says of the page: rule, and the elements that break it. */
async function faults(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate((options) => window.axe.run(document, options), RULES);
  return violations.map((one) => `${one.id} (${one.impact}): ${one.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary}`).join(" | ")}`);
}

const LOOKS = [
  ["light", { colorScheme: "light" }, "en", true],
  ["dark", { colorScheme: "dark" }, "en", true],
  ["phone", { viewport: { width: 360, height: 740 }, hasTouch: true }, "en", false],
  ["zh", { colorScheme: "light" }, "zh", false],
];

test("every page is clean, and fits", async ({ server, openPage }) => {
  await sendFleet(server);
  const found = [];
  for (const [look, context, language, withAxe] of LOOKS) {
    const page = await openPage(context);
    await page.addInitScript((value) => localStorage.setItem("smfleet.language", value), language);
    for (const [name, address, ready] of PAGES) {
      await page.goto(server.url + address);
      await page.locator(ready).first().waitFor({ state: "attached" });
      if (language === "zh") await page.locator("html[lang=zh-CN] .rail :text('作业')").waitFor();
      await shot(page, `walk-${name}-${look}`);
      if (!(await fitsWidth(page))) found.push(`${name}, ${look}: wider than the window`);
      if (withAxe) found.push(...(await faults(page)).map((fault) => `${name}, ${look}: ${fault}`));
    }
    await page.close();
  }
  assert.deepEqual(found, []);
});
