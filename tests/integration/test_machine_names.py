"""Names of machines have no case (RFC 4343): however senders, records and lines spell one, it is one machine, by the name that came first."""

import json
import time

from smserver import wait_until
from test_by_hand_hosts import faults, set_hosts, wait_for_faults
from test_hosts import XID, drained, incidents, ship, stream_of

BARE = "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."


def names(server):
    return [row["host"] for row in server.get("/api/v1/nodes").body["nodes"]]


def post(server, job, record, host="loghost"):
    reply = server.post(f"/api/v1/logs?job={job}&stream=kernel&host={host}", (json.dumps(record) + "\n").encode(), content_type="application/x-ndjson")
    assert reply.status == 200, reply


def test_two_senders_of_one_name_are_one_machine(server):
    ship(server, "a", "GPU15", ["step: 1 loss: 2.0"])
    ship(server, "b", "gpu15", ["step: 1 loss: 2.0", XID])
    wait_until(lambda: drained(server) == ["GPU15"], what="the machine, by the name that came first")
    assert names(server) == ["GPU15"]
    for name in ("GPU15", "gpu15", "Gpu15"):
        body = server.get(f"/api/v1/nodes/{name}").body
        assert body["host"] == "GPU15" and body["drain"] and {row["job"] for row in body["jobs"]} == {"a", "b"}
    # by turns in one stream it is still one
    for n, name in enumerate(("GPU15", "gpu15", "GPU15", "gPU15")):
        ship(server, "c", name, [f"step: {n} loss: 2.0"])
    assert "hosts" not in stream_of(server, "c") and stream_of(server, "c")["host"] == "GPU15"
    ship(server, "c", "gpu15", [XID])
    wait_for_faults(server, "GPU15", lines=[[1, 4]])
    assert suspects_of(server, "c") == ["GPU15"]
    server.restart()
    ship(server, "d", "gpu15", ["step: 1 loss: 2.0"])
    assert names(server) == ["GPU15"]


def test_a_short_name_of_one_machine_alone_is_its_address(server):
    """As a line means that machine by it; and a full name the machine that sends under its short one."""
    ship(server, "a", "gpu18.cluster.lab", ["step: 1 loss: 2.0"])
    ship(server, "b", "gpu19", ["step: 1 loss: 2.0"])
    for domain in "xy":
        ship(server, f"c{domain}", f"gpu20.{domain}", ["step: 1 loss: 2.0"])
    for asked, known in (("gpu18", "gpu18.cluster.lab"), ("GPU18", "gpu18.cluster.lab"), ("gpu19.cluster.lab", "gpu19"), ("gpu20.x", "gpu20.x")):
        assert server.get(f"/api/v1/nodes/{asked}").body["host"] == known
    for asked in ("gpu20", "gpu1", "gpu18.cluster"):
        assert server.get(f"/api/v1/nodes/{asked}").status == 404, asked


def suspects_of(server, job):
    return sorted(row["evidence"]["host"] for row in incidents(server, job, "node_suspect"))


def test_a_record_names_a_machine_in_another_spelling(server):
    machines = ("gpu-node-07", "GPU-NODE-08", "Gpu-Node-09", "gpu-Node-10.Cluster.local", "gpu-node-1", "gpu-node-070")
    for n, name in enumerate(machines):
        ship(server, "a", name, ["step: 1 loss: 2.0"], stream=f"algo-{n + 1}")
    said = {"GPU-Node-07": "gpu-node-07", "gpu-node-08": "GPU-NODE-08", "GPU-NODE-09": "Gpu-Node-09", "GPU-NODE-10": "gpu-Node-10.Cluster.local",
            "gpu-node-10.cluster.LOCAL": "gpu-Node-10.Cluster.local", "GPU-node-09.example.org": "Gpu-Node-09", "GPU-NODE-1": "gpu-node-1"}
    for n, (name, known) in enumerate(said.items()):
        post(server, f"r{n}", {"host": name, "message": BARE})
        ship(server, f"s{n}", "loghost", [time.strftime("%b %d %H:%M:%S ", time.gmtime(time.time() - 200 * n)) + f"{name} kernel: {BARE}"])
        for job in (f"r{n}", f"s{n}"):
            wait_until(lambda: suspects_of(server, job) == [known], what=f"{known} by {name}")
    assert sorted(drained(server)) == sorted(set(said.values()))
    assert sorted(names(server)) == sorted({*machines, "loghost"})
    # a short name that two machines have is nobody's
    ship(server, "b", "gpu-node-20.A", ["step: 1 loss: 2.0"])
    ship(server, "b", "GPU-NODE-20.b", ["step: 1 loss: 2.0"], stream="algo-2")
    post(server, "two", {"host": "Gpu-Node-20", "message": BARE})
    (row,) = wait_until(lambda: incidents(server, "two", "log_signature"), what="the line")
    assert row["evidence"]["shared"] and suspects_of(server, "two") == []


def test_a_name_set_by_hand_is_the_known_machine(server):
    ship(server, "b", "gpu7", ["step: 1 loss: 2.0"])
    ship(server, "a", "n1", ["step: 1 loss: 2.0", XID])
    wait_for_faults(server, "n1", lines=[[1]])
    set_hosts(server, algo_1="GPU7")
    assert drained(server) == ["gpu7"] and faults(server, "GPU7") == [[1]] and stream_of(server, "a")["host"] == "gpu7"
    set_hosts(server, algo_1=None)
    assert drained(server) == ["n1"]


def test_what_a_machine_measured_is_its_in_either_spelling(make_server):
    server = make_server("--seal-age", "100ms")
    now = int(time.time() * 1000)
    ship(server, "a", "gpu15", ["step: 1 loss: 2.0"])
    points = [{"metric": "cpu_percent", "step": n, "value": value, "ts_ms": now} for n, value in ((1, 40.0), (2, 60.0))]
    assert server.post("/api/v1/points?job=b&stream=system/GPU15&host=GPU15", json={"points": points}).status == 200
    server.wait_for_extraction()
    wait_until(lambda: server.get("/api/v1/nodes/gpu15").body["utilisation"], what="what it measured")
    assert names(server) == ["gpu15"]
