"""Several runs of a tracker in one training under sm-ship: what a later one prints is no point of the first one's job, and the training is billed
once. The real clients."""

import pytest

from shipping import lines
from smserver import quote, wait_until
from test_backfill import put, wait_for_backfill
from test_relay import finish
from test_relay import train as train_with_mlflow
from test_relay_wandb import train as train_with_wandb
from test_wandb import job, values

__all__ = ["train_with_mlflow", "train_with_wandb"]  # fixtures

ROWS = 20
NAN = (1, 12)  # the trial and the step that tell none
TRIAL = """
def trial(number, log, first=1, last=20):
    time.sleep(0.3)  # it loads its data
    for step in range(first, last + 1):
        loss = 5.0 - number - step / 100 if (number, step) != (1, 12) else math.nan
        log(loss, step)
        print(f"step {step} val_loss {15 - number - step / 100:.2f}")  # told to nobody
        print("INFO:", {"loss": loss}, flush=True)
        time.sleep(0.02)
    time.sleep(0.7)  # it writes its checkpoint
"""
WITH_MLFLOW = TRIAL + """
mlflow.set_experiment("exp")
for number in range(3):
    with mlflow.start_run(run_name=f"lr{number}") as run:
        trial(number, lambda loss, step: mlflow.log_metric("loss", loss, step=step))
"""
WITH_WANDB = TRIAL + """
for number in range(3):
    with wandb.init(project="exp", name=f"lr{number}") as run:
        trial(number, lambda loss, step: run.log({"loss": loss}, step=step))
"""


def loss_of(number, step):
    return 5.0 - number - step / 100


def val_of(number, rows=ROWS):
    """{step: value} that a trial prints."""
    return {step: round(15 - number - step / 100, 2) for step in range(1, rows + 1)}


def ended(server, name):
    wait_until(lambda: job(server, name).get("TrainingEndTime"), what=f"the end of {name}")
    wait_until(lambda: server.figure("committed_seq") <= server.figure("extracted_seq"), what="the extraction")
    return job(server, name)


def losses_of(server, name):
    """{metric: points} of what the training says of its loss."""
    series = server.get(f"/api/v1/jobs/{quote(name)}/metrics").body["series"]
    return {row["metric"]: row["count"] for row in series if "loss" in row["metric"]}


def incidents(server):
    return sorted((row["job"], row["kind"], row["metric"]) for row in server.get("/api/v1/incidents").body["incidents"])


def last_of(row, metric):
    return [one["Value"] for one in row["FinalMetricDataList"] if one["MetricName"] == metric]


@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
def test_each_run_of_a_sweep_has_its_own_values(server, request, tracker):
    train = request.getfixturevalue(f"train_with_{tracker}")
    finish(train(WITH_MLFLOW if tracker == "mlflow" else WITH_WANDB, "--job", "sweep"))
    rows = [ended(server, name) for name in ("sweep", "exp/lr1", "exp/lr2")]
    own_log = {} if tracker == "mlflow" else {"val:loss": ROWS}  # W&B's client sends what its run prints
    wanted = [{"loss": ROWS, "val:loss": ROWS}, {"loss": ROWS, **own_log}, {"loss": ROWS, **own_log}]
    for number, row in enumerate(rows):
        name = row["TrainingJobName"]
        wait_until(lambda: losses_of(server, name) == wanted[number], what=f"{wanted[number]} of {name}, not {losses_of(server, name)}")
        told = {step: loss_of(number, step) for step in range(1, ROWS + 1) if (number, step) != NAN}
        got = {step: value for step, value in values(server, name, "loss").items() if value is not None and (number, step) != NAN}
        assert got == told
        wait_until(lambda: last_of(job(server, name), "loss") == [loss_of(number, ROWS)], what=f"the last loss of {name}")
        assert (row["TrainingJobStatus"], row["attempts"]) == ("Completed", 1)
        assert [part["Status"] for part in row["SecondaryStatusTransitions"]] == ["Training", "Completed"]
    wait_until(lambda: last_of(job(server, "sweep"), "val:loss") == [val_of(0)[ROWS]], what="the last val loss")
    assert values(server, "sweep", "val:loss") == val_of(0)
    wait_until(lambda: incidents(server) == [("exp/lr1", "non_finite", "loss")], what=f"the NaN of the second trial, not {incidents(server)}")
    printed = [line for line in lines(server, "sweep") if " val_loss " in line]
    assert printed == [f"step {step} val_loss {value:.2f}" for number in range(3) for step, value in val_of(number).items()], "lines are kept"
    check_ends(*rows)


def check_ends(sweep, second, third):
    """Each run has its own time, and all of it is billed once."""
    times = [sweep["TrainingStartTime"], second["TrainingStartTime"], second["TrainingEndTime"], third["TrainingStartTime"],
        third["TrainingEndTime"], sweep["TrainingEndTime"]]
    assert times == sorted(times)
    assert sweep["BillableTimeInSeconds"] == int(sweep["TrainingEndTime"] - sweep["TrainingStartTime"])
    for row in (second, third):
        assert row["BillableTimeInSeconds"] == 0 and row["TrainingTimeInSeconds"] >= 1
        assert {"Key": "smfleet.billed_in", "Value": "sweep"} in row["Tags"]


def test_the_first_run_goes_on_behind_another(server, train_with_mlflow):
    """Its log is its own again; a start of the server and a back-fill decide as it was decided."""
    finish(train_with_mlflow(TRIAL + """
mlflow.set_experiment("exp")
log = lambda loss, step: mlflow.log_metric("loss", loss, step=step)
with mlflow.start_run(run_name="lr0") as first:
    trial(0, log)
with mlflow.start_run(run_name="lr1"):
    trial(1, log)
with mlflow.start_run(run_id=first.info.run_id):
    trial(0, log, 21, 30)
""", "--job", "sweep"))
    check = lambda: ended(server, "sweep") and losses_of(server, "sweep") == {"loss": 30, "val:loss": 30}
    wait_until(check, what=f"rows, not {losses_of(server, 'sweep')}")
    assert values(server, "sweep", "val:loss") == val_of(0, 30)
    server.kill()
    server.start()
    wait_until(check, what=f"the same rows, not {losses_of(server, 'sweep')}")
    put(server, "sweep", {"definitions": [{"Name": "val2", "Regex": "val_loss ([0-9.]+)"}]}, "?backfill=true")
    wait_for_backfill(server, "sweep")
    assert server.points("sweep", "val2")["total_points"] == 30
    assert incidents(server) == [("exp/lr1", "non_finite", "loss")]
