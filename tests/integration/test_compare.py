"""GET /api/v1/compare: what differs between jobs."""

import csv
import io
import json
import subprocess
from urllib.parse import quote

from smserver import wait_until


def compare(server, *jobs, status=200, **more):
    names = ",".join(quote(job, safe="") for job in jobs)
    query = "".join(f"&{key}={quote(str(value))}" for key, value in more.items())
    reply = server.get(f"/api/v1/compare?jobs={quote(names, safe='')}{query}")
    assert reply.status == status, reply
    return reply.body


def test_what_differs_and_what_does_not(server):
    def make(name, lr, count, **more):
        document = {"TrainingJobName": name, "HyperParameters": {"lr": lr, "opt": "adam", **more},
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": count}, "Labels": ["x", name]}
        assert server.post("/api/v1/jobs", json=document).status == 201
    make("a,b", "1e-4", 4)
    make("c/%", "0.0001", 8, warmup="10")
    reply = compare(server, "a,b", "c/%", equal="true")
    assert reply["jobs"] == ["a,b", "c/%"]
    assert reply["differ"] == [
        {"key": "Labels", "values": [["x", "a,b"], ["x", "c/%"]]},
        {"key": "ResourceConfig.InstanceCount", "values": ["4", "8"]},
        {"key": "hp.warmup", "values": [None, "10"]}]
    assert reply["equal"] == [{"key": "ResourceConfig.InstanceType", "value": "ml.p4d.24xlarge"},
        {"key": "hp.lr", "value": "1e-4"}, {"key": "hp.opt", "value": "adam"}] # as numbers 1e-4 and 0.0001 are the same
    assert reply["roles"] == reply["metrics"] == [] and reply["steps"] == {"metric": "loss", "at": []}
    assert "equal" not in compare(server, "a,b", "c/%")


def test_metrics_side_by_side_and_at_the_same_steps(server):
    server.send("short", [f"step {i} loss {100 - i}" for i in range(10, 61)])
    definitions = [{"Name": "train_loss", "Regex": r"step (?<step>\d+) train_loss (?<value>\S+)", "Role": "loss"}]
    server.post("/api/v1/jobs", json={"TrainingJobName": "long", "AlgorithmSpecification": {"MetricDefinitions": definitions}})
    server.send("long", [f"step {i} train_loss {200 - i}" for i in range(0, 201, 3)])
    server.post("/api/v1/jobs", json={"TrainingJobName": "silent"})

    def done():
        reply = compare(server, "short", "long", "silent")
        values = reply["roles"][0]["values"] if reply["roles"] else []
        return reply if [bool(value and "final" in value) for value in values] == [True, True, False] else None
    wait_until(done, what="both are summed up and ranked")
    reply = done()
    assert reply["roles"][0]["role"] == "loss"
    short, long, _ = reply["roles"][0]["values"]
    assert (short["metric"], short["count"], short["last"], short["last_step"], short["min"]) == ("train:loss", 51, 40, 60, 40)
    assert (long["metric"], long["best"], long["best_step"]) == ("train_loss", 2, 198)
    assert [row["metric"] for row in reply["metrics"]] == ["train:loss", "train_loss"] and reply["metrics"][1]["values"][0] is None
    steps = {at["fraction"]: at for at in reply["steps"]["at"]}
    assert list(steps) == [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
    assert steps[0]["step"] == 10 and steps[0]["values"] == [{"step": 10, "value": 90}, {"step": 9, "value": 191}, None]
    assert steps[0.5]["step"] == 35 and steps[0.5]["values"] == [{"step": 35, "value": 65}, {"step": 33, "value": 167}, None]
    assert steps[1]["step"] == 60 and steps[1]["values"] == [{"step": 60, "value": 40}, {"step": 60, "value": 140}, None]
    def run(*arguments):
        return subprocess.run([server.bin("sm-search"), "--server", server.url, "--compare", *arguments], capture_output=True, timeout=60, text=True)
    rows = list(csv.reader(io.StringIO(run("short", "long").stdout)))
    assert rows[0] == ["job", "short", "long"] and ["loss.last", "40", "2"] in rows and ["loss at 35", "65", "167"] in rows
    table = run("short", "long", "--table").stdout.splitlines()
    assert table[0].lower().split() == ["job", "short", "long"]
    assert json.loads(run("short", "long", "--json").stdout)["jobs"] == ["short", "long"]
    assert run("short").returncode == 2 and run("short", "nobody").returncode == 4
    alone = compare(server, "short", "long", metric="train_loss")["steps"]
    assert alone["at"][-1]["values"] == [{"step": 60, "value": 40}, {"step": 60, "value": 140}]  # what a log prints as train_loss


def test_as_many_as_the_option_says(make_server):
    server = make_server("--max-compare-jobs", "3")
    for name in "abcd":
        server.post("/api/v1/jobs", json={"TrainingJobName": name})
    assert compare(server, "a", "b", "c")["jobs"] == ["a", "b", "c"]
    problem = compare(server, "a", "b", "c", "d", status=413)
    assert problem["field"] == "jobs" and "--max-compare-jobs" in problem["detail"]
    assert compare(server, "a", status=422)["field"] == "jobs"
    assert compare(server, "a", "a", status=422)["field"] == "jobs"
    assert "'nobody'" in compare(server, "a", "nobody", status=404)["detail"]
    assert server.get("/api/v1/compare").status == 400
    assert server.get("/api/v1/compare?jobs=a,%25ff").status == 400
