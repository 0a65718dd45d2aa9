// A job's page around its charts: timeline, figures, acts, and the parts that are tabs.
import assert from "node:assert/strict";
import { fitsWidth, openJob, shot, test, texts, until, waitUntil } from "./support.mjs";

/** Whole seconds, so that log and statuses agree. */
const START_MS = Math.floor(Date.now() / 1000 - 400) * 1000;
const line = (second, text) => `${new Date(START_MS + second * 1000).toISOString()} ${text}`;

/** Breaks off behind step 6, comes back from the checkpoint of step 4, and ends. */
async function story(server, job = "llama-2", more = {}) {
  await server.post("/api/v1/jobs", { TrainingJobName: job, HyperParameters: { lr: "1e-4", max_steps: "20" }, ResourceConfig: { InstanceType: "ml.p4d.24xlarge", InstanceCount: 2, VolumeSizeInGB: 50 }, ...more });
  const say = (SecondaryStatus, second, StatusMessage) => server.post(`/api/v1/jobs/${job}/transitions`, { SecondaryStatus, StatusMessage, time_ms: START_MS + second * 1000 });
  await say("Starting", 0, "Launching requested ML instances");
  await say("Training", 60, "Training");
  const steps = [1, 2, 3, 4, 5, 6].map((n) => line(80 + n * 10, `step: ${n} loss: ${3 - n / 10}`));
  const again = [5, 6, 7].map((n) => line(240 + (n - 5) * 10, `step: ${n} loss: ${3 - n / 10}`));
  await server.send(job, [...steps, line(230, "Resuming from checkpoint at step 4"), ...again]);
  await waitUntil(async () => (await server.get(`/api/v1/jobs/${job}/goodput`)).body.breaks?.length === 1, "the restart");
  // Summed up some seconds later; no event tells of it when nothing else happens.
  await waitUntil(async () => (await server.get(`/api/v1/jobs/${job}`)).body.total_steps === 20, "the number of steps");
  return say;
}

/** A loss that leaves for 600 steps and comes back, and later a short spike: three incidents that are over, the worst not the newest. */
async function sendSpiked(server, job) {
  const loss = (n) => 2 + 3 * Math.exp(-n / 80) + ((n * 7919) % 100) / 2000 + (n >= 1000 && n < 1600 ? 6 : n >= 2200 && n < 2204 ? 5 : 0);
  await server.send(job, Array.from({ length: 2600 }, (_, n) => `step: ${n} loss: ${loss(n).toFixed(4)} lr: ${(n * 1e-6).toFixed(6)}`));
  await server.waitForPoints(job, "train:loss", 2600);
  await server.post(`/api/v1/jobs/${job}/transitions`, { SecondaryStatus: "Completed", time_ms: Date.now() });
  const all = async () => (await server.get("/api/v1/incidents")).body.incidents;
  await waitUntil(async () => (await all()).filter(({ state }) => state === "recovered").length === 3, "what happened to the loss");
  return (await all()).find((one) => one.kind === "divergence");
}

const timeline = (page) => page.locator(".timeline");
const figure = (page, label) => page.locator(".figure", { has: page.locator(`dt:text-is("${label}")`) });
const tab = (page, name) => page.click(`.jobtabs a:text-is('${name}')`);

test("timeline and figures of a job that broke off", async ({ server, page, open }) => {
  await story(server);
  await open("/jobs/llama-2");
  await timeline(page).getByRole("button", { name: "1 restart", exact: true }).waitFor();
  assert.ok(await page.$eval(".jobtop", (top) => top.clientHeight <= 120), "the header leaves the room to the curves");
  assert.ok((await texts(page, ".segment")).includes("Training"));

  // Exact words on focus, by the arrow keys; a click draws the charts by that time.
  await page.locator(".segment").first().focus();
  await page.keyboard.press("ArrowRight");
  const said = await page.locator(".lanes > .tip").innerText();
  assert.match(said, /^Training .*, from .* to now: Training$/);
  await page.keyboard.press("End");
  assert.match(await page.locator(".lanes > .tip").innerText(), /Restart: .*stopped at step 6, went on from 4, 2 steps lost/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/from=/);
  const hidden = page.waitForURL(/hide=restart/);
  await page.getByRole("button", { name: "1 restart", exact: true }).click();
  await hidden;
  assert.equal(await page.locator(".happened .restart").count(), 0);

  assert.match(await figure(page, "loss").innerText(), /2\.3/);
  await until(page, () => /step\s+7\s*\/ 20/.test(document.querySelector(".strip").innerText), "the step of all steps");
  assert.match(await figure(page, "goodput").innerText(), /%/);
  // Where a value came from is asked for when somebody wants to know, and a click goes there.
  await figure(page, "loss").locator("button").focus();
  await until(page, () => document.querySelector(".figure .tip")?.innerText.includes("line 9 of algo-1"), "the line of the loss");
  await page.keyboard.press("Enter");
  await page.waitForURL(/line=9/);
  await shot(page, "job-timeline");
  await tab(page, "Advice");
  await page.waitForURL(/\/advice$/);
  await figure(page, "loss").locator("button").click();
  await page.waitForURL(/\/jobs\/llama-2\?.*line=9/);
});

test("a loss that is a little higher at each step that was made again is said beside the verdict", async ({ server, page, open }) => {
  // Changes of 1, 3, -2, 0, 2, -3, -1 times 0.05: a spread is 1.4826 * 2 * 0.05 / root of 2 = 0.105, and 0.07 are 0.67 of it.
  const loss = (step) => 3 + ((step * step) % 7) * 0.05;
  const steps = (first, last, add) => Array.from({ length: last - first + 1 }, (_, i) => `step: ${first + i} loss: ${(loss(first + i) + add).toFixed(4)}`);
  await server.send("lean", [...steps(1, 80, 0), ...steps(51, 90, 0.07)]);
  await waitUntil(async () => (await server.get("/api/v1/jobs/lean/continuity")).body.restarts?.[0]?.overlap_steps === 30, "the restart");
  await open("/jobs/lean/goodput");
  await page.getByText("went on: the loss is higher at all 30 steps").waitFor();
  await page.getByText(/^Attempt 2: at 30 steps .* It is higher at 30 of 30 steps, which is no chance/).waitFor();
});

test("each part of a job has an address of its own", async ({ server, page, open }) => {
  const say = await story(server);
  await say("Failed", 300, "CUDA out of memory");
  await story(server, "llama-3", { HyperParameters: { lr: "2e-4", max_steps: "20" } });
  await open("/jobs/llama-3/goodput");
  await page.getByText("steps that nobody had to make again").waitFor();
  assert.ok((await texts(page, ".report tbody th")).includes("steps made once more"));
  // Steps 5 and 6 were printed twice, with the same losses: 2.5 and 2.4.
  const wentOn = page.locator(".report table", { has: page.getByText("verdict") });
  assert.deepEqual(await wentOn.locator("tbody tr th, tbody tr td").allInnerTexts(), ["2", "went onSet right by hand…", "4", "–", "2", "2.450", "2.450", "0", "–", "–"]);
  assert.match(await wentOn.locator("tbody td").nth(6).getAttribute("title"), /^at 2 steps that were printed twice the loss is .* spreads/);
  await shot(page, "job-goodput-continuity");
  await tab(page, "Settings");
  await page.waitForURL(/\/jobs\/llama-3\/settings$/);
  // The last job of the same stem, with nobody having named it.
  await until(page, () => document.querySelector(".diff")?.innerText.includes("hp.lr"), "what changed since llama-2");
  const [lr] = (await texts(page, ".diff tbody tr")).filter((row) => row.startsWith("hp.lr"));
  assert.equal(lr, "hp.lr 1e-4 2e-4");
  await tab(page, "Document");
  await page.fill("input[type=search]", "VolumeSize");
  await until(page, () => document.querySelector(".tree .hit")?.innerText.includes("VolumeSizeInGB: 50"), "what is searched for");
  await tab(page, "Advice");
  await page.locator(".advice li").first().waitFor();
  await page.locator(".advice button").first().click();
  await page.getByText("Muted for this job").waitFor();
  await tab(page, "Deliveries");
  await page.getByText("No message was sent about this job").waitFor();
  await tab(page, "Incidents");
  await page.waitForURL(/\/incidents$/);
  await page.goBack();
  await page.getByText("No message was sent about this job").waitFor();
  for (const [key, part] of [["4", "goodput"], ["]", "training"], ["[", "goodput"], ["1", ""]]) {
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/jobs/llama-3${part && `/${part}`}$`));
  }
  await open("/jobs/llama-2/incidents");
  await page.locator(".report td .severity").first().waitFor();
  await page.locator(".report .acts button:text-is('Acknowledge')").first().click();
  await page.getByText("Acknowledged").waitFor();
});

test("shares of the time and the time between breaks can be worked out again", async ({ server, page, open }) => {
  const say = await story(server);
  await say("Completed", 300, "done");
  await waitUntil(async () => (await server.get("/api/v1/jobs/llama-2/goodput")).body.wall_seconds === 300, "the end");
  await open("/jobs/llama-2/goodput");
  await page.getByText("What it is worked out from").nth(1).waitFor();
  const inputs = async (nth) => {
    await page.getByText("What it is worked out from").nth(nth).click();
    const rows = await page.locator(".report details").nth(nth).locator("tbody tr").allInnerTexts();
    return Object.fromEntries(rows.map((row) => row.split("\t")).map(([name, value]) => [name, Number(value.replaceAll(/[^\d.e-]/g, ""))]));
  };
  const { wall_seconds: wall, ...seconds } = await inputs(0);
  assert.equal(wall, 300);
  assert.ok(Math.abs(Object.values(seconds).reduce((sum, one) => sum + one, 0) - 300) < 1e-6, JSON.stringify(seconds));
  const told = (await server.get("/api/v1/jobs/llama-2/goodput")).body;
  for (const [name, one] of Object.entries(seconds)) assert.ok(Math.abs((100 * one) / wall - told.buckets[name].percent) < 1e-6, name);
  const { "count, unknown": count, ...up } = await inputs(1);
  assert.equal(count, 1);
  const hours = Object.values(up).reduce((sum, one) => sum + (one || 0), 0) / 3600 / count;
  assert.ok(Math.abs(hours - told.causes[0].mtbf_hours) < 1e-9, `${hours} ${JSON.stringify(told.causes)}`);
  assert.ok(await fitsWidth(page));
  await shot(page, "job-goodput-inputs");
});

test("tags and notes are edited, a job that ended is deleted, and one that is not there says so", async ({ server, page, open, allow }) => {
  const say = await story(server);
  await say("Completed", 300, "");
  await open("/jobs/llama-2");
  const menu = page.locator(".menu summary");
  await menu.click();
  await page.click("text=Edit tags and notes…");
  await page.fill("dialog textarea >> nth=0", "team=nlp\nstage=a=b");
  await page.fill("dialog textarea >> nth=1", "diverged <b>after the outage");
  await page.click("dialog .primary");
  await waitUntil(async () => (await page.locator("dialog[open]").count()) === 0, "that it is saved");
  const { body } = await server.get("/api/v1/jobs/llama-2");
  assert.deepEqual([body.Tags, body.Notes], [[{ Key: "team", Value: "nlp" }, { Key: "stage", Value: "a=b" }], "diverged <b>after the outage"]);
  await menu.click();
  await page.click("text=Delete…");
  assert.match(await page.locator("dialog[open]").innerText(), /10 lines of its log/);
  await shot(page, "job-delete");
  await page.getByText("These go, and can be brought back for 30 days:").waitFor();
  allow(/404/);
  await page.click("dialog .primary");
  await page.getByText("It is in the trash for 30 days").waitFor();
  assert.equal((await server.get("/api/v1/jobs/llama-2")).status, 404);
  await page.locator("dialog").getByRole("button", { name: "Undo" }).press("Enter");
  await page.waitForURL(/\/jobs\/llama-2$/);
  await timeline(page).waitFor();
  await waitUntil(async () => (await server.get("/api/v1/jobs/llama-2")).body.Notes === "diverged <b>after the outage", "that it is back, with its notes");
  await menu.click();
  await page.click("text=Delete…");
  await page.click("dialog .primary:enabled");
  await page.getByText("It is in the trash for 30 days").waitFor();
  await page.locator("dialog").getByRole("button", { name: "To the jobs" }).click();
  await page.waitForURL(/\/jobs$/);
  const other = await story(server, "llama-3");
  await open("/jobs/llama-3");
  await other("Completed", 300, "");
  await until(page, () => document.querySelector(".jobhead .status")?.innerText.includes("completed"), "the end");
  await timeline(page).waitFor();
  await server.request("DELETE", "/api/v1/jobs/llama-3");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.getByText("This job was deleted.").waitFor();
  assert.equal(await page.locator(".timeline").count(), 1, "what was on the page stays");
  await open("/jobs/llama-2/nodes");
  await page.getByText("There is no job of this name").waitFor();
});

test("nodes in a grid and against each other", { viewport: { width: 1200, height: 900 } }, async ({ server, page, open }) => {
  const series = Array.from({ length: 300 }, (_, i) => ({
    metric: "step_time",
    stream: `algo-${i + 1}`,
    step: Array.from({ length: 32 }, (__, step) => step),
    ts_ms: Array.from({ length: 32 }, (__, step) => START_MS + step * 1000),
    value: Array.from({ length: 32 }, (__, step) => (i === 76 && step >= 16 ? 1.5 : 1)),
  }));
  await server.post("/api/v1/points?job=wide", { series });
  await waitUntil(async () => (await server.get("/api/v1/jobs/wide/metrics")).body.series?.filter((one) => one.count === 32).length === 300, "all points");
  await open("/jobs/wide/nodes?order=worst");
  await page.locator(".picture canvas").waitFor();
  assert.ok((await page.locator("[data-stream]").count()) <= 100, "a page of the table is short");
  // The worst node is the first row, and its bad half is orange.
  const [before, after] = await until(page, () => {
    const canvas = document.querySelector(".picture canvas");
    if (canvas.width < 16) return null;
    const at = (share) => [...canvas.getContext("2d").getImageData(Math.floor(canvas.width * share), 0, 1, 1).data];
    return at(0.9)[0] - at(0.9)[2] > 60 ? [at(0.1), at(0.9)] : null;
  }, "an orange stretch");
  assert.ok(Math.abs(before[0] - before[2]) < 30, `${before} is grey, ${after} is orange`);
  await page.locator(".picture canvas").focus();
  await until(page, () => /algo-77 · steps? .*\+50\.0 %/.test(document.querySelector(".heat .said").innerText), "the words of a cell");
  await shot(page, "job-nodes");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/jobs\/wide\?.*series=algo-77/);
  await open("/jobs/wide/nodes?view=table");
  await until(page, () => document.querySelector(".heat tbody tr")?.innerText.startsWith("algo-77"), "the worst node in words");
  await page.locator(".nodegrid canvas").focus();
  await page.keyboard.press("ArrowRight");
  await until(page, () => document.querySelector(".nodegrid .said").innerText.startsWith("algo-2 "), "the second node");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/jobs\/wide\?.*stream=algo-2/);
});

test("the head says what the job runs on as it was set by hand", async ({ server, page, open }) => {
  await story(server);
  await open("/jobs/llama-2");
  await page.locator(".jobhead .fact", { hasText: "2 × p4d.24xlarge" }).waitFor();
  await server.patch("/api/v1/jobs/llama-2", { by_hand: { nodes: 3, instance_type: "ml.p5.48xlarge" } });
  await open("/jobs/llama-2");
  await page.locator(".jobhead .fact", { hasText: "3 × p5.48xlarge" }).waitFor();
});

test("how long a job without any times took is not said", async ({ server, page, open }) => {
  const at = Math.floor(START_MS / 1000);
  await server.post("/api/v1/points?job=chart", `_step,_timestamp,loss\n1,${at},2.5\n2,${at},2.4\n`, { type: "text/csv" });
  await server.post("/api/v1/jobs/chart/transitions", { SecondaryStatus: "Completed", time_ms: at * 1000 });
  await open("/jobs/chart/goodput");
  await page.locator(".report").waitFor();
  assert.match(await page.locator(".report h2").innerText(), /^not known: nothing says how long it took$/);
  const rows = await texts(page, ".report tbody tr");
  assert.ok(rows.includes("cost not known: nothing says how long it took") && !rows.some((row) => /billable|\b0 s/.test(row)), rows.join("\n"));
  const facts = await texts(page, ".jobhead .fact");
  assert.deepEqual(facts.filter((one) => /\b0 s/.test(one)), [], "no duration");
  await shot(page, "job-no-times");
  await open("/jobs");
  await page.getByRole("link", { name: "chart" }).first().waitFor();
  assert.ok(!(await texts(page, "#jobs tbody tr, [role=row]")).some((row) => /\b0 s/.test(row)));
});

test("of a job whose type nobody stated the costs say so, and how it is said", async ({ server, page, open, openPage }) => {
  await server.send("plain", [1, 2, 3].map((n) => line(n * 10, `step: ${n} loss: 2.5`)));
  await waitUntil(async () => (await server.get("/api/v1/jobs/plain/goodput")).body.cost?.unpriced_types?.[0] === "unknown", "that its type is not known");
  const cost = page.locator(".report tr", { hasText: /^cost/ });
  await open("/jobs/plain/goodput");
  await cost.waitFor();
  assert.match((await texts(page, ".report tr")).find((row) => row.startsWith("cost")), /^cost not known: nobody said on what type of instance it runs/);
  assert.match(await page.locator(".report .untyped").innerText(), /PATCH.*\{"by_hand": \{"instance_type": "…"\}\}/s);
  assert.equal(await page.getByText("the list of prices").count(), 0);
  const chinese = await openPage({ locale: "zh-CN" });
  await chinese.goto(`${server.url}/jobs/plain/goodput`);
  await chinese.getByText("未知：没有人说明它运行在哪种类型的实例上").waitFor();
  // Once it is said, it is the list of prices that lacks it.
  await server.patch("/api/v1/jobs/plain", { by_hand: { instance_type: "ml.odd.large" } });
  await waitUntil(async () => (await server.get("/api/v1/jobs/plain/goodput")).body.cost?.unpriced_types?.[0] === "ml.odd.large", "its type");
  await open("/jobs/plain/goodput");
  await page.getByText("not known: the list of prices has no ml.odd.large").waitFor();
  assert.equal(await page.locator(".report .untyped").count(), 0);
});

test("a cost of machines that were only counted is an estimate, on each page that has one", async ({ server, page, open }) => {
  const beganMs = Date.now() - 120_000;
  await server.put("/api/v1/prices", { currency: "EUR", prices: [{ instance: "ml.odd.large", per_hour: 36 }] });
  for (const [name, count] of [["counted", {}], ["stated", { InstanceCount: 1 }]]) {
    await server.post("/api/v1/jobs", { TrainingJobName: name, ResourceConfig: { InstanceType: "ml.odd.large", ...count } });
    await server.send(name, [0, 1, 2].map((n) => `${new Date(beganMs + n * 50_000).toISOString()} step: ${n} loss: 2.5`));
    await server.post(`/api/v1/jobs/${name}/transitions`, { SecondaryStatus: "Completed", time_ms: beganMs + 100_000 });
  }
  const each = ((100 * 36) / 3600).toFixed(2); // 100 s
  for (const [name, shown] of [["counted", `≈ ${each} EUR`], ["stated", `${each} EUR`]]) {
    await open(`/jobs/${name}`);
    await until(page, (cost) => document.querySelector(".strip")?.textContent.replace(/\s+/g, " ").includes(`cost${cost}`), `a cost of ${shown}`, shown);
  }
  await open("/jobs");
  await until(page, (cost) => document.querySelector("main")?.textContent.replace(/\s+/g, " ").includes(cost), "the cost in the list", `≈ ${each} EUR`);
  await waitUntil(async () => (await server.get("/api/v1/fleet")).body.last_30_days.cost === 2, "the fleet's sum");
  await open("/");
  const sum = `≈ ${(2 * each).toFixed(2)} EUR`;
  await until(page, (cost) => document.querySelector(".fleet")?.textContent.includes(cost), "the sum of both", sum);
  assert.equal(await page.locator(".fleet [title^='estimated: nodes']", { hasText: sum }).count() > 0, true);
});

test("nested runs of a tracker are a way to and fro", async ({ server, page, open }) => {
  const make = async (name, tags = []) => {
    const { run } = await server.post("/api/2.0/mlflow/runs/create", { experiment_id: "0", run_name: name, tags });
    return run.info.run_id;
  };
  const outer = await make("outer");
  for (const name of ["a", "<b>b"]) await make(name, [{ key: "mlflow.parentRunId", value: outer }]);
  await open("/jobs/Default%2Fouter/settings");
  await page.click("details.nested summary");
  assert.equal(await page.locator("details.nested summary").innerText(), "2 nested runs");
  const names = await texts(page, "details.nested li");
  assert.equal(names[0], "Default/a");
  assert.equal(await page.locator("details.nested b").count(), 0);
  await shot(page, "job-nested");
  await page.click("details.nested li a >> nth=0");
  await page.waitForURL(/\/jobs\/Default%2Fa$/);
  await open("/jobs/Default%2Fa/settings");
  assert.equal(await page.locator("p.nested").innerText(), "nested run of Default/outer");
  // what it is part of is the first thing to compare it with
  await until(page, () => document.querySelector("input[name=with]")?.value === "Default/outer", "its outer run");
  await page.click("p.nested a");
  await page.waitForURL(/\/jobs\/Default%2Fouter$/);
});

test("a phone, in Chinese, in the dark", { viewport: { width: 360, height: 780 }, locale: "zh-CN", colorScheme: "dark" }, async ({ server, page, open }) => {
  await story(server);
  for (const [part, text] of [["", "检查点"], ["/goodput", "无需重做"], ["/settings", "更早"], ["/document", "复制文档"], ["/advice", "不适用"]]) {
    await open(`/jobs/llama-2${part}`);
    await page.getByText(text).first().waitFor();
    assert.ok(await fitsWidth(page), `${part || "charts"} stands out of the window`);
    await shot(page, `job-phone${part.replace("/", "-")}`);
  }
});

test("one point, none, and ten thousand metrics", async ({ server, page, open }) => {
  await server.send("lonely", ["step: 5 loss: 2.5"]);
  await open("/jobs/lonely");
  await until(page, () => document.querySelector(".strip")?.innerText.includes("2.5"), "the only value");
  // A job that sends points alone has no log to keep room for, until it has.
  await server.post("/api/v1/points?job=pointed", { series: [{ metric: "loss", stream: "algo-1", step: [1, 2], value: [2, 1] }] });
  await openJob(page, open, "pointed");
  await page.locator(".split.right-empty").waitFor();
  await server.send("pointed", ["step: 3 loss: 0.5"]);
  await page.locator(".split:not(.right-empty)").waitFor();
  await page.getByText("step: 3 loss: 0.5").waitFor();
  await server.post("/api/v1/jobs", { TrainingJobName: "empty" });
  await open("/jobs/empty/nodes");
  await page.getByText("Nothing has sent a line of this job yet.").waitFor();
  const series = Array.from({ length: 10_000 }, (_, i) => ({ metric: `m${i}`, stream: "algo-1", step: [1], ts_ms: [START_MS], value: [i] }));
  await server.post("/api/v1/points?job=many", { series });
  await waitUntil(async () => (await server.get("/api/v1/jobs/many/metrics")).body.series?.length >= 1000, "the metrics");
  await open("/jobs/many/goodput");
  await page.getByText("so far, and no step in it").or(page.getByText("steps that nobody")).waitFor();
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 1500, "no element for each metric");
});

/** A rate that is half as high again as declared from step 31 on, what a step is made of, and two checkpoints. */
async function costly(server, job) {
  const settings = { lr: "1e-3", lr_decay_style: "constant", lr_warmup_iters: "10", train_iters: "100", clip_grad: "1.0", seq_length: "1000", token_budget: "2000000" };
  await server.post("/api/v1/jobs", { TrainingJobName: job, HyperParameters: settings });
  const steps = Array.from({ length: 40 }, (_, i) => i + 1).flatMap((n) => [
    line(n, ` iteration ${n}/ 100 | consumed samples: ${n * 25} | elapsed time per iteration (ms): 1000.0 | learning rate: ${((n < 10 ? n / 10 : 1) * (n > 30 ? 1.5e-3 : 1e-3)).toExponential(6)} | ` +
      `global batch size: 25 | lm loss: ${(3 - n / 100).toExponential(6)} | loss scale: 1.0 | grad norm: ${n % 4 ? "0.500" : "1.500"} |`),
    line(n, "    forward-compute ................................: (350.00, 400.00)"),
    line(n, "    backward-compute ...............................: (450.00, 500.00)"),
    line(n, "    batch-generator ................................: (10.00, 50.00)"),
  ]);
  await server.send(job, steps);
  const scores = (exact, error) => ({ "gsm8k/exact_match": { value: exact, stderr: error }, "piqa/acc": { value: 0.7 } });
  await server.post(`/api/v1/jobs/${job}/evaluations`, { step: 20, path: "/ckpt/20", suite: "ours", scores: scores(0.5, 0.03) });
  await server.post(`/api/v1/jobs/${job}/evaluations`, { step: 40, path: "/ckpt/40", suite: "ours", scores: scores(0.4, 0.04) });
  await waitUntil(async () => (await server.get(`/api/v1/jobs/${job}/anatomy`)).body.steps === 40, "what a step is made of");
}

test("what a costly run is asked about stands in one place", async ({ server, page, open }) => {
  await costly(server, "gpt-1");
  await open("/jobs/gpt-1");
  await tab(page, "Training");
  await page.waitForURL(/\/jobs\/gpt-1\/training$/);
  const section = (title) => page.locator("section", { has: page.locator(`h2:text-is("${title}")`) });
  const rate = section("Learning rate: declared and observed");
  assert.match(await rate.locator(".notice").innerText(), /^Step 31: the log shows 1\.5e-3, 1e-3 is declared$/);
  assert.equal(await rate.locator("svg path.observed").count(), 1);
  assert.match(await rate.innerText(), /25\.00 % of the printed gradient norms were clipped at 1/);
  // 40 steps of 25 samples of 1000 tokens, of two million.
  assert.match(await section("Tokens").innerText(), /50\.00 % of the budget[^]*budget\s+2.00 M[^]*consumed\s+1.00 M/);
  const step = await section("What a step is made of").locator("tbody tr").allInnerTexts();
  assert.deepEqual(step.map((row) => row.split("\t").slice(0, 2).join(" ")), ["waiting for data 5.0", "forward 35.0", "backward 50.0", "all else 10.0"]);
  // 0.4 behind 0.5: a fall of 0.1 in errors of the difference, the root of 0.03² + 0.04².
  const scores = section("Evaluations of checkpoints");
  assert.match(await scores.innerText(), /gsm8k\/exact_match: 0\.4000 at step 40, 0\.5000 at step 20 \(2\.0 standard errors\)/);
  const rows = await scores.locator("tbody tr").allInnerTexts();
  assert.ok(rows.includes("Pythia 12B\t–\t0.7601")); // of those to compare with
  assert.deepEqual(rows.slice(0, 2), ["step 40\t0.4000 ± 0.04000\t0.7000", "★ step 20\t0.5000 ± 0.03000\t0.7000"]);
  const drawn = scores.locator("svg");
  await drawn.waitFor(); // of the score that decides; no model has it
  assert.equal(await drawn.locator("circle").count(), 2);
  assert.equal(await drawn.locator("g.reference").count(), 0);
  await scores.getByLabel("score").selectOption("piqa/acc");
  await drawn.locator("g.reference").first().waitFor();
  assert.deepEqual(await drawn.locator("g.reference text").allTextContents(), ["Pythia 12B, 5 shots", "Pythia 1.4B deduped, 0 shots"]);
  await shot(page, "job-training");
  assert.ok(await fitsWidth(page));
  await rate.locator(".notice a").click();
  await page.waitForURL(/\/jobs\/gpt-1\?from=0&to=81|\/jobs\/gpt-1\?.*to=81/);
});

test("what a profiler's traces say stands beside the timers", async ({ server, page, open }) => {
  await server.send("traced", ["hello"]);
  const trace = { stream: "algo-1", trace: "t", file: "/opt/ml/output/a.pt.trace.json.gz", rank: 3, first_step: 10, last_step: 14, kernels: 9, kernel_us: 1000, idle_us: 150, compute_us: 700, communication_us: 200, overlap_us: 100 };
  assert.equal((await server.request("POST", "/api/v1/jobs/traced/anatomy", trace)).status, 201);
  await open("/jobs/traced/training");
  await page.getByText("10.0 % of the GPU's time is communication beside which nothing is computed").waitFor();
  const section = page.locator("section", { has: page.locator('h2:text-is("What a step is made of")') });
  const [row] = await section.locator("tbody tr").allInnerTexts();
  assert.equal(row, "algo-1\t3\t10–14\t70.0\t15.0\t10.0\t50.0\t/opt/ml/output/a.pt.trace.json.gz");
  await shot(page, "job-training-traces");
  assert.ok(await fitsWidth(page));
});

test("whether it fits stands with its formulas, and on a click with its inputs", async ({ server, page, open }) => {
  const sizes = { num_parameters: "7500000000", hidden_size: "4096", num_layers: "32", num_attention_heads: "32", seq_length: "2048", micro_batch_size: "1", bf16: "true" };
  const machines = { InstanceType: "ml.p5.48xlarge", InstanceCount: 1 };
  assert.equal((await server.request("POST", "/api/v1/jobs", { TrainingJobName: "large", HyperParameters: sizes, ResourceConfig: machines })).status, 201);
  await open("/jobs/large/training");
  const section = page.locator("section", { has: page.locator('h2:text-is("Memory of a device")') });
  await section.locator(".notice").waitFor();
  assert.equal(await section.locator(".notice").innerText(), "By its settings it does not fit into 80 GiB"); // 16 bytes of each are 112 GiB
  const rows = await section.locator("tbody tr").allInnerTexts();
  assert.equal(rows[0], "parameters\t14 GiB\tparameters / (tensor_parallel * pipeline_parallel) * bytes_of_a_parameter");
  assert.match(await section.locator("li").first().innerText(), /^zero_stage 1 instead of 0 \(66\.9 GiB\)$/); // 5.5 bytes of each are 41.25e9, 32 s h (34 + 80) of activations 30.6e9
  await section.getByText("What it is worked out from").click();
  assert.ok((await section.locator("details tbody tr").allInnerTexts()).includes("layers\t32\tnum_layers"));
  assert.ok(await fitsWidth(page));
});

test("what is not worked out of the memory is named", async ({ server, page, open }) => {
  const sizes = { num_parameters: "7500000000", hidden_size: "4096", num_layers: "32", num_attention_heads: "32" };
  const machines = { InstanceType: "ml.p5.48xlarge", InstanceCount: 1 };
  for (const [job, settings] of [["experts", { num_experts: "8" }], ["offloads", { offload_activations: "true" }]]) {
    assert.equal((await server.request("POST", "/api/v1/jobs", { TrainingJobName: job, HyperParameters: { ...sizes, ...settings }, ResourceConfig: machines })).status, 201);
  }
  const section = page.locator("section", { has: page.locator('h2:text-is("Memory of a device")') });
  await open("/jobs/experts/training");
  await section.getByText("Nothing is said: the formulas are not of a mixture of experts").waitFor();
  assert.equal(await section.locator("th", { hasText: "worked out as" }).count(), 0);
  await open("/jobs/offloads/training");
  await section.getByText("What these settings change is not said, since they are not followed: offload_activations").waitFor();
});

test("a schedule says what was clipped and what moved beside the rate; tokens say what they were worked out from", async ({ server, page, open }) => {
  const settings = { lr: "6e-4", lr_decay_style: "constant", lr_warmup_iters: "0", train_iters: "1000", clip_grad: "1.0", global_batch_size: "8", seq_length: "1024" };
  await server.post("/api/v1/jobs", { TrainingJobName: "moved", HyperParameters: settings });
  const at = (n) => `${new Date(START_MS + n * 1000).toISOString()} step: ${n} | loss: 2.5 | lr: 6e-4`;
  await server.send("moved", Array.from({ length: 100 }, (_, i) => `${at(i + 1)} | grad_norm: ${i < 25 ? 1.5 : 0.5}`));
  const step = Array.from({ length: 100 }, (_, i) => i + 1);
  const scale = { metric: "train:loss_scale", stream: "algo-1", step, value: step.map((n) => (n <= 50 ? 65536 : 32768)) };
  await server.post("/api/v1/points?job=moved", { series: [scale] });
  await waitUntil(async () => (await server.get("/api/v1/jobs/moved/schedule")).body.loss_scale?.last === 32768, "the loss scale");
  await waitUntil(async () => (await server.get("/api/v1/jobs/moved/tokens")).body.consumed === 819200, "the tokens of 100 steps");
  await open("/jobs/moved/training");
  const clipped = page.getByText("25.00 % of the printed gradient norms were clipped at 1");
  await clipped.waitFor();
  assert.match(await clipped.getAttribute("title"), /grad_norm > clip_grad$/);
  await page.getByText(/^Loss scale: from 65.* to 32.*, lowered 1 times$/).waitFor();
  const rows = await page.locator("section", { has: page.locator('h2:text-is("Tokens")') }).locator("tbody tr").allInnerTexts();
  assert.deepEqual(rows.map((row) => row.split("\t")[0]), ["budget", "consumed", "a day", "end of the budget"]);
  assert.match(rows[2], /\(consumed - 8192\) \/ 99 s \* 86400 s$/);
  await shot(page, "job-training-moved");
});

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html */
const s3Access = (second, operation, key, status = "200 -") =>
  `79a59df900b949e5 corpus [06/Feb/2019:00:00:${second} +0000] 192.0.2.3 arn:aws:sts::123456789012:assumed-role/train/i-1 DD6CC733AEXAMPLE REST.${operation}.OBJECT ${key} ` +
  `"${operation} /${key} HTTP/1.1" ${status} 1000 1000 12 10 "-" "aws-sdk-cpp/1.11" - qrs= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader corpus.s3.us-west-1.amazonaws.com TLSV1.2 - -`;

for (const colorScheme of ["light", "dark"]) {
  test(`requests to S3 stand by prefix, with those that it refused: ${colorScheme}`, { colorScheme }, async ({ server, page, open }) => {
    const reads = (second, count, refused = -1) => Array.from({ length: count }, (_, i) => s3Access(second, "GET", `shards/<b>train/${i}.tar`, i === refused ? "503 SlowDown" : undefined));
    await server.send("j", [...reads(38, 7), ...reads(39, 3, 2), s3Access(40, "PUT", "ckpt/step-10/rank_0.pt"), s3Access(40, "PUT", "ckpt/step-10/rank_1.pt"), "loss: 1.0"], "access");
    await server.send("j", ["botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate."]);
    await open("/jobs/j/training");
    const section = page.locator("section", { has: page.locator('h2:text-is("Requests to S3")') });
    await section.locator("table").first().waitFor();
    assert.deepEqual(await section.locator(".notice").allInnerTexts(), ["S3 refused 2 of 13 requests (SlowDown)"]);
    const rows = (await section.locator("table").first().locator("tbody tr").allInnerTexts()).map((row) => row.split("\t"));
    assert.deepEqual(rows.map((row) => row.slice(0, 7)).sort(), [
      ["not named", "1", "0", "0", "1 refused", "–", "–"],
      ["s3://corpus/ckpt/step-10/", "0", "2", "0", "0", "0", "2"],
      ["s3://corpus/shards/<b>train/", "10", "0", "0", "1 refused", "7", "0"],
    ]);
    const [train] = rows.filter((row) => row[0].includes("train"));
    assert.match(train[7], /spread its keys over several prefixes/);
    await section.getByText("What it is worked out from").click();
    const inputs = await section.locator("details tbody tr").allInnerTexts();
    assert.match(inputs.find((row) => row.startsWith("reads_per_s")), /^reads_per_s\t5500\thttps:/);
    assert.ok(await fitsWidth(page));
    await section.scrollIntoViewIfNeeded();
    await shot(page, `job-training-s3-${colorScheme}`);
  });
}

test("where nothing is known, it says so", async ({ server, page, open }) => {
  await server.send("bare", ["hello"]);
  await open("/jobs/bare/training");
  for (const words of ["The settings declare no schedule.", "Neither the settings nor the log say how many tokens there are.", "The log prints no timers of a step's parts.", "Nobody has sent any:"]) {
    await page.getByText(words).waitFor();
  }
  await waitUntil(async () => (await page.locator('h2:text-is("Requests to S3")').count()) === 0, "no requests to S3 where the log tells of none");
  await shot(page, "job-training-empty");
});

for (const width of [390, 1280, 1400, 1760])
  test(`the worst incident first, its step and that it is over whole, at ${width} px`, { viewport: { width, height: 900 } }, async ({ server, page, open }) => {
    const { opened_step: step } = await sendSpiked(server, "spiked");
    await openJob(page, open, "spiked");
    const chip = page.locator(".jobincidents button").first();
    await chip.waitFor();
    assert.match((await chip.innerText()).replace(/\s+/g, " "), new RegExp(`^◆ critical divergence train:loss @ ${step.toLocaleString("en")} recovered$`));
    const cut = await page.$$eval(".jobincidents button :is(.num, .dim)", (all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > one.closest("button").getBoundingClientRect().right).map((one) => one.innerText),
    );
    assert.deepEqual(cut, []);
    const box = await chip.boundingBox();
    assert.ok(box.x + box.width <= width, "out of the window");
    assert.ok(await page.getByRole("link", { name: "3 incidents" }).isVisible());
    await shot(page, `job-incidents-${width}`);
  });

test("an incident's link shows no steps behind the last one, and calls no line new", async ({ server, page, open }) => {
  const incident = await sendSpiked(server, "spiked");
  await open(`/jobs/spiked?metric=${incident.metric}&step=${incident.opened_step}&incident=${incident.id}`);
  await until(page, () => new URLSearchParams(location.search).has("to"), "the window");
  const asked = new URL(page.url()).searchParams;
  assert.equal(asked.get("to"), "2599");
  assert.ok(Number(asked.get("from")) < incident.first_step);
  await page.locator(`.line[id$="L${asked.get("line")}"]`).waitFor();
  assert.deepEqual(await texts(page, ".newlines"), []);
});

test("what is said of a curve ends with the value that is shown", async ({ server, page, open }) => {
  await sendSpiked(server, "spiked");
  await openJob(page, open, "spiked");
  const said = (metric) => page.locator(`figure[aria-label="${metric}"] p.hidden`).last();
  for (const metric of ["train:loss", "train:lr"]) {
    await page.locator(`figure[aria-label="${metric}"]`).scrollIntoViewIfNeeded();
    const shown = await page.locator(`figure[aria-label="${metric}"] .readout b`).innerText();
    await waitUntil(async () => (await said(metric).innerText()).includes(`2,600 points up to step 2,599; last ${shown},`), `the last ${metric}, ${shown}`);
  }
});

test("of ranks at one step the job's page and the list show the same one, and the page says which", async ({ server, page, open }) => {
  for (const rank of [1, 2, 3, 4]) await server.send("ranks", Array.from({ length: 30 }, (_, n) => line(n + (rank === 3 ? 1 : 0), `step: ${n} loss: ${rank}.5`)), `algo-${rank}`);
  for (const rank of [1, 2, 3, 4]) await server.waitForPoints("ranks", "train:loss", 30, `algo-${rank}`);
  const last = async () => (await server.get("/api/v1/jobs/ranks")).body.metrics?.find((one) => one.metric === "train:loss")?.last;
  await waitUntil(async () => (await last()) === 3.5, "the row's last");
  await openJob(page, open, "ranks");
  await until(page, () => document.querySelector(".figure .value, .figure dd")?.innerText.startsWith("3.5"), "the same on the page");
  await figure(page, "loss").locator(".value").hover();
  await until(page, () => /\balgo-3\b/.test(document.querySelector(".figure .tip")?.innerText ?? ""), "whose it is");
});
