"""What one machine did over time: its faults by kind, whether they come again, when it was to be drained; and what is to be expected."""

import json
import math
import time

import pytest

from awslogs import ask, now_ms
from smserver import wait_until
from test_life import stamp

DAY_MS = 86_400_000
XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
NONFATAL = "kernel: NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)"
NOON_MS = int(time.time() * 1000) // DAY_MS * DAY_MS - 2 * DAY_MS + DAY_MS // 2  # of the day before yesterday, UTC


def announce(server, job, count=2):
    document = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": count, "VolumeSizeInGB": 5},
        "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201


def send(server, job, stream, host, rows, at_ms=NOON_MS):
    body = "".join(json.dumps({"line": text, "ts": at_ms + second * 1000}) + "\n" for second, text in rows)
    assert server.post(f"/api/v1/logs?job={job}&stream={stream}&host={host}", body.encode(), content_type="application/x-ndjson").status == 200


def node(server, host):
    reply = server.get(f"/api/v1/nodes/{host}")
    return reply.body if reply.status == 200 else {}


def broken(server, job, breaks):
    """Twenty steps of a second, then half a minute later ten of them again: each time after a fault of the machine `bad`."""
    announce(server, job)
    steps = [(30 * part + i, f"step {10 * part + i + 1} loss 2.0") for part in range(breaks + 1) for i in range(20)]
    send(server, job, "system/bad", "bad", [(0, "up"), *((30 * part + 21, XID) for part in range(breaks)), (30 * breaks + 20, "down")])
    send(server, job, "algo-1", "good", steps)
    assert server.post(f"/api/v1/jobs/{job}/transitions",
        json={"SecondaryStatus": "Completed", "time_ms": NOON_MS + (30 * breaks + 20) * 1000}).status == 204
    wait_until(lambda: len(server.get(f"/api/v1/jobs/{job}/goodput").body["breaks"]) == breaks, what="the breaks")
    return wait_until(lambda: node(server, "bad").get("restarts") == breaks and node(server, "bad"), what="what the machine broke off")


def bounds(shape, exposure, ahead):
    """By the gamma function, where the server adds up by recurrence."""
    share, total, low, n = exposure / (exposure + ahead), 0.0, None, 0
    while True:
        total += math.exp(math.lgamma(n + shape) - math.lgamma(n + 1) - math.lgamma(shape) + shape * math.log(share) + n * math.log1p(-share))
        low = n if low is None and total >= 0.05 else low
        if total >= 0.95:
            return low, n
        n += 1


def test_what_is_to_be_expected(server):
    """Six breaks in 200 seconds of two machines. A day with work has 400 machine-seconds, so the week to come has 2800."""
    broken(server, "j", 6)
    whole = 200 / 86400
    body = wait_until(lambda: (one := node(server, "bad"))["expected_interruptions"]["host"]["machine_days"] and one, what="how long it worked")
    expected = body["expected_interruptions"]
    fleet, host = expected["fleet"], expected["host"]
    assert (fleet["events"], host["events"], expected["charged"], expected["days"]) == (6, 6, 6, 7)
    assert (fleet["machine_days"], host["machine_days"]) == (pytest.approx(2 * whole), pytest.approx(whole))
    assert (fleet["shape"], fleet["ahead_from"]) == (6.5, "machines a day with work")
    assert fleet["ahead"] == pytest.approx(7 * 2 * whole) and fleet["expected"] == pytest.approx(6.5 * 7)
    assert (fleet["low"], fleet["high"]) == bounds(6.5, 2 * whole, 14 * whole) == bounds(6.5, 1, 7)
    # Of the machine 6 + 1 in its own 200 seconds and a sixth of the fleet's 400.
    assert (host["shape"], host["ahead"]) == (7, 7) and host["exposure"] == pytest.approx((200 + 400 / 6) / 86400)
    assert host["expected"] == pytest.approx(7 * 7 / ((200 + 400 / 6) / 86400))
    assert (host["low"], host["high"]) == bounds(7, host["exposure"], 7)
    other = node(server, "good")["expected_interruptions"]["host"]  # had none, and is not for that without risk
    assert (other["events"], other["shape"]) == (0, 1) and 0 < other["expected"] < host["expected"]
    announce(server, "k", count=3)
    fleet = node(server, "bad")["expected_interruptions"]["fleet"]
    assert (fleet["ahead"], fleet["ahead_from"]) == (21, "machines of jobs that run")


def test_machines_of_a_silent_job_are_not_ahead(make_server):
    """Nobody says that it ended, and nothing comes of it any more: its machines break off nothing next week."""
    server = make_server("--silent-after", "2s")
    broken(server, "j", 5)
    announce(server, "dead", count=100)
    send(server, "dead", "algo-1", "d1", [(0, "step 1 loss 2.0")], now_ms())
    assert server.post("/api/v1/jobs/dead/transitions", json={"SecondaryStatus": "Training"}).status == 204

    def ahead():
        fleet = node(server, "bad")["expected_interruptions"]["fleet"]
        return fleet["ahead"], fleet["ahead_from"]

    wait_until(lambda: ahead()[1] == "machines a day with work", what="its silence")
    announce(server, "k", count=3)
    assert ahead() == (21, "machines of jobs that run")


def test_four_are_too_few(server):
    expected = broken(server, "j", 4)["expected_interruptions"]
    for name in ("fleet", "host"):
        assert (expected[name]["events"], expected[name]["expected"], expected[name]["why"]) == (4, None, "too few")
        assert "low" not in expected[name]


def test_five_are_enough(server):
    expected = broken(server, "j", 5)["expected_interruptions"]
    assert expected["fleet"]["expected"] == pytest.approx(5.5 * 7)


def test_a_fault_that_comes_again(server):
    send(server, "j", "system/n1", "n1", [(0, XID), (60, XID), (7200, XID)])
    body = wait_until(lambda: (one := node(server, "n1")).get("fault_kinds") and one["fault_kinds"][0]["times"] == 2 and one, what="two stretches")
    assert not body["repeat_offender"] and "two jobs" in body["repeat_rule"]
    kind, = body["fault_kinds"]
    assert kind == {"signature": "xid_79", "times": 2, "lines": 3, "first_ms": NOON_MS, "last_ms": NOON_MS + 7_200_000, "job_count": 1, "days": 1,
        "repeated": False, "newest": [{"ts_ms": NOON_MS + 7_200_000, "job": "j"}, {"ts_ms": NOON_MS, "job": "j"}]}
    assert body["drains"] == [{"signature": "xid_79", "from_ms": NOON_MS + second * 1000, "until_ms": NOON_MS + last * 1000 + 7 * DAY_MS, "job": "j"}
        for second, last in ((7200, 7200), (0, 60))]
    send(server, "k", "system/n1", "n1", [(9000, XID)])
    body = wait_until(lambda: (one := node(server, "n1"))["repeat_offender"] and one, what="the second job")
    assert [(kind["job_count"], kind["days"], kind["repeated"]) for kind in body["fault_kinds"]] == [(2, 1, True)]
    # three times in four lines; what was ten days ago is not of the last week
    send(server, "old", "system/n1", "n1", [(0, XID)], NOON_MS - 10 * DAY_MS)
    wait_until(lambda: node(server, "n1")["fault_kinds"][0]["times"] == 4, what="the fault of ten days ago")
    assert [row["why"] for row in server.get("/api/v1/nodes").body["drain"]] == [["xid_79 3 times in the last week"]]


def test_a_fault_on_another_day_and_one_that_harms_nothing(server):
    for job, at_ms in (("a", NOON_MS), ("b", NOON_MS + DAY_MS)):
        send(server, job, "system/n1", "n1", [(0, NONFATAL)], at_ms)
        send(server, "c", "system/n2", "n2", [(0, XID)], at_ms)
    body = wait_until(lambda: (one := node(server, "n2")).get("repeat_offender") and one, what="the second day")
    assert [(kind["job_count"], kind["days"]) for kind in body["fault_kinds"]] == [(1, 2)]
    body = wait_until(lambda: (one := node(server, "n1")).get("fault_kinds") and one["fault_kinds"][0]["job_count"] == 2 and one, what="both")
    assert (body["repeat_offender"], body["fault_kinds"][0]["repeated"], body["drains"]) == (False, False, [])


def test_a_machine_without_a_fault(server):
    send(server, "j", "algo-1", "n1", [(0, "step 1 loss 2.0")])
    body = node(server, "n1")
    assert (body["fault_kinds"], body["repeat_offender"], body["drains"]) == ([], False, [])
    assert body["expected_interruptions"]["host"]["why"] == "too few"


def health_event(condition, reason, text):
    """As https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-resiliency-health-monitoring-agent.html prints it."""
    return json.dumps({"level": "info", "ts": "2024-08-21T18:35:35Z", "msg": "NPD caught event: %v", "details: ": {"severity": "warn",
        "timestamp": "2024-08-22T20:59:29Z", "reason": reason, "message": f"Node condition {condition}, reason: {reason}, message: \"{text}\""},
        "HealthMonitoringAgentDetectionEvent": "HealthEvent"}, separators=(",", ":"))


def test_what_hyperpods_agent_says_is_the_instances(server):
    group = "/aws/sagemaker/Clusters/big/abcdef012345"
    assert ask(server, "CreateLogGroup", {"logGroupName": group}).status == 200
    events = {"i-0391f86fa0fe0d465": health_event("NvidiaErrorReboot is now: True", "XidHardwareFailure",
        "NVRM: Xid (PCI:0000:b9:00): 71, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0)"),
        "i-0aaaaaaaaaaaaaaaa": health_event("NvidiaErrorReboot is now: False", "NvidiaNoError", "no error")}
    for instance, message in events.items():
        stream = f"SagemakerHealthMonitoringAgent/workers/{instance}"
        assert ask(server, "CreateLogStream", {"logGroupName": group, "logStreamName": stream}).status == 200
        assert ask(server, "PutLogEvents", {"logGroupName": group, "logStreamName": stream,
            "logEvents": [{"timestamp": now_ms(), "message": message}]}).status == 200
    bad, good = events
    body = wait_until(lambda: (one := node(server, bad)).get("fault_kinds") and one, what="the event")
    assert [kind["signature"] for kind in body["fault_kinds"]] == ["hyperpod_unhealthy"] and body["drain"] and len(body["drains"]) == 1
    server.wait_for_extraction()
    assert node(server, good)["fault_kinds"] == []
    assert [row["host"] for row in server.get("/api/v1/nodes").body["drain"]] == [bad]


def test_a_check_that_failed_is_a_fault_of_its_machine(server):
    """As dcgmi prints it: DCGM 3, dcgmi/Diag.cpp."""
    for host, result in (("n1", "Pass - GPUs: 1, 2, 3, 4, 5, 6, 7"), ("n2", "Pass - All")):
        send(server, "check", "system/" + host, host, [(0, "Successfully ran diagnostic for group."), (1, f"| GPU Memory                | {result:<47}|")])
    send(server, "check", "system/n1", "n1", [(2, f"|                           | {'Fail - GPU: 0':<47}|")])
    body = wait_until(lambda: (one := node(server, "n1")).get("fault_kinds") and one, what="the check")
    assert [kind["signature"] for kind in body["fault_kinds"]] == ["dcgm_failed"] and body["drain"]
    assert node(server, "n2")["fault_kinds"] == []


def test_what_dcgm_4_and_nvidia_smi_print_are_faults_of_the_machine(server):
    """DCGM 4 names a GPU a row; of nvidia-smi -q what failed drains, what waits or is of the past does not; what passed is nothing."""
    def dcgm(result):
        rows = [("memory", result), ("", "GPU0: Pass"), ("", "GPU4: " + result)]
        return [f"| {name:<25} | {text:<46} |" for name, text in rows]

    def smi(failed, pending, count):
        return ["    ECC Errors", "        Aggregate", f"            {'DRAM Uncorrectable':<30}: {count}", "    Remapped Rows",
            f"        {'Pending':<34}: {pending}", f"        {'Remapping Failure Occurred':<34}: {failed}"]

    lines = {"dcgm": dcgm("Fail"), "worn": smi("Yes", "No", 0), "marked": smi("No", "Yes", 12), "well": dcgm("Pass") + smi("No", "No", 0)}
    for host, text in lines.items():
        send(server, "check", host, host, list(enumerate(text)))
    expected = {"dcgm": ({"dcgm_failed"}, True), "worn": ({"smi_remap_failed"}, True), "marked": ({"smi_remap_pending", "smi_uncorrectable"}, False),
        "well": (set(), False)}

    def said(host):
        body = node(server, host)
        return {kind["signature"] for kind in body.get("fault_kinds", [])}, body.get("drain")

    wait_until(lambda: {host: said(host) for host in lines} == expected, what="what the checks say of each machine")
    assert sorted(row["host"] for row in server.get("/api/v1/nodes").body["drain"]) == ["dcgm", "worn"]


def test_slurm_s_lines_are_of_the_machines_that_they_name(server):
    """The step's first machine prints of the others: itself it is sound. Each that failed is drained, also of two within one upload."""
    now = now_ms() - 60_000
    announce(server, "slurm", 4)
    send(server, "slurm", "algo-1", "head-1", [(0, "step 1 loss 2.0"),
        (1, "slurmstepd: error: *** JOB 4711 ON head-1 CANCELLED AT 2026-11-30T01:10:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"),
        (2, "srun: error: Node failure on gone-2"), (3, "srun: error: Node failure on gone-3"), (4, "srun: error: Node failure on gone-[5-6]")], now)
    wait_until(lambda: len(server.get("/api/v1/nodes").body["drain"]) >= 4, what="all four machines")
    assert sorted(row["host"] for row in server.get("/api/v1/nodes").body["drain"]) == ["gone-2", "gone-3", "gone-5", "gone-6"]
    assert server.post("/api/v1/jobs/slurm/transitions", json={"SecondaryStatus": "Failed", "time_ms": now + 5000}).status == 204
    reason = wait_until(lambda: server.get("/api/v1/jobs/slurm").body.get("FailureReason"), what="a reason")
    assert "on gone-2: srun: error: Node failure on gone-2" in reason, reason


def test_the_days_of_a_machine_are_those_of_its_log(server):
    """Two machines of one stream, 19 minutes each with 21 between them, sent today: a line's text says when it was."""
    announce(server, "old", 1)
    minute_ms = 60_000
    for host, first in (("old1", 0), ("new1", 40)):
        rows = range(first, first + 20)
        body = "".join(f"{stamp(NOON_MS + n * minute_ms)} step {n} loss 2.0\n" for n in rows)
        assert server.post(f"/api/v1/logs?job=old&stream=algo-1&host={host}", body.encode(), content_type="text/plain").status == 200
    days = pytest.approx(19 / (24 * 60))
    wait_until(lambda: [node(server, host)["expected_interruptions"]["host"]["machine_days"] for host in ("old1", "new1")] == [days, days],
        what="the machine-days of both")
    [stream] = server.get("/api/v1/jobs/old/streams").body["streams"]
    assert [(row.get("since_ms"), row.get("until_ms")) for row in stream["hosts"]] == [
        (NOON_MS, NOON_MS + 40 * minute_ms), (NOON_MS + 40 * minute_ms, None)]
    # what was over before the window is none of it
    for host, first in (("gone", 0), ("next", 40)):
        body = "".join(f"{stamp(NOON_MS - 40 * DAY_MS + n * minute_ms)} step {n} loss 2.0\n" for n in range(first, first + 20))
        assert server.post(f"/api/v1/logs?job=older&stream=algo-1&host={host}", body.encode(), content_type="text/plain").status == 200
    wait_until(lambda: server.get("/api/v1/jobs/older/streams").body["streams"][0]["extracted_lines"] == 40, what="what was sent")
    assert [node(server, host)["expected_interruptions"]["host"]["machine_days"] for host in ("gone", "next")] == [0, 0]
