"""How many machines a job has, where it does not say it, and what that is worth."""

import subprocess
import time

import pytest

from smserver import quote, sanitizer_environment, wait_until

HOUR_S = 3600


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from smserver import Server
    server = Server(tmp_path_factory.mktemp("nodes"), "--goodput-every", "100ms").start()
    prices = {"currency": "EUR", "prices": [{"instance": "ml.example.2xlarge", "per_hour": 36}]}
    assert server.put("/api/v1/prices", json=prices).status == 200
    yield server
    server.close()


def send(server, job, stream, host, begun_s, count=11, every_s=10):
    lines = [time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(begun_s + i * every_s)) + f" step: {i + 1} loss: 2.5" for i in range(count)]
    query = f"job={quote(job)}&stream={quote(stream)}" + (f"&host={host}" if host else "")
    reply = server.post(f"/api/v1/logs?{query}", "\n".join(lines) + "\n")
    assert reply.status == 200, reply


def finish(server, job, ended_s, resources=None):
    document = {"TrainingJobName": job, "ResourceConfig": resources if resources is not None else {"InstanceType": "ml.example.2xlarge"}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed", "time_ms": ended_s * 1000})
    assert reply.status == 204, reply


def check(server, job, nodes, nodes_from, wall_s=100):
    def told():
        row = server.get(f"/api/v1/jobs/{job}").body
        return (row.get("nodes"), row.get("nodes_from"), row.get("cost_estimated", False), row.get("cost")) == (
            nodes, nodes_from, nodes_from != "stated", pytest.approx(36 * nodes * wall_s / HOUR_S))
    wait_until(told, what=f"{nodes} nodes of {job} by {nodes_from}")
    reply = server.get(f"/api/v1/jobs/{job}/goodput").body
    assert reply["nodes"] == nodes and reply.get("estimated", False) == (nodes_from != "stated")
    assert reply["cost"].get("estimated", False) == (nodes_from != "stated")
    assert sum(one["node_hours"] for one in reply["buckets"].values()) == pytest.approx(nodes * wall_s / HOUR_S)
    listed = next(row for row in server.get("/api/v1/jobs?limit=1000").body["jobs"] if row["TrainingJobName"] == job)
    assert (listed["nodes"], listed["nodes_from"]) == (nodes, nodes_from)


def test_hosts_at_work_at_the_same_time_are_counted(shared):
    begun_s = int(time.time()) - 40_000
    for rank in range(16):  # of MPI or Kubernetes: two ranks a machine
        send(shared, "mpi", f"rank-{rank}", f"node-{rank // 2}", begun_s)
    send(shared, "mpi", "system/node-77", "node-77", begun_s)
    finish(shared, "mpi", begun_s + 100)
    check(shared, "mpi", 8, "hosts")


def test_a_machine_that_took_over_is_none_more(shared):
    begun_s = int(time.time()) - 40_000
    send(shared, "replaced", "a", "node-0", begun_s, count=41)
    send(shared, "replaced", "b", "node-1", begun_s, count=11)
    send(shared, "replaced", "c", "node-2", begun_s + 200, count=21)
    finish(shared, "replaced", begun_s + 400)
    check(shared, "replaced", 2, "hosts", wall_s=400)


@pytest.mark.parametrize("hosts, nodes", [(["node-0", "node-1"] * 5, 2), (["node-0"] * 5 + ["node-1"] * 5, 1), (["node-0", "node-1", "node-2"] * 3, 3)])
def test_machines_that_share_a_stream_are_all_counted(shared, hosts, nodes):
    begun_s, job = int(time.time()) - 40_000, f"shared-{nodes}"
    for at, host in enumerate(hosts):
        send(shared, job, "algo-1", host, begun_s + 10 * at, count=1)
    finish(shared, job, begun_s + 100)
    check(shared, job, nodes, "hosts")


def test_machines_that_share_a_stream_count_beside_those_of_others(make_server):
    server, begun_s = make_server("--goodput-every", "100ms"), int(time.time()) - 40_000
    for at, host in enumerate(["node-0", "node-1", "node-0"]):
        send(server, "over", "algo-1", host, begun_s + 10 * at, count=1)
    send(server, "over", "algo-2", "node-2", begun_s, count=2)
    finish(server, "over", begun_s + 100)
    wait_until(lambda: server.get("/api/v1/jobs/over").body.get("nodes") == 3, what="three machines at once")


def test_without_hosts_the_names_of_streams_are_counted(shared):
    begun_s = int(time.time()) - 40_000
    for stream in ("algo-1", "algo-1-r1", "algo-2-r2", "algo-2-r3", "algo-3-1714564800000", "system/algo-9", "notes"):
        send(shared, "named", stream, None, begun_s)
    finish(shared, "named", begun_s + 100)
    check(shared, "named", 3, "streams")


def test_a_stated_count_is_believed(shared):
    begun_s = int(time.time()) - 40_000
    send(shared, "stated", "algo-1", "node-0", begun_s)
    finish(shared, "stated", begun_s + 100, {"InstanceType": "ml.example.2xlarge", "InstanceCount": 5})
    check(shared, "stated", 5, "stated")


def test_the_fleet_says_how_much_of_it_is_an_estimate(make_server):
    server = make_server("--goodput-every", "100ms")
    now_s = int(time.time())
    for node in range(4):
        send(server, "seen", f"r{node}", f"node-{node}", now_s - 100)
    send(server, "said", "algo-1", None, now_s - 100)
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "said", "ResourceConfig": {"InstanceCount": 3}}).status == 201
    def nodes():
        return {key: value for key, value in server.get("/api/v1/fleet").body["nodes"].items() if key != "by_type"}
    wait_until(lambda: nodes() == {"in_jobs": 7, "in_waiting_pools": 0, "estimated_in_jobs": 4}, what="seven nodes, four of them seen")


def test_sums_of_money_say_that_they_hold_estimates(make_server):
    """A hundred seconds of two counted nodes, and of three that are stated: wherever the first cost something, it is said."""
    server, begun_s = make_server("--goodput-every", "100ms"), int(time.time()) - 200
    prices = {"currency": "EUR", "prices": [{"instance": "ml.example.2xlarge", "per_hour": 36}]}
    assert server.put("/api/v1/prices", json=prices).status == 200
    for node in range(2):
        send(server, "seen", f"r{node}", f"node-{node}", begun_s)
    send(server, "said", "algo-1", None, begun_s)
    finish(server, "seen", begun_s + 100)
    finish(server, "said", begun_s + 100, {"InstanceType": "ml.example.2xlarge", "InstanceCount": 3})
    first, last = (time.strftime("%Y-%m-%d", time.gmtime(at_s)) for at_s in (begun_s, begun_s + 99))

    def sums():
        fleet, goodput = server.get("/api/v1/fleet").body, server.get(f"/api/v1/goodput?from={first}&to={last}").body
        days = goodput["days"], server.get("/api/v1/jobs/seen/goodput").body["days"], server.get("/api/v1/jobs/said/goodput").body["days"]
        return [round(sum(one["estimated_node_hours"] for one in rows) * HOUR_S) for rows in ([fleet["last_30_days"]], [goodput], *days)]
    wait_until(lambda: sums() == [2 * 100, 2 * 100, 2 * 100, 2 * 100, 0], what="200 node-seconds that are estimated")

    def groups(of):
        rows = server.get(f"/api/v1/aggregate?by=name&of={of}").body["groups"]
        return {row["name"]: (row[of], row.get("estimated_jobs")) for row in rows}
    assert groups("sum:cost") == {"said": (pytest.approx(36 * 3 * 100 / HOUR_S), 0), "seen": (pytest.approx(36 * 2 * 100 / HOUR_S), 1)}
    assert groups("sum:nodes") == {"said": (3, None), "seen": (2, None)}  # no money
    shown = server.get("/api/v1/jobs?sort=name&format=csv&fields=name,cost,cost_estimated,nodes,nodes_from").raw.decode().splitlines()[1:]
    assert shown == ["said,3,,3,stated", "seen,2,true,2,hosts"]
    assert server.figure("estimated_node_seconds_30_days") == 2 * 100
    table = subprocess.run([server.bin("sm-search"), "--server", server.url, "--fields", "name,cost", "--sort", "name", "--table"],
        capture_output=True, text=True, check=True, timeout=60, env=sanitizer_environment()).stdout.splitlines()
    assert [row.split(maxsplit=1) for row in table[1:]] == [["said", "3"], ["seen", "≈ 2"]]
    assert server.patch("/api/v1/jobs/seen", json={"by_hand": {"nodes": 2}}).status == 200  # somebody knows it
    wait_until(lambda: sums() == [0] * 5 and groups("sum:cost")["seen"][1] == 0, what="no estimate")


def test_sm_ship_says_how_many_machines_there_are_and_else_nothing(server, ship):
    for job, options, expected in (("said", ["--instance-count", "6"], 6), ("unsaid", [], None)):
        result = ship.run("--job", job, *options, "--", "echo", "step: 1 loss: 2.5")
        assert result.returncode == 0, result
        assert server.get(f"/api/v1/jobs/{job}").body["ResourceConfig"].get("InstanceCount") == expected
