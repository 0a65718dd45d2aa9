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
    return wait_until(lambda: node(server, "n1").get("fault_list"), what="the fault")[-1]


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
    # More of the same stretch changes nothing; another stretch is another fault
    ship(server, "a", "n1", [XID], stream="rack:1")
    wait_until(lambda: node(server, "n1")["cleared_faults"][0]["lines"] == 2, what="the second line")
    assert drained(server) == []
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"nodes": 4}}).status == 200 and drained(server) == []
    ship(server, "a", "n1", [XID], stream="other")
    wait_until(lambda: drained(server) == ["n1"], what="the other fault")
    clear(server, {"other:0": "the same riser"})
    assert drained(server) == [] and len(node(server, "n1")["cleared_faults"]) == 2
    clear(server, {place: None})
    assert drained(server) == ["n1"] and [row["stream"] for row in node(server, "n1")["fault_list"]] == ["rack:1"]
    assert server.patch("/api/v1/jobs/a", json={"by_hand": None}).status == 200
    assert len(node(server, "n1")["fault_list"]) == 2 and node(server, "n1")["cleared_faults"] == []


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
    stamp = lambda second, text: f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(start + second))} {text}"
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
