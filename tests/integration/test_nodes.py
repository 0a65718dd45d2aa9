"""Machines over all jobs: their faults, jobs, figures, which to drain; and of one job, with the way onto each."""

import sqlite3
import time

import pytest

from smserver import wait_until

XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
AGENT = "2026-01-01 10:00:00 INFO Successfully registered the instance with AWS SSM using Managed instance-id: mi-0123456789abcdef0"


def ship(server, job, host, lines, stream=None):
    assert server.post(f"/api/v1/logs?job={job}&stream={stream or 'system/' + host}&host={host}", "".join(line + "\n" for line in lines),
        content_type="text/plain").status == 200


def node(server, host):
    return server.get(f"/api/v1/nodes/{host}").body


def test_the_ledger(server):
    for job in ("a", "b"):
        for host in ("n1", "n2"):
            ship(server, job, host, ["step: 1 loss: 2.0"], stream="algo-" + host[1])
    ship(server, "a", "n2", [XID])
    body = wait_until(lambda: node(server, "n2").get("faults") and node(server, "n2"), what="the fault")
    [fault] = body["faults"]
    assert fault["signature"] == "xid_79" and fault["lines"] >= 1 and body["drain"] and "xid_79" in body["why"][0]
    assert body["job_count"] == 2 and {row["job"] for row in body["jobs"]} == {"a", "b"}
    assert body["fault_list"][0]["text"] == XID and body["fault_list"][0]["job"] == "a"
    assert abs(body["last_seen_ms"] - time.time() * 1000) < 600_000
    listed = server.get("/api/v1/nodes").body
    assert [row["host"] for row in listed["nodes"]] == ["n1", "n2"] and [row["host"] for row in listed["drain"]] == ["n2"]
    assert not listed["nodes"][0]["drain"] and listed["nodes"][0]["faults"] == []
    assert [row["host"] for row in server.get("/api/v1/nodes?q=N2").body["nodes"]] == ["n2"]
    page = server.get("/api/v1/nodes?limit=1").body
    assert page["next_cursor"] == "n1" and [row["host"] for row in server.get("/api/v1/nodes?cursor=n1").body["nodes"]] == ["n2"]
    assert server.get("/api/v1/nodes/nobody").status == 404 and server.get("/api/v1/nodes?host=x").status == 400


def test_a_noisy_machine_hides_no_other(server):
    ship(server, "a", "quiet", [XID])
    wait_until(lambda: node(server, "quiet").get("faults"), what="the fault")
    server.stop()
    later_ms = int(time.time() * 1000) + 1
    with sqlite3.connect(server.database) as database:
        database.executemany("INSERT INTO node_faults SELECT 'noisy', ?, 1, 1, ?, signature, is_drain, 1, ?, text FROM node_faults WHERE host = 'quiet'",
            [(later_ms + n, n, later_ms + n) for n in range(6000)])
    server.start()
    body = node(server, "quiet")
    assert body["drain"] and [row["text"] for row in body["fault_list"]] == [XID]


def test_the_machines_of_a_job(server):
    ship(server, "a", "n1", [AGENT], stream="algo-1")
    points = [{"metric": f'gpu_utilization_percent{{gpu="{gpu}"}}', "stream": "system/n1", "step": 1, "ts_ms": int(time.time() * 1000), "value": value}
        for gpu, value in ((0, 50), (1, 100))]
    assert server.post("/api/v1/points?job=a", json={"points": points}).status == 200

    def told():
        rows = {row["stream"]: row for row in server.get("/api/v1/jobs/a/nodes").body["nodes"]}
        return "ssm_command" in rows["algo-1"] and rows.get("system/n1", {}).get("instance", {}).get("GPUUtilization") and rows
    rows = wait_until(told, what="the line and the points")
    assert rows["algo-1"]["ssm_command"] == "aws ssm start-session --target mi-0123456789abcdef0"
    assert rows["algo-1"]["host"] == "n1" and rows["algo-1"]["last_age_seconds"] < 600
    assert rows["system/n1"]["instance"]["GPUUtilization"] == pytest.approx(75)
    assert server.get("/api/v1/jobs/nobody/nodes").status == 404
