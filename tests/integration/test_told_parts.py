"""What a central log says of a machine again, once that works for another job, is that job's: its cause, its incident, its reason."""

import time

import pytest

from smserver import wait_until
from test_hosts import drained
from test_known_fault import MINUTE, OOM, causes, fail, send
from test_told_faults_in_time import suspects, train
from test_told_of_old import syslog

WORDS = {79: "GPU has fallen off the bus.", 48: "DBE (double bit error) ECC Error Interrupt", 95: "Uncontained ECC error on GPU", 63: "Row Remapper: New row marked for remapping, reset gpu to activate."}


def xid(number, pid):
    return f"NVRM: Xid (PCI:0000:53:00): {number}, pid={pid}, name=python, {WORDS[number]}"


def tell(server, job, host, *said):
    """said: (time in ms, words); of one upload."""
    send(server, job, "syslog", *[(at_ms, syslog(at_ms, host, words)) for at_ms, words in said], host=f"{job}-loghost")
    server.wait_for_extraction()


def rows_of(server, job, kind="node_suspect"):
    return server.get(f'/api/v1/incidents?q=name="{job}"&kind={kind}&all=true').body["incidents"]


def lines_of(server, host):
    return sum(kind["lines"] for kind in server.get(f"/api/v1/nodes/{host}").body["fault_kinds"])


@pytest.mark.parametrize("how", ["again", "at_once", "before", "behind"])
def test_a_machine_that_was_replaced_breaks_nothing_off_with_what_it_says_in_its_next_job(server, how):
    """Whenever the syslog comes: line by line, all at once, before the jobs' own lines or behind them."""
    now = int(time.time() * 1000)
    first = now - 14 * MINUTE
    faults = [(first + 100_000, xid(79, 11)), (first + 330_000, xid(79, 22))]
    if how == "before":
        tell(server, "kern", "rp-bad", *faults)
    train(server, "old", "algo-1", "rp-bad", first, range(1, 11))
    train(server, "old", "algo-2", "rp-ok", first, range(1, 11))
    if how == "again":
        tell(server, "kern", "rp-bad", faults[0])
    train(server, "old", "algo-1", "rp-new", first + 150_000, range(6, 26))
    train(server, "old", "algo-2", "rp-ok", first + 150_000, range(6, 26))
    train(server, "next", "algo-1", "rp-bad", first + 230_000, range(1, 26))
    if how == "again":
        tell(server, "kern", "rp-bad", faults[1])
    if how == "at_once":
        tell(server, "kern", "rp-bad", *faults)
    send(server, "old", "algo-1", (first + 345_000, OOM), host="rp-new")
    train(server, "old", "algo-1", "rp-new", first + 400_000, range(21, 30))
    train(server, "old", "algo-2", "rp-ok", first + 400_000, range(21, 30))
    if how == "behind":
        tell(server, "kern", "rp-bad", *faults)
    wait_until(lambda: causes(server, "old") == ["xid_79", "cuda_oom"], what=f"the causes: {causes(server, 'old')}")
    wait_until(lambda: server.get("/api/v1/nodes/rp-bad").body["lost_steps"] == 5, what="the lost steps")
    assert server.get("/api/v1/nodes/rp-bad").body["restarts"] == 1
    wait_until(lambda: suspects(server, "next") == ["rp-bad"], what="the fault of the next job")
    (row,), (of_old,) = rows_of(server, "next"), rows_of(server, "old")
    assert row["opened_ms"] == faults[1][0] and "pid=22" in row["evidence"]["text"] and row["evidence"]["told_by"] == "kern"
    assert of_old["opened_ms"] == faults[0][0] and "pid=11" in of_old["evidence"]["text"]
    # the reason of the next job's end is what was said in it
    fail(server, "next", time_ms=first + 480_000)
    wait_until(lambda: "pid=22" in server.get("/api/v1/jobs/next").body.get("FailureReason", ""), what="the reason")
    (ended,) = rows_of(server, "next", "job_failed")
    fault = ended["evidence"]["fault"]
    assert fault["ts_ms"] == faults[1][0] and "pid=22" in fault["text"], fault
    # one stretch, with one line to clear it by
    node = server.get("/api/v1/nodes/rp-bad").body
    assert lines_of(server, "rp-bad") == 2 and [kind["times"] for kind in node["fault_kinds"]] == [1] and len(node["fault_list"]) == 1, node
    server.restart()
    assert lines_of(server, "rp-bad") == 2 and suspects(server, "next") == ["rp-bad"]
    assert server.patch("/api/v1/jobs/kern", json={"by_hand": {"faults": {"syslog:0": "a drill"}}}).status == 200
    wait_until(lambda: "rp-bad" not in drained(server), what="the cleared fault")
    node = server.get("/api/v1/nodes/rp-bad").body
    assert len(node["cleared_faults"]) == 1 and node["fault_list"] == [] and node["restarts"] == 0


def test_a_job_is_told_of_its_machines_fault_whatever_that_had_in_the_hour_before(server):
    now = int(time.time() * 1000)
    for number in (79, 95, 63):  # the same again, and others; a machine survives the last
        old, new, host = f"had-{number}", f"has-{number}", f"nw-{number}"
        train(server, old, "algo-1", host, now - 300_000, range(1, 13))
        tell(server, f"kern-{number}", host, (now - 185_000, xid(79, 1)))
        fail(server, old, time_ms=now - 180_000)
        train(server, new, "algo-1", host, now - 100_000, range(1, 11))
        server.wait_for_extraction()
        assert suspects(server, new) == []
        tell(server, f"kern-{number}", host, (now, xid(number, 2)))
        wait_until(lambda: suspects(server, new) == [host], what=f"xid {number}")
        (row,) = rows_of(server, new)
        assert row["evidence"]["fault"] == f"xid_{number}" and row["opened_ms"] == now and not row["is_historic"], row
        assert len(rows_of(server, old)) == 1


def test_a_job_is_told_again_of_what_its_machine_survived_in_the_job_before(server):
    now = int(time.time() * 1000)
    train(server, "sv", "algo-1", "sv-1", now - 300_000, range(1, 13))
    tell(server, "kern-sv", "sv-1", (now - 185_000, xid(63, 1)))
    wait_until(lambda: suspects(server, "sv") == ["sv-1"], what="the first job's")
    assert server.post("/api/v1/jobs/sv/transitions", json={"SecondaryStatus": "Completed", "time_ms": now - 180_000}).status == 204
    train(server, "sv-next", "algo-1", "sv-1", now - 100_000, range(1, 11))
    server.wait_for_extraction()
    assert suspects(server, "sv-next") == []
    tell(server, "kern-sv", "sv-1", (now, xid(63, 2)))
    wait_until(lambda: suspects(server, "sv-next") == ["sv-1"], what="the next job's")
    assert rows_of(server, "sv-next")[0]["opened_ms"] == now and len(rows_of(server, "kern-sv")) == 1


def test_what_a_machine_says_all_the_time_is_of_each_job_while_that_was_there(server):
    """Lines less than a minute apart, while its job goes on with another machine and it works for the next."""
    now = int(time.time() * 1000)
    first = now - 14 * MINUTE
    train(server, "st", "algo-1", "st-bad", first, range(1, 11))
    train(server, "st", "algo-2", "st-ok", first, range(1, 11))
    train(server, "st", "algo-1", "st-new", first + 150_000, range(6, 26))
    train(server, "st", "algo-2", "st-ok", first + 150_000, range(6, 26))
    train(server, "st-next", "algo-1", "st-bad", first + 230_000, range(1, 16))
    send(server, "st", "algo-1", (first + 345_000, OOM), host="st-new")
    train(server, "st", "algo-1", "st-new", first + 400_000, range(21, 30))
    tell(server, "kern-st", "st-bad", *[(first + 100_000 + n * 20_000, xid(79, n)) for n in range(20)])
    wait_until(lambda: causes(server, "st") == ["xid_79", "cuda_oom"], what=f"the causes: {causes(server, 'st')}")
    wait_until(lambda: server.get("/api/v1/nodes/st-bad").body["restarts"] == 1, what="the restart")


@pytest.mark.parametrize("shown", ["{iso} {up} {x}|{syslog}", "{syslog}|{syslog}", "{up} {x}|{host} kernel: {up} {x}", "{syslog}|{iso} {up} {x}"])
def test_one_uptime_is_one_event_whatever_stands_in_front_of_it(server, shown):
    now = int(time.time() * 1000)
    up, x = "[12345.678901]", xid(95, 1)
    send(server, "up", "algo-1", (now - 7 * MINUTE, "step 1 loss: 2.0"), host="up-1")
    for n, (form, at_ms) in enumerate(zip(shown.split("|"), (now - 6 * MINUTE, now - 2 * MINUTE))):
        iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms / 1000))
        line = form.format(iso=iso, up=up, x=x, host="up-1", syslog=syslog(at_ms, "up-1", f"{up} {x}"))
        send(server, "up" if n == 0 else "kern-up", f"algo-{n + 1}", (at_ms, line), host="up-1" if form[:2] != "{s" else "up-loghost")
    node = wait_until(lambda: len((body := server.get("/api/v1/nodes/up-1").body)["fault_list"]) == 2 and body, what="both")
    assert node["why"] == ["xid_95 once in the last week"] and not node["repeat_offender"], node["why"]
    assert [kind["times"] for kind in node["fault_kinds"]] == [1]
