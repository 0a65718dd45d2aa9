"""What a log shows of former faults, of other texts and of what another channel told already is no fault of now, and none counts twice."""

import time

import pytest

from smserver import wait_until
from test_hosts import drained
from test_known_fault import MINUTE, OOM, causes, fail, send, steps
from test_nodes import node

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
DAY = 24 * 60 * MINUTE


def iso(at_ms):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms / 1000))


def syslog(at_ms, host, text=XID):
    return f"{time.strftime('%b %d %H:%M:%S', time.gmtime(at_ms / 1000))} {host} kernel: {text}"


def post(server, job, stream, host, *lines):
    """As text: each line has the time that it shows, or that of the one before."""
    reply = server.post(f"/api/v1/logs?job={job}&stream={stream}&host={host}", "".join(line + "\n" for line in lines).encode(), content_type="text/plain")
    assert reply.status == 200, reply


def shown(rows):
    return [f"{iso(at_ms)} {line}" for at_ms, line in rows]


@pytest.mark.parametrize("said", [f"(TaskRunner pid=3101) [response] {XID}", f"[ground_truth] {XID}", f"[response] {ECC}", f"INFO generation: {XID}"])
def test_what_a_model_wrote_is_no_reason_of_an_end(server, said):
    begin = int(time.time() * 1000) - 15 * MINUTE
    post(server, "rl", "algo-1", "rl-1", *shown(steps(begin, 1, 100)), f"{iso(begin + 502_000)} {said}", *shown(steps(begin + 505_000, 101, 108)),
        f"{iso(begin + 550_000)} {OOM}")
    fail(server, "rl", time_ms=begin + 552_000)
    wait_until(lambda: causes(server, "rl") == ["cuda_oom"], what="the cause")
    wait_until(lambda: "GPU out of memory" in server.get("/api/v1/jobs/rl").body.get("FailureReason", ""), what="the reason")
    server.wait_for_extraction()
    assert drained(server) == [] and server.get("/api/v1/jobs/rl/restart").body["drained"] == []
    assert server.get("/api/v1/incidents?kind=node_suspect&all=true").body["incidents"] == []


def test_a_kernels_log_that_is_printed_at_a_start_is_of_the_past(server):
    begin = int(time.time() * 1000) - 40 * MINUTE
    dump = ["+ dmesg | grep -i xid", f"[ 5555.123456] {XID}", "[ 5601.000000] nvidia-uvm: Loaded the UVM driver"]
    for n in range(2):  # two starts
        at = begin + n * 17 * MINUTE
        post(server, "dump", "algo-1", "du-1", f"{iso(at)} {dump[0]}", *dump[1:], *shown(steps(at + MINUTE, 100 * n + 1, 100 * n + 150)))
    post(server, "dump", "algo-1", "du-1", f"{iso(begin + 31 * MINUTE)} {OOM}")
    fail(server, "dump", time_ms=begin + 31 * MINUTE + 1000)
    wait_until(lambda: "GPU out of memory" in server.get("/api/v1/jobs/dump").body.get("FailureReason", ""), what="the reason")
    assert causes(server, "dump")[-1:] == ["cuda_oom"] and drained(server) == []
    # what is printed behind the steps is of now
    post(server, "dead", "algo-1", "du-2", *shown(steps(begin, 1, 100)), f"{iso(begin + 510_000)} + dmesg | tail -2", *dump[1:])
    wait_until(lambda: drained(server) == ["du-2"], what="the fault of now")
    assert node(server, "du-2")["why"] == ["gpu_fallen_off once in the last week"] or node(server, "du-2")["why"][0].endswith("once in the last week")


def test_one_uptime_is_one_event_however_often_it_is_printed(server):
    begin = int(time.time() * 1000) - 40 * MINUTE
    for n in range(2):
        at = begin + n * 18 * MINUTE
        post(server, "twice", "algo-1", "up-1", *shown(steps(at, 100 * n + 1, 100 * n + 50)), f"{iso(at + 300_000)} checking", f"[ 5555.123456] {XID}")
    fault = wait_until(lambda: len(node(server, "up-1").get("fault_list", [])) == 2 and node(server, "up-1"), what="both")
    assert fault["why"] == ["xid_79 once in the last week"] and not fault["repeat_offender"]
    assert [(kind["signature"], kind["times"]) for kind in fault["fault_kinds"]] == [("xid_79", 1)]


def test_a_quoted_line_of_an_old_log_has_its_own_time(server):
    now = int(time.time() * 1000)
    old = now - 18 * DAY
    quotes = [f"{iso(now)} INFO kern.log.1: {syslog(old, 'qo-0')}", f"{iso(now)} sosreport/var/log/kern.log:{syslog(old, 'qo-1')}", f"{iso(now)} {syslog(old, 'qo-2')}"]
    for n in range(3):
        post(server, f"of{n}", "algo-1", f"qo-{n}", f"{iso(now)} step 1 loss: 2.0")
    for n, line in enumerate(quotes):
        post(server, f"quotes{n}", "all", "admin-1", line)
    # of the present day the outer time counts
    post(server, "quotes3", "all", "admin-1", f"{iso(now)} INFO relay: {syslog(now - MINUTE, 'qo-0')}")
    wait_until(lambda: drained(server) == ["qo-0"], what="the one of now")
    server.wait_for_extraction()
    assert drained(server) == ["qo-0"]
    assert [abs(node(server, f"qo-{n}")["fault_list"][-1]["ts_ms"] - old) < 1000 for n in range(3)] == [True] * 3


def test_one_event_that_two_channels_tell_counts_once(server):
    now = int(time.time() * 1000) - 5 * MINUTE
    send(server, "two", "algo-1", *steps(now - 10 * MINUTE, 1, 100), host="ch-1")
    send(server, "two", "system/ch-2", (now + 400, f"kernel: {XID}"), host="ch-2")
    send(server, "fleet", "all", (now, syslog(now, "ch-2")), host="loghost")
    both = wait_until(lambda: len(node(server, "ch-2").get("fault_list", [])) == 2 and node(server, "ch-2"), what="both channels")
    assert both["why"] == ["xid_79 once in the last week"] and not both["repeat_offender"]
    assert [(kind["times"], kind["days"], kind["job_count"]) for kind in both["fault_kinds"]] == [(1, 1, 1)]
    # another GPU at the same time is another fault
    send(server, "fleet", "more", (now, syslog(now, "ch-2", XID.replace("9b", "5d"))), host="loghost")
    wait_until(lambda: node(server, "ch-2")["why"] == ["xid_79 2 times in the last week"], what="the other GPU")


def test_an_old_fault_that_dmesg_shows_again_is_no_new_one(server):
    now = int(time.time() * 1000)
    then = (now - 2 * DAY) // 1000 * 1000
    send(server, "was", "system/dm-1", (then, f"kernel: {XID}"), host="dm-1")
    wait_until(lambda: drained(server) == ["dm-1"], what="the fault")
    dmesg = time.strftime("[%a %b %d %H:%M:%S %Y]", time.gmtime(then / 1000))
    post(server, "burnin", "algo-1", "dm-1", f"{iso(now - 2000)} burn-in begins", f"{dmesg} {XID}", f"{iso(now - 1000)} burn-in passed")
    server.wait_for_extraction()
    wait_until(lambda: len(node(server, "dm-1")["fault_list"]) == 2, what="both rows")
    seen = node(server, "dm-1")
    assert seen["why"] == ["xid_79 once in the last week"] and not seen["repeat_offender"]
    assert server.get("/api/v1/incidents?q=name%3Dburnin&kind=node_suspect&all=true").body["incidents"] == []


def test_what_a_job_shows_of_before_its_first_line_is_none_of_it(server):
    """Another log had told of it when it happened: hours before the job, whose log shows old lines of the kernel's."""
    now = int(time.time() * 1000)
    then = (now - 300 * MINUTE) // 1000 * 1000
    stamp = lambda at_ms: time.strftime("[%a %b %d %H:%M:%S %Y]", time.gmtime(at_ms / 1000))
    for n in (1, 2, 3):
        send(server, "was", f"system/do-{n}", (then, f"kernel: {XID}"), host=f"do-{n}")
    wait_until(lambda: len(drained(server)) == 3, what="the faults")
    post(server, "shows-1", "algo-1", "do-1", f"{iso(now - 2000)} burn-in begins", f"{stamp(then)} {XID}", f"{iso(now - 1000)} burn-in passed")
    post(server, "shows-2", "algo-1", "do-2", f"{iso(now - 2000)} burn-in begins", f"{stamp(then - MINUTE)} usb 1-1: new", f"{iso(now - 1000)} burn-in passed")
    post(server, "shows-3", "algo-1", "do-3", f"{stamp(then)} {XID}", f"{iso(now - 1000)} burn-in passed")
    # one behind all these that is of its job
    post(server, "was-there", "algo-1", "do-1", f"{iso(then - MINUTE)} step 1 loss: 2.0", f"{iso(then + MINUTE)} step 2 loss: 2.0")
    incidents = lambda: [(row["job"], row["is_historic"]) for row in server.get("/api/v1/incidents?kind=node_suspect&all=true").body["incidents"] if row["job"] != "was"]
    wait_until(lambda: ("was-there", True) in incidents(), what="the one of its job")
    assert incidents() == [("was-there", True)]


def test_one_event_that_is_told_under_the_short_and_the_full_name_counts_once(server):
    now = int(time.time() * 1000) - 5 * MINUTE
    full = "sf-1.cluster.example.com"
    # two relays forward one syslog: nobody of these machines has sent anything itself
    send(server, "fleet", "relay-1", (now, syslog(now, "sf-1")), host="loghost-1")
    wait_until(lambda: drained(server) == ["sf-1"], what="the short name")
    send(server, "fleet", "relay-2", (now + 2000, syslog(now, full)), host="loghost-2")
    wait_until(lambda: drained(server) == [full], what="one machine, by its full name")
    seen = node(server, full)
    assert seen["why"] == ["xid_79 once in the last week"] and len(seen["fault_list"]) == 2 and not seen["repeat_offender"]
    assert server.get("/api/v1/nodes/sf-1").body["host"] == full
    assert [row["evidence"]["host"] for row in server.get("/api/v1/incidents?kind=node_suspect&all=true").body["incidents"]] == [full]
    # from then on they are one, whichever a line says
    for n, host in enumerate(("sf-1", full)):
        send(server, "fleet", f"later-{n}", (now + (n + 2) * MINUTE, syslog(now + (n + 2) * MINUTE, host)), host="loghost-1")
    wait_until(lambda: sum(row["lines"] for row in node(server, full)["faults"]) == 4, what="all four lines")
    assert drained(server) == [full]
    # the full name first, then the short one
    send(server, "fleet", "relay-1", (now, syslog(now, "sf-2.cluster.example.com")), host="loghost-1")
    wait_until(lambda: "sf-2.cluster.example.com" in drained(server), what="the full name")
    send(server, "fleet", "relay-2", (now, syslog(now, "sf-2")), host="loghost-2")
    wait_until(lambda: len(node(server, "sf-2.cluster.example.com")["fault_list"]) == 2, what="both tellings")
    assert drained(server) == [full, "sf-2.cluster.example.com"]


def test_events_that_differ_prove_of_no_names_that_they_are_one_machine(server):
    now = int(time.time() * 1000) - 30 * MINUTE
    for n, (stream, at_ms, text) in enumerate((("relay-2", now + 10 * MINUTE, XID), ("relay-2", now, XID.replace("9b", "5d")), ("relay-1", now, XID))):
        send(server, f"fleet-{n}", "relay-1", (now, syslog(now, f"sg-{n}")), host="loghost-1")
        send(server, f"fleet-{n}", stream, (at_ms, syslog(at_ms, f"sg-{n}.a", text)), host="loghost-1" if stream == "relay-1" else "loghost-2")
    # two machines of one short name: nobody knows which one it is
    for n, host in enumerate(("sg-3.a", "sg-3.b", "sg-3"), 1):
        send(server, "fleet-3", f"relay-{n}", (now, syslog(now, host)), host=f"loghost-{n}")
    names = [name for n in range(3) for name in (f"sg-{n}", f"sg-{n}.a")] + ["sg-3", "sg-3.a", "sg-3.b"]
    wait_until(lambda: sorted(drained(server)) == sorted(names), what="each by itself")
