"""Whose a stream is, set by hand: all that is of its machine follows, what is told meanwhile is kept, and null gives it back."""

import json

import pytest

from smserver import wait_until
from test_carry import export, take
from test_hosts import AGENT, XID, drained, incidents, ship, spans, stream_of


def set_hosts(server, expect=200, job="a", **hosts):
    reply = server.patch(f"/api/v1/jobs/{job}", json={"by_hand": {"hosts": {stream.replace("_", "-"): host for stream, host in hosts.items()}}})
    assert reply.status == expect, reply
    return reply.body


def faults(server, *hosts):
    """The lines that each machine is charged with."""
    found = [server.get(f"/api/v1/nodes/{host.replace('/', '%2F')}") for host in hosts]
    return [sorted(row["line"] for row in reply.body["fault_list"]) if reply.status == 200 else None for reply in found]


def wait_for_faults(server, *hosts, lines):
    wait_until(lambda: faults(server, *hosts) == lines, what=f"the faults {lines} of {hosts}")


def host_of(server, stream="algo-1"):
    row = stream_of(server, "a", stream)
    return row["host"], row.get("host_from")


@pytest.fixture
def replaced(server):
    """Lines 0 and 1 are of `old`, 2 and 3 of `new`; each of them had a fault."""
    ship(server, "a", "old", ["step: 1 loss: 2.0", XID])
    ship(server, "a", "new", ["step: 2 loss: 1.9", XID])
    wait_for_faults(server, "old", "new", lines=[[1], [3]])
    return server


def test_faults_drains_and_ways_in_follow_and_go_back(replaced):
    server = replaced
    set_hosts(server, algo_1="gpu7")
    for route in ("streams", "nodes"):
        row = stream_of(server, "a", route=route)
        assert (row["host"], row["host_from"]) == ("gpu7", "by_hand") and "hosts" not in row and "shared" not in row
    assert server.get("/api/v1/jobs/a").body["by_hand"] == {"hosts": {"algo-1": "gpu7"}}
    assert faults(server, "gpu7") == [[1, 3]] and drained(server) == ["gpu7"]
    assert [row["job"] for row in server.get("/api/v1/nodes/gpu7").body["jobs"]] == ["a"]
    for host in ("old", "new"):
        assert server.get(f"/api/v1/nodes/{host}").status == 404  # nothing else speaks of them
    # what comes later is of that machine, whoever is said to send it; that is kept
    ship(server, "a", "new", [AGENT + "0123456789abcdef0"])
    ship(server, "a", "third", [AGENT + "00000000000000001", XID])
    wait_for_faults(server, "gpu7", lines=[[1, 3, 6]])
    assert drained(server) == ["gpu7"] and host_of(server) == ("gpu7", "by_hand")
    wait_until(lambda: stream_of(server, "a", route="nodes").get("ssm_instance_id") == "mi-00000000000000001", what="the way onto it")
    for restart in (server.restart, lambda: (server.kill(), server.start())):
        restart()
        assert host_of(server) == ("gpu7", "by_hand") and faults(server, "gpu7") == [[1, 3, 6]]
    ship(server, "a", "third", [XID])
    wait_for_faults(server, "gpu7", lines=[[1, 3, 6]])  # the stretch goes on
    set_hosts(server, algo_1="gpu8")  # it was another one
    assert faults(server, "gpu8") == [[1, 3, 6]] and drained(server) == ["gpu8"]
    assert server.patch("/api/v1/jobs/a", json={"by_hand": None}).status == 200
    assert host_of(server) == ("third", None)
    assert spans(stream_of(server, "a")) == [("old", 0), ("new", 2), ("third", 5)]
    assert faults(server, "old", "new", "third") == [[1], [3], [6]] and sorted(drained(server)) == ["new", "old", "third"]
    ship(server, "a", "fourth", ["step: 3 loss: 1.8"])  # and it is noted as before
    assert host_of(server) == ("fourth", None)


def test_incidents_name_the_machine_that_was_set(server):
    """The one of the machine and those that only tell of it; what a line says of another machine stays, and null gives the first name back."""
    ship(server, "a", "n1", ["step: 1 loss: 2.0", XID, "srun: error: Node failure on n3"])
    ship(server, "a", "n2", ["step: 1 loss: 2.0", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB."], stream="algo-2")
    wait_for_faults(server, "n1", "n3", lines=[[1], [2]])
    wait_until(lambda: incidents(server, "a", "log_signature"), what="all of them")

    def named():
        rows = incidents(server, "a", "node_suspect") + incidents(server, "a", "log_signature")
        one = sorted((row["evidence"]["host"], row["evidence"]["summary"].rpartition(" on ")[2], row["id"]) for row in rows)
        for host, summary, number in one:
            row = server.get(f"/api/v1/incidents/{number}").body["incident"]["evidence"]
            assert host == summary == row["host"] and row["title"] and row["text"] and row["cause"]
        return [host for host, _, _ in one], {number for _, _, number in one}

    hosts, numbers = named()
    assert hosts == ["n1", "n2", "n3"]
    set_hosts(server, algo_1="gpu7")
    assert named() == (["gpu7", "n2", "n3"], numbers)
    set_hosts(server, algo_2="gpu8")
    assert named() == (["gpu7", "gpu8", "n3"], numbers)
    for again in (server.restart, lambda: (server.kill(), server.start())):
        again()
        assert named() == (["gpu7", "gpu8", "n3"], numbers)
    # it is that machine's: what comes of it is the same, and what comes of the first one is another
    ship(server, "a", "n9", [XID])
    wait_until(lambda: sum(row["lines"] for row in server.get("/api/v1/nodes/gpu7").body["fault_list"]) == 2, what="the line behind the starts")
    ship(server, "a", "n1", [XID], stream="algo-3")
    wait_for_faults(server, "n1", lines=[[0]])
    assert sorted(row["evidence"]["host"] for row in incidents(server, "a", "node_suspect")) == ["gpu7", "n1", "n3"]
    set_hosts(server, algo_1=None, algo_2=None)
    assert sorted(row["evidence"]["host"] for row in incidents(server, "a", "log_signature")) == ["n2"]
    assert {"n1", "n3"} <= {row["evidence"]["host"] for row in incidents(server, "a", "node_suspect")}


def test_what_several_share_is_one_machines(server):
    for n in range(3):
        for host in ("n1", "n2"):
            ship(server, "a", host, [f"step: {2 * n + (host == 'n2')} loss: 2.0"])
    assert stream_of(server, "a")["shared"]
    wait_until(lambda: server.get("/api/v1/jobs/a/goodput").body.get("nodes") == 2, what="two machines")
    set_hosts(server, algo_1="n1")
    assert "shared" not in stream_of(server, "a") and host_of(server) == ("n1", "by_hand")
    wait_until(lambda: server.get("/api/v1/jobs/a/goodput").body.get("nodes") == 1, what="one machine")
    ship(server, "a", "n2", [XID])
    wait_for_faults(server, "n1", lines=[[6]])
    set_hosts(server, algo_1=None)
    assert "by_hand" not in server.get("/api/v1/jobs/a").body
    assert stream_of(server, "a")["shared"] and drained(server) == [] and faults(server, "n1", "n2") == [[], []]


def test_a_machine_that_nobody_named(server):
    ship(server, "a", "", [XID])
    wait_for_faults(server, "a/algo-1", lines=[[0]])
    set_hosts(server, algo_1="gpu7")
    assert faults(server, "gpu7") == [[0]] and drained(server) == ["gpu7"] and host_of(server) == ("gpu7", "by_hand")
    ship(server, "b", "gpu7", ["step: 1 loss: 2.0"], stream="algo-1")
    assert {row["job"] for row in server.get("/api/v1/nodes/gpu7").body["jobs"]} == {"a", "b"}  # it is the same machine
    set_hosts(server, algo_1=None)
    assert faults(server, "a/algo-1", "gpu7") == [[0], []] and host_of(server) == ("", None)


def test_what_a_line_says_of_another_machine_stays_its(server):
    ship(server, "a", "n1", ["step: 1 loss: 2.0", "srun: error: Node failure on n3", XID])
    ship(server, "a", "n2", ["step: 1 loss: 2.0", XID], stream="algo-2")
    wait_for_faults(server, "n1", "n2", "n3", lines=[[2], [1], [1]])
    set_hosts(server, algo_1="gpu7")
    assert faults(server, "n2", "n3", "gpu7") == [[1], [1], [2]]
    assert [host_of(server, stream) for stream in ("algo-1", "algo-2")] == [("gpu7", "by_hand"), ("n2", None)]
    set_hosts(server, algo_1=None)
    assert faults(server, "n1", "n2", "n3") == [[2], [1], [1]]


def test_what_a_line_says_of_its_sender_stays_the_senders(server):
    ship(server, "a", "bh-2", [f"Nov 30 01:10:00 bh-2 {XID}", "step: 1 loss: 2.0"])
    wait_for_faults(server, "bh-2", lines=[[0]])
    set_hosts(server, algo_1="bh-77")
    ship(server, "a", "bh-2", [XID])  # which names no machine
    wait_for_faults(server, "bh-2", "bh-77", lines=[[0], [2]])
    assert sorted(drained(server)) == ["bh-2", "bh-77"]


def test_streams_are_set_one_by_one_and_audited(server):
    for stream in ("algo-1", "algo-2"):
        ship(server, "a", "n1", ["step: 1 loss: 2.0"], stream=stream)
    set_hosts(server, algo_1="x")
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"nodes": 4}}).status == 200
    set_hosts(server, algo_2="y")
    assert server.get("/api/v1/jobs/a").body["by_hand"] == {"nodes": 4, "hosts": {"algo-1": "x", "algo-2": "y"}}
    set_hosts(server, algo_1=None)
    entry = server.get("/api/v1/audit?limit=1").body["entries"][0]
    assert entry["before"] == {"by_hand": {"nodes": 4, "hosts": {"algo-1": "x", "algo-2": "y"}}}
    assert entry["after"] == {"by_hand": {"nodes": 4, "hosts": {"algo-2": "y"}}}
    assert [host_of(server, stream)[0] for stream in ("algo-1", "algo-2")] == ["n1", "y"]
    for hosts, field in (({"algo-9": "z"}, "by_hand.hosts.algo-9"), ({"algo-1": ""}, "by_hand.hosts.algo-1"), ({"algo-1": 5}, "by_hand.hosts.algo-1"),
            ({"algo-1": "h" * 256}, "by_hand.hosts.algo-1"), ("n1", "by_hand.hosts"), (["n1"], "by_hand.hosts")):
        reply = server.patch("/api/v1/jobs/a", json={"by_hand": {"hosts": hosts}})
        assert (reply.status, reply.body.get("field")) == (422, field), reply
    assert server.get("/api/v1/jobs/a").body["by_hand"] == {"nodes": 4, "hosts": {"algo-2": "y"}}
    set_hosts(server, algo_1="h" * 255)
    assert server.patch("/api/v1/jobs/a", json={"by_hand": {"hosts": None}}).status == 200
    assert server.get("/api/v1/jobs/a").body["by_hand"] == {"nodes": 4}
    assert [host_of(server, stream) for stream in ("algo-1", "algo-2")] == [("n1", None)] * 2


def test_a_document_behind_the_log_sets_it(server):
    ship(server, "a", "n1", ["step: 1 loss: 2.0", XID])
    wait_for_faults(server, "n1", lines=[[1]])
    document = {"TrainingJobName": "a", "by_hand": {"hosts": {"algo-1": "gpu7", "algo-2": "gpu8"}}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    assert host_of(server) == ("gpu7", "by_hand") and drained(server) == ["gpu7"]


def test_it_is_carried_and_taken_back_there(replaced, make_server):
    set_hosts(replaced, algo_1="gpu7")
    ship(replaced, "a", "third", ["step: 3 loss: 1.8"])
    other = make_server()
    take(other, export(replaced))
    assert host_of(other) == ("gpu7", "by_hand")
    ship(other, "a", "third", [XID])
    wait_until(lambda: drained(other) == ["gpu7"], what="the fault there")
    assert json.dumps(incidents(other, "a", "node_suspect")).count("gpu7") > 0
    set_hosts(other, algo_1=None)
    assert spans(stream_of(other, "a")) == [("old", 0), ("new", 2), ("third", 4)] and drained(other) == ["third"]


def test_nothing_of_it_outlives_its_job(replaced):
    set_hosts(replaced, algo_1="gpu7")

    def rows():
        return [replaced.sql(f"SELECT count(*) FROM {table}")[0][0] for table in ("stream_hosts", "told_hosts", "hosts_by_hand")]
    assert rows() == [1, 2, 1]
    assert replaced.post("/api/v1/jobs/a/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert replaced.delete("/api/v1/jobs/a?purge=true").status == 204
    wait_until(lambda: rows() == [0, 0, 0], what="the rows to be gone")
    assert faults(replaced, "gpu7") == [[1, 3]]  # what a machine did outlives its jobs
