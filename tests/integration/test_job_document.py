"""The whole TrainingJob document: what it may hold, what may be changed of it, how it is run again."""

import json
import re
import shlex
import time

import pytest
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until

DOCUMENT = {
    "TrainingJobName": "llama",
    "RoleArn": "arn:aws:iam::123456789012:role/train",
    "AlgorithmSpecification": {"TrainingImage": "train:1", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": r"loss=([0-9.]+) it's", "Role": "loss", "Unit": "nats"}]},
    "HyperParameters": {"lr": "3e-4", "quote": "it's"},
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/out/"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "VolumeSizeInGB": 500},
    "Tags": [{"Key": "team", "Value": "nlp"}, {"Key": "aws:made", "Value": "by them"}],
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "Unknown": {"kept": [1, None]},
}


def create(server, **fields):
    reply = server.post("/api/v1/jobs", json={**DOCUMENT, **fields})
    assert reply.status == 201, reply


def names(server, query):
    return [row["TrainingJobName"] for row in server.get(f"/api/v1/jobs?q={query}").body["jobs"]]


@pytest.mark.parametrize("field, value, place, words", [
    ("HyperParameters", {f"k{i}": "x" for i in range(101)}, "HyperParameters", "at most 100"),
    ("HyperParameters", {"lr": 0.1}, "HyperParameters.lr", "0.1 is no string"),
    ("HyperParameters", {"lr": "x" * 2501}, "HyperParameters.lr", "at most 2500"),
    ("Tags", [{"Key": f"k{i}", "Value": "x"} for i in range(51)], "Tags", "at most 50"),
    ("Tags", [{"Key": "a", "Value": "x" * 257}], "Tags[0].Value", "at most 256"),
    ("Environment", {"a-b": "x"}, "Environment.a-b", "does not match"),
    ("ResourceConfig", {"InstanceCount": "4"}, "ResourceConfig.InstanceCount", '"4" is no integer'),
    ("ResourceConfig", {"KeepAlivePeriodInSeconds": 3601}, "ResourceConfig.KeepAlivePeriodInSeconds", "3601"),
    ("StoppingCondition", {"MaxRuntimeInSeconds": 28 * 86400 + 1}, "StoppingCondition.MaxRuntimeInSeconds", "2419201"),
    ("InputDataConfig", [{"ChannelName": "c"}] * 21, "InputDataConfig", "at most 20"),
    ("InputDataConfig", [{"DataSource": {"S3DataSource": {"S3DataDistributionType": "Half"}}}],
        "InputDataConfig[0].DataSource.S3DataSource.S3DataDistributionType", '"Half" is none of FullyReplicated, ShardedByS3Key'),
    ("OutputDataConfig", {"S3OutputPath": "/data"}, "OutputDataConfig.S3OutputPath", '"/data" does not match'),
    ("RoleArn", "me", "RoleArn", '"me" has 2 characters'),
])
def test_a_wrong_field_is_named_with_its_value(shared_server, field, value, place, words):
    reply = shared_server.post("/api/v1/jobs", json={"TrainingJobName": "j", field: value})
    assert reply.status == 422 and reply.body["field"] == place and words in reply.body["detail"], reply
    assert shared_server.post("/api/v1/jobs?dry_run=true", json={"TrainingJobName": "j", field: value}).status == 422
    assert shared_server.get("/api/v1/jobs/j").status == 404


def test_the_largest_document_is_taken_and_comes_back(server):
    settings = {f"k{i:03}" + "é" * 252: "ü" * 2500 for i in range(100)}
    create(server, HyperParameters=settings, Environment={f"K{i}": "x" * 512 for i in range(100)})
    job = server.get("/api/v1/jobs/llama").body
    assert job["HyperParameters"] == settings and job["Unknown"] == DOCUMENT["Unknown"]


def test_a_dry_run_stores_nothing(server):
    reply = server.post("/api/v1/jobs?dry_run=true", json=DOCUMENT)
    assert reply.status == 200 and reply.body["TrainingJobName"] == "llama" and reply.body["dry_run"] is True
    assert server.get("/api/v1/jobs/llama").status == 404
    create(server)
    assert server.post("/api/v1/jobs?dry_run=true", json=DOCUMENT).status == 409


def test_tags_notes_labels_and_the_keep_alive_period_can_be_changed(server):
    create(server)
    changes = {"tags": {"team": "vision", "new": "1", "aws:made": None}, "notes": "diverged after the outage ✗", "labels": ["paper", "v2"],
        "ResourceConfig": {"KeepAlivePeriodInSeconds": 900}}
    assert server.patch("/api/v1/jobs/llama", json=changes).status == 200
    job = server.get("/api/v1/jobs/llama").body
    assert job["Tags"] == [{"Key": "team", "Value": "vision"}, {"Key": "new", "Value": "1"}]
    assert job["Notes"] == changes["notes"] and job["Labels"] == ["paper", "v2"]
    assert job["ResourceConfig"] == {**DOCUMENT["ResourceConfig"], "KeepAlivePeriodInSeconds": 900}
    assert job["HyperParameters"] == DOCUMENT["HyperParameters"] and job["LastModifiedTime"] >= job["CreationTime"]
    assert names(server, "tag.team%3Dvision") == ["llama"] and names(server, "outage") == ["llama"] and names(server, "tag.team%3Dnlp") == []
    assert server.patch("/api/v1/jobs/llama", json={"Tags": [], "notes": None}).status == 200
    job = server.get("/api/v1/jobs/llama").body
    assert job["Tags"] == [] and "Notes" not in job and job["Labels"] == ["paper", "v2"]


def test_what_cannot_be_changed_is_refused_whole(server):
    create(server)
    def settled(): # with what is worked out of it
        job = server.get("/api/v1/jobs/llama").body
        return job if "cost" in job else None
    before = wait_until(settled, what="the job's cost")
    for changes, field in (({"RoleArn": "x"}, "RoleArn"), ({"notes": 5}, "Notes"), ({"tags": {"a": 1}}, "tags.a"), ({"tags": ["a"]}, "tags"),
            ({"labels": ["x", ""]}, "Labels[1]"), ({"ResourceConfig": {"InstanceCount": 1}}, "ResourceConfig"),
            ({"notes": "kept?", "ResourceConfig": {"KeepAlivePeriodInSeconds": 3601}}, "ResourceConfig.KeepAlivePeriodInSeconds"),
            ({"tags": {f"k{i}": "v" for i in range(50)}}, "Tags")):
        reply = server.patch("/api/v1/jobs/llama", json=changes)
        assert reply.status == 422 and reply.body["field"] == field, (changes, reply)
    assert server.get("/api/v1/jobs/llama").body == before
    assert server.patch("/api/v1/jobs/nobody", json={"notes": "x"}).status == 404


def test_a_note_on_a_job_that_its_first_line_made_outlives_its_document(server):
    server.send("llama", "loss=1.5 it's")
    assert server.patch("/api/v1/jobs/llama", json={"notes": "look at this"}).status == 200
    create(server)
    job = server.get("/api/v1/jobs/llama").body
    assert job["Notes"] == "look at this" and job["Tags"] == DOCUMENT["Tags"]


def test_what_sm_ship_makes_of_a_long_command_line_is_taken(server, ship):
    options = [f"--key{i}={i}" for i in range(120)]
    assert ship.run("--job", "long", "--", "/bin/echo", "x" * 3000, "--long", "é" * 3000, *options).returncode == 0
    job = server.get("/api/v1/jobs/long").body
    settings = {**job["HyperParameters"], **job["OtherHyperParameters"]}
    assert len(job["HyperParameters"]) == 100 and len(settings) == 121 and settings["key119"] == "119"
    assert settings["long"] == "é" * 2499 + "…" and job["CommandLine"].endswith("--key119=119")
    assert names(server, "hp.key119%3D119") == ["long"]


def transition(server, job, secondary, **fields):
    reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": secondary, **fields})
    assert reply.status == 204, reply


def test_history_attempts_and_what_is_billed(server):
    create(server, EnableManagedSpotTraining=True, RetryStrategy={"MaximumRetryAttempts": 2})
    server.send("llama", ["loss=3.5 it's", "loss=2.25 it's"])
    server.wait_for_points("llama", "loss", 2)
    start = (int(time.time()) + 3600) * 1000  # behind its lines, which come now
    for seconds, status, message in ((0, "Starting", "Starting the training job."), (100, "Training", ""), (200, "Interrupted", "spot"),
            (230, "Starting", "Launching"), (260, "Training", ""), (300, "Restarting", "Launched instance was unhealthy, replacing it!"),
            (310, "Training", ""), (400, "Uploading", ""), (410, "Completed", "")):
        transition(server, "llama", status, StatusMessage=message, time_ms=start + 1000 * seconds)
    job = server.get("/api/v1/jobs/llama").body
    assert job["TrainingTimeInSeconds"] == 310 and job["BillableTimeInSeconds"] == 250 and job["attempts"] == 3
    assert [(row["attempt"], row.get("reason"), row.get("message")) for row in job["attempt_list"]] == [(1, None, None),
        (2, "Interrupted", "spot"), (3, "Restarting", "Launched instance was unhealthy, replacing it!")]
    assert all("StatusMessage" in row for row in job["SecondaryStatusTransitions"])
    assert job["ModelArtifacts"] == {"S3ModelArtifacts": "s3://bucket/out/llama/output/model.tar.gz"}
    final, = wait_until(lambda: server.get("/api/v1/jobs/llama").body.get("FinalMetricDataList"), what="the final metrics")
    assert final["MetricName"] == "loss" and final["Value"] == 2.25 and final["Timestamp"] > 1.6e9
    assert "FailureClass" not in job


def test_the_last_values_are_there_soon_after_the_end(server):
    """Who waits for the end of a job asks then: a look every two seconds, as while it runs, would be 12 seconds here and more."""
    began_s = time.monotonic()
    for n in range(7):
        assert server.post(f"/api/v1/logs?job=short-{n}", body=b"step 1 loss: 2.5\nstep 2 loss: 2.25\n").status == 200
        transition(server, f"short-{n}", "Completed")
        final, = wait_until(lambda: server.get(f"/api/v1/jobs/short-{n}").body.get("FinalMetricDataList"), what="the final metrics")
        assert final["Value"] == 2.25
    assert time.monotonic() - began_s < 10


def test_what_the_document_states_is_not_derived(server):
    create(server, TrainingTimeInSeconds=77, BillableTimeInSeconds=33, ModelArtifacts={"S3ModelArtifacts": "s3://b/m"},
        FinalMetricDataList=[{"MetricName": "x", "Value": 1.5, "Timestamp": 1}])
    transition(server, "llama", "Training")
    transition(server, "llama", "Completed")
    job = server.get("/api/v1/jobs/llama").body
    assert (job["TrainingTimeInSeconds"], job["BillableTimeInSeconds"]) == (77, 33)
    assert job["ModelArtifacts"] == {"S3ModelArtifacts": "s3://b/m"} and job["FinalMetricDataList"][0]["Value"] == 1.5
    assert server.get("/api/v1/jobs").body["jobs"][0]["BillableTimeInSeconds"] == 33


def test_failures_have_a_class(server):
    create(server)
    for reason, kind in (("AlgorithmError: exit code 137", "AlgorithmError"), ("CapacityError: Unable to provision", "CapacityError"),
            ("node7: GPU has fallen off the bus", "InternalServerError"), ("nobody knows", "Unknown")):
        transition(server, "llama", "Failed", FailureReason=reason)
        assert server.get("/api/v1/jobs/llama").body["FailureClass"] == kind
    assert server.get("/api/v1/jobs").body["jobs"][0]["FailureClass"] == "Unknown"


def test_copy_as_json_and_as_a_command(server):
    create(server, Notes="ours", TrainingTimeInSeconds=5)
    transition(server, "llama", "Failed", FailureReason="x")
    wanted = {key: value for key, value in DOCUMENT.items() if key != "Unknown"}
    wanted["TrainingJobName"] = "llama-2"
    wanted["Tags"] = [{"Key": "team", "Value": "nlp"}]
    wanted["AlgorithmSpecification"] = {**DOCUMENT["AlgorithmSpecification"], "MetricDefinitions": [{"Name": "loss", "Regex": r"loss=([0-9.]+) it's"}]}
    assert server.get("/api/v1/jobs/llama?as=json").body == wanted
    command = shlex.split(server.get("/api/v1/jobs/llama?as=aws-cli").body)
    assert command[:4] == ["aws", "sagemaker", "create-training-job", "--cli-input-json"] and json.loads(command[4]) == wanted
    assert len(command) == 5 and server.post("/api/v1/jobs?dry_run=true", json=wanted).status == 200
    reply = server.get("/api/v1/jobs/llama?as=yaml")
    assert reply.status == 400 and reply.body["field"] == "as"


def test_a_job_that_was_heard_of_is_not_deleted_also_after_a_restart(server):
    create(server)
    assert server.delete("/api/v1/jobs/llama").status == 409
    server.send("other", "line")
    server.restart()
    assert server.delete("/api/v1/jobs/llama").status == 409 and server.delete("/api/v1/jobs/other").status == 409


def test_a_deleted_job_leaves_no_row(server):
    create(server, Notes="gone soon", InputDataConfig=[{"ChannelName": "c"}])
    server.send("llama", [f"loss={i % 7}.5 it's" for i in range(5000)] + ["loss=9999999 it's"], stream="algo-2")
    server.wait_for_points("llama", "loss", 5001, stream="algo-2")
    assert server.put("/api/v1/jobs/llama/definitions?backfill=true", json={"definitions": [{"Name": "l", "Regex": r"loss=(\S+)"}]}).status < 300
    assert server.post("/api/v1/jobs/llama/pin", json={}).status == 200
    transition(server, "llama", "Training")
    transition(server, "llama", "Failed", FailureReason="x")
    assert server.delete("/api/v1/jobs/llama?purge=true").status == 204

    def rows():
        # what is of a pool and of the fleet's days stays: it names no job
        tables = [name for name in server.tables_with("job_id") if name not in ("pool_jobs", "goodput_breaks")]
        return {table: count for table in tables for (count,) in server.sql(f"SELECT count(*) FROM {table}") if count}
    wait_until(lambda: not rows() or None, what="an empty database")
    create(server)
    assert "Notes" not in server.get("/api/v1/jobs/llama").body


def test_no_password_in_an_address_is_kept(server):
    uri = "s3://user:hunter2@bucket/train"
    create(server, HyperParameters={"data": uri, "hub": "https://hunter3@hub/x"}, OutputDataConfig={"S3OutputPath": uri},
        InputDataConfig=[{"ChannelName": "train", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}}])
    assert server.patch("/api/v1/jobs/llama", json={"hp": {"mirror": "https://a:hunter4@hub/x"}}).status < 300
    signed = "https://b.s3.amazonaws.com/x?X-Amz-Expires=60&X-Amz-Signature={}&y=1"
    assert server.patch("/api/v1/jobs/llama", json={"hp": {"signed": signed.format("hunter6")}, "notes": signed.format("hunter7")}).status < 300
    assert server.post("/api/v1/jobs/llama/notes", json={"text": "from " + signed.format("hunter8"), "step": 1}).status == 201
    assert server.post("/api/v1/jobs/llama/transitions", json={"SecondaryStatus": "Training", "StatusMessage": f"reads {uri}"}).status < 300
    server.send("llama", ["Namespace(data='s3://user:hunter5@bucket/train', lr=0.1)"])
    wait_until(lambda: server.get("/api/v1/jobs?q=hp.lr%3D0.1").body["jobs"], what="the settings of the log")
    shown = server.get("/api/v1/jobs/llama")
    assert shown.body["HyperParameters"]["data"].startswith("s3://user:***") and shown.body["HyperParameters"]["data"].endswith("@bucket/train")
    assert re.fullmatch(r"from \S+&X-Amz-Signature=\*\*\*[0-9a-f]{4}&y=1", server.get("/api/v1/jobs/llama/notes").body["notes"][0]["text"])
    for path in ("/api/v1/jobs/llama", "/api/v1/jobs?q=name%3Dllama", "/api/v1/jobs/llama?as=json", "/api/v1/audit", "/api/v1/jobs/llama/notes", "/api/v1/jobs/llama/transitions"):
        assert b"hunter" not in server.get(path).raw, path


def test_no_secret_is_kept_whatever_its_place(server):
    token = "hf_" + "a1B2" * 9
    create(server, Environment={"HF_TOKEN": "open sesame"}, HyperParameters={"api_key": "one"}, OtherHyperParameters={"more": token, "lr": "1"},
        Tags=[{"Key": "password", "Value": "two"}, {"Key": "team", "Value": "nlp"}])
    assert server.patch("/api/v1/jobs/llama", json={"tags": {"secret": "three"}}).status < 300
    masked = server.get("/api/v1/jobs/llama").body["Environment"]
    assert server.patch("/api/v1/jobs/llama", json={"tags": {"lr": "2"}}).status < 300
    assert server.get("/api/v1/jobs/llama").body["Environment"] == masked  # equal ones are still seen to be equal
    text = server.get("/api/v1/jobs/llama").raw.decode()
    assert not [word for word in ("open sesame", '"one"', token, '"two"', '"three"') if word in text]
    assert '"lr":"1"' in text and '"nlp"' in text
