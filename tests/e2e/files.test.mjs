// Small files of a job on its page: pictures and text are shown, all else is only downloaded.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { deflateSync, crc32 } from "node:zlib";
import { fitsWidth, shot, test, texts, until, waitUntil } from "./support.mjs";
import { ALL, COLOURS, faults } from "./walk.mjs";

const chunk = (type, data) => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
};

/** A picture of `size` pixels a side, of one colour. */
function png(size, colour) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.concat(Array.from({ length: size }, () => Buffer.from(colour)))]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: size }, () => row)));
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

const JOB = "llama/7b";
const BASE = `/api/v1/jobs/${encodeURIComponent(JOB)}/attachments`;
const PAGE = `/jobs/${encodeURIComponent(JOB)}/files`;
const put = (server, path, body, type = "application/octet-stream") => server.put(`${BASE}/${path.split("/").map(encodeURIComponent).join("/")}`, body, { type });
const SCRIPT = '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "run"</script></svg>';

async function fill(server) {
  await server.send(JOB, "x");
  await put(server, "plots/confusion 100%.png", png(300, [200, 40, 40]));
  await put(server, "plots/loss#2?.png", png(8, [40, 40, 200]));
  await put(server, "config.yaml", "lr: 3e-4 # <img src=x onerror=alert(1)>\n");
  await put(server, "drawn.svg", SCRIPT);
  await put(server, "page.html", "<script>document.title = 'run'</script>");
  await put(server, "large.txt", `${"é".repeat(199_999)}\nthe end`);
  await put(server, "no.png", "this is no picture");
  await put(server, "bytes.txt", Buffer.from([65, 0, 66]), "text/plain");
}

const names = (page) => texts(page, ".files tbody th");
const choose = (page, path) => page.locator(".files tbody a", { hasText: path }).press("Enter");
const heading = (page, path) => page.locator(".filepreview h2", { hasText: path }).waitFor();
const hasPicture = (page, side) => until(page, (wanted) => document.querySelector(".filepreview img")?.naturalWidth === wanted, "the picture", side);

test("pictures and text are shown, all else is only downloaded; by keys alone", async ({ server, page, open, allow }) => {
  allow(/ORB/); // what says it is a picture and is none
  await fill(server);
  await open(`/jobs/${encodeURIComponent(JOB)}`);
  await page.locator(".jobtabs a", { hasText: "Files" }).press("Enter");
  await waitUntil(async () => (await names(page)).length === 8, "the list");
  assert.deepEqual((await names(page)).slice(-2), ["plots/confusion 100%.png", "plots/loss#2?.png"]);
  assert.equal(await page.locator(".filepreview").count(), 0);
  assert.match((await texts(page, ".files tbody tr")).find((row) => row.startsWith("large.txt")), /391 KiB/);

  await choose(page, "confusion");
  await hasPicture(page, 300);
  assert.equal(await page.locator(".filepreview img").getAttribute("alt"), "plots/confusion 100%.png");
  assert.equal(await page.evaluate(() => new URLSearchParams(location.search).get("file")), "plots/confusion 100%.png");
  await page.getByRole("button", { name: "Next file" }).press("Enter");
  await hasPicture(page, 8);
  await heading(page, "loss#2?.png");
  await until(page, () => document.querySelector(".filepreview button:last-of-type").disabled, "that it is the last");

  await choose(page, "config.yaml");
  await until(page, () => document.querySelector(".filepreview pre")?.textContent === "lr: 3e-4 # <img src=x onerror=alert(1)>\n", "the text, as text");
  assert.equal(await page.locator(".filepreview img").count(), 0);

  for (const path of ["drawn.svg", "page.html", "bytes.txt"]) {
    await choose(page, path);
    await heading(page, path);
    await until(page, () => document.querySelector(".filepreview")?.innerText.includes("only downloaded"), "that it is not shown");
    assert.equal(await page.locator(".filepreview :is(img, iframe, object, embed, svg, pre)").count(), 0);
  }
  await choose(page, "large.txt");
  await until(page, () => document.querySelector(".filepreview")?.innerText.includes("Only its beginning"), "the beginning");
  const shown = await page.locator(".filepreview pre").textContent();
  assert.ok(shown.length === 131_072 && /^é+$/.test(shown), `${shown.length} letters, ends with ${shown.slice(-3)}`);

  await choose(page, "no.png");
  await page.locator(".filepreview [role=alert]").waitFor();
  await choose(page, "drawn.svg");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).press("Enter")]);
  assert.equal(download.suggestedFilename(), "drawn.svg");
  assert.equal(readFileSync(await download.path(), "utf8"), SCRIPT);
  assert.notEqual(await page.title(), "run");
  await page.getByRole("link", { name: "Close" }).press("Enter");
  await page.locator(".filepreview").waitFor({ state: "detached" });
  await page.goBack();
  await heading(page, "drawn.svg");
});

test("an empty list, a file that went, a list that does not come", async ({ server, page, open, allow }) => {
  allow(/503/);
  await server.send(JOB, "x");
  await open(PAGE);
  await until(page, () => document.querySelector(".files")?.innerText.includes("curl -T plot.png"), "how to send one");
  await put(server, "a.txt", "1");
  await open(`${PAGE}?file=gone.txt`);
  await until(page, () => document.querySelector(".files [role=status]")?.innerText.includes("no file gone.txt"), "that it is gone");
  await page.route("**/attachments?*", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"x","status":503}' }));
  await open(PAGE);
  await page.locator(".files .problem").waitFor();
  await page.unroute("**/attachments?*");
  await page.locator(".files .problem button").click();
  await waitUntil(async () => (await names(page)).length === 1, "the list");
  await page.route("**/attachments/a.txt", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"x","status":503}' }));
  await choose(page, "a.txt");
  await page.locator(".filepreview .problem").waitFor();
  await page.unroute("**/attachments/a.txt");
  await page.locator(".filepreview .problem button").click();
  await until(page, () => document.querySelector(".filepreview pre")?.textContent === "1", "the text");
});

test("with a token, pictures come with the page's session", { token: true }, async ({ server, page, open, allow }) => {
  allow(/401/);
  await fill(server);
  const { token } = await server.post("/api/v1/tokens", { name: "guest", scope: "read" });
  await open(`${PAGE}?file=${encodeURIComponent("plots/confusion 100%.png")}`);
  await page.fill("dialog.signin input", token);
  await page.keyboard.press("Enter");
  await hasPicture(page, 300);
  assert.match((await texts(page, ".filepreview p"))[0], /image\/png .* admin$/);
});

for (const [look, options, rules] of [
  ["light", { colorScheme: "light" }, ALL],
  ["dark", { colorScheme: "dark" }, COLOURS],
  ["phone", { viewport: { width: 390, height: 740 }, hasTouch: true }, ALL],
]) {
  test(`the files: ${look}`, options, async ({ server, page, open }) => {
    await fill(server);
    for (const [kind, path, ready] of [["picture", "plots/confusion 100%.png", "img"], ["text", "config.yaml", "pre"]]) {
      await open(`${PAGE}?file=${encodeURIComponent(path)}`);
      await page.locator(`.filepreview ${ready}`).waitFor();
      assert.deepEqual(await faults(page, rules, [".rail", ".statusline", ".jobtop"]), []);
      assert.ok(await fitsWidth(page));
      await shot(page, `files-${kind}-${look}`);
    }
  });
}
