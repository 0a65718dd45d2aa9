"""A life as SageMaker's users live it: announced by boto3, logged by the CloudWatch door, a machine replaced in the middle, stopped."""

import time

import pytest

from awsclients import boto
from facts import expect_facts
from smserver import wait_until

GROUP, TYPE, PER_HOUR = "/aws/sagemaker/TrainingJobs", "ml.p4d.24xlarge", 32
JOB = {
    "RoleArn": "arn:aws:iam::123456789012:role/trainer",
    "AlgorithmSpecification": {"TrainingImage": "img", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}]},
    "OutputDataConfig": {"S3OutputPath": "s3://b/p"},
    "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": 2, "VolumeSizeInGB": 50},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
}


@pytest.fixture
def cloud(make_server):
    """The server, and a clock of the test's own that began two hours ago: CloudWatch takes no line of the distant past."""
    server = make_server("--stop-after", "1s")
    reply = server.put("/api/v1/prices", json={"currency": "USD", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]})
    assert reply.status == 200, reply
    return server, int(time.time()) - 7200


class Node:
    """One machine's agent: a stream as SageMaker names them, `<job>/algo-<n>-<epoch ms>`."""

    def __init__(self, logs, job, number, begun_s):
        self.logs, self.stream = logs, f"{job}/algo-{number}-{begun_s * 1000}"
        logs.create_log_stream(logGroupName=GROUP, logStreamName=self.stream)

    def say(self, *timed):
        self.logs.put_log_events(logGroupName=GROUP, logStreamName=self.stream,
            logEvents=[{"timestamp": at_s * 1000, "message": text} for at_s, text in timed])


def trained(at_s, first, last):
    """A step takes ten seconds and is printed every five."""
    return [(at_s + (step - first) * 10, f"step {step} loss: {9 - step / 100:.2f}") for step in range(first, last + 1, 5)]


def test_announced_logged_replaced_stopped(cloud):
    server, begun_s = cloud
    sagemaker, logs = boto(server, "sagemaker"), boto(server, "logs")
    sagemaker.create_training_job(TrainingJobName="boto-life", **JOB)
    logs.create_log_group(logGroupName=GROUP) if GROUP not in [
        one["logGroupName"] for one in logs.describe_log_groups()["logGroups"]] else None
    nodes = [Node(logs, "boto-life", number, begun_s) for number in (1, 2)]
    first_half = trained(begun_s + 60, 5, 200)
    for node in nodes:
        node.say((begun_s, "launching"), *first_half)
    assert sagemaker.describe_training_job(TrainingJobName="boto-life")["TrainingJobStatus"] == "InProgress"
    expect_facts(server, "boto-life", status=("InProgress", "Training"), start=begun_s, start_from="assumed", nodes=2, nodes_from="stated",
        attempts=1, last_step=200, lost_steps=0)

    # algo-2 is replaced; both go on from the checkpoint at step 150.
    broke_s = first_half[-1][0]
    again_s = broke_s + 600
    nodes[1] = Node(logs, "boto-life", 2, again_s)
    second_half = trained(again_s + 50, 155, 400)
    for node in nodes:
        node.say((again_s, "Loading checkpoint from step 150"), *second_half)
    last_s = second_half[-1][0]
    expect_facts(server, "boto-life", attempts=2, last_step=400, lost_steps=50)

    sagemaker.stop_training_job(TrainingJobName="boto-life")
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="boto-life", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    seen = sagemaker.describe_training_job(TrainingJobName="boto-life")
    assert (seen["TrainingJobStatus"], seen["SecondaryStatus"]) == ("Stopped", "Stopped")
    phases = [row["Status"] for row in seen["SecondaryStatusTransitions"]]
    assert phases[-2:] == ["Stopping", "Stopped"] and "Training" in phases, phases
    assert seen["TrainingEndTime"].timestamp() == last_s, "all that it said was long ago when it was stopped"

    # 400 steps of ten seconds are the job's; 151 to 200 were made twice. Step 5 is printed a minute after the launch, the first one that
    # was loaded begins when the machine is back.
    wall_s = last_s - begun_s
    seconds = {"first_step": 60 - 5 * 10, "productive": 400 * 10, "redone": (200 - 150) * 10, "restart": again_s - broke_s}
    assert sum(seconds.values()) == wall_s
    expect_facts(server, "boto-life", status=("Stopped", "Stopped"), phases=[("Training", begun_s), ("Stopping", last_s), ("Stopped", last_s)],
        start=begun_s, start_from="assumed", end=last_s, nodes=2, nodes_from="stated", attempts=2, last_step=400, lost_steps=50,
        wall_s=wall_s, billable_s=wall_s, cost=wall_s * 2 * PER_HOUR / 3600, seconds=seconds, goodput=100 * seconds["productive"] / wall_s,
        lines=2 * (2 + len(first_half) + len(second_half)), incidents=[],
        hosts={"algo-1": f"boto-life/algo-1-{begun_s * 1000}", "algo-2": f"boto-life/algo-2-{again_s * 1000}"})

    # A month later somebody asks.
    found = wait_until(lambda: server.get("/api/v1/jobs?q=status:stopped").body["jobs"], what="the job in a search")
    assert [row["TrainingJobName"] for row in found] == ["boto-life"]
    page = logs.get_log_events(logGroupName=GROUP, logStreamName=nodes[1].stream, startFromHead=True)
    assert "Loading checkpoint from step 150" in [event["message"] for event in page["events"]]

    # All that was logged is older than a quarter of an hour: the job ended where its log ends, whenever it was stopped.
    wall_s, machines = last_s - begun_s, {node.stream.rpartition("-")[0].rpartition("/")[2]: node.stream for node in nodes}
    seconds = {"first_step": 60 - 5 * 10, "productive": 400 * 10, "restart": again_s - broke_s, "redone": (200 - 150) * 10}
    assert sum(seconds.values()) == wall_s
    expect_facts(server, "boto-life", status=("Stopped", "Stopped"), phases=[("Training", begun_s), ("Stopping", last_s), ("Stopped", last_s)],
        start=begun_s, start_from="assumed", end=last_s, end_from="assumed", failure=None, nodes=2, nodes_from="stated", hosts=machines,
        lines=2 * (2 + len(first_half) + len(second_half)), attempts=2, last_step=400, lost_steps=200 - 150, wall_s=wall_s, seconds=seconds,
        goodput=100 * 400 * 10 / wall_s, billable_s=wall_s, cost=wall_s * 2 * PER_HOUR / 3600, incidents=[])
