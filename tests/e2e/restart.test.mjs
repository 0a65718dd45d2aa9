// Whether a failed job should be started again: by keys alone, light and dark, in 390 pixels.
import assert from "node:assert/strict";
import { shot, test, until, waitUntil } from "./support.mjs";

const XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.";

async function fail(server, name) {
  await server.post(`/api/v1/logs?job=${name}&stream=algo-1&host=gpu-07`, ["step: 1 | loss: 3.0", "step: 2 | loss: 2.5", "saved checkpoint to /ckpt/step-2 at step 2", XID].map((line) => `${line}\n`).join(""));
  await server.waitForPoints(name, "train:loss", 2);
  await server.post(`/api/v1/jobs/${name}/transitions`, { SecondaryStatus: "Failed", time_ms: Date.now() });
  await waitUntil(async () => {
    const { body } = await server.get(`/api/v1/jobs/${name}/restart`);
    return body.extracted && body.checkpoint && body.drained.length === 1;
  }, "the restart of the job");
}

test("a failed job says what its restart needs, and a running one nothing", async ({ server, page, open }) => {
  await fail(server, "broken");
  await server.post("/api/v1/logs?job=running&stream=algo-1", "step: 1 | loss: 3.0\n");
  await open("/jobs/broken");
  await page.getByRole("button", { name: "Restart…" }).waitFor();
  await page.keyboard.press("Shift+R");
  const text = () => page.locator("dialog.restart").innerText();
  await until(page, () => document.querySelector("dialog.restart .copyline"), "the command");
  const said = await text();
  for (const words of ["A restart is due: it failed", "step 2", "/ckpt/step-2", "gpu-07: xid_79 once in the last week", "1, of which 1 since the highest checkpoint"]) assert.ok(said.includes(words), `${words} in ${said}`);
  const command = await page.locator("dialog.restart code").last().innerText();
  assert.match(command, /^curl -s http.*\/api\/v1\/jobs\/broken\/restart \| SMFLEET_RESTART_JOB=broken SMFLEET_RESTART_STEP=2 SMFLEET_RESTART_CHECKPOINT=\/ckpt\/step-2 SMFLEET_RESTART_DRAINED=gpu-07 SMFLEET_RESTART_FAILURES=1 SMFLEET_CONTINUES=broken \.\/again$/);
  await shot(page, "restart");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot(page, "restart-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), "it fits a phone");
  await shot(page, "restart-phone");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog.restart"), "the dialog to be closed");

  await server.post("/api/v1/jobs", { TrainingJobName: "again", Tags: [{ Key: "continues", Value: "broken" }] });
  await page.keyboard.press("Shift+R");
  await until(page, () => document.querySelector("dialog.restart")?.innerText.includes("No restart is due: job 'again' goes on with it already"), "who went on with it");
  assert.equal(await page.locator("dialog.restart .copyline").count(), 0, "there is nothing to run");

  await page.setViewportSize({ width: 1440, height: 900 });
  await open("/jobs/running");
  await page.getByRole("button", { name: "Stop…" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Restart…" }).count(), 0, "it did not fail");
});
