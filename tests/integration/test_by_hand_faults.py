"""A fault that is not its machine's, set right by hand: the machine is given out again, and all that was charged with it follows."""

import json
import time

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_carry import export, take
from test_nodes import XID, node, ship


def clear(server, faults, status=200, job="a"):
    reply = server.patch(f"/api/v1/jobs/{job}", json={"by_hand": {"faults": faults}})
    assert reply.status == status, reply
    return reply


def drained(server):
    return [row["host"] for row in server.get("/api/v1/nodes").body["drain"]]


def charged(server, job="a", stream="rack:1"):
    """A line of training, and an Xid that says that the machine must go; the stream's name has a colon."""
    ship(server, job, "n1", ["step: 1 loss: 2.0", XID], stream=stream)
    # A machine's ledger also keeps what jobs of former tests charged it with: of no job, as they are deleted.
    return wait_until(lambda: [row for row in node(server, "n1").get("fault_list", []) if row["job"] == job], what="the fault")[-1]


def test_a_fault_that_is_not_the_machines(server):
    fault = charged(server)
    before = node(server, "n1")
    assert drained(server) == ["n1"] and before["drain"] and before["cleared_faults"] == []
    place = f"{fault['stream']}:{fault['line']}"
    clear(server, {place: "the riser was pulled"})
    now = node(server, "n1")
    assert drained(server) == [] and not now["drain"] and now["faults"] == [] and now["fault_list"] == [] and now["drains"] == []
    assert now["fault_kinds"] == [] and now["expected_interruptions"]["host"]["events"] == 0
    [row] = now["cleared_faults"]
    assert row == {**fault, "why": "the riser was pulled"}
    assert server.get("/api/v1/jobs/a").body["by_hand"] == {"faults": {place: "the riser was pulled"}}
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"nodes": 4}}).status == 200 and drained(server) == []
    ship(server, "a", "n1", [XID], stream="other")
    wait_until(lambda: drained(server) == ["n1"], what="the other fault")
    clear(server, {"other:0": "the same riser"})
    assert drained(server) == [] and len(node(server, "n1")["cleared_faults"]) == 2
    clear(server, {place: None})
    assert drained(server) == ["n1"] and [row["stream"] for row in node(server, "n1")["fault_list"]] == ["rack:1"]
    assert server.patch("/api/v1/jobs/a", json={"by_hand": None}).status == 200
    assert len(node(server, "n1")["fault_list"]) == 2 and node(server, "n1")["cleared_faults"] == []


def ends(server, job):
    return [(row["state"], row.get("closed_why")) for row in server.get(f"/api/v1/incidents?kind=node_suspect&all=true&q=name%3D{job}").body["incidents"]]


def test_its_incidents_end_in_all_jobs_and_are_told(make_server, receiver):
    server = make_server("--webhook-private")
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    now = int(time.time())
    ship(server, "train", "n1", [stamped(now, -60, "step: 1 loss: 2.0")])
    ship(server, "fleet", "loghost", [stamped(now, 5, f"n1 {XID}")], stream="central")
    wait_until(lambda: ends(server, "fleet") == ends(server, "train") == [("open", None)], what="both incidents")
    # another fault in it, which still counts
    ship(server, "fleet", "loghost", [stamped(now, 6, f"n1 {XID.replace('79', '48')}")], stream="central")
    wait_until(lambda: len(node(server, "n1")["fault_list"]) == 2, what="the second fault")
    clear(server, {"central:0": "the riser was pulled"}, job="fleet")
    wait_until(lambda: ends(server, "train") == [("recovered", "fault_cleared")], what="the end of what was told of that fault")
    assert ends(server, "fleet") == [("open", None)] and drained(server) == ["n1"]
    clear(server, {"central:1": "the riser was pulled"}, job="fleet")
    wait_until(lambda: ends(server, "fleet") == [("recovered", "fault_cleared")], what="the end")

    def told():
        return sorted((one["data"]["job"], one["type"]) for one in receiver.messages() if one["data"].get("kind") == "node_suspect" and one["type"].endswith("recovered"))

    wait_until(lambda: told() == [("fleet", "incident.recovered"), ("train", "incident.recovered")], what="the messages of the ends")
    # the next one is another incident, of both
    ship(server, "fleet", "loghost", [stamped(now, 7, f"n1 {XID}")], stream="central")
    wait_until(lambda: ends(server, "fleet") == ends(server, "train") == [("open", None), ("recovered", "fault_cleared")], what="both again")


def test_a_fault_in_a_log_without_end_ends_as_its_machine_leaves_the_list(make_server):
    server, day = make_server(), 24 * 3600
    start = int(time.time()) - 8 * day
    ship(server, "fleet", "loghost", [stamped(start, 0, f"gone-1 {XID}"), stamped(start, 2 * day, f"ill-1 {XID}")], stream="central")
    wait_until(lambda: drained(server) == ["ill-1"], what="the newer fault")
    wait_until(lambda: sorted(ends(server, "fleet")) == [("open", None), ("recovered", None)], what="the end of the older one")
    rows = {row["state"]: row for row in server.get("/api/v1/incidents?kind=node_suspect&all=true").body["incidents"]}
    assert rows["recovered"]["evidence"]["host"] == "gone-1" and rows["recovered"]["closed_ms"] == (start + 7 * day) * 1000


def stamped(start, second, text):
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(start + second))} {text}"


def lines_of(server, which):
    """First line and lines of each, the newest first."""
    return [(row["line"], row["lines"]) for row in node(server, "n1")[which]]


def suspected(server, job="a"):
    return [row["evidence"]["line"] for row in server.get(f"/api/v1/incidents?q=name%3D{job}&kind=node_suspect&all=true").body["incidents"]]


def fail_at(server, seconds, start, job="a"):
    for second in seconds:
        ship(server, job, "n1", [stamped(start, second, XID)], stream="rack:1")


def test_what_comes_after_the_clearing_is_another_fault(make_server):
    """Somebody cleared the lines that were there; the machine goes on failing, less than a quarter of an hour apart."""
    server, start = make_server(), int(time.time()) - 7200
    ship(server, "a", "n1", [stamped(start, 0, "step: 1 loss: 2.0"), stamped(start, 60, XID)], stream="rack:1")
    wait_until(lambda: drained(server) == ["n1"], what="the fault")
    clear(server, {"rack:1:1": "the riser"})
    assert drained(server) == []
    fail_at(server, (560, 1060, 1560), start)
    wait_until(lambda: lines_of(server, "fault_list") == [(2, 3)], what="a fault of its own")
    assert drained(server) == ["n1"] and lines_of(server, "cleared_faults") == [(1, 1)]
    assert sorted(suspected(server)) == [1, 2], "and an incident of its own"
    # The same behind a start, of a server that had no time to end
    for stop in (server.kill, server.stop):
        stop()
        server.start()
        assert lines_of(server, "fault_list") == [(2, 3)] and lines_of(server, "cleared_faults") == [(1, 1)]
    clear(server, {"rack:1:2": "the riser, again"})
    server.kill()
    server.start()
    assert drained(server) == []
    fail_at(server, (2060,), start)
    wait_until(lambda: lines_of(server, "fault_list") == [(5, 1)], what="a third fault")
    assert lines_of(server, "cleared_faults") == [(2, 3), (1, 1)] and sorted(suspected(server)) == [1, 2, 5]
    # Taken back, each stays what it was, and what comes then is of the last one
    clear(server, {"rack:1:1": None, "rack:1:2": None})
    server.kill()
    server.start()
    fail_at(server, (2560,), start)
    wait_until(lambda: lines_of(server, "fault_list")[0] == (5, 2), what="the next line")
    assert lines_of(server, "fault_list") == [(5, 2), (2, 3), (1, 1)] and sorted(suspected(server)) == [1, 2, 5]


def test_taken_back_before_more_came_it_is_one_fault(make_server):
    server, start = make_server(), int(time.time()) - 7200
    fail_at(server, (0,), start)
    wait_until(lambda: drained(server) == ["n1"], what="the fault")
    clear(server, {"rack:1:0": "the riser"})
    clear(server, {"rack:1:0": None})
    fail_at(server, (500,), start)
    wait_until(lambda: lines_of(server, "fault_list") == [(0, 2)], what="the second line")
    clear(server, {"rack:1:0": "the riser"})
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"nodes": 4}}).status == 200
    fail_at(server, (900,), start)
    wait_until(lambda: lines_of(server, "fault_list") == [(2, 1)], what="another fault")
    assert lines_of(server, "cleared_faults") == [(0, 2)]


def test_an_imported_job_goes_on_failing(make_server):
    server, other, start = make_server(), make_server(), int(time.time()) - 7200
    fail_at(server, (0,), start)
    wait_until(lambda: drained(server) == ["n1"], what="the fault")
    clear(server, {"rack:1:0": "the riser"})
    take(other, export(server, "a"))
    fail_at(other, (500,), start)
    wait_until(lambda: lines_of(other, "fault_list") == [(1, 1)], what="a fault of its own")
    assert drained(other) == ["n1"] and sorted(suspected(other)) == [0, 1]
    assert other.get("/api/v1/jobs/a").body["by_hand"] == server.get("/api/v1/jobs/a").body["by_hand"]


def test_what_is_refused_changes_nothing(server):
    fault = charged(server)
    for wrong in ("x", {"rack:1": "no line"}, {":1": "no stream"}, {"rack:1:0": "another line"}, {"none:1": "no such stream"}, {"rack:1:1": " "},
                  {"rack:1:1": 5}, {"rack:1:1": "x" * 501}, {"rack:1:1": "ok", "rack:1:7": "none"}):
        assert clear(server, wrong, 422).body["field"].startswith("by_hand.faults"), wrong
    assert fault["line"] == 1 and drained(server) == ["n1"] and "by_hand" not in server.get("/api/v1/jobs/a").body
    clear(server, {"rack:1:1": "the riser"})
    entry = server.get("/api/v1/audit?limit=1").body["entries"][0]
    assert "rack:1:1" in json.dumps(entry) and "the riser" in json.dumps(entry)
    clear(server, {"rack:1:1": None})
    assert "the riser" in json.dumps(server.get("/api/v1/audit?limit=1").body["entries"][0]), "what was before"


def test_it_lasts_and_is_carried(make_server):
    """The ledger of machines is not carried, but what is told of the job's own log is, and by whom it was set right."""
    server = make_server()
    start = int(time.time()) - 7200
    stamp = lambda second, text: stamped(start, second, text)
    ship(server, "a", "n1", [stamp(n * 60, f"step: {n} loss: 2.0") for n in range(60)] + [stamp(3600, XID)], stream="rack:1")
    ship(server, "a", "n2", [stamp(4200 + n * 60, f"step: {60 + n} loss: 2.0") for n in range(40)], stream="rack:1")
    replaced = lambda at: server_of[at].get("/api/v1/jobs/a/replacements").body["replacements"]
    other = make_server()
    server_of = {"here": server, "there": other}
    wait_until(lambda: replaced("here") and replaced("here")[0]["why"] == "xid_79 on n1", what="the replacement")
    clear(server, {"rack:1:60": "the riser"})
    assert not str(replaced("here")[0]["why"]).startswith("xid_79 on")
    server.restart()
    assert drained(server) == [] and node(server, "n1")["cleared_faults"][0]["why"] == "the riser"
    take(other, export(server, "a"))
    assert wait_until(lambda: replaced("there"), what="the replacement") and replaced("there")[0]["why"] == replaced("here")[0]["why"]
    clear(other, {"rack:1:60": None})
    assert replaced("there")[0]["why"] == "xid_79 on n1"
