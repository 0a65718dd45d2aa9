"""The life of one run that a trainer logs through MLflow's client: killed in the middle, begun again by its id, and a loss that is no
number at the end. One table of facts says what is known of it then."""

import mlflowclient
from smserver import quote, wait_until

# As Hugging Face's MLflowCallback logs: params by hundreds, log_metrics with the step, asynchronously; the run's id to go on with it.
TRAINER = """
import signal
first, steps = int(sys.argv[1]), int(sys.argv[2])
mlflow.set_experiment("sft")
mlflow.start_run(run_name="qwen", run_id=os.environ.get("RUN_ID") or None)
mlflow.log_params({"learning_rate": 2e-5, "max_steps": steps})
give(mlflow.active_run().info.run_id)
sys.stdout.flush()
for step in range(first, steps):
    loss = 3 / (1 + step / 20) if step < 115 else float("nan")
    mlflow.log_metrics({"loss": loss, "grad_norm": 1.0 + step % 3, "learning_rate": 2e-5}, step=step, synchronous=step % 2 == 0)
    if step == int(sys.argv[3]):
        mlflow.flush_async_logging()
        give("waits")
        sys.stdout.flush()
        signal.pause()  # until it is killed: an input at its end would let it go on first
mlflow.end_run()
"""


def lines_of(process, count):
    """What the trainer gives first; the client writes blank lines and its own words in between."""
    given = []
    while len(given) < count:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        if line.startswith('"'):
            given.append(line.strip().strip('"'))
    return given


def row_of(server):
    return server.get(f"/api/v1/jobs/{quote('sft/qwen')}").body


def test_killed_begun_again_and_not_a_number(server):
    first = mlflowclient.start(server, "3", TRAINER, 0, 100, 59)
    try:
        run_id, _ = lines_of(first, 2)
        first.kill()
    finally:
        first.kill()
        first.communicate()
    assert len(mlflowclient.history(server, run_id, "loss")) == 60, "all that was sent, and no more"
    assert row_of(server)["TrainingJobStatus"] == "InProgress", "nobody has said that it ended"
    # its owner gives it up, then goes on from a checkpoint at step 50
    assert mlflowclient.call(server, "runs/update", {"run_id": run_id, "status": "KILLED"})[0] == 200
    assert row_of(server)["TrainingJobStatus"] == "Stopped"
    second = mlflowclient.start(server, "3", TRAINER, 50, 120, -1, RUN_ID=run_id)
    try:
        assert lines_of(second, 1) == [run_id]
        assert second.wait(120) == 0
    finally:
        second.kill()
        second.communicate()
    wait_until(lambda: [row for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "non_finite"], what="the NaN")
    row = row_of(server)
    history = mlflowclient.history(server, run_id, "loss")
    facts = {
        "jobs": [job["TrainingJobName"] for job in server.get("/api/v1/jobs").body["jobs"]],
        "status": row["TrainingJobStatus"],
        "history": [change["Status"] for change in row["SecondaryStatusTransitions"]],
        "settings": row["HyperParameters"],
        "steps": sorted(step for step, _, _ in history),  # what is logged in the background comes in no order
        "not a number": sorted(step for step, value, _ in history if value == "NaN"),
        "incidents": sorted({incident["kind"] for incident in server.get("/api/v1/incidents").body["incidents"]}),
        "run": mlflowclient.call(server, f"runs/get?run_id={run_id}")[1]["run"]["info"]["status"],
    }
    assert facts == {
        "jobs": ["sft/qwen"],
        "status": "Completed",
        "history": ["Training", "Stopped", "Training", "Completed"],
        "settings": {"learning_rate": "2e-05", "max_steps": "120"},
        "steps": sorted([*range(60), *range(50, 120)]),
        "not a number": [*range(115, 120)],
        "incidents": ["non_finite"],
        "run": "FINISHED",
    }
