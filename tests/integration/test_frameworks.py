"""
Frameworks as they are, with the trackers that they bring, on tiny models on the processor: transformers' Trainer by `report_to`, Lightning's
loggers, Keras' callbacks. Of the long tests: they bring 1 GB, and Debian's torch.
"""

import math

import pytest

from frameworks import SUMMARY, check_series, finish, metric_of, train  # noqa: F401
from howlong import long
from mlflowclient import history
from shipping import job, lines
from smserver import wait_until

pytestmark = long
NAMES = {"mlflow": "exp/tiny", "wandb": "exp/tiny"}


def name_of(place, tracker):
    return "shipped" if place == "relay" else NAMES[tracker]


def check_points(server, name, tracker, logged):
    """Of the Trainer: every metric, however it prints them, too, under sm-ship; W&B's callback makes a summary of what is there once."""
    left_out = SUMMARY if tracker == "wandb" else ()
    check_series(server, name, {key: pairs for key, pairs in logged.items() if key not in left_out}, lambda key: metric_of(tracker, key))


@pytest.mark.parametrize("place, tracker", [("direct", "mlflow"), ("relay", "mlflow"), ("direct", "wandb"), ("relay", "wandb")])
def test_trained_and_gone_on_from_a_checkpoint(server, train, place, tracker, tmp_path):
    logged, _ = finish(train(place, tracker, 20))
    name = name_of(place, tracker)
    check_points(server, name, tracker, logged)
    row = wait_until(lambda: (document := job(server, name))["TrainingJobStatus"] == "Completed" and document, what="the end")
    settings = {**row["HyperParameters"], **row.get("OtherHyperParameters", {})}  # SageMaker's limit is 100: the Trainer has more
    assert float(settings["learning_rate"]) == 0.01 and settings["max_steps"] == "20"
    if tracker == "mlflow":
        assert [step for step, _, _ in history(server, row["TrackedRunId"], "loss")] == [5, 10, 15, 20], "MLflow's own reading"
    if place == "direct":
        again, _ = finish(train(place, tracker, 30))
        assert len(again["loss"]) == 6, "the Trainer keeps what it logged before its checkpoint"
        later = {key: [(step, value) for step, value in pairs if step > 20] for key, pairs in again.items()}
        check_points(server, f"{name}-2", tracker, later)


@pytest.mark.parametrize("tracker, client", [("mlflow", "mlflow-2"), ("wandb", "wandb-0.23")])
def test_an_older_client_of_the_tracker(server, train, tracker, client):
    logged, _ = finish(train("direct", tracker, 20, client=client))
    check_points(server, "exp/tiny", tracker, logged)
    wait_until(lambda: job(server, "exp/tiny")["TrainingJobStatus"] == "Completed", what="the end")


@pytest.mark.parametrize("place, tracker, status", [("relay", "mlflow", "Failed"), ("direct", "mlflow", "Completed"),
    ("relay", "wandb", "Failed"), ("direct", "wandb", "Failed")])
def test_a_training_that_fails(server, train, place, tracker, status):
    """Under sm-ship its job is Failed and has the traceback. Straight to the server MLflow's client ends an open run as FINISHED at the exit of the process, whatever the exit is."""
    finish(train(place, tracker, 20, "fail"), code=1)
    name = name_of(place, tracker)
    assert wait_until(lambda: (row := job(server, name))["TrainingJobStatus"] != "InProgress" and row, what="the end")["TrainingJobStatus"] == status
    if place == "relay":
        assert "RuntimeError: the disk of checkpoints is full" in lines(server, name)


@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
@pytest.mark.parametrize("how, seen", [("nan-kept", "loss"), ("nan", "grad_norm")])
def test_a_loss_that_becomes_nan_is_an_incident(server, train, tracker, how, seen):
    """The Trainer logs the mean of the finite losses in place of NaN unless it is told not to: then the norm of the gradients tells it."""
    logged, _ = finish(train("direct", tracker, 20, how))
    assert math.isnan(dict(logged[seen])[15]) and math.isnan(dict(logged["loss"])[15]) == (how == "nan-kept")
    rows = wait_until(lambda: [row for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "non_finite"], what="an incident")
    assert {row["job"] for row in rows} == {"exp/tiny"}
    (row,) = [row for row in rows if row["metric"] == metric_of(tracker, seen)]
    assert row["severity"] == "critical" and row["opened_step"] == 15, row


@pytest.mark.parametrize("place, tracker", [("direct", "mlflow"), ("relay", "mlflow"), ("direct", "wandb"), ("relay", "wandb")])
def test_lightning(server, train, place, tracker):
    """Two epochs of ten steps with a validation after each. W&B's own step counts what was logged; Lightning's is the axis of its metrics."""
    logged, _ = finish(train(place, tracker, 20, framework="lightning"))
    name = name_of(place, tracker)
    assert [step for step, _ in logged["loss"]] == [4, 9, 14, 19] and [step for step, _ in logged["eval_loss"]] == [9, 19]
    check_series(server, name, logged)
    row = wait_until(lambda: (document := job(server, name))["TrainingJobStatus"] == "Completed" and document, what="the end")
    assert row["HyperParameters"] == {"learning_rate": "0.01"}


@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
def test_a_training_of_lightning_that_fails(server, train, tracker):
    finish(train("direct", tracker, 20, "fail", framework="lightning"), code=1)
    assert wait_until(lambda: job(server, "exp/tiny")["TrainingJobStatus"] == "Failed", what="the end")


KERAS = [("mlflow", "", str), ("mlflow", "autolog", str), ("wandb", "", "epoch/{}".format), ("wandb", "batches", "batch/{}".format)]


@pytest.mark.parametrize("tracker, how, name_of_metric", KERAS)
def test_keras(server, train, tracker, how, name_of_metric):
    """MlflowCallback, mlflow.keras.autolog() and WandbMetricsLogger, by epochs and by batches: the axis is Keras' own."""
    logged, _ = finish(train("direct", tracker, 20, how, framework="keras"))
    assert sorted(logged) == (["loss"] if how == "batches" else ["loss", "mae", "val_loss", "val_mae"])
    assert [step for step, _ in logged["loss"]] == ([0, 5, 10, 15] if how == "batches" else [0, 1])
    check_series(server, "exp/tiny", logged, name_of_metric)
    wait_until(lambda: job(server, "exp/tiny")["TrainingJobStatus"] == "Completed", what="the end")


@pytest.mark.parametrize("tracker, how, name_of_metric", KERAS)
def test_keras_under_sm_ship(server, train, tracker, how, name_of_metric):
    logged, _ = finish(train("relay", tracker, 20, how, framework="keras"))
    check_series(server, "shipped", logged, name_of_metric)
    row = wait_until(lambda: (document := job(server, "shipped"))["TrainingJobStatus"] == "Completed" and document, what="the end")
    if tracker == "mlflow":
        assert row["HyperParameters"]["optimizer_name"] == "sgd"


@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
def test_a_training_of_keras_that_fails(server, train, tracker):
    finish(train("direct", tracker, 20, "fail", framework="keras"), code=1)
    wait_until(lambda: job(server, "exp/tiny")["TrainingJobStatus"] == "Failed", what="the end")
