"""Trackio's own client, unchanged, in a process of its own as a training is. Of the long tests: it brings 170 MB of what it needs."""

import os
import subprocess

import pytest

from awsclients import token_of
from smserver import PATIENCE_S, ROOT, wait_until

pytestmark = pytest.mark.skipif(not os.environ.get("SM_LONG"), reason="of tests/run --all (SM_LONG=1)")

TRAINING = """
import math, sys, trackio
run = trackio.init(project="exp", name="first", config={"lr": 0.1, "model": {"layers": 12}}, auto_log_gpu=False, auto_log_cpu=False,
    resume=sys.argv[1] if len(sys.argv) > 1 else "never")
for step in range(5):
    trackio.log({"loss": 4 / (step + 1), "bad": math.nan if step == 3 else 0})
trackio.alert("loss is high", text="look", level=trackio.AlertLevel.WARN)
trackio.log_system({"cpu/utilization": 12.5})
trackio.finish()
"""


def environment(server, token=None):
    folder = ROOT / ".cache/trackio"
    if not (folder / ".lock-stamp").exists():
        pytest.skip("needs `tests/run packages`")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("TRACKIO_", "HF_"))}
    return {**mine, "PYTHONPATH": str(folder), "TRACKIO_SERVER_URL": server.url, "TRACKIO_DIR": str(server.folder / "trackio"),
        "HF_HOME": str(server.folder / "hf"), "HF_HUB_OFFLINE": "1", "TRACKIO_WRITE_TOKEN": token or "any"}


def start(server, script, *arguments, token=None):
    return subprocess.Popen(["/usr/bin/python3", "-c", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, cwd=server.folder, env=environment(server, token))


def finish(process):
    try:
        out = process.communicate(timeout=3 * PATIENCE_S)[0]
    finally:
        process.kill()
    assert process.returncode == 0, out[-4000:]
    return out


def values(server, job, metric):
    columns = server.points(job, metric)["columns"]
    return dict(zip(columns["x"], columns["last"]))


def test_a_training_and_how_it_goes_on(server):
    said = finish(start(server, TRAINING))
    server.wait_for_points("exp/first", "loss", 5)
    assert values(server, "exp/first", "loss") == {0: 4, 1: 2, 2: 4 / 3, 3: 1, 4: 0.8}, said
    server.wait_for_points("exp/first", "bad", 5)
    settings = server.get("/api/v1/jobs/exp%2Ffirst").body["HyperParameters"]
    assert (settings["lr"], settings["model.layers"]) == ("0.1", "12")
    assert [line["text"] for line in server.lines("exp/first", "alerts")] == ["warn alert: loss is high: look"]
    server.wait_for_points("exp/first", "cpu_percent", 1, "system/host")
    finish(start(server, TRAINING, "must"))
    server.wait_for_points("exp/first", "loss", 10)
    assert sorted(values(server, "exp/first", "loss")) == list(range(10))
    assert server.get("/api/v1/jobs/exp%2Ffirst-2").status == 404


LOSSES = """
import json, os, signal, sys, trackio
lives = json.loads(sys.argv[1])
trackio.init(project="exp", name="again", config={"lr": 0.1}, auto_log_gpu=False, auto_log_cpu=False, resume=sys.argv[2])
for step in range(*lives):
    trackio.log({"lr": 0.1, "loss": 10 - step / 100}, step=step)
trackio.finish()
"""


def test_a_process_that_goes_back_is_a_restart(make_server):
    """Its client sends no times: that it is another process says its config, which comes with the first thing that it logs."""
    server = make_server("--goodput-every", "100ms")
    finish(start(server, LOSSES, "[0, 250]", "never"))
    server.wait_for_points("exp/again", "loss", 250)
    finish(start(server, LOSSES, "[200, 300]", "must"))
    wait_until(lambda: server.get("/api/v1/jobs/exp%2Fagain").body["attempts"] == 2, what="the restart")
    wait_until(lambda: server.series("exp/again", "loss")["count"] == 300, what="each step once")
    wait_until(lambda: server.get("/api/v1/jobs/exp%2Fagain/goodput").body["breaks"], what="the restart in the goodput")
    (lost,) = server.get("/api/v1/jobs/exp%2Fagain/goodput").body["breaks"]
    assert (lost["step"], lost["from_step"], lost["lost_steps"]) == (249, 199, 50)
    finish(start(server, LOSSES, "[300, 320]", "must"))  # where it was
    wait_until(lambda: server.series("exp/again", "loss")["count"] == 320, what="what goes on")
    assert server.get("/api/v1/jobs/exp%2Fagain").body["attempts"] == 2


def test_a_token(server):
    token = token_of(server, "write", "--scope", "write")[0]
    reader = token_of(server, "read", "--scope", "read")[0]
    assert "401" in finish(start(server, TRAINING, "allow", token="smf-wrong"))
    assert server.get("/api/v1/jobs", token=reader).body["jobs"] == []
    finish(start(server, TRAINING, token=token))
    wait_until(lambda: server.get("/api/v1/jobs/exp%2Ffirst", token=reader).status == 200, what="the run")


OUTAGE = """
import sys, trackio
trackio.init(project="exp", name="out", auto_log_gpu=False, auto_log_cpu=False)
trackio.log({"m": 0})
for step, line in enumerate(sys.stdin, 1):
    trackio.log({"m": step})
    print("logged", flush=True)
trackio.finish()
"""


def test_a_server_that_was_away(server):
    process = start(server, OUTAGE)
    wait_until(lambda: server.get("/api/v1/jobs/exp%2Fout").status == 200, what="the run")
    server.kill()
    for _ in range(20):
        process.stdin.write("go on\n")
        process.stdin.flush()
    server.start(f"127.0.0.1:{server.port}")
    said = finish(process)
    server.wait_for_points("exp/out", "m", 21)
    assert values(server, "exp/out", "m") == {step: step for step in range(21)}, said
    raw = server.get("/api/v1/jobs/exp%2Fout/points?metric=m&raw=true&format=csv").body
    assert len(raw.splitlines()) == 22
