// The first five minutes: what an empty server offers, copied and run as it stands, makes a job appear by itself.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { IS_LONG, losses, ROOT, shot, test, texts, waitUntil } from "./support.mjs";

const run = promisify(execFile);
const LINES = losses(0, 20);

/** A folder as somebody has it who trains: train.py, train.log, and what their machine calls docker and srun. */
function home(folder) {
  const bin = path.join(folder, "bin");
  mkdirSync(bin);
  const program = (name, text) => {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(path.join(bin, name), 0o755);
  };
  program("docker", '[ "$1 $2 $3" = "logs -f my-container" ] && cat train.log');
  program("srun", 'SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=1 exec "$@"');
  for (const name of ["python", "python3"]) symlinkSync("/usr/bin/python3", path.join(bin, name));
  writeFileSync(path.join(folder, "train.log"), LINES.map((line) => `${line}\n`).join(""));
  writeFileSync(path.join(folder, "train.py"), 'print(open("train.log").read(), end="")\n');
  return { PATH: `${bin}:/usr/bin:/bin`, HOME: folder };
}

const MLFLOW = 'import mlflow\nwith mlflow.start_run(run_name="tracked"):\n    mlflow.log_metric("loss", 2.5, step=1)\n';
const WANDB = 'import wandb\nrun = wandb.init(project="p", name="tracked")\nrun.log({"loss": 2.5})\nrun.finish()\n';
const QUIET = { MLFLOW_DISABLE_TELEMETRY: "true", GIT_PYTHON_REFRESH: "quiet", WANDB_ERROR_REPORTING: "false" };

/** What follows the command, and which job it makes. The trackers' clients, which take seconds to load, run with a token alone, but for the nightly run. */
const WAYS = {
  "Pipe what your trainer prints": { job: "my-run", stream: "algo-1" },
  "Start it under the shipper, which also reports start, end and host": { job: "my-run" },
  "Send a log that is there already": { job: "my-run", stream: "file" },
  "Docker: follow a container": { job: "my-container", stream: "algo-1" },
  "Slurm: one job, a stream a task": { job: "my-slurm-run" },
  "MLflow: one variable, no change to the code": { job: "Default/tracked", script: MLFLOW, client: ".cache/mlflow-3" },
  "W&B: two variables, no change to the code": { job: "p/tracked", script: WANDB, client: ".cache/wandb-0.31" },
};

for (const token of [false, true]) {
  test(`an empty server shows the commands, each runs as it is copied, and its job appears by itself${token ? "; with a token" : ""}`, { token }, async ({ server, page, folder, open, allow }) => {
    allow(/status of 40[14]/);
    const environment = { ...home(folder), ...QUIET };
    if (token) {
      environment.SMFLEET_TOKEN = (await server.post("/api/v1/tokens", { name: "trainer", scope: "write" })).token;
      await page.goto(server.url);
      await page.getByLabel("Token").fill(server.token);
      await page.keyboard.press("Enter");
    } else await open("/");
    const offered = page.locator(".firstline li");
    await offered.first().waitFor();
    await shot(page, `firstline${token ? "-token" : ""}`);
    assert.deepEqual(await texts(page, ".firstline h2"), Object.keys(WAYS));
    const commands = {};
    for (const item of await offered.all()) {
      await item.getByRole("button").click();
      commands[await item.locator("h2").innerText()] = await page.evaluate(() => navigator.clipboard.readText());
    }
    let isFirst = true;
    for (const [title, { job, stream, script, client }] of Object.entries(WAYS)) {
      if (client && !token && !IS_LONG) continue;
      if (script) writeFileSync(path.join(folder, "tracked.py"), script);
      const more = script ? `${commands[title]}\nexec python3 tracked.py` : commands[title];
      await run("/bin/bash", ["-euo", "pipefail", "-c", more], { cwd: folder, env: { ...environment, ...(client ? { PYTHONPATH: path.join(ROOT, client) } : {}) } });
      const row = await waitUntil(async () => (await server.get(`/api/v1/jobs/${encodeURIComponent(job)}/metrics`)).body.series?.find((one) => /loss/.test(one.metric) && (!stream || one.stream === stream)), `points by: ${title}`);
      assert.ok(row.count >= (script ? 1 : LINES.length), `${title}: ${row.count} points`);
      if (isFirst) await page.locator(".fleet .state").first().getByText("1").waitFor(); // nobody reloads the page
      isFirst = false;
    }
  });
}
