// Who sends a job, how each ended, and commands to them.
import assert from "node:assert/strict";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";

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

/** As src/common.cu of nccl-tests prints a run of eight ranks a machine: 8 GiB at busbw, 1 MiB at a tenth. */
function ncclRun(hosts, busbw) {
  const ranks = hosts.flatMap((host) => Array.from({ length: 8 }, () => host));
  const row = (size, bus) => `${size} ${size / 4} float sum -1 ${(size / bus / 1e3).toFixed(1)} ${(bus / 1.875).toFixed(2)} ${bus.toFixed(2)} 0 ${(size / bus / 1e3).toFixed(1)} ${(bus / 1.875).toFixed(2)} ${(bus + 1).toFixed(2)} 0`;
  return [
    "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703",
    "# Collective test starting: all_reduce_perf",
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8589934592 step: 8192(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
    "# Using devices",
    ...ranks.map((host, rank) => `#  Rank ${String(rank).padStart(2)} Group  0 Pid  ${21712 + rank} on ${host} device ${String(rank % 8).padStart(2)} [0x53] NVIDIA H100 80GB HBM3`),
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
    row(1_048_576, busbw / 10),
    row(8_589_934_592, busbw),
    "# Out of bounds values : 0 OK",
    `# Avg bus bandwidth    : ${(busbw * 0.55).toFixed(3)} `,
    "# Collective test concluded: all_reduce_perf",
  ];
}

for (const colorScheme of ["light", "dark"]) {
  test(`bandwidth by nccl-tests stands beside the machines, slow pairs and their machine named: ${colorScheme}`, { colorScheme }, async ({ server, page, open }) => {
    const ResourceConfig = { InstanceType: "ml.p5.48xlarge", InstanceCount: 4 };
    await server.post("/api/v1/jobs", { TrainingJobName: "fabric", ResourceConfig });
    const named = { a: "gpu-a", b: "gpu-<b>b", c: "gpu-c", d: "gpu-d" };
    const pairs = { ab: 240, ac: 360, ad: 360, bc: 240, bd: 240, cd: 360 };
    for (const [pair, busbw] of Object.entries(pairs)) await server.send("fabric", ncclRun([...pair].map((one) => named[one]), busbw), pair);
    await open("/jobs/fabric/nodes");
    const section = page.locator("section", { has: page.locator('h2:text-is("Bandwidth by nccl-tests")') });
    await section.locator("table").first().waitFor();
    assert.deepEqual(await texts(page, ".bandwidth .notice"), [
      "Slow: gpu-a, gpu-<b>b; gpu-<b>b, gpu-c; gpu-<b>b, gpu-d", "Suspect: gpu-<b>b: all its runs are slow, others are not"]);
    const rows = await section.locator("table").first().locator("tbody tr").allInnerTexts();
    // EFA of the type is 400 GB/s; the others of ab are 240 240 360 360 360, those of cd 240 240 240 360 360
    assert.deepEqual(rows.map((row) => row.split("\t").slice(0, 8)).sort(), [
      ["ab", "all_reduce", "gpu-a, gpu-<b>b", "16", "8 GiB", "240", "60.0", "360"],
      ["ac", "all_reduce", "gpu-a, gpu-c", "16", "8 GiB", "360", "90.0", "240"],
      ["ad", "all_reduce", "gpu-a, gpu-d", "16", "8 GiB", "360", "90.0", "240"],
      ["bc", "all_reduce", "gpu-<b>b, gpu-c", "16", "8 GiB", "240", "60.0", "360"],
      ["bd", "all_reduce", "gpu-<b>b, gpu-d", "16", "8 GiB", "240", "60.0", "360"],
      ["cd", "all_reduce", "gpu-c, gpu-d", "16", "8 GiB", "360", "90.0", "240"],
    ]);
    assert.deepEqual(rows.filter((row) => row.includes("slow")).map((row) => row.slice(0, 2)).sort(), ["ab", "bc", "bd"]);
    await section.locator("tr", { hasText: "gpu-c, gpu-d" }).getByRole("button", { name: "by size" }).click();
    await section.getByRole("heading", { name: "cd · by size" }).waitFor();
    assert.deepEqual(await section.locator("table").nth(1).locator("tbody tr").allInnerTexts(), ["1 MiB\t36\t37\t9.0\t24", "8 GiB\t360\t361\t90.0\t240"]);
    await section.getByText("What it is worked out from").click();
    assert.match(await section.locator("details").innerText(), /peer_gb_s\t450\t.*NVLink[^]*network_gb_s\t400\t.*EFA/);
    assert.ok(await fitsWidth(page));
    await section.scrollIntoViewIfNeeded();
    await shot(page, `nodes-bandwidth-${colorScheme}`);
    await section.locator("a", { hasText: "ab" }).click();
    await until(page, () => document.querySelector(".line.chosen .text")?.textContent.startsWith("#"), "the run in the log");
  });
}

test("without a run there is no bandwidth, and what fails can be asked again", async ({ server, page, open, allow }) => {
  await server.send("llama", ["step: 1 loss: 2.5"]);
  allow(/status of 500/);
  await page.route("**/api/v1/jobs/llama/nccl", (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: '{"title": "x", "detail": "no <b>luck", "status": 500}' }));
  await open("/jobs/llama/nodes");
  const section = page.locator(".bandwidth");
  await section.getByText("no <b>luck").waitFor();
  await page.unroute("**/api/v1/jobs/llama/nccl");
  await section.getByRole("button").click();
  await waitUntil(async () => (await section.count()) === 0, "nothing where nothing is");
});
