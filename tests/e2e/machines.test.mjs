// All machines: which to drain, their faults, and what of it a job's grid of nodes shows.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";

const XID = "kernel: NVRM: Xid (PCI:0000:a1:00): 79, pid=4123, GPU has fallen off the bus";
const lines = Array.from({ length: 60 }, (_, i) => `step: ${i} loss: ${(3 - i / 100).toFixed(3)}`);

async function sendAll(server) {
  for (let node = 1; node <= 4; node++) {
    const all = lines.map((line) => `${line} tokens_per_sec=${node === 3 ? 3000 : 4000}`);
    await server.post(`/api/v1/logs?job=big&stream=algo-${node}&host=gpu-${node}`, all.join("\n") + (node === 2 ? `\n${XID}` : "") + "\n", { type: "text/plain" });
  }
  await waitUntil(async () => (await server.get("/api/v1/nodes")).body.drain?.length === 1, "the machine to drain");
}

test("all machines, which to drain, and one of them", async ({ server, page, open }) => {
  await open("/nodes");
  await page.waitForSelector("text=No machine is known by name yet");
  await sendAll(server);
  await open("/jobs");
  await page.locator("[data-name=big]").waitFor();
  await waitUntil(async () => {
    await page.keyboard.type("gm");
    return new URL(page.url()).pathname === "/nodes";
  }, "g m to lead to the machines");
  await until(page, () => document.querySelectorAll(".machinescroll tbody tr").length === 4, "four machines");
  assert.equal(await page.innerText(".rail [aria-current]"), "Machines");
  assert.match((await texts(page, ".drain"))[0], /1 machine should be drained gpu-2 .*xid_79/);
  const row = (await texts(page, ".machinescroll tbody tr"))[1];
  assert.match(row, /^gpu-2 ◆ drain xid_79 0/);
  await page.click(".viewhead button:has-text('in trouble')");
  await until(page, () => !document.querySelector(".machinescroll tbody")?.innerText.includes("gpu-1"), "those in trouble");
  await page.click(".machinescroll a:has-text('gpu-2')");
  await page.waitForSelector(".machine .faultlines");
  assert.match(await page.innerText(".machine"), /xid_79/);
  assert.match(await page.innerText(".machine .faultlines"), /GPU has fallen off the bus/);
  await shot(page, "machines-light");
  await page.click(".faultlines a");
  await until(page, () => document.querySelector(".line.chosen .text")?.textContent.includes("fallen off"), "the line of the fault");
  await open("/nodes?find=gpu-4");
  await until(page, () => document.querySelectorAll(".machinescroll tbody tr").length === 1, "the machine that was searched");

  // The job's grid says it of the node, and its heat map opens with the metric that shows who is behind.
  await open("/jobs/big/nodes");
  await page.locator(".cells canvas").focus();
  await page.keyboard.press("ArrowRight");
  await until(page, () => document.querySelector(".nodegrid .said")?.textContent.includes("to be drained: "), "what the grid says of algo-2");
  await page.waitForSelector(".heat canvas");
  assert.match(await page.inputValue(".heat select"), /tokens_per_sec|throughput/);
  await shot(page, "nodes-marked");
});

test("machines on a phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }, async ({ server, page, open }) => {
  await sendAll(server);
  await open("/nodes?host=gpu-2");
  await page.waitForSelector(".machine .faultlines");
  assert.ok(await fitsWidth(page));
  await shot(page, "machines-phone-dark");
});
