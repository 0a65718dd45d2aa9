"""Job documents, their metric definitions, their life."""

import json
import threading
import time

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import quote, wait_until

DOCUMENT = {
    "TrainingJobName": "llama-1",
    "RoleArn": "arn:aws:iam::123456789012:role/train",
    "AlgorithmSpecification": {
        "TrainingImage": "train:1",
        "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "train:loss", "Regex": r"loss=([0-9.]+)", "Role": "loss", "Unit": "nats"}],
    },
    "HyperParameters": {"lr": "3e-4", "layers": "32"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "VolumeSizeInGB": 500,
        "KeepAlivePeriodInSeconds": 1800},
    "Tags": [{"Key": "team", "Value": "nlp"}],
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "SomethingNew": {"kept": [1, 2.5, None, "x"]},
}


def create(server, document, status=201):
    reply = server.post("/api/v1/jobs", json=document)
    assert reply.status == status, reply
    return reply.body


def with_definitions(name, *definitions):
    return {"TrainingJobName": name, "AlgorithmSpecification": {"MetricDefinitions": list(definitions)}}


def test_document_comes_back_whole(server):
    create(server, DOCUMENT)
    job = server.get("/api/v1/jobs/llama-1").body
    for key, value in DOCUMENT.items():
        assert job[key] == value, key
    assert job["TrainingJobStatus"] == "InProgress" and job["SecondaryStatus"] == "Starting"
    assert isinstance(job["CreationTime"], (int, float)) and abs(job["CreationTime"] - time.time()) < 300


def test_summaries_forget_sealed_points_that_a_restart_supersedes(make_server):
    server = make_server("--seal-bytes", "64KiB", "--seal-age", "100ms")
    create(server, with_definitions("j", {"Name": "loss", "Regex": r"step (?<step>\d+) loss (?<value>\S+)"},
        {"Name": "lr", "Regex": r"step (?<step>\d+) .* lr (?<value>\S+)"}))

    def steps(first, end):
        return [f"step {i} loss 2.0" + (" lr 1e-3" if i % 2 == 0 else "") for i in range(first, end)]

    def counts():
        return {row["metric"]: row["count"] for row in server.get("/api/v1/jobs/j/metrics").body["series"]}
    server.send("j", steps(0, 1000))
    wait_until(lambda: "smfleet_sealed_points_total 1500" in server.get("/metrics").body, what="the sealed points")
    server.send("j", ["loading checkpoint from step 500"] + steps(500, 520))
    wait_until(lambda: counts() == {"loss": 520, "lr": 260}, what="the summaries without what was superseded")


def test_a_giant_field_does_not_fail_the_page_it_is_on(server):
    giant = {"TrainingJobName": "giant", "HyperParameters": {f"key{i}": "x" * 2500 for i in range(100)},
        "ResourceConfig": DOCUMENT["ResourceConfig"]}
    create(server, giant)
    create(server, DOCUMENT)
    rows = {row["TrainingJobName"]: row for row in server.get("/api/v1/jobs").body["jobs"]}
    assert rows["llama-1"]["HyperParameters"] == DOCUMENT["HyperParameters"]
    assert "HyperParameters" not in rows["giant"] and rows["giant"]["ResourceConfig"] == giant["ResourceConfig"]
    assert server.get("/api/v1/jobs/giant").body["HyperParameters"] == giant["HyperParameters"]


def test_second_create_conflicts(server):
    create(server, DOCUMENT)
    assert "llama-1" in create(server, DOCUMENT, 409)["detail"]


def test_create_completes_a_job_made_by_its_first_line(server):
    server.send("llama-1", "loss=3.5")
    create(server, DOCUMENT)
    assert server.get("/api/v1/jobs/llama-1").body["HyperParameters"] == DOCUMENT["HyperParameters"]
    assert [line["text"] for line in server.lines("llama-1")] == ["loss=3.5"]


def test_definitions_make_points(server):
    create(server, DOCUMENT)
    server.send("llama-1", ["start", "loss=3.5", "loss=x", "loss=3.25 step 7"])
    row = server.wait_for_points("llama-1", "train:loss", 2)
    assert (row["role"], row["unit"], row["last"], row["min"], row["max"]) == ("loss", "nats", 3.25, 3.25, 3.5)
    health = server.get("/api/v1/jobs/llama-1/metrics").body["definitions"]
    assert [(d["Name"], d["tried"], d["matched"]) for d in health] == [("train:loss", 4, 2)]


def test_not_numeric_is_counted(server):
    create(server, with_definitions("j", {"Name": "m", "Regex": r"m=(\S+)"}))
    server.send("j", ["m=1", "m=n/a", "m=soon", "m=2"])
    server.wait_for_points("j", "m", 2)
    health = server.get("/api/v1/jobs/j/metrics").body["definitions"][0]
    assert (health["not_numeric"], health["missing"]) == (1, 1)


def test_bad_regex_names_field_and_column(server):
    body = create(server, with_definitions("j", {"Name": "good", "Regex": "a=(.*)"}, {"Name": "bad", "Regex": "loss=([0-9"}), 422)
    assert body["field"].endswith("MetricDefinitions[1].Regex"), body
    assert isinstance(body["column"], int) and 1 <= body["column"] <= 11, body
    assert server.get("/api/v1/jobs/j").status == 404


def test_regex_without_a_group(server):
    assert "MetricDefinitions[0].Regex" in create(server, with_definitions("j", {"Name": "m", "Regex": "loss"}), 422)["field"]


def test_documents_that_are_wrong(server):
    assert create(server, {"HyperParameters": {}}, 422)["field"] == "TrainingJobName"
    reply = server.post("/api/v1/jobs", '{"TrainingJobName": "x",}', content_type="application/json")
    assert reply.status == 400 and reply.body["line"] == 1 and reply.body["column"] >= 20
    assert server.post("/api/v1/jobs", "[1]", content_type="application/json").status in (400, 422)
    assert server.post("/api/v1/jobs", "", content_type="application/json").status == 400


def test_catastrophic_regex_is_limited_and_the_server_goes_on(server):
    create(server, with_definitions("evil", {"Name": "evil", "Regex": r"(?:x+x+)+y=(\d)"}, {"Name": "ok", "Regex": r"v=(\d+)"}))
    slowest = [0.0]
    is_over = threading.Event()

    def keep_asking():
        while not is_over.is_set():
            began = time.monotonic()
            assert server.send("bystander", "step: 1 loss: 2.0")
            slowest[0] = max(slowest[0], time.monotonic() - began)

    asking = threading.Thread(target=keep_asking)
    asking.start()
    server.send("evil", ["x" * 60 + f" v={i}" for i in range(300)])
    server.wait_for_points("evil", "ok", 300)
    is_over.set()
    asking.join()
    health = {d["Name"]: d for d in server.get("/api/v1/jobs/evil/metrics").body["definitions"]}
    assert health["evil"]["limited"] > 0 and health["evil"]["matched"] == 0
    assert health["ok"]["matched"] == 300 and health["ok"]["limited"] == 0
    assert slowest[0] < 5, f"a request beside it took {slowest[0]:.1f} s"


def test_slow_expressions_are_left_out_and_hold_nobody_up(make_server):
    """On one thread: a job whose expressions run into the limit on every second line only, or stop just short of it on each."""
    server = make_server("--extract-threads", "1")
    runaway = [{"Name": f"runaway{i}", "Regex": rf"(?:x+x+)+[yz]{{{i + 1}}}(\d)"} for i in range(8)]
    slow = [{"Name": f"slow{i}", "Regex": rf".*.*.*[yz]{{{i + 1}}}(\d)"} for i in range(8)]
    create(server, with_definitions("evil", *runaway, *slow, {"Name": "ok", "Regex": r"v=(\d+)"}))
    create(server, with_definitions("bystander", {"Name": "loss", "Regex": r"loss: ([0-9.]+)"}))
    lines = [("x" * 60 if i % 2 else "") + " " * 160 + f" v={i}" for i in range(20000)]
    assert server.send("evil", lines)
    began = time.monotonic()
    assert server.send("bystander", "loss: 2.0")
    server.wait_for_points("bystander", "loss", 1)
    took = time.monotonic() - began
    server.wait_for_points("evil", "ok", len(lines))
    health = {d["Name"]: d for d in server.get("/api/v1/jobs/evil/metrics").body["definitions"]}
    for name in [d["Name"] for d in runaway + slow]:
        assert health[name]["tried"] < 3000, health[name]
        assert health[name]["limited"] >= len(lines) - health[name]["tried"], health[name]
    assert health["ok"] == {"Name": "ok", "tried": len(lines), "matched": len(lines), "not_numeric": 0, "limited": 0, "missing": 0,
        "without_step": len(lines)}
    assert took < 10, f"a line beside it waited {took:.1f} s"


def transition(server, job, secondary, **fields):
    reply = server.post(f"/api/v1/jobs/{quote(job)}/transitions", json={"SecondaryStatus": secondary, **fields})
    assert reply.status in (200, 204), reply


def test_transitions_are_a_history(server):
    create(server, DOCUMENT)
    base = int(time.time() * 1000) - 600_000
    for number, status in enumerate(["Downloading", "Training", "Uploading", "Completed"]):
        transition(server, "llama-1", status, StatusMessage=f"now {status}", time_ms=base + number * 60_000)
    job = server.get("/api/v1/jobs/llama-1").body
    assert job["TrainingJobStatus"] == "Completed" and job["SecondaryStatus"] == "Completed"
    history = job["SecondaryStatusTransitions"]
    assert [row["Status"] for row in history][-4:] == ["Downloading", "Training", "Uploading", "Completed"]
    training = next(row for row in history if row["Status"] == "Training")
    assert (training["StartTime"], training["EndTime"], training["StatusMessage"]) == (
        (base + 60_000) / 1000, (base + 120_000) / 1000, "now Training")
    assert job["TrainingEndTime"] == (base + 180_000) / 1000


def test_failure_has_a_reason(server):
    create(server, DOCUMENT)
    transition(server, "llama-1", "Failed", FailureReason="AlgorithmError: exit code 137")
    job = server.get("/api/v1/jobs/llama-1").body
    assert job["TrainingJobStatus"] == "Failed" and job["FailureReason"] == "AlgorithmError: exit code 137"


def test_transition_of_an_unknown_job(server):
    assert server.post("/api/v1/jobs/none/transitions", json={"SecondaryStatus": "Training"}).status == 404
    server.send("j", "x")
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Dancing"}).status == 422
    assert server.post("/api/v1/jobs/j/transitions", json={}).status == 422


def test_list_pages(server):
    for number in range(7):
        create(server, {"TrainingJobName": f"job-{number}"})
    names, cursor = [], ""
    for _ in range(3):
        body = server.get(f"/api/v1/jobs?limit=3&sort=name&total=true{cursor}").body
        assert body["total"] == 7
        names += [row["TrainingJobName"] for row in body["jobs"]]
        if "next_cursor" not in body:
            break
        cursor = "&cursor=" + quote(body["next_cursor"])
    assert names == [f"job-{number}" for number in range(7)] and "next_cursor" not in body


def test_row_has_the_summary(server):
    create(server, DOCUMENT)
    server.send("llama-1", ["loss=4", "loss=3", "loss=3.5"])

    def has_summary():
        row = server.get("/api/v1/jobs").body["jobs"][0]
        return row if row["metrics"] and row["metrics"][0]["count"] == 3 else None
    row = wait_until(has_summary, what="the flushed summary")
    metric = row["metrics"][0]
    assert (metric["metric"], metric["last"], metric["min"], metric["max"]) == ("train:loss", 3.5, 3, 4)
    assert row["ResourceConfig"]["InstanceType"] == "ml.p4d.24xlarge" and row["lines"] == 3


def test_delete(server):
    create(server, DOCUMENT)
    server.send("llama-1", "loss=1")
    assert server.delete("/api/v1/jobs/llama-1").status == 409 # it runs, and was heard of just now
    transition(server, "llama-1", "Stopped")
    assert server.delete("/api/v1/jobs/llama-1").status == 204
    assert server.get("/api/v1/jobs/llama-1").status == 404
    assert server.get("/api/v1/jobs").body["jobs"] == []


def test_everything_is_there_after_a_restart(server):
    create(server, DOCUMENT)
    transition(server, "llama-1", "Training")
    server.send("llama-1", ["loss=4", "loss=3"])
    server.wait_for_points("llama-1", "train:loss", 2)
    before = server.get("/api/v1/jobs/llama-1").body
    server.restart()
    after = server.get("/api/v1/jobs/llama-1").body
    for key in ("HyperParameters", "SomethingNew", "SecondaryStatus", "SecondaryStatusTransitions", "CreationTime"):
        assert after[key] == before[key], key
    assert [line["text"] for line in server.lines("llama-1")] == ["loss=4", "loss=3"]
    assert server.series("llama-1", "train:loss")["count"] == 2
    server.send("llama-1", "loss=2")
    assert server.wait_for_points("llama-1", "train:loss", 3)["last"] == 2


def test_deep_and_large_documents_are_refused(server):
    deep = '{"TrainingJobName":"x","a":' + "[" * 5000 + "]" * 5000 + "}"
    assert server.post("/api/v1/jobs", deep, content_type="application/json").status in (400, 422)
    large = json.dumps({"TrainingJobName": "x", "a": "y" * (5 << 20)})
    assert server.post("/api/v1/jobs", large, content_type="application/json").status == 413


@pytest.mark.parametrize(("reason", "wanted"), [("room 7 flooded", "Unknown"), ("boom spot interruption", "Unknown"),
    ("the node's OOM killer", "AlgorithmError"), ("OOMKilled", "AlgorithmError"), ("OSError: no", "AlgorithmError")])
def test_words_of_a_reason_are_words(make_server, reason, wanted):
    server = make_server()
    server.post("/api/v1/logs?job=j&stream=algo-1", b"step 1 loss: 2.5\n")
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Failed", "FailureReason": reason}).status == 204
    assert server.get("/api/v1/jobs/j").body["FailureClass"] == wanted
