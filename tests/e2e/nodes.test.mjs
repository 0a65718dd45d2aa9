// Who sends a job, how each ended, and commands to them.
import assert from "node:assert/strict";
import { shot, test, until, waitUntil } from "./support.mjs";

/** A session of a sender; gives its address. */
async function openSession(server, stream) {
  const reply = await server.post("/api/v1/sessions", { job: "llama", run_key: "r", stream, host: `gpu-<b>${stream}` });
  await server.send("llama", Array.from({ length: 10 }, (_, n) => `step: ${n} loss: 2.5`), stream);
  return `/api/v1/sessions/${reply.session}`;
}

const commandsOf = async (server) => (await server.get("/api/v1/jobs/llama/commands")).body.commands;
const button = (page, text) => page.locator(`.jobhead button:text-is("${text}")`);
const commandsSay = (page, text) => until(page, (words) => document.querySelector(".commands")?.innerText.includes(words), text, text);

test("nodes, and how they ended", async ({ server, page, open }) => {
  await openSession(server, "algo-1");
  const lost = await openSession(server, "algo-2");
  await server.post(lost, { exit: { signal: 9, reason: "killed <b>by signal 9" } });
  await open("/jobs/llama");
  await page.click(".jobtabs a:text-is('Nodes')");
  await page.waitForURL(/\/jobs\/llama\/nodes$/);
  await until(page, () => document.querySelectorAll("[data-stream]").length === 2, "two nodes");
  const [one, two] = await Promise.all(["algo-1", "algo-2"].map((stream) => page.locator(`[data-stream="${stream}"]`).innerText()));
  assert.ok(one.includes("gpu-<b>algo-1") && one.includes("rank 0") && !one.includes("signal"), one);
  assert.ok(two.includes("killed <b>by signal 9"), two);
  await page.click(".viewhead button:has-text('in trouble: 1')");
  await until(page, () => location.search === "?only=trouble" && document.querySelectorAll("[data-stream]").length === 1, "the one in trouble");
  await shot(page, "nodes-list");
});

test("a stop is asked once, and its answer shown", async ({ server, page, open }) => {
  const session = await openSession(server, "algo-1");
  await open("/jobs/llama/nodes");
  await button(page, "Stop…").click();
  await page.locator(".jobhead dialog[open]").waitFor();
  assert.ok((await page.locator(".jobhead dialog").innerText()).includes("--on stop"));
  await shot(page, "stop");
  await button(page, "Cancel").click();
  await until(page, () => !document.querySelector(".jobhead dialog"), "the question to go");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Stop…", "the focus is where it was");
  assert.deepEqual(await commandsOf(server), []);
  await button(page, "Stop…").click();
  await page.click(".jobhead dialog .primary");
  await commandsSay(page, "1 queued");
  await until(page, () => document.querySelector(".jobhead .status").innerText.includes("stopping"), "that the job stops");
  await waitUntil(async () => (await button(page, "Stop…").count()) === 0, "no button for a job that stops");
  const { commands: [command] } = await server.post(session, {});
  await commandsSay(page, "1 delivered");
  await server.post(session, { acks: [{ id: command.id, result: "signal SIGTERM sent to process 7" }] });
  await commandsSay(page, "signal SIGTERM sent (algo-1");
  await shot(page, "commands");
});

test("a checkpoint from the job itself", async ({ server, page, open }) => {
  await openSession(server, "algo-1");
  await open("/jobs/llama");
  await button(page, "Checkpoint…").click();
  await page.click(".jobhead dialog .primary");
  await until(page, () => document.querySelector(".jobhead").innerText.includes("sent to 1 sender"), "who hears of it");
  assert.deepEqual((await commandsOf(server)).map((one) => one.command), ["checkpoint"]);
  await server.post("/api/v1/jobs/llama/transitions", { SecondaryStatus: "Completed" });
  await waitUntil(async () => (await button(page, "Checkpoint…").count()) === 0, "no button for a job that has ended");
});
