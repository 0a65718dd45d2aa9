// A small fleet with something of everything, for tests that walk through the pages.
import { waitUntil } from "./server.mjs";

const MINUTE_MS = 60_000;

/** A name with all that breaks addresses, markup and the direction of writing. */
export const ODD_NAME = 'llama-7b-"quoted" / 100%';

export async function sendFleet(server) {
  const now = Date.now();
  const resources = { InstanceType: "ml.p4d.24xlarge", InstanceCount: 4, VolumeSizeInGB: 50, KeepAlivePeriodInSeconds: 3600 };
  for (const [name, rate] of [["llama-7b", "3e-4"], [ODD_NAME, "1e-4"]]) {
    await server.post("/api/v1/jobs", {
      TrainingJobName: name,
      RoleArn: "arn:aws:iam::123456789012:role/r",
      ResourceConfig: resources,
      HyperParameters: { lr: rate, global_batch_size: "480", seq_length: "1024" },
      Tags: [{ Key: "team", Value: "nlp" }],
    });
  }
  const line = (n, loss) => `iter ${n}: loss ${loss.toFixed(4)}, time ${(350 + ((n * 7919) % 9)).toFixed(2)}ms, mfu 12.50%`;
  const curve = (n) => 2 + 3 * Math.exp(-n / 80) + ((n * 7919) % 100) / 2000;
  for (const stream of ["algo-1", "algo-2"]) {
    await server.post("/api/v1/sessions", { job: "llama-7b", run_key: "r", stream, host: `gpu-${stream}` });
    const spike = stream === "algo-1" ? [300, 301, 302, 303, 304, 305].map((n) => line(n, 9)) : [];
    await server.send("llama-7b", [...Array.from({ length: 300 }, (_, n) => line(n, curve(n))), ...spike], stream);
  }
  await server.send(ODD_NAME, Array.from({ length: 300 }, (_, n) => line(n, 1 + curve(n))));
  await server.waitForPoints("llama-7b", "train:loss", 306);
  await server.waitForPoints(ODD_NAME, "train:loss", 300);
  await waitUntil(async () => (await server.get("/api/v1/incidents")).body.incidents.length > 0, "the spike's incident");
  await server.put("/api/v1/jobs/llama-7b/attachments/config.yaml", "lr: 3e-4\n", { type: "application/yaml" });
  // a job that has ended, its warm pool, prices
  await server.post("/api/v1/jobs", { TrainingJobName: "finished", RoleArn: "arn:aws:iam::123456789012:role/r", ResourceConfig: resources });
  for (const [SecondaryStatus, minutes] of [["Starting", 30], ["Training", 25], ["Completed", 5]]) {
    await server.post("/api/v1/jobs/finished/transitions", { SecondaryStatus, time_ms: now - minutes * MINUTE_MS });
  }
  await server.send("finished", Array.from({ length: 12 }, (_, n) => line(n, curve(n))));
  await server.put("/api/v1/prices", { currency: "USD", prices: [{ instance: "ml.p4d.24xlarge", per_hour: 32.77, from: "2025-01-01", source: "list" }] });
}
