"""SageMaker in AWS's own protocol, by the clients that people have: boto3, awscli, the JavaScript SDK."""

import datetime
import json
import shlex

import pytest

from awsclients import awscli, boto, code, javascript
from smserver import ROOT, Server, wait_until

INVALID = "ValidationException"
JOB = {
    "RoleArn": "arn:aws:iam::123456789012:role/trainer",
    "AlgorithmSpecification": {"TrainingImage": "img", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]},
    "OutputDataConfig": {"S3OutputPath": "s3://b/p"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 50},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("aws_sagemaker")).start()
    yield running
    running.close()


@pytest.fixture(scope="module")
def sagemaker(server):
    return boto(server, "sagemaker")


def create(sagemaker, name, **members):
    return sagemaker.create_training_job(TrainingJobName=name, **{**JOB, **members})["TrainingJobArn"]


def move(server, job, status, **members):
    reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, **members})
    assert reply.status == 204, reply


def ask(server, operation, body, **headers):
    """One request without a client, for what no client sends."""
    body = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return server.post("/", body, content_type="application/x-amz-json-1.1",
        headers={"X-Amz-Target": f"SageMaker.{operation}", **headers})


def refusal(reply):
    document = json.loads(reply.raw)
    assert reply.headers["x-amzn-RequestId"] and reply.headers["x-amzn-errortype"] == document["__type"]
    return reply.status, document["__type"], document["message"]


def names(reply):
    return [row["TrainingJobName"] for row in reply["TrainingJobSummaries"]]


# ---- one job ----

def test_a_life(server, sagemaker):
    arn = create(sagemaker, "life", HyperParameters={"lr": "0.1"}, Tags=[{"Key": "team", "Value": "nlp"}])
    assert arn == "arn:aws:sagemaker:us-east-1:000000000000:training-job/life"
    job = sagemaker.describe_training_job(TrainingJobName="life")
    assert (job["TrainingJobStatus"], job["SecondaryStatus"], job["TrainingJobArn"]) == ("InProgress", "Starting", arn)
    assert job["HyperParameters"] == {"lr": "0.1"} and job["ResourceConfig"] == JOB["ResourceConfig"]
    assert job["CreationTime"].tzinfo and abs(job["CreationTime"].timestamp() - datetime.datetime.now().timestamp()) < 600
    assert job["OutputDataConfig"]["S3OutputPath"] == "s3://b/p" and job["OutputDataConfig"]["KmsKeyId"] == ""
    assert (job["EnableNetworkIsolation"], job["EnableManagedSpotTraining"]) == (False, False), "what AWS says unasked"
    for status in ("Downloading", "Training"):
        move(server, "life", status)
    server.send("life", [f"step={i} loss={10 - i}" for i in range(10)])
    server.wait_for_points("life", "loss", 10)
    move(server, "life", "Uploading")
    move(server, "life", "Completed")
    wait_until(lambda: "FinalMetricDataList" in sagemaker.describe_training_job(TrainingJobName="life"), what="the final metric")
    job = sagemaker.describe_training_job(TrainingJobName="life")
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Completed", "Completed")
    assert job["FinalMetricDataList"][0]["MetricName"] == "loss" and job["FinalMetricDataList"][0]["Value"] == 1.0
    assert job["ModelArtifacts"]["S3ModelArtifacts"] == "s3://b/p/life/output/model.tar.gz"
    assert job["TrainingStartTime"] <= job["TrainingEndTime"] and isinstance(job["TrainingTimeInSeconds"], int)
    transitions = job["SecondaryStatusTransitions"]
    assert [row["Status"] for row in transitions] == ["Starting", "Downloading", "Training", "Uploading", "Completed"]
    assert all("StatusMessage" in row and row["StartTime"].tzinfo for row in transitions)


def test_what_create_refuses(sagemaker):
    create(sagemaker, "taken")
    assert code(sagemaker.create_training_job, TrainingJobName="taken", **JOB)[0] == "ResourceInUse"
    for members, path in (
        ({"TrainingJobName": "under_score"}, "trainingJobName"),
        ({"TrainingJobName": "x" * 64}, "trainingJobName"),
        ({"RoleArn": "arn:aws:iam::12:role/too-short"}, "roleArn"),
        ({"ResourceConfig": {**JOB["ResourceConfig"], "KeepAlivePeriodInSeconds": 3601}}, "resourceConfig.keepAlivePeriodInSeconds"),
        ({"AlgorithmSpecification": {"TrainingInputMode": "Tape"}}, "algorithmSpecification.trainingInputMode"),
        ({"HyperParameters": {"k": "v" * 2501}}, "hyperParameters.k"),
        ({"Tags": [{"Key": "k", "Value": "v" * 257}]}, "tags.1.member.value"),
    ):
        said, message = code(sagemaker.create_training_job, **{"TrainingJobName": "refused", **JOB, **members})
        assert said == INVALID and f"at '{path}' failed to satisfy constraint" in message, message
    create(sagemaker, "x" * 63)
    assert code(sagemaker.describe_training_job, TrainingJobName="refused") == (INVALID, "Requested resource not found.")


def test_what_no_client_sends(server):
    whole = {"TrainingJobName": "odd", **JOB}
    for without in ("TrainingJobName", "RoleArn", "OutputDataConfig", "StoppingCondition"):
        status, said, message = refusal(ask(server, "CreateTrainingJob", {k: v for k, v in whole.items() if k != without}))
        path = without[0].lower() + without[1:]
        assert (status, said) == (400, INVALID) and f"Value null at '{path}'" in message
    _, said, message = refusal(ask(server, "CreateTrainingJob", {**whole, "ResourceConfig": {"InstanceCount": "two", "VolumeSizeInGB": 1}}))
    assert said == INVALID and "Value 'two' at 'resourceConfig.instanceCount'" in message
    for body in ("{", "[]", "5", b"\xff"):
        assert refusal(ask(server, "DescribeTrainingJob", body))[:2] == (400, "SerializationException")
    for target in ("Fly", "", "searchs"):
        assert refusal(ask(server, target, "{}"))[:2] == (400, "UnknownOperationException")
    reply = server.post("/", "{}", headers={"X-Amz-Target": "DynamoDB_20120810.ListTables"})
    assert refusal(reply)[:2] == (400, "UnknownOperationException")
    assert refusal(server.post("/", "{}"))[:2] == (400, "UnknownOperationException")
    assert server.get("/").status == 200


def test_stop_tells_who_sends_the_job(server, sagemaker):
    create(sagemaker, "stoppable")
    session = server.post("/api/v1/sessions", json={"job": "stoppable", "stream": "algo-1", "host": "h"}).body["session"]
    sagemaker.stop_training_job(TrainingJobName="stoppable")
    beat = server.post(f"/api/v1/sessions/{session}", json={}).body
    assert [command["command"] for command in beat["commands"]] == ["stop"]
    job = sagemaker.describe_training_job(TrainingJobName="stoppable")
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Stopping", "Stopping")
    sagemaker.stop_training_job(TrainingJobName="stoppable")
    commands = server.get("/api/v1/jobs/stoppable/commands").body["commands"]
    assert len(commands) == 1, "a stop that is under way is not asked for again"
    move(server, "stoppable", "Stopped")
    said, message = code(sagemaker.stop_training_job, TrainingJobName="stoppable")
    assert said == INVALID and message == "The request was rejected because the training job is in status Stopped."
    assert code(sagemaker.stop_training_job, TrainingJobName="no-such")[1] == "Requested resource not found."


def test_waiters(server, sagemaker):
    from botocore.exceptions import WaiterError

    create(sagemaker, "good")
    move(server, "good", "Completed")
    create(sagemaker, "bad")
    move(server, "bad", "Failed", FailureReason="AlgorithmError: no")
    waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
    once = {"Delay": 1, "MaxAttempts": 1}
    waiter.wait(TrainingJobName="good", WaiterConfig=once)
    for name in ("bad", "no-such"):
        with pytest.raises(WaiterError):
            waiter.wait(TrainingJobName=name, WaiterConfig=once)


def test_update_and_delete(server, sagemaker):
    create(sagemaker, "pool", ResourceConfig={**JOB["ResourceConfig"], "KeepAlivePeriodInSeconds": 600})
    move(server, "pool", "Training")
    assert refusal(ask(server, "DeleteTrainingJob", {"TrainingJobName": "pool"}))[1] == "ResourceInUse"
    move(server, "pool", "Completed")
    job = sagemaker.describe_training_job(TrainingJobName="pool")
    assert job["WarmPoolStatus"]["Status"] == "Available"
    assert names(sagemaker.list_training_jobs(WarmPoolStatusEquals="Available")) == ["pool"]
    assert refusal(ask(server, "DeleteTrainingJob", {"TrainingJobName": "pool"}))[1] == "ResourceInUse"
    sagemaker.update_training_job(TrainingJobName="pool", ResourceConfig={"KeepAlivePeriodInSeconds": 0})
    job = sagemaker.describe_training_job(TrainingJobName="pool")
    assert job["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 0 and job["WarmPoolStatus"]["Status"] == "Terminated"
    said, message = code(sagemaker.update_training_job, TrainingJobName="pool", ResourceConfig={"KeepAlivePeriodInSeconds": 3601})
    assert said == INVALID and "resourceConfig.keepAlivePeriodInSeconds" in message
    assert code(sagemaker.update_training_job, TrainingJobName="no-such")[0] == INVALID
    assert ask(server, "DeleteTrainingJob", {"TrainingJobName": "pool"}).status == 200
    assert refusal(ask(server, "DeleteTrainingJob", {"TrainingJobName": "pool"}))[1] == "ResourceNotFound"
    create(sagemaker, "pool")


# ---- many ----

def test_list(make_server):
    server = make_server()
    sagemaker = boto(server, "sagemaker")
    for i in range(12):
        create(sagemaker, f"list-{i:02}")
    move(server, "list-03", "Completed")
    everything = [f"list-{i:02}" for i in range(12)]
    pages = list(sagemaker.get_paginator("list_training_jobs").paginate(SortBy="Name", PaginationConfig={"PageSize": 5}))
    assert [name for page in pages for name in names(page)] == everything and [len(names(page)) for page in pages] == [5, 5, 2]
    assert "NextToken" not in pages[-1] and len({page.get("NextToken") for page in pages}) == 3
    assert names(sagemaker.list_training_jobs()) == everything[:10], "by creation, the oldest first, ten at once"
    assert names(sagemaker.list_training_jobs(SortOrder="Descending", MaxResults=1)) == ["list-11"]
    assert names(sagemaker.list_training_jobs(StatusEquals="Completed")) == ["list-03"]
    assert names(sagemaker.list_training_jobs(StatusEquals="InProgress", NameContains="LIST-0", MaxResults=100)) == [
        name for name in everything[:10] if name != "list-03"]
    assert names(sagemaker.list_training_jobs(SortBy="Status", MaxResults=1)) == ["list-03"]
    def listed(**arguments):  # with milliseconds, which botocore cuts off
        return names(json.loads(ask(server, "ListTrainingJobs", {"MaxResults": 100, **arguments}).raw))

    created = sagemaker.describe_training_job(TrainingJobName="list-05")["CreationTime"].timestamp()
    assert listed(CreationTimeAfter=created) == everything[6:] and listed(CreationTimeBefore=created) == everything[:5]
    assert listed(CreationTimeAfter="2020-01-01T00:00:00Z", CreationTimeBefore=2e9) == everything
    modified = sagemaker.describe_training_job(TrainingJobName="list-03")["LastModifiedTime"].timestamp()
    assert listed(LastModifiedTimeBefore=modified) == [name for name in everything if name != "list-03"]
    assert listed(LastModifiedTimeAfter=modified) == []
    row = sagemaker.list_training_jobs(StatusEquals="Completed")["TrainingJobSummaries"][0]
    assert row["TrainingJobArn"].endswith("training-job/list-03") and row["TrainingEndTime"] and row["LastModifiedTime"]
    for arguments, path in (({"MaxResults": 101}, "maxResults"), ({"SortBy": "Color"}, "sortBy"), ({"StatusEquals": "Well"}, "statusEquals"),
        ({"NameContains": "a_b"}, "nameContains"), ({"WarmPoolStatusEquals": "Hot"}, "warmPoolStatusEquals")):
        said, message = code(sagemaker.list_training_jobs, **arguments)
        assert said == INVALID and f"'{path}'" in message
    assert code(sagemaker.list_training_jobs, NextToken="made up")[0] == INVALID


def test_search_is_that_of_the_other_door(server, sagemaker):
    for i in range(6):
        create(sagemaker, f"seek-{i}", HyperParameters={"lr": str(i / 10)}, Tags=[{"Key": "seek", "Value": "yes"}])
    request = {"Resource": "TrainingJob", "MaxResults": 4, "SortBy": "HyperParameters.lr", "SortOrder": "Ascending",
        "SearchExpression": {"Filters": [{"Name": "Tags.seek", "Operator": "Equals", "Value": "yes"},
            {"Name": "HyperParameters.lr", "Operator": "LessThan", "Value": "0.5"}]}}
    first = sagemaker.search(**request)
    rest = server.post("/api/v1/search", json=request).body
    by_rest = [row["TrainingJob"]["TrainingJobName"] for row in rest["Results"]]
    assert [row["TrainingJob"]["TrainingJobName"] for row in first["Results"]] == by_rest == [f"seek-{i}" for i in range(4)]
    assert first["Results"][0]["TrainingJob"]["Tags"] == [{"Key": "seek", "Value": "yes"}]
    raw = json.loads(ask(server, "Search", request).raw)
    assert raw["TotalHits"] == rest["TotalHits"] == {"Value": 5, "Relation": "EqualTo"}
    second = sagemaker.search(**request, NextToken=first["NextToken"])
    assert [row["TrainingJob"]["TrainingJobName"] for row in second["Results"]] == ["seek-4"] and "NextToken" not in second
    by_arn = {"Filters": [{"Name": "TrainingJobArn", "Operator": "Equals", "Value": first["Results"][2]["TrainingJob"]["TrainingJobArn"]}]}
    assert [row["TrainingJob"]["TrainingJobName"] for row in sagemaker.search(Resource="TrainingJob", SearchExpression=by_arn)["Results"]] == ["seek-2"]
    assert sagemaker.search(Resource="Endpoint")["Results"] == []
    for arguments, words in (({"Resource": "Toaster"}, "at 'resource'"), ({"Resource": "TrainingJob", "SortOrder": "Up"}, "'sortOrder'"),
        ({"Resource": "TrainingJob", "SearchExpression": {"Filters": [{"Name": "Colour", "Value": "red"}]}}, "Unknown property name: Colour")):
        said, message = code(sagemaker.search, **arguments)
        assert said == INVALID and words in message


def test_suggestions_and_tags(server, sagemaker):
    arn = create(sagemaker, "tagged", HyperParameters={"linear_lr": "1"}, Tags=[{"Key": "linear", "Value": "1"}])
    hint = {"PropertyNameQuery": {"PropertyNameHint": "linear"}}
    found = sagemaker.get_search_suggestions(Resource="TrainingJob", SuggestionQuery=hint)["PropertyNameSuggestions"]
    assert [row["PropertyName"] for row in found] == ["hyperparameters.linear_lr", "tags.linear"]
    assert sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "linear", "Value": "1"}]
    after = sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "linear", "Value": "2"}, {"Key": "b", "Value": ""}])["Tags"]
    assert after == [{"Key": "linear", "Value": "2"}, {"Key": "b", "Value": ""}]
    sagemaker.delete_tags(ResourceArn=arn, TagKeys=["linear", "not-there"])
    assert sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "b", "Value": ""}]
    assert code(sagemaker.add_tags, ResourceArn=arn, Tags=[{"Key": "aws:x", "Value": ""}])[0] == INVALID
    assert code(sagemaker.add_tags, ResourceArn=arn, Tags=[{"Key": f"k{i}", "Value": ""} for i in range(50)])[0] == INVALID
    assert code(sagemaker.list_tags, ResourceArn=arn + "-not")[0] == "ResourceNotFound"
    assert code(sagemaker.list_tags, ResourceArn=arn.replace("training-job", "endpoint"))[0] == "ResourceNotFound"
    assert code(sagemaker.list_tags, ResourceArn="tagged")[0] == INVALID


# ---- other clients ----

def test_awscli(server, sagemaker):
    """The commands of docs/aws.md, as they stand there."""
    create(sagemaker, "cli", HyperParameters={"lr": "0.1"})
    text = (ROOT / "docs/aws.md").read_text()
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("aws --endpoint-url $URL ")]
    listed, found = [json.loads(awscli(server, *command[3:]).stdout) for command in commands]
    assert "cli" in [row["TrainingJobName"] for row in listed["TrainingJobSummaries"]]
    assert "cli" in [row["TrainingJob"]["TrainingJobName"] for row in found["Results"]]
    move(server, "cli", "Stopped")
    done = awscli(server, "sagemaker", "wait", "training-job-completed-or-stopped", "--training-job-name", "cli")
    assert (done.returncode, done.stderr) == (0, "")
    done = awscli(server, "sagemaker", "describe-training-job", "--training-job-name", "nobody")
    assert done.returncode == 254 and "(ValidationException)" in done.stderr and "Requested resource not found." in done.stderr


def test_javascript(server):
    told = javascript(server, "sagemaker.mjs")
    assert told == {
        "arn": "arn:aws:sagemaker:us-east-1:000000000000:training-job/js-1", "again": "ResourceInUse", "bad": INVALID,
        "status": "InProgress", "created": True, "missing": INVALID, "list": ["js-1", "js-2"], "found": ["js-1", "js-2"],
        "hits": {"Value": 2, "Relation": "EqualTo"}, "suggested": told["suggested"], "tags": [{"Key": "more", "Value": "1"}],
        "updated": told["arn"], "running": "ResourceInUse", "waited": "SUCCESS", "stopped": INVALID, "deleted": "",
        "gone": "ResourceNotFound", "unknown": "UnknownOperationException"}
    assert "hyperparameters.lr" in told["suggested"]
