// Typing a query: suggestions by keyboard and pointer, an error under its column, saved views.
import assert from "node:assert/strict";
import { asked, shot, test, texts, until } from "./support.mjs";

const FIELD = ".querybar input";

async function openJobs(server, page, open) {
  for (let i = 0; i < 6; i++) {
    await server.post("/api/v1/jobs", {
      TrainingJobName: `llama-${i}`,
      HyperParameters: { lr: "0.1", linear_lr: `${i}` },
      Tags: [{ Key: "team", Value: i % 3 ? "nlp" : "<i>Ünicode" }],
    });
  }
  await open("/jobs");
  await until(page, () => document.querySelectorAll("[data-name]").length === 6, "the jobs");
}

async function type(page, text) {
  await page.focus(FIELD);
  await page.keyboard.type(text);
}

const offers = (page, text) =>
  until(page, (words) => [...document.querySelectorAll("#suggestions [role=option] bdi")].some((one) => one.innerText === words), `the suggestion ${text}`, text);
const fieldIs = (page, text) => until(page, (words) => document.querySelector(".querybar input").value === words, `“${text}” in the field`, text);
const expanded = (page) => page.locator(FIELD).getAttribute("aria-expanded");
const chosen = (page) =>
  page.evaluate(() => {
    const id = document.querySelector(".querybar input").getAttribute("aria-activedescendant");
    return document.getElementById(id)?.querySelector("bdi").innerText;
  });
const isExpanded = (page, value) =>
  until(page, (text) => document.querySelector(".querybar input").getAttribute("aria-expanded") === text, `a list that is open: ${value}`, value);

test("a query by keyboard", async ({ server, page, open }) => {
  await openJobs(server, page, open);
  assert.equal(await expanded(page), "false");
  await type(page, "é tag.t");
  await offers(page, "tag.team");
  assert.equal(await expanded(page), "true");
  assert.equal(await page.locator(FIELD).getAttribute("aria-controls"), "suggestions");
  assert.equal(await chosen(page), undefined);
  await page.keyboard.press("ArrowDown");
  assert.equal(await chosen(page), "tag.team");
  await page.keyboard.press("Tab");
  await fieldIs(page, "é tag.team");
  await page.fill(FIELD, "");
  await type(page, "tag.team=");
  await offers(page, "tag.team=nlp");
  await shot(page, "suggestions");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "Enter"]) await page.keyboard.press(key);
  await fieldIs(page, "tag.team=nlp ");
  await isExpanded(page, "true");
  await page.keyboard.press("Escape");
  await isExpanded(page, "false");
  assert.ok(await page.evaluate(() => document.activeElement === document.querySelector(".querybar input")));
  await page.keyboard.press("Enter");
  await until(page, () => location.search === "?q=tag.team%3Dnlp" && document.querySelectorAll("[data-name]").length === 4, "the jobs that match");
});

test("a suggestion by pointer is only text", async ({ server, page, open }) => {
  await openJobs(server, page, open);
  await type(page, "tag.team=");
  const odd = page.locator("#suggestions [role=option]", { hasText: "<i>" });
  await odd.waitFor();
  assert.equal(await page.locator("#suggestions i").count(), 0);
  await odd.click();
  await until(page, () => document.querySelector(".querybar input").value.startsWith('tag.team="<i>'), "the value in the query, quoted");
});

test("only the last answer counts", async ({ server, page, open }) => {
  await openJobs(server, page, open);
  await type(page, "hp.l");
  await offers(page, "hp.lr");
  const before = await asked(page, "/suggestions?");
  await page.evaluate(() => {
    const field = document.querySelector(".querybar input");
    for (const text of ["hp.li", "hp.lin", "hp.line", "hp.linear_lr="]) {
      field.value = text;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await offers(page, "hp.linear_lr=0");
  assert.equal(await asked(page, "/suggestions?"), before + 1);
});

test("an error stands under its column", async ({ server, page, open, allow }) => {
  allow(/4(00|22)/);
  await openJobs(server, page, open);
  await type(page, "é loss.last>>3");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".querybar .wrong b")?.innerText.includes("expected a value"), "what is wrong");
  assert.equal(await page.locator(FIELD).getAttribute("aria-invalid"), "true");
  const [wanted, is] = await page.evaluate(() => {
    const field = document.querySelector(".querybar input");
    const style = getComputedStyle(field);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const left = field.getBoundingClientRect().left + parseFloat(style.paddingLeft) + pen.measureText("é loss.last>").width;
    return [left, document.querySelector(".querybar .wrong b").getBoundingClientRect().left];
  });
  assert.ok(Math.abs(wanted - is) < 4, `${wanted} ${is}`);
  await shot(page, "query-error");
  await page.keyboard.type("x");
  await until(page, () => document.querySelector(".querybar .wrong") === null, "the error to go while one types on");
});

test("a view is saved, chosen, deleted and had back", async ({ server, page, open }) => {
  await openJobs(server, page, open);
  await open("/jobs?q=name~llama&sort=-created");
  await page.click("[popovertarget=views]");
  await until(page, () => document.querySelector(".views .dim")?.innerText.includes("No view is saved"), "that there is none");
  await page.fill(".views input", "<b>mine");
  await page.keyboard.press("Enter");
  const names = (text) =>
    until(page, (words) => [...document.querySelectorAll(".views li bdi")].map((one) => one.innerText).join() === words, `the views “${text}”`, text);
  await names("<b>mine");
  const saved = async () => (await server.get("/api/v1/views")).body.views;
  const [view] = await saved();
  assert.deepEqual([view.query, view.sort], ["name~llama", "-created"]);
  await shot(page, "views");
  await open("/jobs");
  await page.click("[popovertarget=views]");
  await names("<b>mine");
  await page.click(".views li a");
  await until(page, () => location.search === "?q=name%7Ellama&sort=-created" && !document.querySelector(".views").matches(":popover-open"), "its query and sort");
  await page.click("[popovertarget=views]");
  await names("<b>mine");
  await page.click(".views li button");
  await until(page, () => document.querySelector(".views [role=status] button"), "that it can be had back");
  await names("");
  assert.deepEqual(await saved(), []);
  await page.click(".views [role=status] button");
  await names("<b>mine");
  assert.deepEqual(await texts(page, ".views li bdi"), ["<b>mine"]);
});
