// Signing in by an OpenID provider, a real one (npm's oidc-provider): by the dialog's link, with keys alone, and back to where one was.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { ROOT, shot, test, until } from "./support.mjs";

async function startProvider(server) {
  const child = spawn(process.execPath, [path.join(ROOT, "tests/support/openid-provider.mjs"), "0", `${server.url}/sign-in/NAME/callback`], { stdio: ["ignore", "pipe", "ignore"] });
  process.on("exit", () => child.kill());
  for await (const line of readline.createInterface({ input: child.stdout })) return { issuer: line.replace("ready ", ""), stop: () => child.kill() };
}

const PROVIDER = { name: "public", label: "Corporate <b>", client_id: "public", rules: [{ group: "writers", scope: "write" }, { group: "admins", scope: "admin" }] };

async function restartWith(server, issuer) {
  const file = path.join(server.folder, "sign-in.json");
  writeFileSync(file, JSON.stringify({ providers: [{ ...PROVIDER, issuer }] }));
  server.options = ["--sign-in", file, "--public-url", server.url];
  await server.restart();
}

/** The link of the dialog, by keys. */
async function takeLink(page) {
  await page.locator("dialog.signin a").waitFor();
  assert.equal(await page.locator("dialog.signin a").innerText(), "Sign in with Corporate <b>");
  await page.locator("dialog.signin a").focus();
  await page.keyboard.press("Enter");
}

test("one signs in by a provider, and is where one was", async ({ server, page, open, allow, knows }) => {
  allow(/status of 40[13]/); // a writer sees no tokens in the settings
  await server.send("first", ["step: 1 loss: 2.5", "step: 2 loss: 2.25"]);
  const provider = await startProvider(server);
  knows(`${provider.issuer}/`);
  knows("https://fonts.googleapis.com/"); // its own form asks for a font
  allow(/fonts\.googleapis\.com/);
  await restartWith(server, provider.issuer);
  await open("/jobs/first?smooth=0.5#notes");
  await page.locator("dialog.signin").waitFor();
  await shot(page, "signin-provider");
  await takeLink(page);
  await page.locator("input[name=login]").fill("wim+writers");
  await page.locator("input[name=password]").fill("x");
  await page.keyboard.press("Enter");
  await page.locator("button[type=submit]", { hasText: "Continue" }).click();
  await page.waitForURL(`${server.url}/jobs/first?smooth=0.5#notes`);
  await until(page, () => document.querySelector("h1")?.innerText.includes("first"), "the job");
  assert.equal(await page.locator("dialog.signin").count(), 0);
  const cookies = await page.context().cookies(server.url);
  const session = cookies.find((cookie) => cookie.name === "smfleet_session");
  assert.ok(session.httpOnly && session.sameSite === "Strict" && session.value.startsWith("smp_"));
  await open("/settings");
  await until(page, () => document.querySelector("#look")?.innerText.includes("Signed in as oidc/public/wim@example.org, who may write"), "the person");
  await page.locator("#look button", { hasText: /^Sign out$/ }).click();
  await page.locator("dialog.signin").waitFor();
  provider.stop();
});

test("a provider that is away says so, and there is a way back", async ({ server, page, open, allow }) => {
  allow(/status of (401|502)/);
  await restartWith(server, "http://127.0.0.1:9");
  await open("/settings");
  await takeLink(page);
  await page.locator("h1", { hasText: "Nobody was signed in" }).waitFor();
  assert.match(await page.locator("body").innerText(), /Corporate <b>: its configuration: no answer/);
  await page.locator("a", { hasText: "Back" }).click();
  await page.waitForURL(`${server.url}/settings`);
  await page.locator("dialog.signin input").waitFor(); // the token's form is there, too
});
