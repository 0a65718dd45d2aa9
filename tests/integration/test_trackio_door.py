"""The door for Trackio without its client: who is let in, whose run is whose, entries that come again, limits, and what is refused."""

import json
import time
import uuid
from datetime import UTC, datetime

import pytest

from awsclients import token_of
from smserver import Server, quote, wait_until


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for tests that have a run each."""
    server = Server(tmp_path_factory.mktemp("trackio_shared"), "--max-series", "4", "--max-push-bytes", "1MiB").start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with tokens: (server, {scope or team: token})."""
    server = Server(tmp_path_factory.mktemp("trackio_door")).start()
    tokens = {scope: token_of(server, scope, "--scope", scope)[0] for scope in ("admin", "write", "read")}
    tokens |= {team: token_of(server, team, "--scope", "write", "--team", team)[0] for team in ("red", "blue")}
    yield server, tokens
    server.close()


def call(server, name, token=None, **kwargs):
    headers = {"X-Trackio-Write-Token": token} if token else {}
    return server.post(f"/api/{name}", json={"args": [], "kwargs": {**kwargs, "hf_token": None}}, headers=headers)


def entry(run, step, log_id, metrics=None, **more):
    return {"project": "p", "run": run, "run_id": f"id-{run}", "step": step, "log_id": log_id, "metrics": metrics or {"loss": step + 0.5}, **more}


def taken(reply):
    assert (reply.status, reply.body) == (200, {"data": None}), reply


def columns(server, job, metric, count, stream=None):
    server.wait_for_points(job, metric, count)
    found = server.points(job, metric)["columns"]
    return dict(zip(found["x"], found["last"]))


def refused(reply, status, words):
    assert reply.status == status and words in reply.body["error"], reply


# ---- who is let in ----

def test_tokens(guarded):
    server, tokens = guarded
    assert server.get("/version").body["api_version"] == 1
    refused(call(server, "bulk_log", logs=[]), 401, "token")
    refused(call(server, "bulk_log", token="smf-no", logs=[]), 401, "token")
    refused(call(server, "bulk_log", token=tokens["read"], logs=[]), 403, "write")
    taken(call(server, "bulk_log", token=tokens["write"], logs=[]))
    for scope in ("read", "write"):
        assert call(server, "get_runs_for_project", token=tokens[scope], project="none").body == {"data": []}
    taken(server.post("/api/bulk_log", json={"kwargs": {"logs": []}}, token=tokens["write"]))


def test_another_teams_run_is_another_one(guarded):
    server, tokens = guarded
    for team in ("red", "blue"):
        taken(call(server, "bulk_log", token=tokens[team], logs=[entry("same", 1, team)]))
    ids = {name: server.get(f"/api/v1/jobs/{quote(name)}", token=tokens["admin"]).body["TrackedRunId"] for name in ("p/same", "p/same-2")}
    assert ids == {"p/same": "trackio:red/p/id-same", "p/same-2": "trackio:blue/p/id-same"}
    for team in ("red", "blue"):
        runs = call(server, "get_runs_for_project", token=tokens[team], project="p").body["data"]
        assert [(run["id"], run["name"]) for run in runs] == [("id-same", "same")]


# ---- entries that come again ----

def test_an_entry_that_comes_again_is_stored_once(shared):
    first = [entry("again", step, f"a{step}") for step in range(3)]
    taken(call(shared, "bulk_log", logs=first + first[:1]))
    taken(call(shared, "bulk_log", logs=first[2:] + [entry("again", 3, "a3")]))  # as a client that had no answer puts them together anew
    taken(call(shared, "bulk_log", logs=first))
    assert columns(shared, "p/again", "loss", 4) == {0: 0.5, 1: 1.5, 2: 2.5, 3: 3.5}
    assert len(shared.get("/api/v1/jobs/p%2Fagain/points?metric=loss&raw=true&format=csv").body.splitlines()) == 1 + 4


def test_the_step_that_the_trainer_says(shared):
    """Hugging Face's callback logs rows without a step, evaluations among them, and says the training's in each."""
    rows = [({"train/loss": 4.5}, 5), ({"train/loss": 4.25}, 10), ({"eval/loss": 4.75}, 10), ({"train/loss": 4.0}, 15)]
    taken(call(shared, "bulk_log", logs=[entry("hf", n, f"h{n}", {**row, "train/global_step": step}) for n, (row, step) in enumerate(rows)]))
    assert columns(shared, "p/hf", "train/loss", 3) == {5: 4.5, 10: 4.25, 15: 4.0}
    assert columns(shared, "p/hf", "eval/loss", 1) == {10: 4.75}
    for n, said in enumerate((2**53, -3, "7", 7.5, True, None, {"x": 7}, 2**53 + 2)):
        taken(call(shared, "bulk_log", logs=[entry("odd", n, f"o{n}", {"m": n, "train/global_step": said})]))
    shared.wait_for_points("p/odd", "m", 8)
    (found,) = shared.points("p/odd", "m", raw="true")["series"]
    assert dict(zip(found["value"], found["step"])) == {0: 2**53, 1: -3, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7}, "what is no step leaves the row's own"


def test_a_process_that_began_later_and_goes_back_begins_an_attempt(shared):
    iso = lambda ms: datetime.fromtimestamp(ms / 1000, UTC).isoformat()
    now_ms = lambda: int(time.time() * 1000)

    def log(first, last, created_ms=None, **more):
        config = {"_Created": iso(created_ms)} if created_ms else None
        taken(call(shared, "bulk_log", logs=[entry("life", step, uuid.uuid4().hex, {name: 1.0 for name in ("a", "b", "c", "loss")}, config=None if step > first else config, **more)
            for step in range(first, last)]))
        shared.wait_for_extraction()
        return shared.get("/api/v1/jobs/p%2Flife").body["attempts"]
    began_ms = now_ms()
    assert log(0, 100, began_ms) == 1
    assert log(50, 60, began_ms + 1) == 1, "a rank that began with the first"
    assert log(100, 150) == 1
    assert log(120, 125, now_ms() + 1, timestamp=iso(began_ms)) == 1, "what a client had put aside"
    assert log(150, 160, now_ms() + 1) == 1, "it goes on"
    assert log(130, 131, now_ms() + 1) == 2, "one step is enough"
    assert log(131, 170) == 2
    for metric in ("a", "c", "loss"):  # none is left out for the word that it begins
        assert shared.points("p/life", metric, attempts=2, buckets=1000)["columns"]["x"] == list(range(130, 170))


def test_after_a_kill(server):
    logs = [entry("killed", step, f"k{step}") for step in range(1500)]  # more than are stored at once
    taken(call(server, "bulk_log", logs=logs))
    server.kill()
    server.start()
    taken(call(server, "bulk_log", logs=logs[700:] + [entry("killed", 1500, "k1500")]))
    server.wait_for_points("p/killed", "loss", 1501)
    assert call(server, "get_run_summary", project="p", run_id="id-killed").body["data"]["last_step"] == 1500


def test_a_request_of_very_many_alerts(shared):
    """A hundred are incidents, all are lines: each incident is a transaction of the one writer."""
    alerts = [{"project": "p", "run": "loud", "run_id": "loud", "title": f"t{n}", "text": "x", "level": "warn", "step": n,
        "timestamp": "2026-11-01T10:00:00+00:00", "alert_id": f"loud-{n}"} for n in range(600)]
    taken(call(shared, "bulk_alert", alerts=alerts))
    assert len(wait_until(lambda: (found := shared.lines("p/loud", "alerts")) and len(found) == 600 and found, what="the lines")) == 600
    reply = shared.get("/api/v1/incidents?limit=1000").body
    assert sum(row["job"] == "p/loud" for row in reply["incidents"]) == 100
    shared.wait_for_log("event=alerts_not_raised")
    assert shared.log_text().count("event=alerts_not_raised") == 1


def test_an_alert_is_a_line_and_an_incident(shared):
    alert = {"project": "p", "run": "alerting", "run_id": "al", "title": "loss is high", "text": "9.5\nlook", "level": "error", "step": 3,
        "timestamp": "2026-11-01T10:00:00.250000+00:00", "alert_id": "one"}
    for _ in range(2):
        taken(call(shared, "bulk_alert", alerts=[alert]))
    lines = wait_until(lambda: shared.lines("p/alerting", "alerts"), what="the alert")
    assert [line["text"] for line in lines] == ["error alert: loss is high: 9.5", "look"]
    taken(call(shared, "bulk_alert", alerts=[{**alert, "level": "info", "title": "a note", "text": None, "alert_id": "two"}]))
    mine = [row for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == "p/alerting"]
    assert sorted((row["kind"], row["severity"], row["state"], row["evidence"]["title"], row["evidence"]["text"], row["opened_step"]) for row in mine) == [
        ("training_alert", "critical", "open", "loss is high", "9.5\nlook", 3), ("training_alert", "info", "open", "a note", "", 3)]


# ---- what becomes what ----

def test_a_run_is_a_job(shared):
    config = {"lr": 0.1, "model": {"layers": 12}, "password": "hunter2hunter2", "_Username": "eve", "_Group": "g", "_Created": "2026-11-01T10:00:00+00:00"}
    taken(call(shared, "bulk_log", logs=[entry("job", 1, "j1", {"loss": 0.5, "bad": "NaN", "a": {"b": True}, "text": "x",
        "image": {"_type": "trackio.image", "file_path": "x.png"}}, config=config)]))
    job = shared.get("/api/v1/jobs/p%2Fjob").body
    assert (job["HyperParameters"]["lr"], job["HyperParameters"]["model.layers"]) == ("0.1", "12")
    assert "hunter2" not in json.dumps(job) and "_Username" not in json.dumps(job)
    assert {"Key": "trackio.group", "Value": "g"} in job["Tags"]
    shared.wait_for_points("p/job", "a.b", 1)
    names = {metric["metric"] for metric in shared.get("/api/v1/jobs/p%2Fjob/metrics").body["series"]}
    assert names >= {"loss", "bad", "a.b"} and not names & {"text", "image"}


def test_the_machine(shared):
    taken(call(shared, "bulk_log_system", logs=[{"project": "p", "run": "machine", "run_id": "m", "log_id": "m1", "timestamp": "2026-11-01T10:00:00Z",
        "metrics": {"gpu/0/utilization": 97, "gpu/0/allocated_memory": 2, "cpu/utilization": 12.5, "disk/iops": 3}}]))
    shared.wait_for_points("p/machine", 'gpu_memory_used_mib{gpu="0"}', 1, "system/host")
    assert shared.points("p/machine", 'gpu_memory_used_mib{gpu="0"}', stream="system/host")["columns"]["last"] == [2048]
    assert shared.points("p/machine", "cpu_percent", stream="system/host")["columns"]["last"] == [12.5]


def test_a_client_without_run_ids(shared):
    for step in (1, 2):
        taken(call(shared, "bulk_log", logs=[{"project": "p", "run": "old/1", "metrics": {"loss": 1}, "step": step}]))
    shared.wait_for_points("p/old/1", "loss", 2)
    assert call(shared, "get_run_summary", project="p", run="old/1").body["data"]["last_step"] == 2


# ---- limits, and what is refused ----

@pytest.mark.parametrize("bad, words", [
    ({"step": "x"}, "logs[1].step: no whole number"), ({"step": 1.5}, "logs[1].step"), ({"step": 2**53 + 2}, "logs[1].step"),
    ({"metrics": [1]}, "logs[1].metrics: no object"), ({"metrics": None}, "logs[1].metrics: it must be there"),
    ({"project": "a/b"}, "logs[1].project: a project's name has no slash"), ({"project": ""}, "logs[1].project"),
    ({"run": "x" * 501}, "'run' has 501 bytes"), ({"run": "a\nb"}, "logs[1].run"), ({"run_id": "a/b"}, "logs[1].run_id"),
    ({"timestamp": "yesterday"}, "logs[1].timestamp: no ISO 8601 time"), ({"log_id": "x" * 129}, "'log_id' has 129 bytes")])
def test_what_is_wrong_refuses_all(shared, bad, words):
    reply = call(shared, "bulk_log", logs=[entry("refused", 1, "r1"), {**entry("refused", 2, "r2"), **bad}])
    refused(reply, 422, words)
    assert shared.get("/api/v1/jobs/p%2Frefused").status == 404


def test_what_is_no_call(shared):
    refused(shared.post("/api/bulk_log", json={"args": []}), 422, "'kwargs.logs' must be a list")
    refused(shared.post("/api/bulk_log", json=[]), 400, "line 1")
    refused(shared.post("/api/bulk_log", b'{"kwargs":{"logs":[}'), 400, "line 1")
    refused(call(shared, "get_runs_for_project"), 422, "'kwargs.project' must be there")
    refused(call(shared, "get_run_summary", project="p"), 422, "'kwargs.run_id' or 'kwargs.run'")
    refused(call(shared, "bulk_upload_media", uploads=[]), 501, "keeps no pictures")
    refused(call(shared, "artifact_log", project="p"), 501, "keeps no artifacts")


def test_limits(shared):
    runs = [{**entry("many", 1, f"many{n}"), "run_id": f"many{n}"} for n in range(101)]
    taken(call(shared, "bulk_log", logs=runs[:100]))
    refused(call(shared, "bulk_log", logs=runs), 413, "at most 100 runs")
    refused(call(shared, "bulk_log", logs=[entry("large", 1, "l1", note="x" * (1 << 20))]), 413, "--max-push-bytes")
    taken(call(shared, "bulk_log", logs=[entry("wide", 1, "w1", {f"m{n}": n for n in range(5)})]))  # of --max-series 4
    shared.wait_for_points("p/wide", "m3", 1)
    assert len(shared.get("/api/v1/jobs/p%2Fwide/metrics").body["series"]) == 4
    shared.wait_for_log("trackio_left_out")
    assert shared.figure("refused_points_total") == 1
