// The best checkpoints of many jobs, with named models between them.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";

const ROWS = ".board tbody tr";

async function evaluate(server, job, step, scores) {
  assert.equal((await server.request("POST", `/api/v1/jobs/${job}/evaluations`, { step, scores })).status, 201);
}

test("the best checkpoints of jobs and of runs", async ({ server, page, open }) => {
  await open("/evaluations");
  await page.getByText("No job here has scores:").waitFor();
  for (const [name, tags] of [["a", []], ["b", [{ Key: "continues", Value: "a" }]], ["c", []]]) await server.post("/api/v1/jobs", { TrainingJobName: name, Tags: tags });
  await evaluate(server, "a", 10, { "mmlu/acc": { value: 0.5, stderr: 0.01 } });
  await evaluate(server, "b", 20, { "mmlu/acc": { value: 0.6, stderr: 0.01 } });
  await evaluate(server, "c", 30, { "mmlu/acc": { value: 0.66, stderr: 0.01 }, "w/ppl": 8 });
  await open("/jobs");
  await page.locator("[data-name=a]").waitFor();
  await waitUntil(async () => {
    await page.keyboard.type("ge");
    return new URL(page.url()).pathname === "/evaluations";
  }, "g e to lead to the best checkpoints");
  await page.locator(ROWS).first().waitFor();
  // Llama 2's paper, table 3: 68.9, 62.6, 54.8 and 45.3, between 0.66, 0.6 and 0.5.
  assert.deepEqual((await texts(page, `${ROWS} th`)), ["Llama 2 70B", "c", "Llama 2 34B", "b", "Llama 2 13B", "a", "Llama 2 7B"]);
  assert.match((await texts(page, ROWS))[1], /^1 c step 30 0\.6600 ± 0\.01000 1$/);
  await page.getByRole("button", { name: "runs" }).click();
  await until(page, () => document.querySelectorAll(".board tbody tr:not(.dim)").length === 2, "two runs");
  assert.match((await texts(page, `${ROWS}:not(.dim)`))[1], /^2 a → b step 20 0\.6000 ± 0\.01000 2$/);
  await shot(page, "evaluations-light");
  await page.getByLabel("score").selectOption("w/ppl");
  await until(page, () => document.querySelectorAll(".board tbody tr").length === 1, "the one with a perplexity");
  await open("/evaluations?q=name%3Aa");
  await until(page, () => document.querySelectorAll(".board tbody tr:not(.dim)").length === 1, "the job of the query");
  assert.ok(await fitsWidth(page));
});

test("the best checkpoints on a phone, in the dark", { viewport: { width: 390, height: 800 }, colorScheme: "dark" }, async ({ server, page, open }) => {
  await server.post("/api/v1/jobs", { TrainingJobName: "a" });
  await evaluate(server, "a", 10, { "mmlu/acc": { value: 0.5, stderr: 0.01 } });
  await open("/evaluations");
  await page.locator(ROWS).first().waitFor();
  await shot(page, "evaluations-phone");
  assert.ok(await fitsWidth(page));
});

test("the best checkpoint of a job is said with its score, also where less is better", async ({ server, page, open }) => {
  await server.post("/api/v1/jobs", { TrainingJobName: "a" });
  for (const [step, ppl] of [[10, 9], [20, 8.5], [30, 8.75]]) await evaluate(server, "a", step, { "w/ppl": ppl });
  await open("/jobs/a/training");
  await page.getByText("Best: step 20, 8.500 by w/ppl", { exact: true }).waitFor();
});
