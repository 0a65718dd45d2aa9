"""Which machine sent a line: machines are replaced in the middle of a stream, and some share one."""

import re

from awslogs import ask, now_ms
from smserver import wait_until

XID = "kernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus."
AGENT = "Successfully registered the instance with AWS SSM using Managed instance-id: mi-"


def ship(server, job, host, lines, stream="algo-1", **more):
    query = f"job={job}&stream={stream}" + (f"&host={host}" if host else "") + "".join(f"&{name}={value}" for name, value in more.items())
    reply = server.post(f"/api/v1/logs?{query}", "".join(line + "\n" for line in lines), content_type="text/plain")
    assert reply.status == 200, reply


def drained(server):
    return [row["host"] for row in server.get("/api/v1/nodes").body["drain"]]


def stream_of(server, job, stream="algo-1", route="streams"):
    key = "nodes" if route == "nodes" else "streams"
    return {row["stream"]: row for row in server.get(f"/api/v1/jobs/{job}/{route}").body[key]}[stream]


def spans(row):
    return [(one["host"], one["from_line"]) for one in row["hosts"]]


def incidents(server, job, kind):
    return [row for row in server.get(f"/api/v1/incidents?kind={kind}&limit=1000").body["incidents"] if row["job"] == job]


def suspects(server, job):
    return incidents(server, job, "node_suspect")


def test_the_machine_that_took_over_is_drained_and_the_one_before_is_not(server):
    ship(server, "a", "old", ["step: 1 loss: 2.0", "step: 2 loss: 1.9"])
    ship(server, "a", "new", ["step: 3 loss: 1.8", XID])
    body = wait_until(lambda: (lambda one: one.get("faults") and one)(server.get("/api/v1/nodes/new").body), what="the fault")
    assert body["drain"] and [row["line"] for row in body["fault_list"]] == [3]
    assert drained(server) == ["new"]
    before = server.get("/api/v1/nodes/old").body
    assert before["faults"] == [] and not before["drain"] and [row["job"] for row in before["jobs"]] == ["a"]
    for route in ("streams", "nodes"):
        row = stream_of(server, "a", route=route)
        assert row["host"] == "new" and spans(row) == [("old", 0), ("new", 2)] and "shared" not in row, row
    incident, = suspects(server, "a")
    assert incident["evidence"]["host"] == "new"
    ship(server, "b", "old", [XID])  # the job has left that machine
    wait_until(lambda: drained(server) and set(drained(server)) == {"new", "old"}, what="the other machine's fault")
    assert len(suspects(server, "a")) == 1 and [row["evidence"]["host"] for row in suspects(server, "b")] == ["old"]


def test_a_fault_before_the_change_stays_with_the_machine_that_had_it(server):
    ship(server, "a", "old", [XID])
    ship(server, "a", "new", ["step: 1 loss: 2.0"])
    wait_until(lambda: drained(server) == ["old"], what="the fault")
    server.restart()
    assert drained(server) == ["old"] and server.get("/api/v1/nodes/new").body["faults"] == []
    ship(server, "a", "new", ["step: 2 loss: 1.9", XID])
    wait_until(lambda: sorted(drained(server)) == ["new", "old"], what="its own fault, after a restart")
    assert spans(stream_of(server, "a")) == [("old", 0), ("new", 1)]


def test_two_machines_in_one_stream_are_shared_and_charged_with_nothing(server):
    for line in (["step: 1 loss: 2.0"], [XID], ["step: 2 loss: 1.9"], ["step: 3 loss: 1.8"]) * 2:
        ship(server, "a", "n1", line)
        ship(server, "a", "n2", line)
    row = stream_of(server, "a")
    assert row["shared"] and row["host"] == "" and {one["host"] for one in row["hosts"]} == {"n1", "n2"}
    assert len(row["hosts"]) <= 3
    said = wait_until(lambda: incidents(server, "a", "log_signature"), what="the fault, told of the job")
    assert said[0]["evidence"]["signature"] == "xid_79" and said[0]["evidence"]["shared"] and "host" not in said[0]["evidence"]
    server.wait_for_extraction()
    assert drained(server) == []
    for host in ("n1", "n2"):
        body = server.get(f"/api/v1/nodes/{host}").body
        assert body["faults"] == [] and body["shared_streams"] == 1 and body["jobs"][0]["shared"], body
    assert stream_of(server, "a", route="nodes")["shared"]
    # another machine that comes alone is nobody else's
    ship(server, "a", "n3", ["step: 9 loss: 1.0", XID])
    wait_until(lambda: drained(server) == ["n3"], what="the fault of the third")
    assert stream_of(server, "a")["host"] == "n3" and "shared" not in stream_of(server, "a")


def test_machines_that_a_body_mixes_share_their_stream(server):
    reply = server.post("/loki/api/v1/push", json={"streams": [
        {"stream": {"job": "a", "stream": "algo-1", "host": host}, "values": [[str(now_ms() * 1_000_000 + n), line]]}
        for n, (host, line) in enumerate([("n1", "step: 1 loss: 2.0"), ("n2", "    Remapping Failure Occurred           : Yes")])]})
    assert reply.status == 204
    wait_until(lambda: incidents(server, "a", "log_signature"), what="the fault")
    assert drained(server) == [] and stream_of(server, "a")["shared"]


def test_a_session_says_whose_its_lines_are(server):
    ship(server, "a", "old", ["step: 1 loss: 2.0"])
    opened = server.post("/api/v1/sessions", json={"job": "a", "stream": "algo-1", "host": "new"})
    assert opened.status == 201
    ship(server, "a", "", ["step: 2 loss: 1.9", XID], session=opened.body["session"])
    wait_until(lambda: drained(server) == ["new"], what="the fault")
    assert spans(stream_of(server, "a")) == [("old", 0), ("new", 1)]


def test_who_does_not_say_its_machine_changes_nothing(server):
    ship(server, "a", "", ["first"])
    ship(server, "a", "n1", ["second"])
    ship(server, "a", "", [XID])
    wait_until(lambda: drained(server) == ["n1"], what="the fault")
    assert stream_of(server, "a")["host"] == "n1" and spans(stream_of(server, "a")) == [("n1", 1)]


def test_the_way_onto_a_machine_is_not_the_way_onto_the_one_before(server):
    ship(server, "a", "old", [AGENT + "0123456789abcdef0"])
    wait_until(lambda: "ssm_command" in stream_of(server, "a", route="nodes"), what="the agent's line")
    ship(server, "a", "new", ["step: 1 loss: 2.0"])
    assert "ssm_command" not in stream_of(server, "a", route="nodes")
    ship(server, "a", "new", [AGENT + "00000000000000001"])
    row = wait_until(lambda: (lambda one: "ssm_command" in one and one)(stream_of(server, "a", route="nodes")), what="the new agent's line")
    assert row["ssm_instance_id"] == "mi-00000000000000001"


def test_a_restarted_log_stream_of_cloudwatch_is_another_machine(server):
    for number, message in ((1600000000, "step: 1 loss: 2.0"), (1700000000, XID)):
        name = f"a/algo-4-{number}"
        assert ask(server, "CreateLogStream", {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": name}).status == 200
        assert ask(server, "PutLogEvents", {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": name,
            "logEvents": [{"timestamp": now_ms(), "message": message}]}).status == 200
    wait_until(lambda: drained(server) == ["a/algo-4-1700000000"], what="the fault")
    assert server.get("/api/v1/nodes/a%2Falgo-4-1600000000").body["faults"] == []
    assert spans(stream_of(server, "a", "algo-4")) == [("a/algo-4-1600000000", 0), ("a/algo-4-1700000000", 1)]


def test_the_slow_machine_is_the_one_that_was_slow(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    steps = list(range(800))
    for number in (1, 3, 2, 4, 5):
        curve = [(1.44 if number == 3 and step >= 400 else 1.2) * (1 + 0.002 * (step * 7 % 5) + 0.001 * number) for step in steps]
        assert server.post(f"/api/v1/points?job=up&host=n{number}", json={"series": [{"metric": "train:step_time", "stream": f"algo-{number}",
            "step": steps, "ts_ms": [now_ms() - 900_000 + 1000 * step for step in steps], "value": curve}]}).status == 200
    row, = wait_until(lambda: incidents(server, "up", "straggler"), what="a straggler")
    assert row["stream"] == "algo-3" and row["evidence"]["host"] == "n3"
    message, = wait_until(receiver.messages, what="the message about it")
    said = r"train:step_time of up, a stream slower than the others: 1\.4\d* at step 4\d\d \(usual: 1\.2\d*\), algo-3 on n3"
    assert re.fullmatch(said, message["data"]["summary"]), message["data"]["summary"]
    lasted = 799 - row["first_step"]  # it is slow to the last step of the job
    wait_until(lambda: server.get("/api/v1/nodes/n3").body["slow_steps"] == lasted, what="the steps so far")
    ship(server, "up", "n9", ["goes on"], stream="algo-3")
    assert stream_of(server, "up", "algo-3")["host"] == "n9"
    assert server.get("/api/v1/nodes/n3").body["stragglers"] == 1 and server.get("/api/v1/nodes/n9").body["stragglers"] == 0
    heat = {row["stream"]: row for row in server.get("/api/v1/jobs/up/heat?metric=train:step_time").body["rows"]}
    assert [one["host"] for one in heat["algo-3"]["hosts"]] == ["n3", "n9"] and heat["algo-1"]["host"] == "n1"
    assert server.post("/api/v1/jobs/up/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: [one["state"] for one in incidents(server, "up", "straggler")] == ["recovered"], what="the end of what was open")
    assert 340 < lasted < 410 and server.get("/api/v1/nodes/n3").body["slow_steps"] == lasted


def test_an_exported_job_keeps_its_machines(make_server):
    one, other = make_server(), make_server()
    ship(one, "a", "old", ["step: 1 loss: 2.0"])
    ship(one, "a", "new", ["step: 2 loss: 1.9"])
    ship(one, "s", "n1", ["x"]), ship(one, "s", "n2", ["y"]), ship(one, "s", "n1", ["z"])
    carried = one.get("/api/v1/export").raw
    assert other.post("/api/v1/import", carried).status == 200
    for job in ("a", "s"):
        assert stream_of(other, job)["hosts"] == stream_of(one, job)["hosts"]
        assert stream_of(other, job).get("shared") == stream_of(one, job).get("shared")
    ship(other, "a", "third", [XID])
    wait_until(lambda: drained(other) == ["third"], what="the fault")
    assert spans(stream_of(other, "a")) == [("old", 0), ("new", 1), ("third", 2)]
