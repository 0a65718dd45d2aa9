// From a posted line to a drawn point, in a real browser.
import assert from "node:assert/strict";
import { asked, coloured, fitsWidth, losses, shot, test, texts, until, waitUntil } from "./support.mjs";

export async function openJob(page, open, job) {
  await open(`/jobs/${encodeURIComponent(job)}`);
  await waitUntil(() => coloured(page), "a drawn curve");
}

const hasJob = (page, name) => page.locator(`[data-name=${JSON.stringify(name)}]`).waitFor();
const hasPoints = (page, text) => until(page, (words) => document.querySelector(".kept")?.innerText.startsWith(words), `${text}points`, text);
const logSays = (page, text) => until(page, (words) => document.querySelector("[role=log]")?.innerText.includes(words), `the line ${text}`, text);

test("a posted line becomes a drawn point", async ({ server, page, open }) => {
  await server.send("llama", losses(0, 100));
  await openJob(page, open, "llama");
  await hasPoints(page, "100 ");
  const before = await coloured(page);
  const fetches = await asked(page, "/points?");
  const began = performance.now();
  await server.send("llama", "step: 100 loss: 9.5");
  await hasPoints(page, "101 ");
  const tookMs = performance.now() - began;
  await waitUntil(async () => ![0, before].includes(await coloured(page)), "a chart that changed");
  assert.equal(await asked(page, "/points?"), fetches, "the point was fetched, not pushed");
  assert.ok(tookMs < 5000, `from line to pixel: ${tookMs} ms`);
  await shot(page, "job");
});

test("a new job appears in the list", async ({ server, page, open }) => {
  await server.send("first", losses(0, 10));
  await open("/");
  await hasJob(page, "first");
  await server.send("second", losses(0, 10));
  await hasJob(page, "second");
  await shot(page, "jobs");
});
