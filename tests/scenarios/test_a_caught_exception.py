"""
A training that loses no step, in a log that looks now and then as if it had: an exception that the program catches, with its traceback; the
checkpoint of a teacher, evaluated at a step of its own; a schedule that says step 0. What was never broken off is no restart: no attempt, no
lost step, no break, and no curve that is cut in two or moved.
"""

import datetime

import pytest

from facts import expect_facts
from smserver import wait_until

BEGUN_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
EVERY, LAST, STEP_S, SETUP_S = 10, 3000, 2, 60  # a line for ten steps
STRAYS = {  # behind the line of this step
    1000: ["[sched] step 0 lr 0.003"],
    1500: ["Traceback (most recent call last):", '  File "data.py", line 88, in batch', "KeyError: 'pixels'", "batch of step 3 again: loss 2.1"],
    1800: ["[sched] step 0 lr 0.003"],
    2000: ["[teacher] loaded checkpoint /teacher/step_100", "[teacher] step 100 loss 1.9"],
    2400: ["[sched] step 0 lr 0.003"],
}


def loss_of(step):
    return round(2 + 300 / (step + 100), 4)


def lr_of(step):
    return round(3e-3 * (1 - step / (LAST + EVERY)), 6)


def stamped(at_s, text):
    return f"{datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ} {text}"


def whole_log():
    lines = [stamped(BEGUN_S, "hello")]
    for step in range(EVERY, LAST + 1, EVERY):
        at_s = BEGUN_S + SETUP_S + step * STEP_S
        lines.append(stamped(at_s, f"step {step} | loss {loss_of(step):.4f} | lr {lr_of(step):.6f}"))
        lines += [stamped(at_s, text) for text in STRAYS.get(step, [])]
    return lines


@pytest.mark.parametrize("is_named", [True, False], ids=["named by the document", "known by its lines"])
def test_what_was_never_broken_off_is_no_restart(server, is_named):
    document = {"TrainingJobName": "caught"}
    if is_named:
        document["AlgorithmSpecification"] = {"MetricDefinitions": [
            {"Name": "train:loss", "Regex": "loss ([0-9.]+)"}, {"Name": "train:lr", "Regex": "lr ([0-9.]+)"}]}
    assert server.post("/api/v1/jobs", json=document).status == 201
    lines, ended_s = whole_log(), BEGUN_S + SETUP_S + LAST * STEP_S
    server.send("caught", lines)
    assert server.post("/api/v1/jobs/caught/transitions", json={"SecondaryStatus": "Completed", "time_ms": ended_s * 1000}).status == 204

    seconds = {"first_step": SETUP_S, "productive": LAST * STEP_S}
    expect_facts(server, "caught", status=("Completed", "Completed"), lines=len(lines), attempts=1, last_step=LAST, lost_steps=0,
        wall_s=SETUP_S + LAST * STEP_S, seconds=seconds, goodput=100 * LAST / (LAST + SETUP_S / STEP_S))
    assert server.get("/api/v1/jobs/caught/goodput").body["breaks"] == []

    def drawn(metric):
        found = server.get(f"/api/v1/jobs/caught/points?metric={metric}&raw=true").body["series"]
        return [pair for series in found for pair in zip(series["step"], series["value"], series["attempt"])]
    steps = range(EVERY, LAST + 1, EVERY)
    for metric, value_of, strays in (("train:loss", loss_of, [(3, 2.1), (100, 1.9)]), ("train:lr", lr_of, [(0, 0.003)] * 3)):
        wanted = sorted([(step, value_of(step), 1) for step in steps] + [(*stray, 1) for stray in strays])
        wait_until(lambda: len(drawn(metric)) == len(wanted), what=f"all of {metric}")
        assert sorted(drawn(metric)) == wanted, metric
