"""
Trainings of tiny models by real frameworks (tinytrain.py), with the trackers that they bring: in processes of their own, straight to a server or
under sm-ship.
"""

import json
import math
import os
import signal
import subprocess

import pytest

from smserver import PATIENCE_S, ROOT

CLIENTS = {"mlflow": "mlflow-3", "wandb": "wandb-0.31"}
FOLDERS = {"keras": "keras"}
SUMMARY = ("train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos")


def metric_of(tracker, name):
    """W&B's callback groups what the Trainer logs."""
    if tracker != "wandb":
        return name
    return "eval/" + name.removeprefix("eval_") if name.startswith("eval_") else "train/" + name


def environment(server, framework, tracker, client=None, **more):
    """client: the folder of another version of the tracker's."""
    folders = [ROOT / ".cache" / FOLDERS.get(framework, "frameworks"), ROOT / ".cache" / (client or CLIENTS.get(tracker, "mlflow-3"))]
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

    def start(place, tracker, *arguments, framework="trainer", client=None, name="shipped", folder=tmp_path, **more):
        # -S: without Debian's other packages, whose urllib3 and requests are not those of the clients
        command = ["/usr/bin/python3", "-S", str(ROOT / "tests/support/tinytrain.py"), framework, tracker, *map(str, arguments)]
        addresses = {"MLFLOW_TRACKING_URI": server.url, "WANDB_BASE_URL": server.url}
        if place == "relay":
            command = [ship.program, "--job", name, "--", *command]
            addresses = {name: ship.env[name] for name in ("SMFLEET_SERVER", "SMFLEET_SPOOL")}
        told = folder / "told.json"
        told.unlink(missing_ok=True)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=folder, env={**environment(server, framework, tracker, client), "SM_TOLD": str(told), **addresses, **more}, start_new_session=True)
        process.told = told
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def finish(process, code=0):
    """What the training says that it logged, {name: [(step, value)]}, and for how long it trained; with another code what it printed."""
    out = process.communicate(timeout=5 * PATIENCE_S)[0]
    assert process.returncode == code, out[-4000:]
    if code:
        return out
    told = json.loads(process.told.read_text())
    logged = {}
    for row in told["history"]:
        for name, value in row.items():
            if name != "step":
                logged.setdefault(name, []).append((row["step"], value))
    return {name: sorted(pairs) for name, pairs in logged.items()}, told["runtime_s"]


def wait_for_line(process, text):
    for line in process.stdout:
        if line.startswith(text):
            return
    raise AssertionError(f"the training ended before it said {text!r}: {process.wait()}")


def stored(server, name, metric):
    """[(step, value)] of every point that is there, as they were logged; not folded, so that a double shows."""
    rows = server.points(name, metric, raw="true")["series"]
    return sorted(pair for row in rows for pair in zip(row["step"], row["value"], strict=True))


def check_series(server, name, logged, name_of_metric=str):
    """Exactly what was logged, in every metric that the framework was told of."""
    for key, wanted in logged.items():
        metric = name_of_metric(key)
        server.wait_for_points(name, metric, len(wanted))
        found = stored(server, name, metric)
        assert [step for step, _ in found] == [step for step, _ in wanted], (metric, found, wanted)
        assert all(math.isclose(value, told, rel_tol=1e-6) for (_, value), (_, told) in zip(found, wanted)), (metric, found, wanted)
