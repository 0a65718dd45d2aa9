"""MLflow's own client against a server: each script runs in a process of its own, as a training does, with the client of one version."""

import json
import os
import subprocess

import pytest

import preloaded
from howlong import IS_LONG
from smserver import PATIENCE_S, ROOT

EACH_VERSION = ("2", "3")
VERSIONS = EACH_VERSION if IS_LONG else ("3",)
API = "/api/2.0/mlflow"
# Both write to the terminal what they do; what a script returns is the last line.
PROLOGUE = """
import json, math, os, sys, time
import mlflow
from mlflow import MlflowClient
client = MlflowClient()
def give(value):
    print("\\n" + json.dumps(value))
"""


def environment(server, version, token=None, **more):
    folder = ROOT / f".cache/mlflow-{version}"
    if not (folder / ".lock-stamp").exists():
        pytest.skip("needs `tests/run packages`")
    mine = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    named = {"MLFLOW_TRACKING_TOKEN": token} if token else {}
    return {**mine, "PYTHONPATH": str(folder), "MLFLOW_TRACKING_URI": server.url, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "MLFLOW_DISABLE_TELEMETRY": "true", "GIT_PYTHON_REFRESH": "quiet", **named, **more}


def start(server, version, script, *arguments, token=None, **more):
    mine = environment(server, version, token, **more)
    return subprocess.Popen([*preloaded.python("mlflow", mine), PROLOGUE + script, *map(str, arguments)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=server.folder, env=mine)


def run(server, version, script, *arguments, **options):
    """What the script gives; it must end well."""
    process = start(server, version, script, *arguments, **options)
    try:
        out, err = process.communicate(timeout=3 * PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, err[-4000:]
    return json.loads(out.splitlines()[-1])


def call(server, path, body=None, **options):
    """(status, body) of one call of the protocol, without the client."""
    reply = server.get(f"{API}/{path}", **options) if body is None else server.post(f"{API}/{path}", json=body, **options)
    return reply.status, reply.body


def make_run(server, **members):
    status, body = call(server, "runs/create", {"experiment_id": "0", **members})
    assert status == 200, body
    return body["run"]["info"]["run_id"]


def history(server, run_id, key):
    status, body = call(server, f"metrics/get-history?run_id={run_id}&metric_key={key}")
    assert status == 200, body
    return [(row["step"], row["value"], row["timestamp"]) for row in body["metrics"]]
