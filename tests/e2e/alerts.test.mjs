// Incidents, rules, webhooks: seen, acknowledged, tried, told.
import assert from "node:assert/strict";
import http from "node:http";
import { losses, shot, test, texts, until, waitUntil } from "./support.mjs";

const withNaN = (first) => [...losses(0, first), `step: ${first} loss: nan lr: 3e-4`, `step: ${first + 1} loss: nan lr: 3e-4`];
const incidents = async (server) => (await server.get("/api/v1/incidents")).body.incidents;
const rows = (page) => texts(page, "table.incidents tbody tr");

/** A receiver of webhooks that keeps what it gets. */
async function receive() {
  const messages = [];
  const receiver = http.createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      messages.push(JSON.parse(body));
      response.writeHead(204).end();
    });
  });
  await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  return { messages, url: `http://127.0.0.1:${receiver.address().port}/hook`, close: () => receiver.close() };
}

test("an incident is a sentence, a chart, lines and what to do; it is acknowledged and muted", async ({ server, page, open }) => {
  await server.send("llama", withNaN(60));
  await waitUntil(async () => (await incidents(server)).length > 0, "the incident");
  await open("/incidents");
  await page.locator("table.incidents tbody tr").first().click();
  const detail = page.locator(".alertdetail");
  await detail.getByText("loss became NaN at step 60.").waitFor();
  await until(page, () => document.querySelector(".alertdetail img")?.naturalWidth > 0, "the chart");
  await detail.locator(".around .at").getByText("loss: nan").waitFor();
  await detail.getByText("Stop the job: what is trained from now on is lost.").waitFor();
  await detail.getByText("No webhook was told of it.").waitFor();
  await detail.getByRole("button", { name: "Acknowledge" }).click();
  await detail.getByText(/^Acknowledged /).waitFor();
  await detail.getByRole("combobox").selectOption({ label: "for an hour" });
  await detail.getByText(/^muted until /).waitFor();
  const [one] = await incidents(server);
  assert.ok(one.acknowledged_ms > 0 && one.muted_until_ms > Date.now());
  await shot(page, "alerts");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/jobs\/llama\?/);
});

test("the list is walked by keys, filtered by the query bar, and lives", async ({ server, page, open }) => {
  await server.send("first", withNaN(30));
  await server.send("second", withNaN(30));
  await waitUntil(async () => (await incidents(server)).length === 2, "two incidents");
  await open("/incidents");
  await page.locator("table.incidents tbody tr").nth(1).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await until(page, () => document.querySelectorAll("table.incidents tbody tr")[1]?.className.includes("chosen"), "the second row");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector(".alertdetail"), "a closed incident");
  await server.send("third", withNaN(30));
  await until(page, () => document.querySelector("table.incidents")?.innerText.includes("third"), "the new incident");
  await open("/incidents?q=name%3Dsecond+or+name%3Dthird");
  await until(page, () => document.querySelectorAll("table.incidents tbody tr").length === 2, "two of three");
  assert.ok((await rows(page)).every((row) => /second|third/.test(row)));
  await open("/incidents?q=name%3Dsecond+or+name%3Dthird&state=recovered");
  await page.getByText("No incident is like that").waitFor();
});

test("a rule is tried before it is saved", async ({ server, page, open, allow }) => {
  allow(/status of 422/);
  await server.send("llama", [...losses(0, 40), ...Array.from({ length: 5 }, (_, i) => `step: ${40 + i} loss: 9.5 lr: 3e-4`)]);
  await waitUntil(async () => (await server.get("/api/v1/jobs")).body.jobs[0]?.metrics?.length > 0, "the series");
  await open("/rules");
  await page.getByRole("button", { name: "New rule" }).click();
  await page.getByLabel("Name").fill("too high");
  const condition = page.getByLabel("A condition of one's own");
  await condition.fill("loss > 9 for");
  await page.getByRole("button", { name: "What would it have told?" }).click();
  await page.getByRole("alert").getByText("column").waitFor();
  await condition.fill("loss > 9 for 3 steps");
  await waitUntil(async () => {
    await page.getByRole("button", { name: "What would it have told?" }).click();
    await page.locator(".ruleform h3").waitFor();
    return (await page.locator(".ruleform h3").innerText()).includes("told 1 time");
  }, "what it would have told");
  await shot(page, "rules");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("table.jobs").getByText("loss > 9 for 3 steps").waitFor();
  const { rules } = (await server.get("/api/v1/rules")).body;
  assert.deepEqual(rules.map((rule) => rule.name), ["default", "too high"]);
  await page.getByRole("link", { name: "too high" }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.locator("dialog.confirm").getByRole("button", { name: "Delete" }).click();
  await until(page, () => document.querySelectorAll("table.jobs tbody tr").length === 1, "the rule that is left");
});

test("a rule is for one webhook, and nobody else", async ({ server, page, open }) => {
  await server.post("/api/v1/webhooks", { url: "https://hooks.slack.com/services/x" });
  const [{ id }] = (await server.get("/api/v1/webhooks")).body.webhooks;
  await open("/rules?id=new");
  await page.getByLabel("Name").fill("only us");
  await page.getByLabel("every webhook").uncheck();
  await page.getByLabel(`#${id} slack hooks.slack.com`).check();
  await page.getByLabel("Nobody else").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("table.jobs").getByText("1 webhook · and no others").waitFor();
  const rule = (await server.get("/api/v1/rules")).body.rules[1];
  assert.deepEqual([rule.webhooks, rule.exclusive], [[id], true]);
});

test("a pasted address says whose it is, and the message is seen before it is sent", async ({ server, page, open }) => {
  await server.post("/api/v1/jobs", { TrainingJobName: "tagged", Tags: [{ Key: "team", Value: "nlp" }] });
  await open("/webhooks?id=new");
  const seen = page.locator(".messagepreview");
  for (const [address, name] of [
    ["https://hooks.slack.com/services/T0/B0/x", "Slack"],
    ["https://discord.com/api/webhooks/1/x", "Discord"],
    ["https://acme.webhook.office.com/webhookb2/1", "Microsoft Teams"],
    ["https://events.pagerduty.com/v2/enqueue", "PagerDuty"],
    ["https://oapi.dingtalk.com/robot/send?access_token=1", "DingTalk"],
    ["https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=1", "WeCom"],
    ["https://alerts.example.com/x", "JSON"],
  ]) {
    await page.getByLabel("Address").fill(address);
    await seen.getByText(`As ${name} will show it`).waitFor();
    assert.match(await seen.locator("blockquote").innerText(), /example-run/);
    const automatic = await page.getByLabel("Format").locator("option").first().innerText();
    assert.equal(automatic, name === "JSON" ? "automatic" : `automatic: ${name}`);
  }
  await page.getByLabel("Address").fill("https://hooks.slack.com/services/T0/B0/x");
  await seen.getByText("As Slack will show it").waitFor();
  await until(page, () => document.querySelector("#webhook-teams option")?.value === "nlp", "the teams that there are");
  await page.getByLabel("Only this team").fill("nlp");
  await shot(page, "webhook-preview");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("table.jobs").getByText("hooks.slack.com").waitFor();
  const [hook] = (await server.get("/api/v1/webhooks")).body.webhooks;
  assert.deepEqual([hook.format, hook.team], ["slack", "nlp"]);
});

test("a webhook is made, tested and told", async ({ server, page, open }) => {
  const receiver = await receive();
  try {
    await open("/webhooks?id=new");
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".secret code").getByText(/^whsec_/).waitFor();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.locator("table.deliveries").getByText("delivered").waitFor();
    assert.equal(receiver.messages[0].type, "webhook.test");
    await server.send("llama", withNaN(30));
    await waitUntil(() => receiver.messages.some((message) => message.type === "incident.opened"), "the message");
    await shot(page, "webhooks");
    await open(`/incidents?id=${(await incidents(server))[0].id}`);
    await page.locator(".alertdetail table.deliveries").getByText("delivered").waitFor();
  } finally {
    receiver.close();
  }
});

test("a webhook gets the report each day, and now", async ({ server, page, open }) => {
  const receiver = await receive();
  try {
    await open("/webhooks?id=new");
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByLabel("The report of each day at").fill("07:30");
    const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
    assert.equal(await page.getByLabel("The time zone").inputValue(), zone);
    await page.getByLabel("The time zone").fill("Europe/Berlin");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("table.jobs").getByText("07:30").waitFor();
    const [hook] = (await server.get("/api/v1/webhooks")).body.webhooks;
    assert.deepEqual([hook.report_at, hook.report_tz], ["07:30", "Europe/Berlin"]);
    await page.getByRole("button", { name: "Send the report of the last 24 hours" }).click();
    await page.locator("table.deliveries").getByText("delivered").waitFor();
    assert.equal(receiver.messages[0].type, "fleet.report");
    await page.getByLabel("The report of each day at").fill("");
    await page.getByRole("button", { name: "Save" }).click();
    await waitUntil(async () => (await server.get("/api/v1/webhooks")).body.webhooks[0].report_at === "", "no report any more");
  } finally {
    receiver.close();
  }
});

test("what a training called its own alert is its name in each list, with its step", async ({ server, page, open }) => {
  const call = (name, kwargs) => server.post(`/api/${name}`, JSON.stringify({ args: [], kwargs: { ...kwargs, hf_token: null } }), { type: "application/json" });
  const run = { project: "own", run: "first", run_id: "own-1" };
  await call("bulk_log", { logs: [{ ...run, step: 3, log_id: "a", metrics: { loss: 2 } }] });
  await call("bulk_alert", { alerts: [{ ...run, alert_id: "one", title: "grad up", text: "ten times", level: "error", step: 12, timestamp: new Date().toISOString() }] });
  await waitUntil(async () => (await incidents(server)).some((one) => one.kind === "training_alert"), "the alert");
  await open("/incidents");
  await until(page, () => /alert: grad up[\s\S]*\b12\b/.test(document.querySelector("table.incidents tbody")?.innerText ?? ""), "its name and step");
  await open("/");
  await page.locator("li", { hasText: "alert: grad up" }).first().waitFor();
  await open("/report?hours=24");
  await page.locator("li", { hasText: "alert: grad up" }).first().waitFor();
  await open("/jobs/own%2Ffirst");
  await page.locator(".jobincidents", { hasText: "alert: grad up" }).getByText("@ 12").waitFor();
});

test("on a phone the job of an incident can be read", { viewport: { width: 390, height: 800 } }, async ({ server, page, open }) => {
  await server.send("bad-spike", withNaN(40));
  await waitUntil(async () => (await incidents(server)).length > 0, "the incident");
  await open("/incidents");
  const name = page.locator("table.incidents td.name bdi").first();
  await name.waitFor();
  const box = await name.boundingBox();
  assert.ok(box.x > 0 && box.x + box.width <= 390, `the name from ${box.x}, ${box.width} px wide`);
  const cell = await page.locator("table.incidents td.name").first().boundingBox();
  assert.ok(cell.x <= 390 * 0.62, "room for longer ones");
  await shot(page, "incidents-phone");
});
