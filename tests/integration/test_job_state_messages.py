"""Changes of jobs' states for webhooks that want them: whose start was told has its end told, and what is long over rings nobody."""

import json
import time

import pytest

from awsclients import boto
from smserver import wait_until

MINUTE_MS = 60_000


def listen(server, receiver, **fields):
    reply = server.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["job_state"], **fields})
    assert reply.status == 201, reply


def told(receiver, count):
    receiver.wait_for(count)
    bodies = [json.loads(body) for _, body, _ in receiver.calls]
    return [(body["detail"]["TrainingJobName"], body["detail"]["SecondaryStatus"]) for body in bodies]


def begin(server, name, ms=None, **more):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": name, **more}).status == 201
    move(server, name, "Training", ms or int(time.time() * 1000))


def move(server, name, status, ms):
    reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": ms})
    assert reply.status < 300, reply


def get_deliveries(server):
    return server.get("/api/v1/webhooks/1/deliveries").body["deliveries"]


def age(server, ms):
    """As if all of it had been told so much earlier."""
    server.stop()
    for table, columns in (("jobs", ("created_ms", "modified_ms")), ("told", ("start_ms",)), ("transitions", ("start_ms",))):
        for column in columns:
            server.sql(f"UPDATE {table} SET {column} = {column} - ? WHERE {column} > 0", ms)
    server.start()


def test_an_end_that_is_told_late_is_told_to_who_was_told_of_the_start(server, receiver):
    listen(server, receiver)
    begin(server, "late")
    assert told(receiver, 1) == [("late", "Training")]
    def is_sent():
        return [row["state"] for row in get_deliveries(server)] == ["done"]
    wait_until(is_sent, what="what is sent to be noted: else it is sent again")
    age(server, 60 * MINUTE_MS)
    move(server, "late", "Completed", int(time.time() * 1000) - 20 * MINUTE_MS)
    assert told(receiver, 2)[1:] == [("late", "Completed")]


def test_what_was_over_long_ago_rings_nobody_in_any_state(server, receiver):
    listen(server, receiver)
    then_ms = int(time.time() * 1000) - 86_400_000
    begin(server, "old", then_ms)
    move(server, "old", "Completed", then_ms + 60 * MINUTE_MS)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(then_ms / 1000))
    server.send("of-lines", [f"{stamp} step {n} loss: 2.5" for n in range(50)])
    begin(server, "new")
    assert told(receiver, 1) == [("new", "Training")]


@pytest.mark.parametrize("options, region, account", [((), "us-east-1", "000000000000"),
    (("--aws-region", "eu-west-1", "--aws-account", "123456789012"), "eu-west-1", "123456789012")])
def test_a_message_and_its_arn_are_of_one_place(make_server, receiver, options, region, account):
    server = make_server(*options)
    listen(server, receiver)
    begin(server, "here")
    begin(server, "there", TrainingJobArn="arn:aws:sagemaker:ap-south-1:210987654321:training-job/there")
    told(receiver, 2)
    bodies = {body["detail"]["TrainingJobName"]: body for body in (json.loads(body) for _, body, _ in receiver.calls)}
    place = {name: (body["region"], body["account"], body["resources"], body["detail"]["TrainingJobArn"]) for name, body in bodies.items()}
    here, there = f"arn:aws:sagemaker:{region}:{account}:training-job/here", "arn:aws:sagemaker:ap-south-1:210987654321:training-job/there"
    assert place == {"here": (region, account, [here], here), "there": ("ap-south-1", "210987654321", [there], there)}


def test_the_start_of_a_job_that_its_first_line_makes_is_told_once(server, receiver):
    listen(server, receiver)
    for step in range(3):
        server.send("live", [f"step {step} loss=2.5"])
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86_400))
    server.send("past", [f"{stamp} step: {n} loss: 2.5" for n in range(50)], stream="algo-1")
    assert told(receiver, 1) == [("live", "Training")]
    def is_of_past():
        return server.get("/api/v1/jobs/past").body["TrainingStartTime"] < time.time() - 80_000
    wait_until(is_of_past, timeout=15, what="the job to have begun when its lines were")
    now_ms = int(time.time() * 1000)
    move(server, "past", "Completed", now_ms - 80_000_000)
    move(server, "live", "Completed", now_ms)
    assert told(receiver, 2) == [("live", "Training"), ("live", "Completed")]


def test_a_job_that_is_created_is_told_in_each_state_and_a_mirror_shows_the_same(server, make_server, receiver):
    client, mirror = boto(server, "sagemaker"), make_server()
    listen(server, receiver)
    client.create_training_job(
        TrainingJobName="made", RoleArn="arn:aws:iam::000000000000:role/r", OutputDataConfig={"S3OutputPath": "s3://b/o"},
        AlgorithmSpecification={"TrainingImage": "i", "TrainingInputMode": "File"}, StoppingCondition={"MaxRuntimeInSeconds": 60},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1})
    assert told(receiver, 1) == [("made", "Starting")]
    server.send("made", ["step 1 loss=2.5"])
    assert told(receiver, 2)[1] == ("made", "Training")
    move(server, "made", "Completed", int(time.time() * 1000) + 1)
    assert told(receiver, 3)[2] == ("made", "Completed")
    for _, body, _ in receiver.calls:
        assert mirror.post("/api/v1/events", json=json.loads(body)).status == 200
    shown = mirror.get("/api/v1/jobs/made").body
    assert (shown["TrainingJobStatus"], shown["SecondaryStatus"]) == ("Completed", "Completed")
