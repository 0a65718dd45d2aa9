"""The ledger of 500 machines with ten jobs each, and a central log that tells of five faults of each machine: it is read at once, in little memory."""

import re
import time
from pathlib import Path

from smserver import Server, wait_until
from test_known_fault import MINUTE

HOSTS, JOBS = 500, 10
CODES = (79, 48, 95, 94, 74)
LEDGER_S, ONE_S, MEMORY_BYTES = 1.0, 0.5, 48 << 20


def host_of(n):
    return f"gpu{n:04}"


def push(server, *streams):
    """Loki's: many streams of a job a request; lines: (time in ms, line)."""
    body = {"streams": [{"stream": labels, "values": [[str(at_ms * 1_000_000), line] for at_ms, line in lines]} for labels, lines in streams]}
    reply = server.post("/loki/api/v1/push", json=body)
    assert reply.status == 204, reply


def train(server, job, now):
    """One that broke off after the faults, and went on."""
    first = now - 40 * MINUTE
    body = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": HOSTS, "VolumeSizeInGB": 50}}
    assert server.post("/api/v1/jobs", json=body).status in (200, 201)
    for status, at_ms in (("Training", first), ("Restarting", now - 10 * MINUTE), ("Training", now - 8 * MINUTE)):
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": at_ms}).status == 204
    lines = [(first + k * MINUTE, f"step {k + 1} loss: {3 - k / 100:.3f}") for k in range(30)]
    lines += [(now - 7 * MINUTE + k * MINUTE, f"step {k + 30} loss: {2 - k / 100:.3f}") for k in range(6)]
    push(server, *[({"job": job, "stream": f"algo-{n + 1}", "host": host_of(n)}, lines if n == 0 else [lines[0], lines[-1]]) for n in range(HOSTS)])


def tell_all(server, now):
    lines = []
    for k, code in enumerate(CODES):
        at_ms = now - (20 - k) * MINUTE
        stamp = time.strftime("%b %d %H:%M:%S", time.gmtime(at_ms / 1000))
        lines += [(at_ms, f"{stamp} {host_of(n)} kernel: NVRM: Xid (PCI:0000:02:00): {code}, pid=1, what it says") for n in range(HOSTS)]
    for at in range(0, len(lines), 100):
        push(server, ({"job": f"kern{at}", "stream": "all", "host": f"central{at}"}, lines[at:at + 100]))


def peak_bytes(server):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text()).group(1)) * 1024


def timed(server, path):
    """The answer, and the shortest of three times: other tests run beside."""
    took = []
    for _ in range(3):
        begin = time.monotonic()
        reply = server.get(path)
        took.append(time.monotonic() - begin)
        assert reply.status == 200, reply
    return reply.body, min(took)


def look_at_ledger(server):
    now = int(time.time() * 1000)
    for job in range(JOBS):
        train(server, f"train{job}", now)
    tell_all(server, now)
    server.wait_for_extraction()
    wait_until(lambda: server.sql("SELECT count(*) FROM node_faults") == [(HOSTS * len(CODES),)], timeout=60, what="the faults")
    wait_until(lambda: server.sql("SELECT count(*) FROM goodput_breaks") == [(JOBS,)], timeout=60, what="the breaks")
    before = peak_bytes(server)
    page, took_s = timed(server, "/api/v1/nodes")
    one, one_s = timed(server, f"/api/v1/nodes/{host_of(7)}")
    grown = peak_bytes(server) - before
    print(f"the ledger {took_s:.2f} s, a machine {one_s:.2f} s, {grown >> 20} MiB")
    assert len(page["drain"]) == HOSTS and took_s < LEDGER_S and one_s < ONE_S and grown < MEMORY_BYTES
    body, _ = timed(server, "/api/v1/nodes?limit=1000")
    trained = [row["restarts"] for row in body["nodes"] if row["host"].startswith("gpu")]
    assert trained == [JOBS] * HOSTS and one["restarts"] == JOBS


def test_the_ledger_of_a_fleet_under_one_central_log(tmp_path):
    server = Server(tmp_path, "--rate-requests", "0", "--rate-bytes", "0").start()
    try:
        look_at_ledger(server)
    finally:
        server.close()
