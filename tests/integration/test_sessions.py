"""Sessions of senders: one name for a run, a lease on a stream, offsets by source; and commands to them."""

import pathlib

import pytest

from smserver import wait_until
from test_auth import make_token
from shipping import job, lines


def open_session(server, name="s", stream="algo-1", expect=201, **fields):
    reply = server.post("/api/v1/sessions", json={"job": name, "stream": stream, **fields})
    assert reply.status == expect, reply
    return reply.body


def send(server, text, name="s", stream="algo-1", **query):
    return server.post("/api/v1/logs?" + "&".join(f"{key}={value}" for key, value in
                       {"job": name, "stream": stream, **query}.items()), body=text, headers={"Content-Type": "text/plain"})


def end(server, name, status="Completed"):
    assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status}).status == 204


def test_a_session_makes_the_job_with_what_it_says(server):
    opened = open_session(server, host="gpu001", hp={"lr": "3e-4", "depth": 12}, tags={"team": "nlp"},
                          metrics={"loss": "loss ([0-9.]+)"}, instance_type="ml.p4d.24xlarge", instance_count=2)
    assert opened["job"] == "s" and opened["next_offset"] == 0 and opened["commands"] == []
    assert opened["lease_ms"] == 60000 and len(opened["session"]) == 32
    document = job(server, "s")
    assert document["HyperParameters"] == {"lr": "3e-4", "depth": "12"}
    assert document["Tags"] == [{"Key": "team", "Value": "nlp"}]
    assert document["ResourceConfig"] == {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2}
    assert document["AlgorithmSpecification"]["MetricDefinitions"] == [{"Name": "loss", "Regex": "loss ([0-9.]+)"}]
    row, = server.get("/api/v1/jobs/s/streams").body["streams"]  # before its first line
    assert (row["stream"], row["host"], row["lines"]) == ("algo-1", "gpu001", 0)
    reply = send(server, "one\n", offset=0, session=opened["session"])
    assert reply.status == 200 and reply.body["next_offset"] == 4 and reply.body["commands"] == []
    assert lines(server, "s") == ["one"]


def test_a_run_has_one_name_whenever_its_processes_come(server):
    names = [open_session(server, stream=f"algo-{n}", run_key="a")["job"] for n in (1, 2)]
    end(server, "s")
    names.append(open_session(server, stream="algo-3", run_key="a")["job"])  # late, and the job has ended
    assert names == ["s"] * 3
    again = [open_session(server, stream=f"algo-{n}", run_key="b")["job"] for n in (1, 2)]
    end(server, "s-2", "Failed")
    again.append(open_session(server, stream="algo-3", run_key="b")["job"])
    assert again == ["s-2"] * 3
    server.restart()
    assert open_session(server, stream="algo-4", run_key="b")["job"] == "s-2"
    assert open_session(server, stream="algo-1", run_key="c")["job"] == "s-3"
    assert open_session(server, stream="algo-2")["job"] == "s-3"  # without a key: the one that runs
    assert open_session(server, stream="algo-5", resume=True)["job"] == "s"
    assert server.post("/api/v1/sessions", json={"job": "s", "run_key": "c"}).body == {"job": "s-3"}


def test_a_start_that_is_refused_keeps_no_name(server):
    """It comes again when the job has ended: then it is another run, as if it had never asked."""
    open_session(server, run_key="a")
    assert open_session(server, run_key="b", expect=409)["field"] == "stream"  # its stream is being sent
    end(server, "s")
    assert open_session(server, stream="algo-2", run_key="b")["job"] == "s-2"


def test_a_start_of_which_one_process_is_refused_is_one(server):
    open_session(server, run_key="a")
    assert open_session(server, stream="algo-2", run_key="b")["job"] == "s"
    open_session(server, run_key="b", expect=409)
    end(server, "s")
    assert open_session(server, stream="algo-3", run_key="b")["job"] == "s"


def test_a_session_that_is_another_teams_makes_no_job(server):
    make_token(server, "root", "admin")
    nlp, vision = (make_token(server, team, "write", "--team", team) for team in ("nlp", "vision"))
    ask = {"job": "s", "stream": "algo-1", "session": "own", "run_key": "a"}
    assert server.post("/api/v1/sessions", json=ask, token=nlp).status == 201
    assert server.post("/api/v1/sessions", json={**ask, "job": "t"}, token=vision).status == 403
    assert server.get("/api/v1/jobs/t", token=make_token(server, "reader", "read")).status == 404
    assert server.post("/api/v1/sessions", json={**ask, "job": "t", "session": "mine"}, token=vision).body["job"] == "t"


def test_a_restart_joins_a_job_that_nobody_ended(server):
    assert open_session(server, run_key="a")["job"] == "s"
    assert open_session(server, stream="algo-2", run_key="b")["job"] == "s"
    end(server, "s")
    assert open_session(server, stream="algo-3", run_key="b")["job"] == "s"  # it ended as that run


def test_a_long_name_keeps_within_the_limit(server):
    name = "é" * 127
    assert open_session(server, name)["job"] == name
    end(server, "%C3%A9" * 127)
    assert open_session(server, name)["job"] == "é" * 126 + "-2"


def test_a_stream_has_one_session(make_server):
    server = make_server("--lease", "1s")
    first = open_session(server, host="gpu001", session="first")
    assert first["session"] == "first"
    refused = open_session(server, host="gpu002", expect=409)
    assert "gpu001" in refused["detail"] and 0 < refused["expires_in_ms"] <= 1000
    assert open_session(server, host="gpu001", session="first")["session"] == "first"  # the same again
    assert open_session(server, stream="algo-2", host="gpu002")
    second = wait_until(lambda: (reply := server.post("/api/v1/sessions", json={
        "job": "s", "stream": "algo-1", "host": "gpu002"})).status == 201 and reply.body, what="the end of the lease")
    lost = send(server, "one\n", session="first", offset=0)
    assert lost.status == 404 and lost.body["field"] == "session" and "POST /api/v1/sessions" in lost.body["detail"]
    assert send(server, "one\n", session=second["session"], offset=0).status == 200
    ended = server.post(f"/api/v1/sessions/{second['session']}", json={"end": True})
    assert ended.status == 200
    assert open_session(server)  # at once


def test_requests_renew_the_lease(make_server):
    server = make_server("--lease", "1s")
    session = open_session(server)["session"]
    started = server.get("/api/v1/jobs/s/streams")
    assert started.status == 200
    beats = []

    def beat():
        reply = server.post(f"/api/v1/sessions/{session}", json={})
        assert reply.status == 200 and reply.body["commands"] == []
        refused = open_session(server, expect=409)
        beats.append(refused["expires_in_ms"])
        return len(beats) > 60  # 60 * 20 ms and more: longer than the lease

    wait_until(beat, what="many heartbeats")
    assert min(beats) > 0


def test_a_source_counts_its_own_bytes(server):
    session = open_session(server, source="file-a")["session"]
    assert send(server, "one\ntwo\n", source="file-a", offset=0).body["next_offset"] == 8
    assert send(server, "ONE\n", source="file-b", offset=0).body["next_offset"] == 4
    doubled = send(server, "two\nthree\n", source="file-a", offset=4).body
    assert doubled["accepted"] == 1 and doubled["duplicate"] == 1 and doubled["next_offset"] == 14
    gap = send(server, "x\n", source="file-b", offset=5)
    assert gap.status == 409 and gap.body["next_offset"] == 4 and "file-b" in gap.body["detail"]
    assert send(server, "x\n", offset=1).status == 409  # what comes without a source is counted beside them
    assert send(server, "four\n", offset=0).body["next_offset"] == 5
    assert open_session(server, session=session, source="file-a")["next_offset"] == 14
    assert open_session(server, session=session, source="new")["next_offset"] == 0
    assert open_session(server, session=session)["next_offset"] == 5
    server.kill()
    server.start()
    assert open_session(server, session=session, source="file-b")["next_offset"] == 4
    assert lines(server, "s") == ["one", "two", "ONE", "three", "four"]
    assert send(server, "x\n", source="file-a").body["field"] == "source"  # nothing to count


def test_limits_hold_at_and_past_them(make_server):
    server = make_server("--max-sources", "2", "--max-sessions", "2", "--max-commands", "1")
    assert [send(server, "x\n", source=name, offset=0).status for name in "abab"] == [200] * 4
    refused = send(server, "x\n", source="c", offset=0)
    assert refused.status == 413 and "--max-sources" in refused.body["detail"]
    one = open_session(server)
    open_session(server, stream="algo-2")
    full = server.post("/api/v1/sessions", json={"job": "s", "stream": "algo-3"})
    assert full.status == 429 and "--max-sessions" in full.body["detail"] and full.headers["Retry-After"]
    assert server.post(f"/api/v1/sessions/{one['session']}", json={"end": True}).status == 200
    open_session(server, stream="algo-3")
    path = "/api/v1/jobs/s/commands"
    assert server.post(path, json={"command": "checkpoint"}).status == 202
    refused = server.post(path, json={"command": "checkpoint"})
    assert refused.status == 413 and "--max-commands" in refused.body["detail"]


@pytest.mark.parametrize("body, status, field", [
    ({}, 422, "job"), ({"job": 7}, 422, "job"), ({"job": "a\nb"}, 400, "job"), ({"job": "x" * 256}, 400, "job"),
    ({"job": "s", "stream": "x" * 256}, 400, "stream"), ({"job": "s", "stream": "a", "session": "x" * 65}, 400, "session"),
    ({"job": "s", "stream": "a", "session": "a/b"}, 422, "session"), ({"job": "s", "hp": []}, 422, "hp"),
    ({"job": "s", "tags": "x"}, 422, "tags"), ({"job": "s", "metrics": 1}, 422, "metrics"),
    ({"job": "s", "resume": 1}, 422, "resume"), ({"job": "s", "waited_ms": -1}, 422, "waited_ms"), ({"job": "s", "waited_ms": 10**13}, 422, "waited_ms"),
    ({"job": "s", "commands_after": -2}, 422, "commands_after"),
    ({"job": "s", "instance_count": -1}, 422, "instance_count"), ({"job": "s", "run_key": 5}, 422, "run_key"),
    ({"job": "s", "metrics": {"loss": "("}}, 422, "AlgorithmSpecification.MetricDefinitions[0].Regex")])
def test_a_wrong_session_is_named(shared_server, body, status, field):
    reply = shared_server.post("/api/v1/sessions", json=body)
    assert (reply.status, reply.body["field"]) == (status, field), reply


@pytest.mark.parametrize("body, field", [
    ({"acks": 1}, "acks"), ({"acks": [{}]}, "acks"), ({"acks": [{"id": 1, "result": "x" * 501}]}, "acks"),
    ({"exit": 1}, "exit"), ({"exit": {}}, "exit"), ({"exit": {"code": 1, "signal": 9}}, "exit"),
    ({"exit": {"code": 256}}, "exit"), ({"exit": {"signal": 0}}, "exit"), ({"exit": {"signal": 65}}, "exit"),
    ({"exit": {"code": 0, "at_ms": -1}}, "exit"), ({"end": "yes"}, "end")])
def test_a_wrong_heartbeat_is_named(shared_server, body, field):
    session = open_session(shared_server)["session"]
    reply = shared_server.post(f"/api/v1/sessions/{session}", json=body)
    assert (reply.status, reply.body["field"]) == (422, field), reply
    assert shared_server.post(f"/api/v1/sessions/{session}", json={}).status == 200  # it still lives
    assert shared_server.post(f"/api/v1/sessions/{session}", json={"end": True}).status == 200  # the next test's stream is the same


def test_what_was_not_commanded_is_not_acknowledged(server):
    session = open_session(server)["session"]
    for number in (1, 2**53):
        reply = server.post(f"/api/v1/sessions/{session}", json={"acks": [{"id": number, "result": "done"}]})
        assert (reply.status, reply.body["field"]) == (422, "acks") and str(number) in reply.body["detail"], reply
    assert server.post("/api/v1/jobs/s/commands", json={"command": "checkpoint"}).body["sessions"] == 1
    assert [command["id"] for command in server.post(f"/api/v1/sessions/{session}", json={}).body["commands"]] == [1]
    row, = server.get("/api/v1/jobs/s/commands").body["commands"]
    assert [stream["state"] for stream in row["streams"]] == ["delivered"]


def test_a_session_is_of_its_stream(server):
    session = open_session(server)["session"]
    other = send(server, "x\n", stream="algo-2", session=session)
    assert other.status == 422 and "algo-2" in other.body["detail"]
    assert server.post(f"/api/v1/logs?job=s&session={session}", body="x\n", headers={"Content-Type": "text/plain"}).status == 400
    assert server.post("/api/v1/sessions/nobody", json={}).status == 404
    assert lines(server, "s") == []


def test_how_a_stream_ended_is_kept(server):
    for stream, ending in (("algo-1", {"code": 0}), ("algo-2", {"signal": 9, "reason": "killed by signal 9 (SIGKILL)", "at_ms": 1_700_000_000_077})):
        session = open_session(server, stream=stream, run_key="a")["session"]
        assert server.post(f"/api/v1/sessions/{session}", json={"exit": ending}).status == 200
    server.restart()
    rows = {row["stream"]: row.get("exit") for row in server.get("/api/v1/jobs/s/streams").body["streams"]}
    assert rows["algo-1"]["code"] == 0 and rows["algo-1"]["at_ms"] > 0
    assert rows["algo-2"] == {"signal": 9, "reason": "killed by signal 9 (SIGKILL)", "at_ms": 1_700_000_000_077}
    open_session(server, stream="algo-2", run_key="a")  # it runs again
    rows = {row["stream"]: row.get("exit") for row in server.get("/api/v1/jobs/s/streams").body["streams"]}
    assert rows["algo-2"] is None


def test_commands_reach_each_stream_until_it_answers(server):
    path = "/api/v1/jobs/s/commands"
    one, two = (open_session(server, stream=stream)["session"] for stream in ("algo-1", "algo-2"))
    given = server.post(path, json={"command": "checkpoint"})
    assert given.status == 202 and given.body == {"id": 1, "command": "checkpoint", "sessions": 2}
    assert server.post(path, json={"command": "checkpoint", "stream": "algo-2"}).body["sessions"] == 1
    told = send(server, "x\n", session=one, offset=0).body["commands"]
    assert [(command["id"], command["command"]) for command in told] == [(1, "checkpoint")]
    told = server.post(f"/api/v1/sessions/{two}", json={}).body["commands"]
    assert [command["id"] for command in told] == [1, 2]
    told = server.post(f"/api/v1/sessions/{two}", json={"acks": [{"id": 1, "result": "signal USR1 sent"}]}).body["commands"]
    assert [command["id"] for command in told] == [2]
    server.restart()  # who sends opens the session again, and says what it was told
    assert server.post(f"/api/v1/sessions/{two}", json={}).status == 404
    again = open_session(server, stream="algo-2", session=two, commands_after=1)
    assert [command["id"] for command in again["commands"]] == [2]
    assert open_session(server, stream="algo-3")["commands"] == []  # a process that starts now
    first, second = server.get(path).body["commands"]
    answered = {row["stream"]: row for row in first["streams"]}
    assert answered["algo-2"]["state"] == "acknowledged" and answered["algo-2"]["result"] == "signal USR1 sent"
    assert answered["algo-2"]["delivered_ms"] <= answered["algo-2"]["acknowledged_ms"]
    assert [(row["stream"], row["state"]) for row in second["streams"]] == [("algo-2", "delivered")]


def test_a_stop_is_seen_at_the_job(server):
    open_session(server)
    assert server.post("/api/v1/jobs/s/commands", json={"command": "stop"}).status == 202
    assert job(server, "s")["TrainingJobStatus"] == "Stopping"
    end(server, "s", "Stopped")
    refused = server.post("/api/v1/jobs/s/commands", json={"command": "stop"})
    assert refused.status == 409 and "Stopped" in refused.body["detail"]


@pytest.mark.parametrize("name, body, status, field", [
    ("s", {}, 422, "command"), ("s", {"command": "reboot"}, 422, "command"),
    ("s", {"command": "stop", "stream": "algo-9"}, 404, "stream"), ("nobody", {"command": "stop"}, 404, None)])
def test_a_wrong_command_is_named(server, name, body, status, field):
    open_session(server)
    reply = server.post(f"/api/v1/jobs/{name}/commands", json=body)
    assert (reply.status, reply.body.get("field")) == (status, field), reply
    assert job(server, "s")["TrainingJobStatus"] == "InProgress"


def test_the_requests_of_the_documentation(server):
    """docs/shipping.md: they are what a sender without sm-ship does."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/shipping.md").read_text()
    session = ""
    requests = text.partition("```requests\n")[2].partition("```")[0].splitlines()
    for request in requests:
        if "acks" in request:
            assert server.post("/api/v1/jobs/llama/commands", json={"command": "checkpoint"}).status == 202
        method, path, body = request.split(" ", 2)
        kind = "text/plain" if "/logs" in path else "application/json"
        reply = server.request(method, path.replace("SESSION", session), body=body + "\n", headers={"Content-Type": kind})
        assert reply.status in (200, 201), (request, reply)
        session = reply.body.get("session", session)
    row, = server.get("/api/v1/jobs/llama/streams").body["streams"]
    assert (row["host"], row["lines"], row["exit"]["code"]) == ("gpu001", 1, 0)
    assert job(server, "llama")["TrainingJobStatus"] == "Completed"
    assert len(requests) == 5
