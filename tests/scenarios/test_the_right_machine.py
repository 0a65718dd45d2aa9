"""
A life of four machines whose collector spells them as it likes: one loses a GPU, one prints a runbook about lost GPUs, one is called by a name that is not
its own until somebody sets that right, and the first is replaced. Which machine is drained, asked at once, a week later and a month later.
The ledger goes by the times in the log: what was a month ago is written so.
"""

import json
import time

import pytest

from facts import answer
from smserver import wait_until

DAY_MS, STEP_MS = 86_400_000, 1000
KNOWN = [f"gpu-node-{n:02}" for n in range(1, 5)]  # as sm-ship called them in a job before
SPELLED = ["GPU-Node-01", "gpu-node-02", "Gpu-Node-03", "GPU-NODE-04.cluster.local"]  # as the collector's configuration has them
SPARE, TRUE_NAME = "GPU-NODE-05", "gpu-node-14"
LOST, REPLACED_S, LAST = 40, 120, 60  # the step at which the GPU is lost; how long the spare takes; the last step
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python, GPU has fallen off the bus."
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
RUNBOOK = [
    f"2026-11-30 01:10:00,123 INFO runbook: when dmesg has {XID} drain the node",
    f'{{"drain_on": ["{XID}", "{ECC}"]}}',
    '+ grep -c "NVRM: Xid (PCI:0000:3b:00): 79" /var/log/kern.log',
    f'    raise RuntimeError("{ECC}")',
]


class Life:
    def __init__(self, server, begun_ms):
        self.server, self.begun_ms, self.posted = server, begun_ms, 0

    def at(self, step):
        """When a step is over: what comes behind the loss waits for the spare."""
        return self.begun_ms + step * STEP_MS + (REPLACED_S * 1000 if step > LOST else 0)

    def post(self, *records):
        """As Fluent Bit's http output does: nothing but records, each with its host, job and stream."""
        body = "".join(json.dumps({"job": "life", "source": "fluent-bit", **record}) + "\n" for record in records)
        reply = self.server.post("/api/v1/logs", body.encode(), content_type="application/x-ndjson")
        assert reply.status == 200 and reply.body["accepted"] == len(records) and reply.body["warnings"] == [], reply
        self.posted += len(records)

    def step(self, n):
        hosts = SPELLED[:2] + [SPELLED[2] if n <= LOST else SPARE] + SPELLED[3:]
        self.post(*({"log": f"step: {n} loss: {4 - n / 100:.2f}", "ts_ms": self.at(n), "host": host, "stream": f"rank-{rank}"} for rank, host in enumerate(hosts)))

    def run(self):
        server = self.server
        for n, host in enumerate(KNOWN):
            body = json.dumps({"line": "step: 1 loss: 4.0", "ts_ms": self.begun_ms - 3_600_000}) + "\n"
            assert server.post(f"/api/v1/logs?job=before&stream=algo-{n + 1}&host={host}", body.encode(), content_type="application/x-ndjson").status == 200
        server.post("/api/v1/jobs", json={"TrainingJobName": "life", "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 4, "VolumeSizeInGB": 1}})
        assert server.post("/api/v1/jobs/life/transitions", json={"SecondaryStatus": "Training", "time_ms": self.begun_ms}).status == 204
        for n in range(1, LOST + 1):
            self.step(n)
        # all kernels' lines come in one stream, and the runbook among a rank's
        at_ms = self.at(LOST)
        self.post(*({"log": f"[  12{n}.456789] usb 1-1: new device", "ts_ms": at_ms, "host": host, "stream": "kernel"} for n, host in enumerate(SPELLED)),
            {"log": f"<3>[  128.456789] {XID}\n", "ts_ms": at_ms + 1, "host": "GPU-NODE-03", "stream": "kernel"})
        self.post(*({"log": line, "ts_ms": at_ms + 2, "host": SPELLED[1], "stream": "rank-1"} for line in RUNBOOK))
        self.post({"log": ECC, "ts_ms": at_ms + 3, "host": SPELLED[3], "stream": "rank-3"})
        for n in range(LOST + 1, LAST + 1):
            self.step(n)
        assert server.post("/api/v1/jobs/life/transitions", json={"SecondaryStatus": "Completed", "time_ms": self.at(LAST) + 1}).status == 204

    def named(self):
        """What incidents say of machines: (kind, signature, host)."""
        rows = self.server.get("/api/v1/incidents?limit=1000").body["incidents"]
        return sorted((row["job"], row["kind"], row["evidence"].get("fault"), row["evidence"].get("host")) for row in rows if row["kind"] in ("node_suspect", "log_signature"))

    def ledger(self):
        body = answer(self.server, "/api/v1/nodes?limit=100")
        return {row["host"]: {fault["signature"]: fault["lines"] for fault in row["faults"]} for row in body.get("nodes", [])}, sorted(row["host"] for row in body.get("drain", []))


@pytest.mark.parametrize("days", [0, 8, 31], ids=["at once", "a week later", "a month later"])
def test_the_machine_that_failed_is_drained_and_no_other(server, days):
    life = Life(server, int(time.time() * 1000) - days * DAY_MS - 600_000)
    life.run()
    is_drained, is_known = days < 7, days < 30
    full = SPELLED[3]  # senders are told apart by what stands behind the dot, and this one's was not known
    of = lambda *faulty: {host: {name: 1 for at, name in faulty if at == host and is_known} for host in sorted({*KNOWN, SPARE, full, *(at for at, _ in faulty)})}
    before = [("life", "node_suspect", "ecc_uncorrectable", full), ("life", "node_suspect", "xid_79", "gpu-node-03")]
    wait_until(lambda: [row for row in life.named() if row[0] == "life"] == before, what="the incidents of two machines")
    assert life.ledger() == (of(("gpu-node-03", "xid_79"), (full, "ecc_uncorrectable")), sorted([full, "gpu-node-03"]) if is_drained else [])
    streams = {row["stream"]: row["host"] for row in server.get("/api/v1/jobs/life/streams").body["streams"]}
    assert streams == {"rank-0": "gpu-node-01", "rank-1": "gpu-node-02", "rank-2": SPARE, "rank-3": full, "kernel": ""}
    # the container's name was not the machine's
    assert server.patch("/api/v1/jobs/life", json={"by_hand": {"hosts": {"rank-3": TRUE_NAME}}}).status == 200
    after = [("life", "node_suspect", "ecc_uncorrectable", TRUE_NAME), ("life", "node_suspect", "xid_79", "gpu-node-03")]
    assert [row for row in life.named() if row[0] == "life"] == after
    wanted = of(("gpu-node-03", "xid_79"), (TRUE_NAME, "ecc_uncorrectable"))
    wanted[full] = {}  # it sent its kernel's lines under that name, and had no fault
    for again in (lambda: None, server.restart, lambda: (server.kill(), server.start())):
        again()
        assert life.ledger() == (wanted, sorted(["gpu-node-03", TRUE_NAME]) if is_drained else [])
        assert [row for row in life.named() if row[0] == "life"] == after
    # the machine over time, in whatever spelling it is asked for
    body = server.get("/api/v1/nodes/GPU-Node-03").body
    at_ms = life.at(LOST) + 1
    assert body["host"] == "gpu-node-03" and body["drain"] == is_drained and {row["job"] for row in body["jobs"]} == {"before", "life"}
    drains = [{"signature": "xid_79", "from_ms": at_ms, "until_ms": at_ms + 7 * DAY_MS, "job": "life"}] if is_known else []
    assert [{key: row[key] for key in ("signature", "from_ms", "until_ms", "job")} for row in body["drains"]] == drains
    assert server.get("/api/v1/nodes/gpu-node-02").body["fault_list"] == []
    # who took over, and when
    rows = server.get("/api/v1/jobs/life/replacements").body["replacements"]
    assert [(row["stream"], row["from"], row["to"], row["last_ms"], row["at_ms"], row["took_ms"]) for row in rows if row["stream"] == "rank-2"] == [
        ("rank-2", "gpu-node-03", SPARE, life.at(LOST), life.at(LOST + 1), (REPLACED_S + 1) * 1000)]
    lines = sum(row["lines"] for row in server.get("/api/v1/jobs/life/streams").body["streams"])
    assert lines == life.posted == 4 * LAST + len(SPELLED) + 1 + len(RUNBOOK) + 1
