// A real sm-server for the browser's tests, as tests/support/smserver.py is for the others: started on a free port over a folder
// of its own, stopped, killed, started again on the same port. Nothing here waits for a time, only for what is to happen.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const BUILD = path.resolve(process.env.SM_BUILD_DIR ?? path.join(ROOT, "build/asan"));
/** A sanitizer makes everything slower, and processors are shared: generous, because a test that passes never waits this long. */
export const PATIENCE_MS = 1000 * Number(process.env.SM_TEST_PATIENCE_S ?? 60);

const SANITIZER_MARKS = ["ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error:", "AddressSanitizer:DEADLYSIGNAL"];
const PAUSE_MS = 20;
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** The first true result of condition(), asked again and again; fails with `what` when there was none in time. */
export async function waitUntil(condition, what) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (Date.now() > deadline) assert.fail(`waited ${PATIENCE_MS / 1000} s in vain for ${what}; last: ${JSON.stringify(result)}`);
    await pause();
  }
}

let empty = null;
/** The file that tests/support/smserver.py keeps, too (empty_database): as this very program makes a new database, made once a build. */
function emptyDatabase(program, environment) {
  const folder = path.join(BUILD, "empty-databases");
  if (!empty) {
    const { size, mtimeNs } = statSync(program, { bigint: true });
    empty = path.join(folder, `${size}-${mtimeNs}.db`);
  }
  if (existsSync(empty)) return empty;
  mkdirSync(folder, { recursive: true });
  const place = mkdtempSync(path.join(folder, "new-"));
  const made = spawnSync(program, ["migrate", "--no-backup", "--db", path.join(place, "new.db")], { env: environment });
  assert.equal(made.status, 0, `${made.stderr}`);
  renameSync(path.join(place, "new.db"), empty);
  rmSync(place, { recursive: true });
  return empty;
}

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

export class Server {
  /** `folder` holds the database; `options` are sm-server's. */
  constructor(folder, options = []) {
    this.folder = folder;
    this.options = options;
    this.log = [];
    this.child = null;
    this.port = 0;
    /** Sent with each request when set. */
    this.token = null;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  // ---- the process ----

  async start() {
    const program = path.join(BUILD, "sm-server");
    assert.ok(existsSync(program), `no ${program}; build it first (or set SM_BUILD_DIR)`);
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SMFLEET_")));
    environment.ASAN_OPTIONS ??= "detect_leaks=1:exitcode=99:detect_stack_use_after_return=1";
    environment.UBSAN_OPTIONS ??= "print_stacktrace=1:halt_on_error=1";
    // Who works on the page serves it from its folder: SM_WEB_ROOT=web/dist
    const page = process.env.SM_WEB_ROOT ? ["--web-root", path.resolve(process.env.SM_WEB_ROOT)] : [];
    const database = path.join(this.folder, "smfleet.db");
    if (!existsSync(database)) copyFileSync(emptyDatabase(program, environment), database);
    const listen = ["--listen", `127.0.0.1:${this.port}`, "--db", database];
    this.log = [];
    this.child = spawn(program, [...listen, ...page, ...this.options], { cwd: this.folder, env: environment, stdio: ["ignore", "ignore", "pipe"] });
    running.add(this.child);
    this.ended = once(this.child, "close").then(([code, signal]) => code ?? signal);
    void this.ended.then(() => running.delete(this.child));
    readline.createInterface({ input: this.child.stderr }).on("line", (line) => this.log.push(line));
    const child = this.child;
    const [, port] = await waitUntil(() => {
      const found = this.log.map((line) => /event=listening\b.*\bport=(\d+)/.exec(line)).find(Boolean);
      assert.ok(found || child.exitCode === null, `sm-server did not start:\n${this.log.join("\n")}`);
      return found;
    }, "the server to listen");
    this.port = Number(port);
    return this;
  }

  /** SIGTERM; the server must end by itself with 0 and without a sanitizer's report. */
  async stop() {
    if (!this.child) return;
    this.child.kill("SIGTERM");
    const child = this.child;
    const timer = setTimeout(() => child.kill("SIGABRT"), PATIENCE_MS);
    const code = await this.ended;
    clearTimeout(timer);
    this.child = null;
    this.assertClean();
    assert.equal(code, 0, `sm-server ended with ${code}; its log:\n${this.log.join("\n")}`);
  }

  /** SIGKILL: what a power cut looks like to the database. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
    this.child = null;
    this.assertClean();
  }

  /** On the same port, over the same database. */
  async restart() {
    await this.stop();
    return this.start();
  }

  assertClean() {
    const text = this.log.join("\n");
    for (const mark of SANITIZER_MARKS) assert.ok(!text.includes(mark), `a sanitizer reported:\n${text}`);
  }

  // ---- requests ----

  /** {status, headers, raw, body}; body is parsed where the content type says JSON. An object or array is sent as JSON. */
  async request(method, where, body, { type, token = this.token, headers = {} } = {}) {
    const isPlain = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
    const sent = isPlain ? body : JSON.stringify(body);
    const all = { ...headers };
    if (sent !== undefined) all["Content-Type"] = type ?? (isPlain ? "text/plain" : "application/json");
    if (token) all.Authorization = `Bearer ${token}`;
    // A connection each: a kept one would be dead after a restart.
    const request = http.request(this.url + where, { method, headers: all, agent: false, timeout: PATIENCE_MS });
    request.end(sent);
    const [reply] = await once(request, "response");
    const raw = Buffer.concat(await reply.toArray());
    const isJson = /^application\/([a-z.]+\+)?json/.test(reply.headers["content-type"] ?? "");
    return { status: reply.statusCode, headers: reply.headers, raw, body: isJson && raw.length > 0 ? JSON.parse(raw) : raw.toString() };
  }

  get(where, options) {
    return this.request("GET", where, undefined, options);
  }

  /** These want a status below 300 and give the body. */
  async ask(method, where, body, options) {
    const reply = await this.request(method, where, body, options);
    assert.ok(reply.status < 300, `${method} ${where}: ${reply.status} ${reply.raw}`);
    return reply.body;
  }

  post(where, body, options) {
    return this.ask("POST", where, body, options);
  }

  put(where, body, options) {
    return this.ask("PUT", where, body, options);
  }

  patch(where, body, options) {
    return this.ask("PATCH", where, body, options);
  }

  // ---- what most tests do ----

  /** Posts lines as plain text; they must be taken, all of them. */
  async send(job, lines, stream = "algo-1") {
    const all = [lines].flat();
    const where = `/api/v1/logs?job=${encodeURIComponent(job)}&stream=${encodeURIComponent(stream)}`;
    const reply = await this.post(where, all.map((line) => `${line}\n`).join(""));
    assert.equal(reply.accepted, all.length);
    return reply;
  }

  /** The row of a series, or undefined. */
  async series(job, metric, stream = "algo-1") {
    const reply = await this.get(`/api/v1/jobs/${encodeURIComponent(job)}/metrics`);
    return reply.status === 200 ? reply.body.series.find((row) => row.metric === metric && row.stream === stream) : undefined;
  }

  /** Derived data follows the acknowledgement within moments: waits until the series has that many points. */
  waitForPoints(job, metric, count, stream = "algo-1") {
    return waitUntil(async () => ((await this.series(job, metric, stream))?.count ?? 0) >= count, `${count} points of ${metric} in ${job}/${stream}`);
  }
}
