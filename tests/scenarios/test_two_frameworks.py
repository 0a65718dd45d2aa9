"""
Two frameworks in one stream: torchtitan trains, dies, and a script of another framework goes on from its checkpoint on the same machine. The
document names its metrics as SageMaker has them, Name and Regex alone; what the lines have in common besides are the words of their step.
"""

import datetime

import pytest

from facts import expect_facts
from smserver import wait_until

BEGUN_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
TYPE, PER_HOUR, NODES, STEP_S, SETUP_S, PAUSE_S = "ml.two.8xlarge", 36, 2, 10, 60, 300
BROKE, SAVED, LAST = 120, 100, 240
DOCUMENT = {"TrainingJobName": "two", "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": NODES, "VolumeSizeInGB": 50},
    "AlgorithmSpecification": {"MetricDefinitions": [
        {"Name": "train:loss", "Regex": "loss:? +([0-9.]+)"}, {"Name": "train:mfu", "Regex": "mfu:? +([0-9.]+)"}]}}


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S,000")


def loss_of(step):
    return 4 - step / 1000


def titan(at_s, step):
    return f"[titan] {stamp(at_s)} - root - INFO - step: {step:2d}  loss: {loss_of(step):8.5f}  memory: 48.87GiB(51.44%)  tps: 4,376  mfu: 40.00%"


def nanogpt(at_s, step):
    return f"{stamp(at_s)} iter {step}: loss {loss_of(step):.4f}, time 10000.00ms, mfu 25.50%"


@pytest.fixture
def priced(server):
    reply = server.put("/api/v1/prices", json={"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]})
    assert reply.status == 200, reply
    return server


def test_a_stream_of_two_frameworks(priced):
    assert priced.post("/api/v1/jobs", json=DOCUMENT).status == 201
    first = [titan(BEGUN_S + SETUP_S + step * STEP_S, step) for step in range(1, BROKE + 1)]
    broke_s = BEGUN_S + SETUP_S + BROKE * STEP_S
    again_s = broke_s + PAUSE_S  # its first line: what lies before it is the restart
    second = [nanogpt(again_s + (step - SAVED) * STEP_S, step) for step in range(SAVED + 1, LAST + 1)]
    ended_s = again_s + (LAST - SAVED) * STEP_S
    lines = [f"{stamp(BEGUN_S)} [titan] starting", *first, f"{stamp(again_s)} Loading checkpoint from step {SAVED}", *second]
    priced.send("two", lines)
    reply = priced.post("/api/v1/jobs/two/transitions", json={"SecondaryStatus": "Completed", "time_ms": ended_s * 1000})
    assert reply.status == 204, reply

    wall_s = ended_s - BEGUN_S
    seconds = {"first_step": SETUP_S, "productive": LAST * STEP_S, "redone": (BROKE - SAVED) * STEP_S, "restart": PAUSE_S}
    assert sum(seconds.values()) == wall_s
    expect_facts(priced, "two", status=("Completed", "Completed"), phases=[("Training", BEGUN_S), ("Completed", ended_s)],
        start=BEGUN_S, start_from="assumed", end=ended_s, end_from="stated", failure=None, nodes=NODES, nodes_from="stated", lines=len(lines),
        attempts=2, last_step=LAST, lost_steps=BROKE - SAVED, wall_s=wall_s, seconds=seconds, goodput=100 * LAST * STEP_S / wall_s,
        billable_s=wall_s, cost=wall_s * NODES * PER_HOUR / 3600, incidents=[])

    # each step once, of the attempt that counts, by whichever framework printed it
    def drawn(metric):
        found = priced.get(f"/api/v1/jobs/two/points?metric={metric}&raw=true").body["series"]
        return [pair for series in found for pair in zip(series["step"], series["value"])]
    wait_until(lambda: len(drawn("train:loss")) == LAST, what="the curve")
    assert drawn("train:loss") == [(step, pytest.approx(loss_of(step), abs=1e-4)) for step in range(1, LAST + 1)]
    assert drawn("train:mfu") == [(step, 40 if step <= SAVED else 25.5) for step in range(1, LAST + 1)]
    health = {one["Name"]: (one["matched"], one["without_step"]) for one in priced.get("/api/v1/jobs/two/definitions").body["health"]}
    assert health == {name: (BROKE + LAST - SAVED, 0) for name in ("train:loss", "train:mfu")}
