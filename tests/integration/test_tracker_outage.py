"""
Trainings straight to the server, without sm-ship, while it is away for a while: what the trackers' own clients do then. Of the long tests. docs/shipping.md
has what becomes of longer outages, which no test has the patience for.
"""

import socket
import subprocess
import threading

import pytest

import mlflowclient
import test_trackio
import wandbclient
from howlong import long
from smserver import PATIENCE_S, wait_until

pytestmark = long

FRAME = """
import os, sys
def wait_for(name):
    print(name, flush=True)
    sys.stdin.readline()
wait_for("begin")
{begin}
for step in range(40):
    {log}
    if step == 19:
        wait_for("middle")
wait_for("finish")
{finish}
"""
SCRIPTS = {
    "mlflow": {"begin": "import mlflow; mlflow.set_experiment('exp'); mlflow.start_run(run_name='first')",
        "log": "mlflow.log_metric('loss', 40 - step, step=step)", "finish": "mlflow.end_run()"},
    "wandb": {"begin": "import wandb; run = wandb.init(project='exp', name='first')", "log": "run.log({'loss': 40 - step})", "finish": "run.finish()"},
    "trackio": {"begin": "import trackio; trackio.init(project='exp', name='first', auto_log_gpu=False, auto_log_cpu=False)",
        "log": "trackio.log({'loss': 40 - step})", "finish": "trackio.finish()"}}


class Deaf:
    """In the server's place: connections are taken and cut. A client that is cut has found out that the server is away."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.cut = 0
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.close()
            self.cut += 1

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE_S)
        self.listener.close()


def start(server, client):
    kind, _, version = client.partition("-")
    if kind == "trackio":
        environment = test_trackio.environment(server)
    else:
        environment = (mlflowclient if kind == "mlflow" else wandbclient).environment(server, version)
    environment.pop("MLFLOW_HTTP_REQUEST_MAX_RETRIES", None)  # its own patience
    return subprocess.Popen(["/usr/bin/python3", "-c", FRAME.format(**SCRIPTS[kind])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, cwd=server.folder, env=environment)


def let_pass(process):
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("moment", ["begin", "middle", "finish"])
@pytest.mark.parametrize("client", ["mlflow-2", "mlflow-3", "wandb-0.31", "trackio"])
def test_a_server_that_comes_back(server, client, moment):
    """The training ends well, and each point of MLflow's and W&B's clients is there once."""
    process = start(server, client)
    try:
        for gate in ("begin", "middle", "finish"):
            while (line := process.stdout.readline()).strip() != gate:
                assert line, process.wait()
            if gate != moment:
                let_pass(process)
                continue
            server.kill()
            deaf = Deaf(server.port)
            let_pass(process)
            wait_until(lambda: deaf.cut, what="a client that finds nobody")
            deaf.close()
            server.start(f"127.0.0.1:{server.port}")
        out = process.communicate(timeout=3 * PATIENCE_S)[0]
    finally:
        process.kill()
    assert process.returncode == 0, out
    if client == "trackio":
        return  # what it put aside stays on its machine, as docs/trackio.md says
    server.wait_for_points("exp/first", "loss", 40)
    rows = server.points("exp/first", "loss", raw="true")["series"]
    assert sorted(pair for row in rows for pair in zip(row["step"], row["value"], strict=True)) == [(step, 40 - step) for step in range(40)]
