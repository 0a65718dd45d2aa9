"""EventBridge's PutEvents, by boto3: state changes of training jobs become jobs; what else comes fails with its code."""

import datetime
import json

import pytest

from awsclients import boto, code, token_of
from smserver import Server
from test_events import T0, event


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("aws_events")).start()
    yield one
    one.close()


def entry(one, **members):
    return {"Time": datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.timezone.utc), "Source": one["source"], "DetailType": one["detail-type"],
        "Detail": json.dumps(one["detail"]), "Resources": [one["detail"]["TrainingJobArn"]], **members}


def put(server, *entries, keys=("any", "any")):
    reply = boto(server, "events", keys).put_events(Entries=list(entries))
    return reply["FailedEntryCount"], [one.get("ErrorCode") for one in reply["Entries"]], reply["Entries"]


def test_a_state_change_becomes_a_job(server):
    failed, codes, entries = put(server, entry(event(job="put-1", upto=3)))
    assert (failed, codes) == (0, [None]) and len(entries[0]["EventId"]) == 36
    job = server.get("/api/v1/jobs/put-1").body
    assert job["TrainingJobStatus"] == "InProgress" and job["SecondaryStatus"] == "Training" and job["HyperParameters"]["k"] == "10"
    assert put(server, entry(event(job="put-1")), entry(event(job="put-1", upto=3)), entry(event(job="put-1")))[:2] == (0, [None] * 3)  # the older, and again: nothing is undone
    job = server.get("/api/v1/jobs/put-1").body
    assert job["TrainingJobStatus"] == "Completed" and len(job["SecondaryStatusTransitions"]) == 5
    assert boto(server, "sagemaker").describe_training_job(TrainingJobName="put-1")["CreationTime"].timestamp() == T0 / 1000
    assert (server.figure("events_total"), server.figure("duplicate_events_total")) == (2, 2)


def test_what_is_not_taken_fails_by_itself(server):
    ignored, rejected = server.figure("ignored_events_total"), server.figure("rejected_events_total")
    good = event(job="put-2")
    failed, codes, entries = put(server, entry(good, DetailType="ECS Task State Change"), entry(good), entry(good, Detail="{"), entry(good, Detail="[]"),
        {"Source": "me", "Detail": "{}"}, entry(good, Time=datetime.datetime(2200, 1, 1)), entry({**good, "detail": {**good["detail"], "TrainingJobName": ""}}))
    assert failed == 6 and codes == ["UnsupportedDetailType", None, "MalformedDetail", "MalformedDetail", "InvalidArgument", "InvalidArgument", "InvalidArgument"], entries
    assert "ECS Task State Change" in entries[0]["ErrorMessage"] and "DetailType" in entries[4]["ErrorMessage"] and "2200" in entries[5]["ErrorMessage"] and "TrainingJobName" in entries[6]["ErrorMessage"]
    assert server.get("/api/v1/jobs/put-2").status == 200
    assert (server.figure("ignored_events_total") - ignored, server.figure("rejected_events_total") - rejected) == (1, 5)


def test_ten_entries_and_one_more(server):
    assert put(server, *(entry(event(job=f"put-many-{i}")) for i in range(10)))[0] == 0
    said, message = code(boto(server, "events").put_events, Entries=[entry(event())] * 11)
    assert said == "ValidationException" and "entries" in message
    said, message = code(boto(server, "events").list_rules)
    assert said == "UnknownOperationException"


def test_teams_and_scopes(make_server):
    server = make_server()
    admin = token_of(server, "root", "--scope", "admin", "--aws")[1]
    blue, red = (token_of(server, team, "--scope", "write", "--team", team, "--aws")[1] for team in ("blue", "red"))
    assert put(server, entry(event(job="mine")), keys=blue)[0] == 0
    failed, codes, _ = put(server, entry(event(job="mine", at_s=700)), entry(event(job="yours")), keys=red)
    assert (failed, codes) == (1, ["NotAuthorizedForDetailTypeException", None])
    reader = token_of(server, "reader", "--scope", "read", "--aws")[1]
    assert code(boto(server, "events", reader).put_events, Entries=[entry(event())])[0] == "AccessDeniedException"
    assert {row["TrainingJobName"] for row in boto(server, "sagemaker", admin).list_training_jobs()["TrainingJobSummaries"]} == {"mine", "yours"}
