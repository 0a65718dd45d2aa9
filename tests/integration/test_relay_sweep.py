"""Several runs of a tracker in one training under sm-ship: what a later one prints is no point of the first one's job, and the training is billed
once. The real clients."""

import json
import time

import pytest

import mlflowclient
from howlong import long
from shipping import lines
from smserver import ROOT, quote, wait_until
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
    for step in range(first, last + 1):
        loss = 5.0 - number - step / 100 if (number, step) != (1, 12) else math.nan
        log(loss, step)
        print(f"step {step} val_loss {15 - number - step / 100:.2f}")  # told to nobody
        print("INFO:", {"loss": loss}, flush=True)
        time.sleep(0.02)
    wait_for(f"read{last}-{number}")
"""
BEHIND = """
time.sleep(0.6)
for step in range(21, 31):  # told to no tracker
    print("INFO:", {"loss": 3.0 - step / 100 if step < 30 else math.nan}, flush=True)
"""
WITH_MLFLOW = TRIAL + """
mlflow.set_experiment("exp")
for number in range(3):
    with mlflow.start_run(run_name=f"lr{number}") as run:
        trial(number, lambda loss, step: mlflow.log_metric("loss", loss, step=step))
""" + BEHIND
WITH_WANDB = TRIAL + """
for number in range(3):
    with wandb.init(project="exp", name=f"lr{number}") as run:
        trial(number, lambda loss, step: run.log({"loss": loss}, step=step))
""" + BEHIND


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


def let_go_on(server, tmp_path, trials):
    """Each goes on when the server has what it printed: a line has the time at which sm-ship read it, which is then before the next run's."""
    for number, last in trials:
        row = f"step {last} val_loss {val_of(number, last)[last]:.2f}"
        wait_until(lambda: row in lines(server, "sweep"), what=row)
        (tmp_path / f"read{last}-{number}").touch()


def seconds(row):
    return round(1000 * (row["TrainingEndTime"] - row["TrainingStartTime"])) // 1000


def last_of(row, metric):
    return [one["Value"] for one in row["FinalMetricDataList"] if one["MetricName"] == metric]


@pytest.mark.parametrize("tracker", ["mlflow", "wandb"])
def test_each_run_of_a_sweep_has_its_own_values(server, request, tmp_path, tracker):
    train = request.getfixturevalue(f"train_with_{tracker}")
    process = train(WITH_MLFLOW if tracker == "mlflow" else WITH_WANDB, "--job", "sweep")
    let_go_on(server, tmp_path, [(number, ROWS) for number in range(3)])
    finish(process)
    rows = [ended(server, name) for name in ("sweep", "exp/lr1", "exp/lr2")]
    own_log = {} if tracker == "mlflow" else {"val:loss": ROWS}  # W&B's client sends what its run prints
    wanted = [{"loss": ROWS, "val:loss": ROWS, "train:loss": 10}, {"loss": ROWS, **own_log}, {"loss": ROWS, **own_log}]
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
    both = [("exp/lr1", "non_finite", "loss"), ("sweep", "non_finite", "train:loss")]
    wait_until(lambda: incidents(server) == both, what=f"the NaN of the second trial, and the one behind the last, not {incidents(server)}")
    printed = [line for line in lines(server, "sweep") if " val_loss " in line]
    assert printed == [f"step {step} val_loss {value:.2f}" for number in range(3) for step, value in val_of(number).items()], "lines are kept"
    check_ends(*rows)


def check_ends(sweep, second, third):
    """Each run has its own time, and all of it is billed once."""
    times = [sweep["TrainingStartTime"], second["TrainingStartTime"], second["TrainingEndTime"], third["TrainingStartTime"],
        third["TrainingEndTime"], sweep["TrainingEndTime"]]
    assert times == sorted(times)
    assert sweep["BillableTimeInSeconds"] == seconds(sweep)
    for row in (second, third):
        assert (row["BillableTimeInSeconds"], row["TrainingTimeInSeconds"]) == (0, seconds(row))
        assert {"Key": "smfleet.billed_in", "Value": "sweep"} in row["Tags"]


@long
def test_runs_go_on_behind_another(server, train_with_mlflow, tmp_path):
    """The log of the first is its own again, and then the second's; a start of the server and a back-fill decide as it was decided."""
    process = train_with_mlflow(TRIAL + """
mlflow.set_experiment("exp")
log = lambda loss, step: mlflow.log_metric("loss", loss, step=step)
with mlflow.start_run(run_name="lr0") as first:
    trial(0, log)
with mlflow.start_run(run_name="lr1") as second:
    trial(1, log)
with mlflow.start_run(run_id=first.info.run_id):
    trial(0, log, 21, 30)
with mlflow.start_run(run_id=second.info.run_id):
    trial(1, log, 21, 25)
""", "--job", "sweep")
    let_go_on(server, tmp_path, [(0, 20), (1, 20), (0, 30), (1, 25)])
    finish(process)
    check = lambda: ended(server, "sweep") and losses_of(server, "sweep") == {"loss": 30, "val:loss": 30}
    wait_until(check, what=f"rows, not {losses_of(server, 'sweep')}")
    assert values(server, "sweep", "val:loss") == val_of(0, 30) and job(server, "sweep")["attempts"] == 1
    server.kill()
    server.start()
    wait_until(check, what=f"the same rows, not {losses_of(server, 'sweep')}")
    put(server, "sweep", {"definitions": [{"Name": "val2", "Regex": "val_loss ([0-9.]+)"}]}, "?backfill=true")
    wait_for_backfill(server, "sweep")
    assert server.points("sweep", "val2")["total_points"] == 30
    assert incidents(server) == [("exp/lr1", "non_finite", "loss")]


def test_a_run_that_goes_on_without_sm_ship_is_billed(server, train_with_mlflow):
    finish(train_with_mlflow("""
mlflow.set_experiment("exp")
for number in range(2):
    with mlflow.start_run(run_name=f"lr{number}"):
        mlflow.log_metric("loss", 1.0, step=1)
""", "--job", "sweep"))
    before = ended(server, "exp/lr1")
    assert before["BillableTimeInSeconds"] == 0
    end_ms = round(1000 * before["TrainingEndTime"])
    run = {"run_id": before["TrackedRunId"]}
    assert mlflowclient.call(server, "runs/update", {**run, "status": "RUNNING", "resumed_time": end_ms + 1000})[0] == 200
    assert mlflowclient.call(server, "runs/update", {**run, "status": "FINISHED", "end_time": end_ms + 8000})[0] == 200
    first_ms = end_ms - round(1000 * before["TrainingStartTime"])
    wait_until(lambda: job(server, "exp/lr1")["BillableTimeInSeconds"] == (first_ms + 7000) // 1000, what=f"{first_ms} ms and 7 s to be billed")


@long
def test_two_trackers_in_one_training_are_billed_once(server, train_with_wandb):
    """Both are open: the log is read as ever."""
    clients = ":".join(str(ROOT / ".cache" / name) for name in ("mlflow-3", "wandb-0.31"))
    finish(train_with_wandb("""
import mlflow
run = wandb.init(project="exp", name="one")
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="two"):
    for step in range(1, 21):
        run.log({"loss": 5.0 - step / 100}, step=step)
        mlflow.log_metric("loss", 5.0 - step / 100, step=step)
        print(f"step {step} val_loss {15 - step / 100:.2f}")
run.finish()
""", "--job", "both", PYTHONPATH=clients, MLFLOW_DISABLE_TELEMETRY="true", GIT_PYTHON_REFRESH="quiet"))
    first, second = [ended(server, name) for name in ("both", "exp/two")]
    wait_until(lambda: losses_of(server, "both") == {"loss": ROWS, "val:loss": ROWS}, what=f"its points, not {losses_of(server, 'both')}")
    assert values(server, "both", "val:loss") == val_of(0)
    wait_until(lambda: losses_of(server, "exp/two") == {"loss": ROWS}, what="those of the other tracker")
    assert (first["BillableTimeInSeconds"], second["BillableTimeInSeconds"]) == (seconds(first), 0)
    assert {"Key": "smfleet.billed_in", "Value": "both"} in second["Tags"]


def mlflow(server, call, **body):
    reply = server.post(f"/api/2.0/mlflow/{call}", json=body)
    assert reply.status == 200, reply
    return reply.body


def begin_run(server, name, at_ms):
    run = mlflow(server, "runs/create", experiment_name="exp", run_name=name, job_name="sweep", start_time=at_ms)
    return run["run"]["info"]["run_id"]


def end_run(server, run, at_ms, **more):
    mlflow(server, "runs/update", run_id=run, status="FINISHED", end_time=at_ms, **more)


def test_a_log_is_lent_no_longer_than_the_other_run_lasts(server):
    """As the relay says it, at times that are told."""
    now_ms = int(time.time()) * 1000 - 600_000

    def send(first, second, stream="algo-1"):
        rows = [{"line": f"step: {first + i} val_loss: {9 - (first + i) / 100:.2f}", "ts": now_ms + 1000 * (second + i)} for i in range(10)]
        body = "\n".join(map(json.dumps, rows))
        assert server.post(f"/api/v1/logs?job=sweep&stream={stream}", body, content_type="application/x-ndjson").status == 200

    def counts():
        series = server.get("/api/v1/jobs/sweep/metrics").body["series"]
        return [(row["stream"], row["count"]) for row in series if row["metric"] == "val:loss"]

    def has(wanted):
        server.wait_for_extraction()
        wait_until(lambda: counts() == wanted, what=f"{wanted}, not {counts()}")

    assert server.post("/api/v1/jobs", json={"TrainingJobName": "sweep"}).status == 201
    assert server.post("/api/v1/jobs/sweep/transitions", json={"SecondaryStatus": "Training", "time_ms": now_ms}).status < 300
    first = begin_run(server, "lr0", now_ms)
    send(1, 1)
    end_run(server, first, now_ms + 20_000, shipped_job="sweep")
    has([("algo-1", 10)])
    for trial, second in ((1, 30), (2, 60)):
        run = begin_run(server, f"lr{trial}", now_ms + 1000 * second)
        beside = begin_run(server, f"rank1-{trial}", now_ms + 1000 * second)
        end_run(server, beside, now_ms + 1000 * second, shipped_job="sweep")
        send(1, second + 1)
        send(1, second + 1, "algo-2")
        end_run(server, run, now_ms + 1000 * (second + 20), shipped_job="sweep")
    mlflow(server, "runs/update", run_id=run, status="RUNNING", resumed_time=now_ms + 81_000, shipped_job="sweep")
    send(21, 82)
    end_run(server, run, now_ms + 93_000, shipped_job="sweep")
    send(11, 94)
    send(11, 94, "algo-2")
    has([("algo-1", 20), ("algo-2", 10)])  # behind the sweep, in both streams
    assert job(server, "sweep")["attempts"] == 1
    assert server.post("/api/v1/jobs/sweep/transitions", json={"SecondaryStatus": "Completed", "time_ms": now_ms + 110_000}).status < 300
    late = begin_run(server, "other", now_ms + 200_000)
    end_run(server, late, now_ms + 300_000)
    other = ended(server, "exp/other")
    assert (other["BillableTimeInSeconds"], [tag["Key"] for tag in other["Tags"]]) == (100, ["mlflow.runName"]), "of another training"
    assert job(server, "sweep")["BillableTimeInSeconds"] == 110


def test_a_later_run_of_wandb_is_told_apart_though_it_says_late_when_it_began(server):
    """Clients of 0.31 say so behind their first request: a time a little before that. So it is with one that goes on."""
    now_ms = int(time.time()) * 1000 - 600_000

    def tell(path, at_ms, **body):
        assert server.post(f"{path}{'&' if '?' in path else '?'}relay_ms={at_ms}&relay_job=sweep", json=body).status == 200

    def upsert(run, at_ms, started_ms=None, **variables):
        started = {"e": {"w": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started_ms // 1000)) + f".{started_ms % 1000:03d}Z"}}} if started_ms else {}
        config = json.dumps({"_wandb": {"value": {"m": [], **started}}})
        tell("/graphql?operation=UpsertBucket", at_ms, operationName="UpsertBucket", variables={"project": "exp", "name": run, "config": config, **variables})

    def end(run, at_ms):
        tell(f"/files/any/exp/{run}/file_stream", at_ms, complete=True, exitcode=0)

    def printed(first, second):
        rows = [{"line": f"step: {first + i} val_loss: {9 - (first + i) / 100:.2f}", "ts": now_ms + 1000 * (second + i)} for i in range(5)]
        body = "\n".join(map(json.dumps, rows))
        assert server.post("/api/v1/logs?job=sweep&stream=algo-1", body, content_type="application/x-ndjson").status == 200

    def steps():
        series = server.points("sweep", "val:loss", attempts="all", raw="true")["series"]
        return sorted(step for part in series for step in part["step"])

    assert server.post("/api/v1/jobs", json={"TrainingJobName": "sweep"}).status == 201
    assert server.post("/api/v1/jobs/sweep/transitions", json={"SecondaryStatus": "Training", "time_ms": now_ms}).status < 300
    upsert("one", now_ms, host="h")
    printed(1, 1)
    end("one", now_ms + 10_000)
    upsert("two", now_ms + 10_400, host="h")
    printed(1, 12)
    upsert("two", now_ms + 15_000, now_ms + 10_200)
    end("two", now_ms + 20_000)
    printed(6, 22)
    upsert("two", now_ms + 30_400, host="h")  # another process goes on with it
    printed(6, 31)
    upsert("two", now_ms + 35_000, now_ms + 30_200)
    end("two", now_ms + 40_000)
    printed(11, 42)
    server.wait_for_extraction()
    wait_until(lambda: steps() == list(range(1, 16)), what=f"what was printed beside the second run alone, not {steps()}")
    assert job(server, "sweep")["attempts"] == 1
