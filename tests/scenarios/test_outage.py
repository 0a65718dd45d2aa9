"""
A tracking server's outage must not be the training's: transformers' Trainer logs by MLflow, or by W&B, under sm-ship, and the server is killed before it begins
and once more in the middle. Of the long tests: it is away for 15 minutes (SM_OUTAGE_S), which take no processor.
"""

import json
import os

import pytest

from frameworks import SUMMARY, check_series, finish, metric_of, train, wait_for_line  # noqa: F401
from howlong import long
from shipping import job
from smserver import wait_until

pytestmark = long
OUTAGE_S = float(os.environ.get("SM_OUTAGE_S", "900"))
STEPS_AWAY = 60  # of 70: to step 30, and from 35 to 65
START_S = 5  # of a client on a busy machine


@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
def test_the_server_is_away_across_init_and_step_50(server, train, tmp_path, tracker):
    """It ends well, in the time of the same training without a tracker, and each point of every metric is there once."""
    more = {"SM_PACE_S": str(OUTAGE_S / STEPS_AWAY), "SM_GATES": "30=back,35=gone,65=back-again"}
    (tmp_path / "none").mkdir()
    port = server.port
    server.kill()
    tracked = train("relay", tracker, 70, "quiet", **more)
    untracked = train("relay", "none", 70, "quiet", name="untracked", folder=tmp_path / "none", **more)

    def meet(step, gate, change):
        wait_for_line(tracked, f"at {step}")
        wait_for_line(untracked, f"at {step}")
        change()
        (tmp_path / gate).touch()
        (tmp_path / "none" / gate).touch()

    meet(30, "back", lambda: server.start(f"127.0.0.1:{port}"))
    meet(35, "gone", server.kill)
    meet(65, "back-again", lambda: server.start(f"127.0.0.1:{port}"))
    (logged, runtime_s), (_, without_s) = finish(tracked), finish(untracked)
    longest_s, longest_without_s = (json.loads(process.told.read_text())["longest_s"] for process in (tracked, untracked))
    print(f"trained for {runtime_s:.2f} s with the tracker, {without_s:.2f} s without; longest step {longest_s:.3f} s, {longest_without_s:.3f} s")
    assert runtime_s <= 1.01 * without_s + (START_S if OUTAGE_S < 100 * START_S else 0)
    assert len(logged["loss"]) == 14 and len(logged["eval_loss"]) == 7 and "train_loss" in logged
    if tracker == "wandb":
        logged = {metric_of(tracker, name): pairs for name, pairs in logged.items() if name not in SUMMARY}
    check_series(server, "shipped", logged)
    rows = server.get("/api/v1/jobs/shipped/metrics").body["series"]
    own = {"train/global_step"} if tracker == "wandb" else set()  # the axis of its callback
    assert sorted({row["metric"] for row in rows if row["stream"] == "algo-1"} - own) == sorted(logged)
    assert wait_until(lambda: job(server, "shipped")["TrainingJobStatus"] == "Completed", what="the end")
    assert not list((tmp_path / "spool").glob("*.calls")), "nothing is left"
