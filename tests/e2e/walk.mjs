// Every page, as one look has it: axe finds nothing, nothing stands out of the window, and a picture of each is kept in
// build/screenshots. A new page is one line of PAGES; walk-*.test.mjs go through them, some looks each.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { ODD_NAME, sendFleet } from "./fleet.mjs";
import { fitsWidth, ROOT, shot, test } from "./support.mjs";

/** Name, address, and all that is there once the page is. */
const PAGES = [
  ["fleet", "/", "main h2"],
  ["jobs", "/jobs", "[data-name]"],
  ["job", "/jobs/llama-7b", ".chart canvas", ".strip", ".chartbar [role=toolbar]", ".line", ".marks .mark"],
  ...["nodes", "goodput", "training", "settings", "incidents", "advice", "notes", "files", "deliveries", "document"].map((part) => [`job-${part}`, `/jobs/llama-7b/${part}`, ".jobtabs [aria-current]"]),
  ["job-logs", "/jobs/llama-7b/logs", ".line"],
  ["job-definitions", "/jobs/finished/definitions", ".tryline"],
  ["compare", `/compare?jobs=llama-7b,${encodeURIComponent(ODD_NAME)}`, ".compare canvas"],
  ["workspace", "/workspace", ".templates button"],
  ["workspace-panels", `/workspace?q=${encodeURIComponent("name~llama")}&lines=loss%2B;loss;ema(loss,0.9)`, ".panel canvas", ".faults"],
  ["wall", `/wall?jobs=llama-7b,${encodeURIComponent(ODD_NAME)}`, ".wall canvas", ".correlations p"],
  ["machines", "/nodes", "main h1"],
  ["report", "/report?hours=24", ".report .sum"],
  ["incidents", "/incidents", "main :text('llama-7b')"],
  ["rules", "/rules", "main h1"],
  ["webhooks", "/webhooks", "main h1"],
  ["pools", "/pools", "table.pools .lane > *"],
  ["definitions", "/definitions", ".names a"],
  ["settings", "/settings", ".settings meter"],
  ["nowhere", "/no/such/page", ".empty h1"],
];

const AXE = readFileSync(path.join(ROOT, "tests/node_modules/axe-core/axe.min.js"), "utf8");
export const ALL = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
/** What another theme can change. */
export const COLOURS = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** What axe says of the page: rule, and the elements that break it. */
export async function faults(page, runOnly, without = []) {
  await page.evaluate(AXE);
  const options = { runOnly, resultTypes: ["violations"] };
  const { violations } = await page.evaluate(([exclude, more]) => window.axe.run({ exclude }, more), [without, options]);
  return violations.map((one) => `${one.id} (${one.impact}): ${one.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary}`).join(" | ")}`);
}

/** Two English words in a row where no data stands: what nobody has translated, and parts of it that are seen only in titles. */
const english = (page) =>
  page.evaluate(() => {
    const words = /[A-Za-z][a-z]+,? [a-z]{2,}/;
    // data, code, and what the server says in its own language
    const left = "code, pre, bdi, .mono, [lang=en], [lang=en-US], .line, .tryline, textarea, noscript, script, style";
    const found = [];
    const note = (element, text) => words.test(text) && !element.closest(left) && found.push(text.trim());
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) note(node.parentElement, node.data);
    for (const name of ["title", "aria-label", "aria-description", "placeholder"]) {
      for (const element of document.querySelectorAll(`[${name}]`)) note(element, element.getAttribute(name));
    }
    return found;
  });
/** What is English in every language: names of metrics and programs, queries, licences, and the server's reasons. */
const SAME = /status:inprogress|sm-ship|aws sagemaker|^step time$|public domain|matched \d+ of|derived:|steps \/ seconds|HyperParameters|by its name; the log|none of these lines|the first line arrived/;

/** What a finger does not hit: smaller than 44 px, unless it stands in running text, in a line of a log, or where a time puts it. */
const tooSmall = (page) =>
  page.evaluate(() => {
    const placed = ".skip, p a, .fact a, .log .line *, .tryline *, .lanes *, .lane *, .marks *, .lookfrom *, [role=option] *";
    const sizeOf = (element) => {
      const own = element.getBoundingClientRect();
      const label = element.closest("label")?.getBoundingClientRect() ?? own;
      const cell = element.matches("td > *, th > *") ? element.parentElement.getBoundingClientRect() : own;
      return [Math.max(own.width, label.width, cell.width), Math.max(own.height, label.height, cell.height), own];
    };
    return [...document.querySelectorAll("button, a, input:not([type=hidden]), select, summary, textarea")].flatMap((element) => {
      const [width, height, own] = sizeOf(element);
      if (own.width < 2 || own.height < 2 || element.matches(placed) || (width >= 43 && height >= 43)) return [];
      return `${element.tagName.toLowerCase()}.${element.className} "${element.innerText || element.getAttribute("aria-label")}" ${Math.round(width)}x${Math.round(height)}`;
    });
  });

/** What a finger hits although it means the chart above. */
const astray = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".chart figcaption button")].flatMap((element) => {
      const [own, chart] = [element, element.closest(".chart")].map((one) => one.getBoundingClientRect());
      return own.height > 0 && (own.top < chart.top - 1 || own.bottom > chart.bottom + 1) ? [`"${element.innerText}" ${Math.round(chart.top - own.top)} px above`] : [];
    }),
  );

/** Text cells so narrow that words come letter by letter. */
const broken = (page) =>
  page.evaluate(() => {
    const range = document.createRange();
    const lines = (node) => {
      range.selectNodeContents(node);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    };
    return [...document.querySelectorAll("th, td")].flatMap((cell) =>
      [...cell.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && lines(node) > Math.max(2, node.data.trim().split(/[\s_:/.,=-]+/).length + 1)).map((node) => node.data),
    );
  });

/** Where one is, in a row of links that scrolls out of view. */
const hiddenCurrent = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".jobtabs, .rail")].flatMap((row) => {
      const place = row.querySelector("[aria-current=page]")?.getBoundingClientRect();
      const room = row.getBoundingClientRect();
      return place && (place.left < room.left - 1 || place.right > room.right + 1) ? [row.className] : [];
    }),
  );

const LOOKS = {
  light: { context: { colorScheme: "light" }, rules: ALL },
  dark: { context: { colorScheme: "dark" }, rules: COLOURS },
  phone: { context: { viewport: { width: 390, height: 844 }, hasTouch: true } },
  zh: { context: { colorScheme: "light" }, language: "zh" },
};

/** One test a look. */
export function walk(...looks) {
  for (const look of looks) {
    const { context, rules, language = "en" } = LOOKS[look];
    test(`every page: ${look}`, context, async ({ server, page }) => {
      await sendFleet(server);
      await page.addInitScript((value) => localStorage.setItem("smfleet.language", value), language);
      const found = [];
      for (const [name, address, ...ready] of PAGES) {
        await page.goto(server.url + address);
        for (const part of ready) await page.locator(part).first().waitFor({ state: "attached" });
        if (language === "zh") await page.locator("html[lang=zh-CN] .rail :text('作业')").waitFor();
        if (language === "zh") found.push(...(await english(page)).filter((text) => !SAME.test(text)).map((text) => `${name}: English: ${text}`));
        await shot(page, `walk-${name}-${look}`);
        if (look === "phone") {
          const looks = [["small", tooSmall], ["letter by letter", broken], ["out of its chart", astray]];
          for (const [what, seen] of looks) found.push(...(await seen(page)).map((text) => `${name}: ${what}: ${text}`));
        }
        found.push(...(await hiddenCurrent(page)).map((row) => `${name}: the current one of .${row} is out of view`));
        if (!(await fitsWidth(page))) found.push(`${name}: wider than the window`);
        // what is the same on several pages is looked at on the first of them
        const known = name === "fleet" ? [] : [".rail", ".statusline", ...(name.startsWith("job-") ? [".jobtop"] : [])];
        if (rules) found.push(...(await faults(page, rules, known)).map((fault) => `${name}: ${fault}`));
      }
      assert.deepEqual(found, []);
    });
  }
}
