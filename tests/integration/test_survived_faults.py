"""What is told of a symptom, or of a machine's fault, if the log told of a fault of some machine shortly before."""

import json
import time

import pytest
from smserver import wait_until

MINUTE = 60_000
TIMEOUT = "[rank2]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"
CORRECTED = "kernel: EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1)"
REMAPPED = "kernel: NVRM: Xid (PCI:0000:9b:00): 63, pid=1, Row Remapper: New row marked for remapping"
XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus."
PORT_DOWN = "kernel: mlx5_core 0000:3b:00.0: Port: 1 Link DOWN"


@pytest.fixture
def hook(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url, "minimum_severity": "warning"}).status in (200, 201)
    return receiver


def said(server, job, *lines):
    """lines: (stream, which ends in the machine, milliseconds ago, line), each read before the next one is sent."""
    now = int(time.time() * 1000)
    for stream, ago_ms, line in lines:
        row = json.dumps({"line": line, "ts": now - ago_ms})
        assert server.post(f"/api/v1/logs?job={job}&stream={stream}&host={stream.split('/')[-1]}", row.encode(), content_type="application/x-ndjson").status == 200
        server.wait_for_extraction()


def listed(server, job):
    rows = server.get(f'/api/v1/incidents?q=name="{job}"').body["incidents"]
    return sorted((row["evidence"].get("fault") or row["evidence"]["signature"], row["severity"], row["state"], row["is_historic"],
        tuple(sorted(row["evidence"]["signatures"]))) for row in rows if row["kind"] in ("log_signature", "node_suspect"))


def told(hook, job):
    return [(m["data"]["kind"], m["data"]["severity"]) for m in hook.messages() if m["type"] == "incident.opened" and m["data"]["job"] == job]


ALONE = ("nccl_timeout", "critical", "open", False, ("nccl_timeout",))


@pytest.mark.parametrize("line, ago_ms, fault", [(CORRECTED, 25_000, ("memory_corrected", "info")), (CORRECTED, 50 * MINUTE, ("memory_corrected", "info")),
    (REMAPPED, 25_000, ("xid_63", "warning")), (REMAPPED, 14 * MINUTE, ("xid_63", "warning"))])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_survived_fault_takes_no_symptom(server, hook, line, ago_ms, fault, is_first):
    lines = [("system/w4", ago_ms, line), ("w3", 0, TIMEOUT)]
    said(server, "j", *(lines if is_first else lines[::-1]))
    mark = (*fault, "open", ago_ms > 15 * MINUTE, (fault[0],))
    wait_until(lambda: listed(server, "j") in ([mark, ALONE], [ALONE, mark]), what="both", timeout=10)
    wait_until(lambda: ("log_signature", "critical") in told(hook, "j"), what="the message of the timeout")


def test_a_symptom_is_of_the_fault_that_was_not_survived(server):
    said(server, "j", ("system/w4", 3 * MINUTE, REMAPPED), ("w2", MINUTE, XID), ("w3", 0, TIMEOUT))
    wanted = [("xid_63", "warning", "open", False, ("xid_63",)), ("xid_79", "critical", "open", False, ("nccl_timeout", "xid_79"))]
    wait_until(lambda: listed(server, "j") == wanted, what="the timeout with Xid 79", timeout=10)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_warning_with_a_critical_symptom_is_told_as_critical(server, hook, is_first):
    lines = [("system/w4", 25_000, PORT_DOWN), ("w3", 0, TIMEOUT)]
    said(server, "j", *(lines if is_first else lines[::-1]))
    wait_until(lambda: listed(server, "j") == [("link_down", "critical", "open", False, ("link_down", "nccl_timeout"))], what="one incident", timeout=10)
    messages = wait_until(lambda: ("node_suspect", "critical") in told(hook, "j") and [m for m in hook.messages() if m["data"]["severity"] == "critical"], what="its message")
    assert f"on w4: {PORT_DOWN}" in messages[-1]["data"]["summary"], messages
    said(server, "j", ("w2", 0, TIMEOUT))
    said(server, "j", ("w1", 0, TIMEOUT))
    assert told(hook, "j").count(("node_suspect", "critical")) == 1


@pytest.mark.parametrize("ago_ms", [10 * MINUTE, 0])  # the second one: in the same millisecond, as of lines with times of whole seconds
def test_a_graver_fault_of_the_same_machine_is_told(server, hook, ago_ms):
    said(server, "j", ("system/w4", ago_ms, CORRECTED), ("system/w4", 0, XID), ("system/w4", 0, CORRECTED), ("w3", 0, TIMEOUT))
    critical = ("xid_79", "critical", "open", False, ("nccl_timeout", "xid_79"))
    wait_until(lambda: critical in listed(server, "j"), what="Xid 79", timeout=10)
    wait_until(lambda: told(hook, "j") == [("node_suspect", "critical")], what="its message")
    assert len(listed(server, "j")) == 2


def test_what_is_said_now_is_told_beside_what_was_sent_late(server, hook):
    """Of an incident of lines that came too late nobody is told."""
    said(server, "j", ("system/w4", 20 * MINUTE, XID), ("w3", 0, TIMEOUT))
    said(server, "same", ("v4", 20 * MINUTE, XID), ("v4", 0, XID))
    wait_until(lambda: told(hook, "j") == [("log_signature", "critical")], what="the message of the timeout", timeout=10)
    wait_until(lambda: told(hook, "same") == [("node_suspect", "critical")], what="the message of the fault", timeout=10)
