"""The door of MLflow's clients without them: who is let in, limits, bodies that are sent again, searches, and what is refused."""

import base64
import hashlib
import http.client
import json
import time

import pytest

from awsclients import token_of
from engine import of_a_file
from faults import FaultyServer
from mlflowclient import API, call, history, make_run
from smserver import Server, quote, wait_until

T0 = 1_790_000_000_000


def metric(key, value, step=0, timestamp=T0):
    return {"key": key, "value": value, "step": step, "timestamp": timestamp}


def log(server, run_id, **members):
    return call(server, "runs/log-batch", {"run_id": run_id, **members})


def get_run(server, run_id):
    status, body = call(server, f"runs/get?run_id={run_id}")
    assert status == 200, body
    return body["run"]


def pairs(rows):
    return {row["key"]: row["value"] for row in rows}


def found(server, text, **members):
    status, body = call(server, "runs/search", {"experiment_ids": ["0"], "filter": text, **members})
    assert status == 200, body
    return "".join(run["info"]["run_name"][-1] for run in body["runs"])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for tests that have a run each and leave nothing that another would see."""
    server = Server(tmp_path_factory.mktemp("mlflow_shared")).start()
    yield server
    server.close()


# ---- who is let in ----

@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with tokens: (server, {scope or team: token})."""
    server = Server(tmp_path_factory.mktemp("mlflow_door")).start()
    tokens = {scope: token_of(server, scope, "--scope", scope)[0] for scope in ("admin", "write", "read")}
    tokens |= {team: token_of(server, team, "--scope", "write", "--team", team)[0] for team in ("red", "blue")}
    yield server, tokens
    server.close()


def basic(password):
    return {"Authorization": "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()}


def test_tokens(guarded):
    server, tokens = guarded
    path = f"{API}/experiments/get?experiment_id=0"
    for headers in ({}, basic("smf_wrong"), {"Authorization": "Bearer smf_wrong"}, {"Authorization": "Basic !"}):
        reply = server.get(path, headers=headers)
        assert (reply.status, reply.body["error_code"]) == (401, "UNAUTHENTICATED"), headers
    assert server.get(path, headers=basic(tokens["read"])).status == server.get(path, token=tokens["read"]).status == 200
    run = server.post(f"{API}/runs/create", json={"experiment_id": "0"}, token=tokens["write"])
    assert run.status == 200, "a token to write begins a run"
    run_id = run.body["run"]["info"]["run_id"]
    assert call(server, f"runs/get?run_id={run_id}", token=tokens["write"])[0] == 200, "which its client then reads"
    assert call(server, "experiments/get-by-name?experiment_name=none", token=tokens["write"])[0] == 404
    status, said = call(server, "runs/search", {"experiment_ids": ["0"]}, token=tokens["write"])
    assert (status, said["error_code"]) == (403, "PERMISSION_DENIED"), "what others did is for those who read"
    status, said = call(server, "runs/set-tag", {"run_id": run_id, "key": "k", "value": "v"}, token=tokens["read"])
    assert (status, said["error_code"]) == (403, "PERMISSION_DENIED")
    assert call(server, "runs/search", {"experiment_ids": ["0"]}, token=tokens["admin"])[0] == 200


def test_each_team_has_its_own_experiments_and_runs(guarded):
    server, tokens = guarded
    made = {}
    for team in ("red", "blue"):
        status, body = call(server, "experiments/create", {"name": "shared name"}, token=tokens[team])
        assert status == 200, body
        made[team] = body["experiment_id"]
        run = call(server, "runs/create", {"experiment_id": made[team], "run_name": "r"}, token=tokens[team])[1]["run"]["info"]
        made[team, "run"] = run["run_id"]
    assert made["red"] != made["blue"]
    assert call(server, "experiments/create", {"name": "shared name"}, token=tokens["red"])[1]["error_code"] == "RESOURCE_ALREADY_EXISTS"
    by_name = call(server, "experiments/get-by-name?experiment_name=shared%20name", token=tokens["blue"])[1]
    assert by_name["experiment"]["experiment_id"] == made["blue"]
    # a name that another team has gives a new one
    names = {row["TrainingJobName"] for row in server.get("/api/v1/jobs", token=tokens["admin"]).body["jobs"]}
    assert {"shared name/r", "shared name/r-2"} <= names
    for path, body in (("runs/set-tag", {"key": "k", "value": "v"}), ("runs/update", {"status": "FINISHED"}),
            ("runs/log-batch", {"metrics": [metric("m", 1.0)]}), ("runs/log-parameter", {"key": "k", "value": "v"})):
        status, said = call(server, path, {"run_id": made["red", "run"], **body}, token=tokens["blue"])
        assert (status, said["error_code"]) == (403, "PERMISSION_DENIED"), path
    status, said = call(server, "experiments/update", {"experiment_id": made["red"], "new_name": "mine"}, token=tokens["blue"])
    assert status == 403 and "shared name" not in said["message"], said
    # nor does a run go into another's experiment, and who only writes does not learn by numbers what others do
    status, said = call(server, "runs/create", {"experiment_id": made["red"]}, token=tokens["blue"])
    assert (status, said["error_code"]) == (403, "PERMISSION_DENIED"), said
    for who, wanted in (("blue", 403), ("red", 200), ("read", 200), ("write", 200)):
        status, said = call(server, f"experiments/get?experiment_id={made['red']}", token=tokens[who])
        assert status == wanted and (wanted == 200 or "shared name" not in json.dumps(said)), (who, said)
    assert call(server, "experiments/get?experiment_id=0", token=tokens["blue"])[0] == 200, "the default one is everybody's"


# ---- limits: at, and one past ----

@pytest.mark.parametrize("member, most", [("metrics", 1000), ("params", 100), ("tags", 100)])
def test_how_much_a_batch_holds(shared, member, most):
    run_id = make_run(shared)
    entries = [metric("m", n, n) if member == "metrics" else {"key": f"k{n}", "value": "v"} for n in range(most + 1)]
    assert log(shared, run_id, **{member: entries[:most]})[0] == 200
    status, said = log(shared, run_id, **{member: entries})
    assert (status, said["error_code"]) == (400, "INVALID_PARAMETER_VALUE") and str(most) in said["message"]
    run = get_run(shared, run_id)["data"]
    assert len(history(shared, run_id, "m")) == (most if member == "metrics" else 0)
    assert len(run["params"]) == (most if member == "params" else 0)
    assert len([tag for tag in run["tags"] if tag["key"] != "mlflow.runName"]) == (most if member == "tags" else 0)


def test_how_many_datasets_a_request_has(shared):
    run_id = make_run(shared)
    datasets = [{"dataset": {"name": f"d{n}", "source": "s"}} for n in range(101)]
    for _ in range(2):
        assert call(shared, "runs/log-inputs", {"run_id": run_id, "datasets": datasets[:100]})[0] == 200, "sent again: there once"
    status, said = call(shared, "runs/log-inputs", {"run_id": run_id, "datasets": datasets})
    assert (status, said["error_code"]) == (400, "INVALID_PARAMETER_VALUE") and "100" in said["message"]
    assert call(shared, "runs/log-inputs", {"run_id": run_id, "datasets": [0]})[0] == 400
    assert get_run(shared, run_id)["inputs"]["dataset_inputs"] == datasets[:100]


@pytest.mark.parametrize("path, member, most, body", [
    ("runs/log-parameter", "value", 6000, {"key": "k"}),
    ("runs/log-parameter", "key", 250, {"value": "v"}),
    ("runs/set-tag", "value", 8000, {"key": "k"}),
    ("runs/set-tag", "key", 250, {"value": "v"}),
    ("runs/log-metric", "key", 250, {"value": 1.0, "timestamp": T0}),
    ("runs/update", "run_name", 500, {}),
    ("runs/create", "user_id", 256, {}),
    ("experiments/create", "name", 500, {}),
    ("experiments/create", "artifact_location", 2000, {"name": "e"}),
])
def test_how_long_texts_are(shared, path, member, most, body):
    run_id = make_run(shared)
    assert call(shared, path, {"run_id": run_id, **body, member: "x" * most})[0] == 200
    status, said = call(shared, path, {"run_id": run_id, **body, member: "x" * (most + 1)})
    assert (status, said["error_code"]) == (400, "INVALID_PARAMETER_VALUE") and str(most) in said["message"]


def test_how_large_a_body_is(make_server):
    server = make_server("--max-mlflow-bytes", "64KiB")
    run_id = make_run(server)
    body = json.dumps({"run_id": run_id, "key": "k", "value": "v"})
    for size, wanted in ((64 << 10, 200), ((64 << 10) + 1, 400)):
        reply = server.post(f"{API}/runs/set-tag", body + " " * (size - len(body)), content_type="application/json")
        assert reply.status == wanted, reply
    assert reply.body["error_code"] == "RESOURCE_LIMIT_EXCEEDED" and "--max-mlflow-bytes" in reply.body["message"]
    reply = server.put(f"{API}-artifacts/artifacts/0/x/artifacts/model.bin", b"x" * (65 << 10), content_type="application/octet-stream")
    assert (reply.status, reply.body["error_code"]) == (501, "NOT_IMPLEMENTED"), "not for its size"


def test_how_many_runs_a_search_looks_at(make_server):
    server = make_server("--max-mlflow-runs", "3")
    for _ in range(3):
        make_run(server)
    assert len(call(server, "runs/search", {"experiment_ids": ["0"]})[1]["runs"]) == 3
    make_run(server)
    status, said = call(server, "runs/search", {"experiment_ids": ["0"]})
    assert (status, said["error_code"]) == (400, "RESOURCE_LIMIT_EXCEEDED") and "--max-mlflow-runs" in said["message"]


def test_a_page_ends_when_its_time_does(make_server):
    """Who has the next page asked for has all runs, each once: the first one never takes longer than it may."""
    server = make_server("--job-search-ms", "1")
    runs = [make_run(server) for _ in range(400)]
    found, token, pages = [], {}, 0
    while True:
        status, body = call(server, "runs/search", {"experiment_ids": ["0"], **token})
        assert status == 200 and body["runs"], body
        found += [run["info"]["run_id"] for run in body["runs"]]
        pages += 1
        if "next_page_token" not in body:
            break
        token = {"page_token": body["next_page_token"]}
    assert sorted(found) == sorted(runs) and pages > 1, pages


def test_a_page_of_experiments_ends_where_it_is_large(server):
    """A search holds no more than a page, however long the tags are."""
    tags = [{"key": f"k{n}", "value": "v" * 8000} for n in range(100)]
    names = [f"e{n}" for n in range(40)]
    for name in names:
        assert call(server, "experiments/create", {"name": name, "tags": tags})[0] == 200
    first = call(server, "experiments/search", {})[1]
    assert 0 < len(first["experiments"]) < len(names)
    rest = call(server, "experiments/search", {"page_token": first["next_page_token"]})[1]
    assert [row["name"] for row in first["experiments"] + rest["experiments"]] == [*reversed(names), "Default"]


def test_how_much_a_search_says(shared):
    def ask(terms=1, values=1, orders=1, experiments=1):
        text = " AND ".join(["params.x = '1'"] * terms + [f"attributes.run_id IN ({','.join(['$a$'] * values)})".replace("$", "'")])
        return call(shared, "runs/search", {"experiment_ids": ["0"] * experiments, "filter": text, "order_by": ["metrics.x"] * orders})[0]

    assert ask(terms=49) == ask(values=500) == ask(orders=10) == ask(experiments=1000) == 200
    assert ask(terms=50) == ask(values=501) == ask(orders=11) == ask(experiments=1001) == 400


def test_points_of_too_many_series_are_not_given_for_stored(make_server):
    server = make_server("--max-series", "2")
    run_id = make_run(server)
    assert log(server, run_id, metrics=[metric("a", 1.0), metric("b", 1.0)])[0] == 200
    server.wait_for_extraction()  # the series that there are are counted, not those that are on their way
    status, said = log(server, run_id, metrics=[metric("a", 2.0, 1), metric("c", 1.0)])
    assert (status, said["error_code"]) == (400, "RESOURCE_LIMIT_EXCEEDED") and "--max-series" in said["message"]
    assert [point[:2] for point in history(server, run_id, "a")] == [(0, 1.0), (1, 2.0)], "the others are stored"


# ---- what is stored ----

def test_the_same_request_is_stored_once(server):
    run_id = make_run(server)
    body = [metric("m", n / 4, n, T0 + n) for n in range(10)]
    for _ in range(3):
        assert log(server, run_id, metrics=body)[0] == 200
    server.kill()
    server.start(f"127.0.0.1:{server.port}")
    assert log(server, run_id, metrics=body)[0] == 200, "also after a kill"
    assert history(server, run_id, "m") == [(n, n / 4, T0 + n) for n in range(10)]
    # as one of many, and the same twice in one
    assert call(server, "runs/log-metric", {"run_id": run_id, **metric("one", 1.0, 1)})[0] == 200
    assert call(server, "runs/log-metric", {"run_id": run_id, **metric("one", 1.0, 1)})[0] == 200
    assert log(server, run_id, metrics=[metric("two", 5.0, 3), metric("two", 5.0, 3), metric("two", 5.5, 3)])[0] == 200
    assert history(server, run_id, "one") == [(1, 1.0, T0)] and history(server, run_id, "two") == [(3, 5.0, T0), (3, 5.5, T0)]
    # another run that says the same is another run
    other = make_run(server)
    assert log(server, other, metrics=body)[0] == 200
    assert len(history(server, other, "m")) == 10


def test_the_last_point_is_that_of_the_highest_step(shared):
    """Clients that log in the background send out of order."""
    run_id = make_run(shared)
    for step, value in ((1, 10.0), (5, 50.0), (3, 30.0)):
        assert call(shared, "runs/log-metric", {"run_id": run_id, **metric("m", value, step, T0 + step)})[0] == 200
    assert get_run(shared, run_id)["data"]["metrics"] == [{"key": "m", "value": 50.0, "timestamp": T0 + 5, "step": 5}]
    assert found(shared, "metrics.m = 50") != ""


def test_what_was_acknowledged_is_there_after_a_kill(server):
    run_id = make_run(server, run_name="kept", tags=[{"key": "a", "value": "b"}])
    assert log(server, run_id, metrics=[metric("m", 1.5, 7)], params=[{"key": "p", "value": "1"}])[0] == 200
    before = get_run(server, run_id)
    server.kill()
    server.start(f"127.0.0.1:{server.port}")
    assert get_run(server, run_id) == before
    assert before["data"]["metrics"] == [{"key": "m", "value": 1.5, "timestamp": T0, "step": 7}]


def test_params_and_tags_beyond_sagemakers_limits(server):
    """All that is logged is read back and found, and the job's own tags can still be changed."""
    run_id = make_run(server, run_name="big")
    params = {f"p{n}": "x" * n for n in range(250)} | {"long": "y" * 6000}
    tags = {f"t{n}": str(n) for n in range(80)} | {"note": "z" * 8000}
    for kind, values in (("params", params), ("tags", tags)):
        entries = [{"key": key, "value": value} for key, value in values.items()]
        for at in range(0, len(entries), 100):
            assert log(server, run_id, **{kind: entries[at:at + 100]})[0] == 200
    data = get_run(server, run_id)["data"]
    assert pairs(data["params"]) == params
    assert pairs(data["tags"]) == tags | {"mlflow.runName": "big"}
    for query in ("hp.p249=" + "x" * 249, "tag.t79=79"):
        assert [row["TrainingJobName"] for row in server.get(f"/api/v1/jobs?q={quote(query)}").body["jobs"]] == ["Default/big"], query
    assert server.patch(f"/api/v1/jobs/{quote('Default/big')}", json={"tags": {"t0": "mine"}}).status == 200
    assert pairs(get_run(server, run_id)["data"]["tags"])["t0"] == "mine"


def test_a_param_that_changes_keeps_the_newest_value(shared):
    """MLflow refuses it, which has ended trainings that were resumed."""
    run_id = make_run(shared)
    for value in ("1", "2"):
        assert call(shared, "runs/log-parameter", {"run_id": run_id, "key": "epochs", "value": value})[0] == 200
    assert pairs(get_run(shared, run_id)["data"]["params"]) == {"epochs": "2"}


def test_names_of_jobs(server):
    """Each is one that a job can have, and none is another's."""
    long = "e" * 400
    experiment = call(server, "experiments/create", {"name": long})[1]["experiment_id"]
    for _ in range(5):
        make_run(server, experiment_id=experiment, run_name="ü" * 200)
    make_run(server, run_name="a\nb")
    server.send("Default/line", ["a line of another"])
    run_id = make_run(server, run_name="line")
    assert log(server, run_id, metrics=[metric("m", 1.0)])[0] == 200
    names = {row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]}
    assert len(names) == 8 and {"Default/a_b", "Default/line", "Default/line-2"} <= names
    assert all(len(name.encode()) <= 255 for name in names)
    assert server.wait_for_points("Default/line-2", "m", 1)["count"] == 1


def test_what_the_printed_addresses_search_for(server):
    """The page makes searches of #/experiments/1/runs/ID and #/experiments/1, which MLflow's client prints (web/test/tracked.test.ts)."""
    experiment = call(server, "experiments/create", {"name": "e"})[1]["experiment_id"]
    first, second = (make_run(server, experiment_id=experiment, run_name=name) for name in ("a", "b"))
    make_run(server)
    assert server.post("/api/v1/logs?job=shipped&stream=algo-1", b"a line\n").status == 200
    make_run(server, experiment_id=experiment, run_name="c", job_name="shipped")
    for query, names in (("TrackedProject=e", {"e/a", "e/b", "shipped"}), (f"TrackedRunId={first}", {"e/a"}), (f"TrackedRunId={second}", {"e/b"}), (f"TrackedProjectId={experiment}", {"e/a", "e/b", "shipped"})):
        assert {row["TrainingJobName"] for row in server.get(f"/api/v1/jobs?q={quote(query)}").body["jobs"]} == names, query


def test_a_deleted_job_is_no_run(server):
    run_id = make_run(server, run_name="gone")
    assert call(server, "runs/update", {"run_id": run_id, "status": "FINISHED"})[0] == 200
    assert server.delete(f"/api/v1/jobs/{quote('Default/gone')}?purge=true").status in (200, 204)
    for path, body in ((f"runs/get?run_id={run_id}", None), ("runs/set-tag", {"run_id": run_id, "key": "k", "value": "v"}),
            ("runs/log-metric", {"run_id": run_id, **metric("m", 1.0)}), ("runs/update", {"run_id": run_id, "status": "RUNNING"})):
        status, said = call(server, path, body)
        assert (status, said["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST"), path
    assert call(server, "runs/search", {"experiment_ids": ["0"]})[1]["runs"] == []
    assert server.get("/api/v1/jobs").body["jobs"] == []


def test_a_deleted_run_keeps_its_id_and_gives_its_name_away(server):
    """A run of the same name is another; the one that comes back is beside it. A relay that asks again for a run hears that it is deleted."""
    run_id = make_run(server, run_name="same")
    assert call(server, "runs/delete", {"run_id": run_id}) [1]["error_code"] == "INVALID_STATE"
    assert call(server, "runs/update", {"run_id": run_id, "status": "FINISHED"})[0] == 200
    assert call(server, "runs/delete", {"run_id": run_id}) == (200, {})
    assert [(row["TrainingJobName"], row["id"] > 0) for row in server.get("/api/v1/trash").body["jobs"]] == [("Default/same", True)]
    assert server.get("/api/v1/audit?limit=1").body["entries"][0]["object"] == "jobs/Default/same"
    other = make_run(server, run_name="same")
    assert get_run(server, run_id)["info"]["lifecycle_stage"] == "deleted" and get_run(server, other)["info"]["lifecycle_stage"] == "active"
    again = call(server, "runs/create", {"experiment_id": "0", "client_run_id": run_id})
    assert again[0] == 200 and again[1]["run"]["info"]["lifecycle_stage"] == "deleted"
    assert call(server, "runs/restore", {"run_id": run_id}) == (200, {})
    assert {row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]} == {"Default/same", "Default/same-2"}
    for path in ("runs/delete", "runs/restore"):
        assert call(server, path, {"run_id": "0" * 32})[1]["error_code"] == "RESOURCE_DOES_NOT_EXIST"


def test_a_run_that_another_team_has_is_not_said_to_be_deleted_or_restored(guarded):
    """Also where that would change nothing."""
    server, tokens = guarded
    experiment = call(server, "experiments/create", {"name": "put away"}, token=tokens["red"])[1]["experiment_id"]
    run_id = call(server, "runs/create", {"experiment_id": experiment}, token=tokens["red"])[1]["run"]["info"]["run_id"]

    def answers(path):
        return [call(server, f"runs/{path}", {"run_id": run_id}, token=tokens[team])[0] for team in ("blue", "red")]
    assert call(server, "runs/update", {"run_id": run_id, "status": "FINISHED"}, token=tokens["red"])[0] == 200
    assert answers("restore") == [403, 200], "it is there"
    assert answers("delete") == [403, 200]
    assert answers("delete") == [403, 200], "it is in the trash"
    assert answers("restore") == [403, 200]


def test_without_a_trash_a_run_is_not_deleted(make_server):
    server = make_server("--trash-days", "0")
    run_id = make_run(server)
    status, said = call(server, "runs/delete", {"run_id": run_id})
    assert (status, said["error_code"]) == (501, "NOT_IMPLEMENTED") and "--trash-days" in said["message"]


def test_secrets_are_masked_wherever_they_are(shared):
    """As in settings and tags of all jobs: in datasets, and in what is said of experiments."""
    run_id = make_run(shared)
    source = json.dumps({"uri": "https://ann:hunter2@data.example.org/x"})
    dataset = {"dataset": {"name": "d", "source_type": "http", "source": source}}
    assert call(shared, "runs/log-inputs", {"run_id": run_id, "datasets": [dataset]})[0] == 200
    kept = get_run(shared, run_id)["inputs"]["dataset_inputs"]
    assert "hunter2" not in json.dumps(kept) and "https://ann:***" in kept[0]["dataset"]["source"]
    secret = "hf_" + "a" * 30
    experiment = call(shared, "experiments/create", {"name": "masked", "tags": [{"key": "API_KEY", "value": "swordfish"}]})[1]["experiment_id"]
    assert call(shared, "experiments/set-experiment-tag", {"experiment_id": experiment, "key": "hub", "value": secret})[0] == 200
    said = json.dumps(call(shared, f"experiments/get?experiment_id={experiment}")[1])
    assert "swordfish" not in said and secret not in said and "***" in said


def test_an_end_by_a_clock_that_is_behind_is_an_end(server):
    """The server's clock says when a run goes on, the client's when it ends."""
    run_id = make_run(server, run_name="skewed")
    now = int(time.time() * 1000)
    for body in ({"status": "KILLED"}, {"status": "RUNNING"}, {"status": "FINISHED", "end_time": now - 60_000}):
        assert call(server, "runs/update", {"run_id": run_id, **body})[0] == 200
    row = server.get(f"/api/v1/jobs/{quote('Default/skewed')}").body
    assert (row["TrainingJobStatus"], row["SecondaryStatus"]) == ("Completed", "Completed")
    assert get_run(server, run_id)["info"]["end_time"] == now - 60_000, "as its client says"
    # nor before it began
    run_id = make_run(server, run_name="ahead", start_time=now + 60_000)
    assert call(server, "runs/update", {"run_id": run_id, "status": "FINISHED", "end_time": now})[0] == 200
    assert server.get(f"/api/v1/jobs/{quote('Default/ahead')}").body["TrainingJobStatus"] == "Completed"


# ---- nested runs ----

def test_how_many_children_are_named(server):
    parent = make_run(server, run_name="parent")
    tags = [{"key": "mlflow.parentRunId", "value": parent}]
    for number in range(100):
        make_run(server, run_name=f"c{number}", tags=tags)
    job = server.get(f"/api/v1/jobs/{quote('Default/parent')}").body
    assert job["child_jobs"] == [f"Default/c{number}" for number in range(100)] and "has_more_child_jobs" not in job
    last = make_run(server, run_name="c100", tags=tags)
    job = server.get(f"/api/v1/jobs/{quote('Default/parent')}").body
    assert (len(job["child_jobs"]), job["has_more_child_jobs"]) == (100, True)
    rows = server.get(f"/api/v1/jobs?q={quote(f'tag.mlflow.parentRunId={parent}')}&limit=200").body["jobs"]
    assert len(rows) == 101
    # a parent that goes, and one that never was, are none
    assert server.get(f"/api/v1/jobs/{quote('Default/c100')}").body["parent_job"] == "Default/parent"
    assert call(server, "runs/set-tag", {"run_id": last, "key": "mlflow.parentRunId", "value": last})[0] == 200
    assert "parent_job" not in server.get(f"/api/v1/jobs/{quote('Default/c100')}").body, "nobody is his own parent"
    assert call(server, "runs/update", {"run_id": parent, "status": "FINISHED"})[0] == 200
    assert server.request("DELETE", f"/api/v1/jobs/{quote('Default/parent')}").status in (200, 204)
    assert "parent_job" not in server.get(f"/api/v1/jobs/{quote('Default/c7')}").body


def test_runs_of_two_teams_are_no_family(guarded):
    server, tokens = guarded

    def make(name, token, **run):
        run = {"experiment_id": made[token], "run_name": name, "start_time": T0, **run}
        return call(server, "runs/create", run, token=tokens[token])[1]["run"]["info"]["run_id"]

    def job(name):
        return server.get(f"/api/v1/jobs/{quote('family/' + name)}", token=tokens["admin"]).body

    made = {team: call(server, "experiments/create", {"name": "family"}, token=tokens[team])[1]["experiment_id"]
        for team in ("red", "blue")}
    tags = [{"key": "mlflow.parentRunId", "value": make("outer", "red")}]
    make("strange", "blue", tags=tags)
    make("inner", "red", tags=tags)
    assert job("outer")["child_jobs"] == ["family/inner"] and job("inner")["parent_job"] == "family/outer"
    assert job("strange")["TrainingJobName"] == "family/strange" and "parent_job" not in job("strange")


# ---- what is refused ----

@pytest.mark.parametrize("path, body", [
    ("runs/create", {"experiment_id": "0", "start_time": "soon"}),
    ("runs/create", {"experiment_id": "0", "start_time": 12}),
    ("runs/create", {"experiment_id": "0", "tags": {"a": "b"}}),
    ("runs/create", {"experiment_id": "0", "tags": [{"value": "b"}]}),
    ("runs/create", {"experiment_id": "0", "run_name": 7}),
    ("runs/update", {"status": "DONE"}),
    ("runs/update", {"status": "FINISHED", "end_time": 1e30}),
    ("runs/log-metric", {"key": "", "value": 1}),
    ("runs/log-metric", {"key": "a{b=\"c\"}", "value": 1}),
    ("runs/log-metric", {"key": "a"}),
    ("runs/log-metric", {"key": "a", "value": "many"}),
    ("runs/log-metric", {"key": "a", "value": 1, "step": 1.5}),
    ("runs/log-metric", {"key": "a", "value": 1, "step": str(2**53 + 1)}),
    ("runs/log-metric", {"key": "a", "value": 1, "step": str(-2**63)}),
    ("runs/log-metric", {"key": "a", "value": 1, "timestamp": 1}),
    ("runs/log-batch", {"metrics": 3}),
    ("runs/log-batch", {"metrics": [metric("a", 1.0), {"key": "b"}]}),
    ("runs/log-parameter", {"value": "1"}),
    ("experiments/create", {}),
    ("experiments/search", {"order_by": ["name"]}),
])
def test_what_is_wrong_is_named(shared, path, body):
    run_id = make_run(shared)
    status, said = call(shared, path, {"run_id": run_id, **body})
    assert (status, said["error_code"]) == (400, "INVALID_PARAMETER_VALUE") and said["message"], said
    assert history(shared, run_id, "a") == [], "nothing of it is stored"


def test_no_other_experiment_is_called_as_the_default_one(shared):
    experiment = call(shared, "experiments/create", {"name": "renamed"})[1]["experiment_id"]
    status, said = call(shared, "experiments/update", {"experiment_id": experiment, "new_name": "Default"})
    assert (status, said["error_code"]) == (400, "RESOURCE_ALREADY_EXISTS")
    assert call(shared, "experiments/get-by-name?experiment_name=renamed")[0] == 200


def test_calls_that_are_not_here(shared):
    for method, path, status, code, part in [
            ("POST", f"{API}/runs/fly", 404, "ENDPOINT_NOT_FOUND", "log-batch"),
            ("GET", f"{API}/runs/create", 404, "ENDPOINT_NOT_FOUND", "log-batch"),
            ("POST", f"{API}/registered-models/create", 404, "ENDPOINT_NOT_FOUND", "MLFLOW_REGISTRY_URI"),
            ("GET", f"{API}/model-versions/search", 404, "ENDPOINT_NOT_FOUND", "MLFLOW_REGISTRY_URI"),
            ("PUT", f"{API}-artifacts/artifacts/0/x/artifacts/a.txt", 501, "NOT_IMPLEMENTED", "--mlflow-artifacts"),
            ("POST", "/api/3.0/mlflow/traces", 501, "NOT_IMPLEMENTED", "traces")]:
        reply = shared.request(method, path, None if method == "GET" else b"anything")
        assert (reply.status, reply.body["error_code"]) == (status, code) and part in reply.body["message"], path
    reply = shared.post(f"{API}/runs/create", '{"experiment_id": ', content_type="application/json")
    assert (reply.status, reply.body["error_code"]) == (400, "INVALID_PARAMETER_VALUE") and "line 1" in reply.body["message"]


def test_forms_that_other_clients_send(shared):
    """Of Java's and R's: 64 bits as texts, run_uuid alone, numbers as texts, nothing where nothing is said."""
    run_id = make_run(shared, start_time=str(T0))
    assert get_run(shared, run_id)["info"]["start_time"] == T0
    assert call(shared, "runs/log-metric", {"run_uuid": run_id, "key": "m", "value": "1.5", "timestamp": str(T0), "step": "4"})[0] == 200
    assert call(shared, "runs/log-metric", {"run_id": run_id, "key": "m", "value": 2, "timestamp": None, "step": None})[0] == 200
    assert [point[:2] for point in history(shared, run_id, "m")] == [(4, 1.5), (0, 2)], "as with MLflow, behind a step that was said"
    for step in (2**53, -2**53):
        assert call(shared, "runs/log-metric", {"run_id": run_id, "key": "far", "value": 1, "timestamp": str(T0), "step": str(step)})[0] == 200
    assert [point[0] for point in history(shared, run_id, "far")] == [2**53, -2**53]
    assert call(shared, "runs/log-batch", {"run_id": run_id})[0] == 200
    assert call(shared, "runs/set-tag", {"run_id": run_id, "key": "empty"})[0] == 200
    assert pairs(get_run(shared, run_id)["data"]["tags"])["empty"] == ""


# ---- what a relay says beside it ----

def test_what_a_relay_says_beside_it(shared):
    """It answered its client before it could ask: the id is its own, and what it sends again is there once."""
    server = shared
    run_id = "0123456789abcdef" * 2
    making = {"experiment_name": "relayed", "run_name": "r", "client_run_id": run_id, "artifact_uri": "./here", "job_name": "log-job"}
    assert server.post("/api/v1/logs?job=log-job&stream=algo-1", b"a line\n").status == 200
    for _ in range(2):
        status, body = call(server, "runs/create", making)
        assert status == 200, body
        assert (body["run"]["info"]["run_id"], body["run"]["info"]["artifact_uri"]) == (run_id, "./here")
    metric = {"key": "loss", "value": 1.0, "timestamp": 1_760_000_000_000, "step": 1}
    for key, step in (("a", 1), ("a", 1), ("b", 2)):
        body = {"run_id": run_id, "idempotency_key": key, "metrics": [{**metric, "step": step}]}
        assert call(server, "runs/log-batch", body) == (200, {})
    assert [point[0] for point in history(server, run_id, "loss")] == [1, 2]
    assert "relayed/r" not in {row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]}
    assert server.get("/api/v1/jobs/log-job").body["TrackedRunId"] == run_id
    # a second run has a name of its own; the experiment is the same
    other = call(server, "runs/create", {**making, "client_run_id": "f" * 32})[1]["run"]["info"]
    assert other["experiment_id"] == call(server, "experiments/get-by-name?experiment_name=relayed")[1]["experiment"]["experiment_id"]
    assert server.get("/api/v1/jobs/relayed%2Fr").body["TrackedRunId"] == "f" * 32
    for wrong in ("f" * 31, "f" * 33, "F" * 32, "g" * 32):
        status, body = call(server, "runs/create", {**making, "client_run_id": wrong})
        assert status == 400 and "client_run_id" in body["message"]


@pytest.mark.parametrize("number", ["987654", "text", "9" * 30, "theirs"])
def test_a_relays_run_of_an_experiment_that_is_none_is_kept(guarded, number):
    """Its client was answered already: what it logs goes to the experiment that is called as the number is, of its own team."""
    server, tokens = guarded
    if number == "theirs":
        number = call(server, "experiments/create", {"name": "reds own"}, token=tokens["red"])[1]["experiment_id"]
    assert call(server, "runs/create", {"experiment_id": number}, token=tokens["blue"])[0] in (400, 403, 404), "another client is told"
    run_id = hashlib.md5(number.encode()).hexdigest()
    making = {"experiment_id": number, "run_name": "lone", "client_run_id": run_id}
    for _ in range(2):
        status, said = call(server, "runs/create", making, token=tokens["blue"])
        assert status == 200, said
    assert call(server, "runs/log-metric", {"run_id": run_id, "key": "loss", "value": 1.0, "timestamp": 1_760_000_000_000}, token=tokens["blue"])[0] == 200
    assert server.get(f"/api/v1/jobs/{number}%2Flone", token=tokens["admin"]).body["TrackedRunId"] == run_id


def test_a_relay_takes_no_job_and_no_run_of_another_team(guarded):
    server, tokens = guarded
    assert server.post("/api/v1/logs?job=reds&stream=algo-1", b"a line\n", token=tokens["red"]).status == 200
    making = {"experiment_name": "between", "run_name": "r", "client_run_id": "a" * 32, "job_name": "reds"}
    assert call(server, "runs/create", making, token=tokens["blue"])[0] == 200
    assert "TrackedRunId" not in server.get("/api/v1/jobs/reds", token=tokens["admin"]).body, "a name, never a merge"
    assert server.get("/api/v1/jobs/between%2Fr", token=tokens["admin"]).body["TrackedRunId"] == "a" * 32
    status, said = call(server, "runs/create", making, token=tokens["red"])
    assert (status, said["error_code"]) == (403, "PERMISSION_DENIED"), "the id is another's"
    assert call(server, "runs/create", {**making, "client_run_id": "b" * 32}, token=tokens["red"])[0] == 200
    assert server.get("/api/v1/jobs/reds", token=tokens["admin"]).body["TrackedRunId"] == "b" * 32


# ---- models ----

def test_models_are_noted_with_their_runs(guarded):
    server, tokens = guarded
    experiment = call(server, "experiments/create", {"name": "models"}, token=tokens["red"])[1]["experiment_id"]
    run_id = call(server, "runs/create", {"experiment_id": experiment, "run_name": "m"}, token=tokens["red"])[1]["run"]["info"]["run_id"]
    for run in ({"source_run_id": run_id}, {}):
        status, said = call(server, "logged-models", {"experiment_id": experiment, "name": "net", "model_type": "t", **run}, token=tokens["red"])
        assert status == 200, said
        made = said["model"]["info"]
        assert (made["name"], made["status"], made["experiment_id"]) == ("net", "LOGGED_MODEL_PENDING", experiment)
        assert made["artifact_uri"].endswith(f"/models/{made['model_id']}/artifacts")
        path = f"{API}/logged-models/{made['model_id']}"
        assert server.request("PATCH", path, json={"status": "LOGGED_MODEL_READY"}, token=tokens["blue"]).status == 403
        assert server.request("PATCH", path, json={"status": "LOGGED_MODEL_READY"}, token=tokens["read"]).status == 403
        assert server.request("PATCH", path, json={"status": "GONE"}, token=tokens["red"]).status == 400
        assert server.request("PATCH", path, json={"status": "LOGGED_MODEL_READY"}, token=tokens["red"]).status == 200
        read = server.get(path, token=tokens["red"]).body["model"]["info"]
        assert read == {**made, "status": "LOGGED_MODEL_READY"}
        assert server.request("DELETE", path, token=tokens["red"]).status == 501
    for wrong in ("m-", "m-1", "m-" + "0" * 32 + "-00000000", f"m-{run_id}-0000000", f"m-{run_id}-00000000", f"m-{run_id}-0000000g", "m-e9999-00000000",
            "m-e-00000000", "x" * 300):
        assert server.get(f"{API}/logged-models/{wrong}", token=tokens["red"]).status == 404, wrong
    status, said = call(server, "logged-models", {"experiment_id": "0", "name": "net"}, token=tokens["red"])
    assert (status, said["error_code"]) == (501, "NOT_IMPLEMENTED") and "begin a run" in said["message"]
    status, said = call(server, "logged-models", {"source_run_id": run_id, "client_model_id": "m-" + "a" * 32 + "-00000000"}, token=tokens["red"])
    assert status == 400 and "client_model_id" in said["message"]


@of_a_file("the server of these tests has its own file")
def test_a_model_that_is_there_is_never_answered_for_as_one_that_is_not(tmp_path):
    """Of the allocations of a question one fails after the other: a client that hears 404 makes the model anew, one that hears 503 asks again."""
    server = FaultyServer(tmp_path / "faulty").start()
    try:
        experiment = call(server, "experiments/create", {"name": "models"})[1]["experiment_id"]
        run_id = call(server, "runs/create", {"experiment_id": experiment})[1]["run"]["info"]["run_id"]
        # each of its texts as long as it may be: they need room of their own
        texts = {"name": "n" * 1900, "model_type": "t" * 1900, "artifact_uri": "s3://b/" + "a" * 1900}
        for owner in ({}, {"source_run_id": run_id}):
            status, said = call(server, "logged-models", {"experiment_id": experiment, **texts, **owner})
            assert status == 200, said
            path, whole = f"{API}/logged-models/{said['model']['info']['model_id']}", said["model"]["info"]
            has_failed, number = True, 0
            while has_failed:
                number += 1
                server.memory.arm(number)
                try:
                    reply = server.get(path)
                except (OSError, http.client.HTTPException):  # the connection itself had no memory
                    reply = None
                server.memory.set(fail_at=0)
                has_failed = server.memory.get("failed") > 0
                assert reply is None or reply.status in (500, 503) or (reply.status == 200 and reply.body["model"]["info"] == whole), (owner, number, reply)
            assert number > 20, "what it asks for is what fails"
    finally:
        server.close()


def test_a_run_that_failed_says_why(server):
    """A client states that it failed, and no reason: the fault that its log showed belongs to it, and is found."""
    run_id = make_run(server, run_name="oom")
    (job,) = server.get("/api/v1/jobs").body["jobs"]
    server.send(job["TrainingJobName"], ["step: 1 loss: 2.5", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB."])
    assert call(server, "runs/update", {"run_id": run_id, "status": "FAILED"})[0] == 200
    wait_until(lambda: server.get("/api/v1/jobs?q=FailureReason:memory").body["jobs"], what="the fault in the reason")
    reason = server.get(f"/api/v1/jobs/{quote(job['TrainingJobName'])}").body["FailureReason"]
    assert reason.startswith("the run ended as FAILED; GPU out of memory"), reason


def test_a_run_of_the_past_that_went_on_in_the_past(server):
    """Only ends have a time of their own. 100 s, an hour of nothing, 200 s: it went on with what it logged, not today."""
    begun = int(time.time() * 1000) - 30 * 86_400_000
    run_id = make_run(server, run_name="past", start_time=begun)
    went_on = begun + 3_700_000
    for first, at, status, end in ((1, begun, "FAILED", begun + 100_000), (101, went_on, "FINISHED", went_on + 200_000)):
        steps = (end - at) // 1000
        batch = [metric("loss", 2.0, first + n, at + 1000 * n) for n in range(steps)]
        assert log(server, run_id, metrics=batch)[0] == 200
        assert call(server, "runs/update", {"run_id": run_id, "status": status, "end_time": end})[0] == 200
        if status == "FAILED":
            assert call(server, "runs/update", {"run_id": run_id, "status": "RUNNING"})[0] == 200
    row = wait_until(lambda: (one := server.get(f"/api/v1/jobs/{quote('Default/past')}").body) and "goodput" in one and one, what="its goodput")
    assert (row["TrainingJobStatus"], round(row["TrainingEndTime"] * 1000)) == ("Completed", went_on + 200_000)
    assert [(part["Status"], round(part["StartTime"] * 1000)) for part in row["SecondaryStatusTransitions"]] == [
        ("Training", begun), ("Failed", begun + 100_000), ("Training", went_on), ("Completed", went_on + 200_000)]
    assert row["BillableTimeInSeconds"] == 300
