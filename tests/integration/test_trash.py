"""Deleted jobs: in the trash for a while, restored as they were, gone for good when that is over or somebody says so."""

import re
import time

import pytest

from engine import of_a_file
from smserver import ROOT, quote, wait_until
from test_auth import make_token
from test_life import MINUTE_MS, T0, line

DAY_MS = 24 * 3600 * 1000
DEFINITION = {"Name": "train:loss", "Regex": r"step: (?<step>\d+) .* loss: (?<value>\S+)"}
STEPS = 60


def document(job, **more):
    return {"TrainingJobName": job, "HyperParameters": {"lr": "0.125"}, "Tags": [{"Key": "owner", "Value": "ada"}],
        "AlgorithmSpecification": {"MetricDefinitions": [DEFINITION]}, **more}


def train(server, job, end="Completed", **more):
    assert server.post("/api/v1/jobs", json=document(job, **more)).status == 201
    server.send(job, [line(T0 + n * MINUTE_MS, f"step: {n} | loss: {5 - n / 60:.4f}") for n in range(1, STEPS + 1)], stream="node-1/0")
    if end:
        assert server.post(f"/api/v1/jobs/{quote(job)}/transitions", json={"SecondaryStatus": end, "time_ms": T0 + 90 * MINUTE_MS}).status < 300


def delete(server, job, query="", status=204, **options):
    reply = server.delete(f"/api/v1/jobs/{quote(job)}{query}", **options)
    assert reply.status == status, reply
    return reply


def restore(server, job, query="", status=200, **options):
    reply = server.post(f"/api/v1/jobs/{quote(job)}/restore{query}", **options)
    assert reply.status == status, reply
    return reply.body.get("TrainingJobName") if status == 200 else reply.body["detail"]


def trash(server):
    return server.get("/api/v1/trash").body["jobs"]


def found(server, query):
    return [row["TrainingJobName"] for row in server.get("/api/v1/jobs?q=" + quote(query)).body["jobs"]]


def seen(server, job):
    """All that is shown of it, but for what depends on the time of the question."""
    body = {path: server.get(f"/api/v1/jobs/{quote(job)}{path}").body for path in ("", "/streams", "/checkpoints", "/metrics")}
    lines = server.lines(job, "node-1/0")
    points = server.points(job, "train:loss")
    return body, lines, points


def differing(old, new, path=""):
    """Which members of two JSON texts are not the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [at for key in old.keys() | new.keys() for at in differing(old.get(key), new.get(key), f"{path}.{key}")]
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) == len(new):
        return [at for i, pair in enumerate(zip(old, new)) for at in differing(*pair, f"{path}[{i}]")]
    return [] if old == new else [(path, old, new)]


def settled(server, job):
    """Once nothing that is derived is on its way any more."""
    server.wait_for_points(job, "train:loss", STEPS, stream="node-1/0")
    wait_until(lambda: job in found(server, "loss.last<4.5"), what="the summaries")
    wait_until(lambda: server.get(f"/api/v1/jobs/{quote(job)}").body["goodput"] > 0, what="where its time went")
    wait_until(lambda: server.get(f"/api/v1/jobs/{quote(job)}").body["metrics"][0].get("best") is not None, what="its best loss")
    return wait_until(lambda: (first := seen(server, job)) == seen(server, job) and first, what="the job to be as it stays")


def test_a_restored_job_is_as_it_was(server):
    train(server, "a/b c")
    before = settled(server, "a/b c")
    asked_ms = time.time() * 1000
    delete(server, "a/b c")
    assert server.get("/api/v1/jobs/" + quote("a/b c")).status == 404
    assert found(server, "hp.lr=0.125") == found(server, "loss.last<4.5") == found(server, "tag.owner=ada") == []
    row, = trash(server)
    assert (row["TrainingJobName"], row["TrainingJobStatus"], row["deleted_by"]) == ("a/b c", "Completed", "")
    assert asked_ms - 1000 < row["deleted_ms"] < time.time() * 1000 + 1000 and row["purge_ms"] - row["deleted_ms"] == 30 * DAY_MS
    assert row["bytes"] > 300, "its lines and points are put away, not in the journal"
    assert restore(server, "a/b c") == "a/b c"
    def as_it_was():
        assert differing(before, seen(server, "a/b c")) == []
        return True
    wait_until(as_it_was, what="its time to be worked out again")
    assert found(server, "hp.lr=0.125") == found(server, "loss.last<4.5") == found(server, "tag.owner=ada") == ["a/b c"]
    assert trash(server) == []


def texts(server, job):
    return [row["text"] for row in server.lines(job, "node-1/0")]


def test_what_was_just_acknowledged_survives_a_kill_behind_each_step(server):
    """Nothing waits for the sealer: the deletion does it. A crash loses neither the trash nor the job that came back."""
    train(server, "j")
    delete(server, "j")
    server.kill()
    server.start()
    assert server.get("/api/v1/jobs/j").status == 404 and [row["TrainingJobName"] for row in trash(server)] == ["j"]
    assert restore(server, "j") == "j"
    server.kill()
    server.start()
    assert trash(server) == []
    assert len(texts(server, "j")) == STEPS and server.series("j", "train:loss", "node-1/0")["count"] == STEPS
    assert found(server, "loss.last<4.5") == ["j"], "its summaries were written before"
    server.send("j", line(T0 + 61 * MINUTE_MS, "step: 61 | loss: 3.5"), stream="node-1/0")
    server.wait_for_points("j", "train:loss", STEPS + 1, stream="node-1/0")
    assert len(texts(server, "j")) == STEPS + 1


def test_the_name_is_free_and_nothing_is_merged(server):
    """Who goes on sending makes a new job; the old one comes back beside it."""
    train(server, "j")
    delete(server, "j")
    server.send("j", "another", stream="node-1/0")
    assert texts(server, "j") == ["another"]
    assert restore(server, "j") == "j-2"
    assert texts(server, "j") == ["another"] and len(texts(server, "j-2")) == STEPS
    assert server.get("/api/v1/jobs/j-2").body["TrainingJobName"] == "j-2"
    entry = server.get("/api/v1/audit?limit=1").body["entries"][0]
    assert (entry["verb"], entry["object"], entry["before"], entry["after"]["name"]) == ("restore", "jobs/j", None, "j-2"), entry
    assert found(server, "name=j-2") == ["j-2"] == found(server, "hp.lr=0.125")
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Stopped"}).status < 300
    delete(server, "j")
    delete(server, "j-2")
    server.restart()
    assert sorted(row["TrainingJobName"] for row in trash(server)) == ["j", "j-2"]


def test_of_several_of_one_name_the_last_comes_back_or_the_one_that_is_meant(server):
    for n in range(3):
        train(server, "j", HyperParameters={"n": str(n)})
        delete(server, "j")
    newest, middle, oldest = trash(server)
    assert "3 in the trash: say which by id=" in delete(server, "j", "?purge=true", status=409).body["detail"]
    delete(server, "j", f"?purge=true&id={middle['id']}")
    assert "no job 'j' with the id" in restore(server, "j", f"?id={middle['id']}", status=404)
    assert restore(server, "j") == "j" and restore(server, "j", f"?id={oldest['id']}") == "j-2"
    assert [server.get(f"/api/v1/jobs/{name}").body["HyperParameters"]["n"] for name in ("j", "j-2")] == ["2", "0"]
    assert trash(server) == [] and newest["id"] != oldest["id"]


def test_a_job_that_comes_back_closes_no_circle(server):
    """Meanwhile the job that it goes on with was told to go on with it."""
    train(server, "a")
    train(server, "b", Tags=[{"Key": "continues", "Value": "a"}])
    delete(server, "b")
    assert server.patch("/api/v1/jobs/a", json={"tags": {"continues": "b"}}).status == 200
    assert "'b' cannot go on with 'a', which goes on with it" in restore(server, "b", status=422)
    assert [row["TrainingJobName"] for row in trash(server)] == ["b"] and server.get("/api/v1/jobs/b").status == 404
    assert server.patch("/api/v1/jobs/a", json={"tags": {"continues": None}}).status == 200
    assert restore(server, "b") == "b" and trash(server) == []


def test_for_good(server):
    """A job that is there goes; sent again, the request takes none from the trash, where each is meant by its id. All rows go."""
    train(server, "j")
    delete(server, "j")
    train(server, "j")
    delete(server, "j", "?purge=true")
    assert server.get("/api/v1/jobs/j").status == 404 and len(trash(server)) == 1
    for _ in range(2):
        assert "no job 'j' is there, but 1 in the trash" in delete(server, "j", "?purge=true", status=409).body["detail"]
    assert len(trash(server)) == 1
    meant = f"?purge=true&id={trash(server)[0]['id']}"
    delete(server, "j", meant)
    assert trash(server) == []
    delete(server, "j", meant, status=404)
    delete(server, "j", "?purge=true", status=404)
    assert "no job 'j' in the trash" in restore(server, "j", status=404)
    delete(server, "j", "?id=1", status=400)
    tables = [table for table in server.tables_with("job_id") if table not in ("node_faults", "pool_jobs")]
    assert "trashed_jobs" in tables and len(tables) > 40
    wait_until(lambda: all(server.sql(f"SELECT count(*) FROM {table}")[0][0] == 0 for table in tables), what="the rows to be swept")


def test_what_still_runs_is_not_deleted(server):
    train(server, "j", end=None)
    assert "is running" in delete(server, "j", status=409).body["detail"]
    assert trash(server) == [] and len(texts(server, "j")) == STEPS


@of_a_file("the day of the deletion is set in it")
def test_after_its_days_it_goes_for_good(server):
    for job in ("old", "young"):
        train(server, job)
        delete(server, job)
    server.stop()
    server.sql("UPDATE trashed_jobs SET deleted_ms = deleted_ms - ? WHERE name = 'old'", 30 * DAY_MS + 1000)
    server.sql("UPDATE trashed_jobs SET deleted_ms = deleted_ms - ? WHERE name = 'young'", 30 * DAY_MS - 3600 * 1000)
    server.start()
    wait_until(lambda: [row["TrainingJobName"] for row in trash(server)] == ["young"], what="the old one to go")
    assert restore(server, "young") == "young"
    restore(server, "old", status=404)


def test_without_a_trash(make_server):
    server = make_server("--trash-days", "0")
    train(server, "j")
    delete(server, "j")
    assert trash(server) == [] and server.get("/api/v1/trash").body["kept_ms"] == 0
    restore(server, "j", status=404)


def test_attachments_weigh_in_the_list(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "files"}).status == 201
    for name, size in (("a.bin", 70_000), ("b.bin", 2)):
        assert server.put(f"/api/v1/jobs/files/attachments/{name}", body=b"x" * size, content_type="application/octet-stream").status == 201
    assert server.post("/api/v1/jobs/files/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    delete(server, "files")
    assert [(row["TrainingJobName"], row["bytes"]) for row in trash(server)] == [("files", 70_002)]


def test_pages_of_the_list(server):
    for n in range(5):
        train(server, f"j{n}")
        delete(server, f"j{n}")
    names, query = [], "?limit=2"
    while query:
        body = server.get("/api/v1/trash" + query).body
        names += [row["TrainingJobName"] for row in body["jobs"]]
        query = "next_cursor" in body and f"?limit=2&cursor={body['next_cursor']}"
    assert names == ["j4", "j3", "j2", "j1", "j0"] and body["count"] == 5
    assert body["bytes"] == sum(row["bytes"] for row in trash(server)) > 0
    for wrong in ("limit=0", "limit=1001", "cursor=x", "cursor=1-", "cursor=-"):
        assert server.get("/api/v1/trash?" + wrong).status == 400, wrong


def test_who_may(server):
    admin, writer, reader = (make_token(server, scope, scope) for scope in ("admin", "write", "read"))
    ours, theirs = (make_token(server, name, "admin", "--team", name) for name in ("ours", "theirs"))
    assert server.post("/api/v1/jobs", json=document("j"), token=ours).status == 201
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}, token=ours).status < 300
    delete(server, "j", status=403, token=theirs)
    delete(server, "j", status=403, token=writer)
    delete(server, "j", token=ours)
    row, = server.get("/api/v1/trash", token=reader).body["jobs"]
    assert (row["team"], row["deleted_by"]) == ("ours", "ours")
    restore(server, "j", status=403, token=theirs)
    delete(server, "j", "?purge=true", status=403, token=theirs)
    restore(server, "j", status=403, token=writer)
    assert restore(server, "j", token=ours) == "j"
    told = [(row["verb"], row["object"], row["token"]) for row in server.get("/api/v1/audit", token=admin).body["entries"]]
    assert told[:2] == [("restore", "jobs/j", "ours"), ("delete", "jobs/j", "ours")]


def test_no_route_shows_a_job_in_the_trash(server):
    """Every GET of the table that takes a job by its name, and every list: what an untouched server beside it would not say, none says."""
    job = "gone-4711"
    train(server, job, ResourceConfig={"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "KeepAlivePeriodInSeconds": 600})
    server.send(job, line(T0, "NCCL WARN Xid 79: GPU has fallen off the bus"), stream="node-1/0", headers={"X-Host": "gone-host"})
    settled(server, job)
    delete(server, job)
    source = (ROOT / "server/api/routes.c").read_text()
    routes = re.findall(r'\{HTTP_GET(?: \| HTTP_\w+)?, "([^"]+)"', source)
    assert len(routes) > 60
    not_said = {"/api/v1/trash", "/api/v1/audit", "/api/v1/live"} # what it is for; who deleted what; has no end
    for path in routes:
        if path in not_said or not path.startswith("/api/"):
            continue
        reply = server.get(re.sub(r"\{[^}]*\}", "1", path.replace("{job}", job)))
        if "{job}" in path:
            assert reply.status in (400, 404), (path, reply)
        else:
            assert job.encode() not in reply.raw, (path, reply)
