import { expect, test } from "vitest";
import { restartCommand, type Restart } from "../src/lib/jobs/restart";

const restart: Restart = {
  job: "llama", due: true, why: "it failed", continued_by: null, failures: 3, failures_in_row: 2, extracted: true,
  checkpoint: { job: "llama", step: 500, ts_ms: 0, stream: "algo-1", line: 8, path: "/ckpt/iter 5'00" },
  drained: [{ host: "gpu-07", why: [] }, { host: "gpu-09", why: [] }],
};

test("the command has the parts that sm-ship gives, quoted for a shell", () => {
  expect(restartCommand(restart, "https://f.example", true)).toBe(
    `curl -s -H "Authorization: Bearer $SMFLEET_TOKEN" https://f.example/api/v1/jobs/llama/restart | SMFLEET_RESTART_JOB=llama SMFLEET_RESTART_STEP=500 ` +
      String.raw`SMFLEET_RESTART_CHECKPOINT='/ckpt/iter 5'\''00' SMFLEET_RESTART_DRAINED=gpu-07,gpu-09 SMFLEET_RESTART_FAILURES=2 SMFLEET_CONTINUES=llama ./again`,
  );
});

test("what is not known is empty, as there", () => {
  const command = restartCommand({ ...restart, job: "a b", checkpoint: null, drained: [] }, "http://h:80", false);
  expect(command).toBe("curl -s http://h:80/api/v1/jobs/a%20b/restart | SMFLEET_RESTART_JOB='a b' SMFLEET_RESTART_STEP= SMFLEET_RESTART_CHECKPOINT= SMFLEET_RESTART_DRAINED= SMFLEET_RESTART_FAILURES=2 SMFLEET_CONTINUES='a b' ./again");
});
