"""
A life of four machines: announced by boto3, logged by CloudWatch's agents; a spike that passes, a GPU that falls off the bus and is replaced, a NaN,
a stop by boto3; then another start goes on from the checkpoint by sm-ship. Who was told what, and which machine is blamed.
"""

import time

import pytest

from awsclients import boto
from facts import answer, expect_facts
from receiver import Receiver
from smserver import quote, wait_until

GROUP, TYPE, PER_HOUR = "/aws/sagemaker/TrainingJobs", "ml.p4d.24xlarge", 32
JOB = {
    "RoleArn": "arn:aws:iam::123456789012:role/trainer",
    "AlgorithmSpecification": {"TrainingImage": "img", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "train:loss", "Regex": "loss: ([0-9.]+|nan)"}]},
    "OutputDataConfig": {"S3OutputPath": "s3://b/p"},
    "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": 4, "VolumeSizeInGB": 50},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
}
XID = "NVRM: Xid (PCI:0000:02:00): 79, pid=4711, GPU has fallen off the bus."
SETUP_S, SAVED, BROKE, RESTART_S, LAST, AFTERWARDS = 10, 280, 300, 60, 400, 500  # a step takes a second
SPIKE, NAN = range(250, 256), range(390, LAST + 1)


@pytest.fixture
def server(make_server):
    one = make_server("--stop-after", "1s")
    reply = one.put("/api/v1/prices", json={"currency": "USD", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]})
    assert reply.status == 200, reply
    return one


@pytest.fixture
def office():
    """The other end of a webhook for jobs' states."""
    one = Receiver()
    yield one
    one.close()


class Node:
    def __init__(self, logs, job, number, begun_s):
        self.logs, self.name = logs, f"{job}/algo-{number}-{begun_s * 1000}"
        logs.create_log_stream(logGroupName=GROUP, logStreamName=self.name)

    def say(self, *timed):
        self.logs.put_log_events(logGroupName=GROUP, logStreamName=self.name,
            logEvents=[{"timestamp": int(at_s * 1000), "message": text} for at_s, text in timed])


def loss_of(step):
    """From 10 down to 3, with a little noise."""
    if step in NAN:
        return "nan"
    return "5.0" if step in SPIKE else f"{3 + 7 * 0.98 ** step + (step * 7919 % 100) / 1000:.3f}"


def trained(at_s, first, last):
    """Step `first` ends a second behind at_s."""
    lines = []
    for step in range(first, last + 1):
        lines.append((at_s + step - first + 1, f"step: {step} loss: {loss_of(step)}"))
        if step == SAVED:
            lines.append((at_s + step - first + 1, f"saved checkpoint at step {step}"))
    return lines


def opened(kind, job):
    return "incident.opened", kind, job


def recovered(kind, job):
    return "incident.recovered", kind, job


def states(office):
    return [(one["detail"]["TrainingJobName"], one["detail"]["SecondaryStatus"]) for one in office.messages()]


def streams_of(server, job, kind, state):
    rows = answer(server, f"/api/v1/incidents?all=true&limit=100&kind={kind}&q={quote(f'name={job}')}").get("incidents", [])
    return sorted(row["stream"] for row in rows if row["state"] == state)


EVERY = ["algo-1", "algo-2", "algo-3", "algo-4"]


def test_a_life_that_is_stopped_on_a_nan_and_goes_on_elsewhere(server, ship, receiver, office):
    begun_s = int(time.time()) - 800  # what is older than a quarter of an hour when it comes rings nobody
    for events, one in (("incident", receiver), ("job_state", office)):
        assert server.post("/api/v1/webhooks", json={"url": one.url, "events": [events]}).status == 201
    sagemaker, logs = boto(server, "sagemaker"), boto(server, "logs")
    sagemaker.create_training_job(TrainingJobName="nan-life", **JOB)
    nodes = [Node(logs, "nan-life", number, begun_s) for number in (1, 2, 3, 4)]
    for node in nodes:
        node.say((begun_s, "launching"), *trained(begun_s + SETUP_S, 1, BROKE))
    broke_s = begun_s + SETUP_S + BROKE
    spike = ("loss_spike", "warning", "recovered", SPIKE[0])
    told = [opened("loss_spike", "nan-life"), recovered("loss_spike", "nan-life")]
    wait_until(lambda: streams_of(server, "nan-life", "loss_spike", "recovered") == EVERY, what="the end of the spike on all four")
    expect_facts(server, "nan-life", receiver, status=("InProgress", "Training"), start=begun_s, start_from="assumed", nodes=4,
        nodes_from="stated", attempts=1, last_step=BROKE, lost_steps=0, incidents=[spike], messages=told,
        hosts={stream: node.name for stream, node in zip(EVERY, nodes)}, lines=4 * (1 + BROKE + 1))

    # The third machine loses a GPU; another one takes its place, and all go on from the checkpoint.
    nodes[2].say((broke_s + 1, XID))
    suspect = ("node_suspect", "critical", "open", 0)  # of a line, not of a point
    told.append(opened("node_suspect", "nan-life"))
    expect_facts(server, "nan-life", receiver, incidents=sorted([spike, suspect]), messages=told)
    bad, again_s = nodes[2].name, broke_s + RESTART_S
    nodes[2] = Node(logs, "nan-life", 3, again_s - 10)
    for node in nodes:
        node.say((again_s - 5, f"Loading checkpoint from step {SAVED}"), *trained(again_s, SAVED + 1, LAST))
    nan = ("non_finite", "critical", "open", NAN[0])
    told.append(opened("non_finite", "nan-life"))
    wait_until(lambda: streams_of(server, "nan-life", "non_finite", "open") == EVERY, what="the NaN on all four")
    expect_facts(server, "nan-life", receiver, attempts=2, last_step=LAST, lost_steps=BROKE - SAVED, incidents=sorted([spike, suspect, nan]),
        messages=told, hosts={stream: node.name for stream, node in zip(EVERY, nodes)})
    expect_blame(server, bad, nodes)

    # Somebody reads the message, and stops it; no machine answers.
    from_s = time.time()
    sagemaker.stop_training_job(TrainingJobName="nan-life")
    to_s = time.time()
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="nan-life", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    seen = sagemaker.describe_training_job(TrainingJobName="nan-life")
    ended_s = seen["TrainingEndTime"].timestamp()
    assert from_s - 0.001 <= ended_s <= to_s + 0.001
    wall_s = ended_s - begun_s
    trained_s = again_s + LAST - SAVED  # of the last step
    seconds = {"first_step": SETUP_S, "productive": LAST, "redone": BROKE - SAVED, "restart": RESTART_S, "stalled": ended_s - trained_s}
    whole = {"status": ("Stopped", "Stopped"), "start": begun_s, "start_from": "assumed", "end": ended_s, "attempts": 2, "last_step": LAST,
        "lost_steps": BROKE - SAVED, "wall_s": wall_s, "seconds": seconds, "goodput": 100 * LAST / wall_s, "billable_s": wall_s,
        "cost": wall_s * 4 * PER_HOUR / 3600, "failure": None, "nodes": 4, "lines": 4 * (1 + BROKE + 1) + 1 + 4 * (1 + LAST - SAVED)}
    assert abs(sum(seconds.values()) - wall_s) < 0.001
    closed = [(kind, severity, "recovered", step) for kind, severity, _, step in (nan, suspect)]
    told += [recovered("node_suspect", "nan-life"), recovered("non_finite", "nan-life")]  # with the job, in the order in which they were opened
    expect_facts(server, "nan-life", receiver, incidents=sorted([spike, *closed]), messages=told, **whole)

    # Another start, under another key: it is another run, and says which one it goes on with.
    script = ship.folder / "train.sh"
    script.write_text(f"echo Loading checkpoint from step {SAVED}\n" + "".join(
        f"echo 'step: {step} loss: {3 + (step * 7919 % 100) / 1000:.3f}'\n" for step in range(SAVED + 1, AFTERWARDS + 1)))
    done = ship.run("--job", "nan-life", "--continues", "nan-life", "--host", "gpu-new", "--instance-type", TYPE, "--", "sh", str(script),
        TORCHELASTIC_RUN_ID="second")
    assert done.returncode == 0 and b"this run is 'nan-life-2'" in done.stderr, done
    expect_facts(server, "nan-life-2", receiver, status=("Completed", "Completed"), failure=None, nodes=1, nodes_from="hosts",
        hosts={"algo-1": "gpu-new"}, lines=1 + AFTERWARDS - SAVED, attempts=1, last_step=AFTERWARDS, lost_steps=0, incidents=[], messages=told)
    lost = (BROKE - SAVED) + (LAST - SAVED)  # the second job made again what the first had made behind the checkpoint
    seconds |= {"productive": SAVED, "redone": lost}
    expect_facts(server, "nan-life", receiver, messages=told, **{**whole, "lost_steps": lost, "goodput": 100 * SAVED / wall_s})

    def chain():
        run = answer(server, "/api/v1/jobs/nan-life/run")
        return [row["TrainingJobName"] for row in run["jobs"]], run["goodput"]["lost_steps"]
    wait_until(lambda: chain() == (["nan-life", "nan-life-2"], lost), what=f"a run of two jobs that lost {lost} steps")
    expect_blame(server, bad, [*nodes, "gpu-new"])
    named = [("nan-life", state) for state in ("Starting", "Training", "Stopping", "Stopped")]
    named += [("nan-life-2", state) for state in ("Training", "Completed")]
    wait_until(lambda: states(office) == named, what=f"the states {named}")


def expect_blame(server, bad, others):
    """The machine whose GPU fell off the bus, and no other: it cost the restart, and the steps that were made again, on all four."""
    cost_h = (BROKE - SAVED + RESTART_S) * 4 / 3600

    def is_so():
        body = answer(server, "/api/v1/nodes")
        assert [row["host"] for row in body["drain"]] == [bad]
        one = answer(server, f"/api/v1/nodes/{quote(bad)}")
        assert (one["drain"], one["restarts"], one["lost_steps"]) == (True, 1, BROKE - SAVED)
        assert one["lost_node_hours"] == pytest.approx(cost_h, rel=1e-3)
        for other in others:
            row = answer(server, f"/api/v1/nodes/{quote(getattr(other, 'name', other))}")
            assert (row["drain"], row["restarts"], row["faults"], row["lost_steps"]) == (False, 0, [], 0)
        return True
    wait_until(is_so, what=f"the blame of {bad}")
