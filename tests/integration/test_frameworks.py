"""
Frameworks as they are, with the trackers that they bring: transformers' Trainer on a tiny model on the processor, by `report_to`. Of the long tests:
they bring 150 MB and Debian's torch.
"""

import json
import math
import os
import signal
import subprocess

import pytest

from howlong import long
from mlflowclient import history
from shipping import job, lines
from smserver import PATIENCE_S, ROOT, wait_until

pytestmark = long
CLIENTS = {"mlflow": "mlflow-3", "wandb": "wandb-0.31"}
NAMES = {"mlflow": "exp/tiny", "wandb": "exp/tiny"}


def environment(server, tracker, **more):
    folders = [ROOT / ".cache/frameworks", ROOT / f".cache/{CLIENTS.get(tracker, 'mlflow-3')}"]
    if not all((folder / ".lock-stamp").exists() for folder in folders):
        pytest.skip("needs `SM_LONG=1 tests/run packages`")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "WANDB_", "HF_", "SMFLEET_", "SM_"))}
    return {**mine, "PYTHONPATH": ":".join(map(str, folders)), "HF_HUB_OFFLINE": "1", "HF_HOME": str(server.folder / "hf"),
        "TRANSFORMERS_VERBOSITY": "error", "MLFLOW_EXPERIMENT_NAME": "exp", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_DISABLE_TELEMETRY": "true",
        "GIT_PYTHON_REFRESH": "quiet", "WANDB_PROJECT": "exp", "WANDB_API_KEY": "smf-" + 40 * "a", "WANDB_ERROR_REPORTING": "false",
        "WANDB_DIR": str(server.folder), "WANDB_CONFIG_DIR": str(server.folder / "config"), "WANDB_CACHE_DIR": str(server.folder / "cache"), **more}


@pytest.fixture
def train(ship, server, tmp_path):
    """train(place, tracker, arguments…): a training that runs, straight to the server or under sm-ship as a job; ended with the test."""
    started = []

    def start(place, tracker, *arguments, name="shipped", folder=tmp_path, **more):
        # -S: without Debian's other packages, whose urllib3 and requests are not those of the clients
        command = ["/usr/bin/python3", "-S", str(ROOT / "tests/support/tinytrain.py"), "trainer", tracker, *map(str, arguments)]
        addresses = {"MLFLOW_TRACKING_URI": server.url, "WANDB_BASE_URL": server.url}
        if place == "relay":
            command = [ship.program, "--job", name, "--", *command]
            addresses = {name: ship.env[name] for name in ("SMFLEET_SERVER", "SMFLEET_SPOOL")}
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=folder, env={**environment(server, tracker), **addresses, **more}, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def finish(process, code=0):
    """What the training says that it logged, {name: {step: value}}, and for how long it trained; with another code what it printed."""
    out = process.communicate(timeout=5 * PATIENCE_S)[0]
    assert process.returncode == code, out[-4000:]
    if code:
        return out
    told = json.loads(out.splitlines()[-1]) if out.splitlines()[-1].startswith("{") else next(
        json.loads(line) for line in out.splitlines() if line.startswith('{"history"'))
    logged = {}
    for row in told["history"]:
        for name, value in row.items():
            if name != "step":
                logged.setdefault(name, {})[row["step"]] = value
    return logged, told["runtime_s"]


def wait_for_line(process, text):
    for line in process.stdout:
        if line.startswith(text):
            return
    raise AssertionError(f"the training ended before it said {text!r}: {process.wait()}")


def name_of(place, tracker):
    return "shipped" if place == "relay" else NAMES[tracker]


def metric_of(tracker, name):
    """W&B's callback groups what the Trainer logs."""
    if tracker != "wandb":
        return name
    return "eval/" + name.removeprefix("eval_") if name.startswith("eval_") else "train/" + name


def stored(server, name, metric):
    """[(step, value)] of every point that is there, as they were logged; not folded, so that a double shows."""
    rows = server.points(name, metric, raw="true")["series"]
    return sorted(pair for row in rows for pair in zip(row["step"], row["value"], strict=True))


def check_points(server, name, tracker, logged):
    for key in ("loss", "eval_loss", "learning_rate", "grad_norm"):
        wanted = sorted(logged[key].items())
        metric = metric_of(tracker, key)
        server.wait_for_points(name, metric, len(wanted))
        found = stored(server, name, metric)
        assert [step for step, _ in found] == [step for step, _ in wanted], (key, found)
        assert all(math.isclose(value, told, rel_tol=1e-9) for (_, value), (_, told) in zip(found, wanted)), (key, found, wanted)


@pytest.mark.parametrize("place, tracker", [("direct", "mlflow"), ("relay", "mlflow"), ("direct", "wandb")])
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
        later = {key: {step: value for step, value in values.items() if step > 20} for key, values in again.items()}
        check_points(server, f"{name}-2", tracker, later)


@pytest.mark.parametrize("tracker", ["mlflow"])
def test_the_server_is_away_from_before_init_to_step_60(server, train, tracker, tmp_path):
    """
    Killed before the training begins, back when it has made 60 steps: it ends well, in the time of a training that logs to no tracker, and each point is
    there once. SM_OUTAGE_S stretches it: then a step takes a sixtieth of that.
    """
    pace = {"SM_PACE_S": str(float(os.environ.get("SM_OUTAGE_S", "0")) / 60), "SM_GATES": "60=back"}
    (tmp_path / "none").mkdir()
    port = server.port
    server.kill()
    tracked = train("relay", tracker, 70, **pace)
    untracked = train("relay", "none", 70, name="untracked", folder=tmp_path / "none", **pace)
    wait_for_line(tracked, "at 60")
    wait_for_line(untracked, "at 60")
    server.start(f"127.0.0.1:{port}")
    (tmp_path / "back").touch()
    (tmp_path / "none/back").touch()
    logged, runtime_s = finish(tracked)
    _, without_s = finish(untracked)
    print(f"trained for {runtime_s:.2f} s with the tracker, {without_s:.2f} s without")
    assert runtime_s <= 1.01 * without_s + 5, "a start of the client takes moments; nothing waits for the server"
    assert len(logged["loss"]) == 14
    check_points(server, "shipped", tracker, logged)
    assert wait_until(lambda: job(server, "shipped")["TrainingJobStatus"] == "Completed", what="the end")
    assert not list((tmp_path / "spool").glob("*.calls")), "nothing is left"


@pytest.mark.parametrize("place, tracker, status", [("relay", "mlflow", "Failed"), ("direct", "mlflow", "Completed"), ("direct", "wandb", "Failed")])
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
    assert math.isnan(logged[seen][15]) and math.isnan(logged["loss"][15]) == (how == "nan-kept")
    rows = wait_until(lambda: [row for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "non_finite"], what="an incident")
    assert {row["job"] for row in rows} == {"exp/tiny"}
    (row,) = [row for row in rows if row["metric"] == metric_of(tracker, seen)]
    assert row["severity"] == "critical" and row["opened_step"] == 15, row
