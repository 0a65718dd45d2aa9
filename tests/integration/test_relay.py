"""sm-ship's relay between a training's MLflow client and the server: the training never notices that the server is away, and each point is
there once. The real client, version 3."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import mlflowclient
import preloaded
import pytest
from awsclients import token_of
from howlong import IS_LONG, long
from shipping import job, lines
from smserver import ROOT, wait_until
from test_mlflow import LOG_MODEL

CLIENT = ROOT / ".cache/mlflow-3"
PROLOGUE = mlflowclient.PROLOGUE + """
def wait_for(name):  # a file that the test makes
    import time
    give({"waits": name})
    sys.stdout.flush()
    while not os.path.exists(name):
        time.sleep(0.02)
"""


@pytest.fixture
def train(ship, tmp_path):
    """train(script, options…): sm-ship with a training that logs by MLflow's client; ended with the test."""
    if not (CLIENT / ".lock-stamp").exists():
        pytest.skip("needs `tests/run packages`")
    started = []

    def start(script, *options, folder=None, **more):
        clean = {name: value for name, value in ship.env.items() if not name.startswith("MLFLOW_")}
        environment = {**clean, "PYTHONPATH": str(CLIENT), "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_DISABLE_TELEMETRY": "true",
            "GIT_PYTHON_REFRESH": "quiet", **more}
        training = [*preloaded.python("mlflow", environment), PROLOGUE + script]
        started.append(subprocess.Popen([ship.program, *options, "--", *training], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder or tmp_path, env=environment, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def finish(process, code=0):
    out, err = process.communicate(timeout=180)
    assert process.returncode == code, err[-4000:]
    assert "View run" not in out, "its address is the relay's, and leads nowhere from now on"
    return [json.loads(line) for line in out.splitlines() if line.startswith(("{", "["))], err


def wait_for_line(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(process.stderr.read())


def jobs(server):
    return sorted(row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"])


def points(server, run_id, key):
    return [row[:2] for row in mlflowclient.history(server, run_id, key)]


def test_the_run_is_the_job_of_its_log(server, train):
    """One job has the lines and what MLflow's client said."""
    given, err = finish(train("""
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="first", tags={"team": "nlp"}) as run:
    print("step 1 printed", flush=True)
    mlflow.log_params({"lr": 0.1, "layers": 12})
    for step in range(20):
        mlflow.log_metric("loss", 20.0 - step, step=step)
    mlflow.log_metrics({"accuracy": float("nan"), "huge": float("inf")}, step=3)
    mlflow.log_text("hello", "a.txt")
    seen = client.get_run(run.info.run_id)
    with mlflow.start_run(run_name="child", nested=True):
        mlflow.log_metric("m", 1.0, step=1)
frame = mlflow.search_runs(experiment_names=["exp"])
give({"run": run.info.run_id, "lr": seen.data.params["lr"], "loss": seen.data.metrics["loss"], "names": sorted(frame["tags.mlflow.runName"])})
""", "--job", "shipped"))
    facts = given[-1]
    assert (facts["lr"], facts["loss"], facts["names"]) == ("0.1", 1.0, ["child", "first"]), "what was written is read back"
    assert jobs(server) == ["exp/child", "shipped"]
    row = job(server, "shipped")
    assert row["TrainingJobStatus"] == "Completed" and row["TrackedRunId"] == facts["run"]
    assert {"lr": "0.1", "layers": "12"}.items() <= row["HyperParameters"].items()
    assert {"Key": "team", "Value": "nlp"} in row["Tags"]
    assert "step 1 printed" in lines(server, "shipped")
    assert points(server, facts["run"], "loss") == [(step, 20.0 - step) for step in range(20)]
    assert points(server, facts["run"], "accuracy") + points(server, facts["run"], "huge") == [(3, "NaN"), (3, "Infinity")]
    assert [row["status"] for row in [mlflowclient.call(server, f"runs/get?run_id={facts['run']}")[1]["run"]["info"]]] == ["FINISHED"]
    assert "relay" not in err
    places = re.findall(rf"MLflow's run is at {re.escape(server.url)}/#/experiments/\d+/runs/(\w+)", err)
    found = [server.get(f"/api/v1/jobs?q=TrackedRunId%3D{place}").body["jobs"] for place in places]
    assert [row["TrainingJobName"] for rows in found for row in rows] == ["exp/child", "shipped"], err


def counts_at_the_end(server, name):
    """Of each series of the training, whoever told it."""
    wait_until(lambda: job(server, name)["TrainingJobStatus"] == "Completed", what="the end")
    wait_until(lambda: server.figure("committed_seq") <= server.figure("extracted_seq"), what="the extraction")
    series = server.get(f"/api/v1/jobs/{name}/metrics").body["series"]
    return sorted((row["metric"], row["count"]) for row in series if not row["metric"].startswith(("derived:", "system/")))


def told_not_a_number(server):
    """Of which metrics, as soon as anything is told."""
    return wait_until(lambda: [row["metric"] for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "non_finite"], what="the NaN")


def test_what_it_prints_beside_telling_is_there_once(server, train):
    """From the first row on, of a run of moments: Hugging Face's Trainer does so."""
    given, _ = finish(train("""
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="rows") as run:
    for step in range(10, 40, 10):
        row = {"eval_loss": 2.0 - step / 100, "eval_runtime": step / 10, "epoch": step / 20}
        mlflow.log_metrics(row, step=step)
        print("INFO:", row, flush=True)
give({"run": run.info.run_id})
""", "--job", "rows"))
    assert counts_at_the_end(server, "rows") == [("epoch", 3), ("eval_loss", 3), ("eval_runtime", 3)]
    assert points(server, given[-1]["run"], "eval_runtime") == [(10, 1.0), (20, 2.0), (30, 3.0)]


def test_what_it_prints_is_none_of_what_mlflow_is_asked_for(server, train):
    """Keras prints each epoch's values rounded, behind those that MLflow is told from step 0 on; others print the step, too."""
    given, _ = finish(train("""
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="rows") as run:
    for epoch in range(6):
        values = {"mae": 1.0 / (epoch + 3), "top5": 0.123456 * epoch}
        mlflow.log_metrics(values, step=epoch)
        print(f"Epoch {epoch + 1}/6", flush=True)
        print(f"6/6 - 1s - 195ms/step - loss: {values['mae'] * 3:.4f} - mae: {values['mae']:.4f}", flush=True)
        print(f"step {epoch + 100} top5 {values['top5']:.2f}", flush=True)
        time.sleep(0.2)
until = time.monotonic() + 30  # what was told is sent before it is asked for, where that takes no longer than a training may wait
while any(len(client.get_metric_history(run.info.run_id, name)) < 6 for name in ("mae", "top5")) and time.monotonic() < until:
    pass
history = {name: [[one.step, one.value] for one in client.get_metric_history(run.info.run_id, name)] for name in ("mae", "top5", "train:step_time")}
give({"history": history, "metrics": client.get_run(run.info.run_id).data.metrics, "frame": list(mlflow.search_runs(experiment_names=["exp"]).columns)})
""", "--job", "rows"))
    told = {"mae": [[epoch, 1.0 / (epoch + 3)] for epoch in range(6)], "top5": [[epoch, 0.123456 * epoch] for epoch in range(6)]}
    assert given[-1]["history"] == {**told, "train:step_time": []}
    assert given[-1]["metrics"] == {name: values[-1][1] for name, values in told.items()}
    assert sorted(name for name in given[-1]["frame"] if name.startswith("metrics.")) == ["metrics.mae", "metrics.top5"]
    counts = dict(counts_at_the_end(server, "rows"))
    assert (counts["mae"], counts["train:step_time"]) == (6, 6), "the log's own stays a curve"


def test_what_it_prints_behind_the_end_of_its_run_is_the_log_s_own(server, train):
    finish(train("""
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="rows") as run:
    for step in range(1, 11):
        mlflow.log_metrics({"loss": 2.0 - step / 100}, step=step)
        print("INFO:", {"loss": 2.0 - step / 100}, flush=True)
time.sleep(5)  # the server hears of the end by the relay, later than the training goes on
for step in range(11, 31):
    print("INFO:", {"loss": 2.0 - step / 100 if step != 20 else float("nan")}, flush=True)
""", "--job", "rows"))
    wait_until(lambda: counts_at_the_end(server, "rows") == [("loss", 10), ("train:loss", 20)], what="what waited to the end")
    assert told_not_a_number(server) == ["train:loss"]


@pytest.mark.parametrize("relay", ["runs", *(["is stopped"] if IS_LONG else [])])
def test_what_it_prints_while_the_server_is_away_is_there_once(server, train, tmp_path, relay):
    """Only the time in which the server could be reached counts for the lines that wait for the run; and then they wait for no relay."""
    port = server.port
    server.kill()
    process = train("""
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="rows") as run:
    for step in range(1, 21):
        row = {"loss": 2.0 - step / 100 if step != 6 else float("nan"), "grad_norm": 1.0 + step / 100}
        mlflow.log_metrics(row, step=step)
        print(row, flush=True)
    wait_for("back")
""", "--job", "rows")
    wait_for_line(process, '"back"')
    away_until = time.monotonic() + 11
    if relay == "is stopped":
        (pid,) = [pid for pid in children(process.pid, "sm-ship relay")]
        os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: time.monotonic() > away_until, what="an outage that is longer than lines wait")
    server.start(f"127.0.0.1:{port}")
    printed = lambda: [text for text in lines(server, "rows") if text.startswith("{'loss'")]
    wait_until(lambda: "rows" in jobs(server) and len(printed()) == 20, what="its lines")
    if relay == "is stopped":
        os.kill(pid, signal.SIGCONT)
    (tmp_path / "back").touch()
    finish(process)
    if relay == "runs":
        assert counts_at_the_end(server, "rows") == [("grad_norm", 20), ("loss", 20)]
        found = [row["metric"] for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "non_finite"]
        assert found == ["loss"]


@pytest.mark.parametrize("is_there_at_first, is_back_for_the_relay", [(True, False), (False, False), (False, True)])
def test_what_a_killed_sm_ship_left_is_one_curve(server, ship, train, tmp_path, is_there_at_first, is_back_for_the_relay):
    """--send-rest sends what was printed, and what was told: the server is to know of the run before it reads the lines."""
    port = server.port
    if not is_there_at_first:
        server.kill()
    process = train("""
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="rows") as run:
    for step in range(1, 21):
        if step == 4:
            wait_for("killed")
        row = {"loss": 2.0 - step / 100 if step != 6 else float("nan"), "grad_norm": 1.0 + step / 100}
        mlflow.log_metrics(row, step=step)
        print(row, flush=True)
open("done", "w").write("done")
""", "--job", "rows", "--drain-timeout", "60s" if is_back_for_the_relay else "200ms")
    wait_for_line(process, '"killed"')
    relays = [pid for pid in children(process.pid, "sm-ship relay")]
    if is_there_at_first:
        wait_until(lambda: "rows" in jobs(server) and len(lines(server, "rows")) > 2, what="its first lines")
        server.kill()
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / "killed").touch()
    wait_until((tmp_path / "done").exists, what="the training to end by itself")
    if is_back_for_the_relay:
        server.start(f"127.0.0.1:{port}")
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in relays), what="the relay to give up, or to be through")
    if not is_back_for_the_relay:
        server.start(f"127.0.0.1:{port}")
    wait_until(lambda: ship.run("--send-rest").returncode == 0 and not list(ship.spool.iterdir()), what="the rest to be sent")
    assert jobs(server) == ["rows"]
    assert len([text for text in lines(server, "rows") if text.startswith("{'loss'")]) == 20
    assert counts_at_the_end(server, "rows") == [("grad_norm", 20), ("loss", 20)]
    found = [row["metric"] for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "non_finite"]
    assert found == ["loss"]


def test_what_is_left_without_a_server_keeps_the_end_that_was_seen(server, ship, train):
    """The run said FINISHED, and the command failed behind it: the job failed, then, as if the server had been there."""
    server.kill()
    _, err = finish(train("""
with mlflow.start_run(run_name="left"):
    for step in range(20):
        mlflow.log_metric("loss", 20.0 - step, step=step)
print("printed", flush=True)
sys.exit(3)
""", "--job", "left", "--drain-timeout", "200ms"), code=3)
    assert "--send-rest" in err
    ended = time.time()
    server.start(f"127.0.0.1:{server.port}")
    for _ in range(2):
        sent = ship.run("--send-rest")
        assert sent.returncode == 0, sent.stderr
        row = job(server, "left")
        assert (row["TrainingJobStatus"], row["FailureReason"]) == ("Failed", "exit code 3") and row["TrainingEndTime"] <= ended
        assert [one["Status"] for one in row["SecondaryStatusTransitions"]] == ["Training", "Failed"]
        assert points(server, row["TrackedRunId"], "loss") == [(step, 20.0 - step) for step in range(20)]
        assert lines(server, "left") == ["printed"] and jobs(server) == ["left"]
    assert list(ship.spool.iterdir()) == []


OUTAGES = """
import time
mlflow.set_experiment("away")
first = mlflow.start_run(run_name="one").info.run_id
mlflow.log_params({"lr": 0.5})
for step in range(50):
    mlflow.log_metric("loss", 100.0 - step, step=step)
wait_for("back")
for step in range(50, 100):
    mlflow.log_metric("loss", 100.0 - step, step=step)
    mlflow.log_metric("unnumbered", step)
assert client.get_run(first).info.run_id == first
wait_for("gone")
for step in range(100, 150):
    mlflow.log_metric("loss", 100.0 - step, step=step)
mlflow.end_run()
second = mlflow.start_run(run_name="two").info.run_id
mlflow.log_metric("loss", 7.0, step=7)
assert client.get_run(second).info.run_name == "two"
mlflow.end_run()
give({"first": first, "second": second})
"""


@long
def test_the_server_is_away_again_and_again(server, train, tmp_path):
    """Away when the run begins, there for a while, killed, away when a second run begins: each run has the id that its client was told."""
    port = server.port
    server.kill()
    process = train(OUTAGES, "--job", "twice")
    wait_for_line(process, '"back"')
    server.start(f"127.0.0.1:{port}")
    wait_until(lambda: "twice" in jobs(server), what="the run of the first outage")
    (tmp_path / "back").touch()
    wait_for_line(process, '"gone"')
    server.kill()
    (tmp_path / "gone").touch()
    wait_until(lambda: any((tmp_path / "spool").glob("*.calls")), what="calls in the spool")
    server.start(f"127.0.0.1:{port}")
    given, _ = finish(process)
    facts = given[-1]
    assert jobs(server) == ["away/two", "twice"]
    assert points(server, facts["first"], "loss") == [(step, 100.0 - step) for step in range(150)]
    assert points(server, facts["first"], "unnumbered") == [(n, 50.0 + n) for n in range(50)]
    assert points(server, facts["second"], "loss") == [(7, 7.0)]
    assert job(server, "away/two")["TrackedRunId"] == facts["second"]
    assert job(server, "twice")["HyperParameters"]["lr"] == "0.5"
    assert not list((tmp_path / "spool").glob("*.calls")), "nothing is left"


@pytest.mark.parametrize("away", ["from the beginning", *(["from the middle"] if IS_LONG else [])])
def test_the_server_is_back_after_the_training(server, train, tmp_path, away):
    """What the run said of its end is with the server before sm-ship's session is: one job, in one attempt, that ends as sm-ship says."""
    port = server.port
    if away == "from the beginning":
        server.kill()
    process = train("""
run = mlflow.start_run(run_name="late").info.run_id
for step in range(20):
    print("line", step, flush=True)
    mlflow.log_metric("loss", 1.0 + step, step=step)
wait_for("half")
for step in range(20, 40):
    print("line", step, flush=True)
    mlflow.log_metric("loss", 1.0 + step, step=step)
mlflow.end_run()
give({"run": run})
sys.stdout.flush()
sys.exit(3)
""", "--job", "latejob")
    wait_for_line(process, '"half"')
    if away == "from the middle":
        wait_until(lambda: "latejob" in jobs(server) and any(text == "line 19" for text in lines(server, "latejob")), what="the first half")
        server.kill()
    (tmp_path / "half").touch()
    given = json.loads(next(line for line in process.stdout if line.startswith('{"run"')))
    server.start(f"127.0.0.1:{port}")
    finish(process, 3)
    assert jobs(server) == ["latejob"]
    row = job(server, "latejob")
    assert (row["TrainingJobStatus"], row["attempts"]) == ("Failed", 1) and "exit code 3" in row["FailureReason"], row
    statuses = [part["Status"] for part in row["SecondaryStatusTransitions"]]
    assert statuses.count("Training") == 1 and statuses[-1] == "Failed", row["SecondaryStatusTransitions"]
    assert points(server, given["run"], "loss") == [(step, 1.0 + step) for step in range(40)]
    assert [text for text in lines(server, "latejob") if text.startswith("line ")] == [f"line {step}" for step in range(40)]
    assert mlflowclient.call(server, f"runs/get?run_id={given['run']}")[1]["run"]["info"]["status"] == "FINISHED", "as its client said"


def test_sm_ship_is_killed_while_the_server_is_away(server, ship, train, tmp_path):
    """The training goes on without it, and the next sm-ship sends what is left, once."""
    port = server.port
    server.kill()
    process = train("""
run = mlflow.start_run(run_name="orphan").info.run_id
for step in range(20):
    mlflow.log_metric("loss", 1.0 + step, step=step)
wait_for("killed")
for step in range(20, 40):
    mlflow.log_metric("loss", 1.0 + step, step=step)
mlflow.end_run()
open("done", "w").write(run)
""", "--job", "killed-job", "--drain-timeout", "1s")
    wait_for_line(process, '"killed"')
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / "killed").touch()
    done = tmp_path / "done"
    run_id = wait_until(lambda: done.exists() and done.read_text(), what="the training to end by itself")
    # its relay gives up a second after the training, and leaves the file
    server.start(f"127.0.0.1:{port}")
    wait_until(lambda: ship.run("--job", "later", "--", "true").returncode == 0 and not list(ship.spool.glob("*.calls")),
        what="the calls to be sent")
    assert points(server, run_id, "loss") == [(step, 1.0 + step) for step in range(40)]
    assert job(server, "killed-job")["TrackedRunId"] == run_id


def children(pid, name):
    """Processes that began below it and are called so."""
    found, parents = [], {pid}
    rows = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            head, _, rest = stat.read_text().rpartition(")")
            rows.append((int(stat.parent.name), head.partition("(")[2], int(rest.split()[1])))
    for child, called, parent in sorted(rows):
        if parent in parents:
            parents.add(child)
            found += [child] if called == name else []
    return found


@pytest.mark.parametrize("is_away", [True, *([False] if IS_LONG else [])])
def test_the_relay_is_killed(server, train, tmp_path, is_away):
    """Another one takes its place: the training only waits a moment, and nothing that was answered is lost."""
    port = server.port
    if is_away:
        server.kill()
    process = train("""
run = mlflow.start_run(run_name="relayed").info.run_id
for step in range(20):
    mlflow.log_metric("loss", 1.0 + step, step=step)
wait_for("killed")
for step in range(20, 40):
    mlflow.log_metric("loss", 1.0 + step, step=step)
mlflow.end_run()
give({"run": run})
""", "--job", "relay-killed", MLFLOW_HTTP_REQUEST_MAX_RETRIES="3")
    wait_for_line(process, '"killed"')
    (relay,) = children(process.pid, "sm-ship relay")
    os.kill(relay, signal.SIGKILL)
    (tmp_path / "killed").touch()
    if is_away:
        server.start(f"127.0.0.1:{port}")
    given, err = finish(process)
    assert "was killed; another one goes on" in err
    assert points(server, given[-1]["run"], "loss") == [(step, 1.0 + step) for step in range(40)]
    assert job(server, "relay-killed")["TrackedRunId"] == given[-1]["run"]
    assert children(process.pid, "sm-ship relay") == children(process.pid, "sm-ship guard") == []


def test_an_experiment_that_the_server_does_not_have(server, train):
    """While the server is away nobody can say that there is none of that number: the run is kept, where it is seen."""
    port = server.port
    server.kill()
    process = train("""
run = mlflow.start_run(run_name="lone").info.run_id
mlflow.log_param("lr", 0.5)
mlflow.log_metric("loss", 3.0, step=3)
mlflow.end_run()
give({"run": run})
sys.stdout.flush()
""", "--job", "numbered", MLFLOW_EXPERIMENT_ID="7")
    wait_for_line(process, '"run"')
    server.start(f"127.0.0.1:{port}")
    _, err = finish(process)
    assert "not taken" not in err and "does not take" not in err
    status, body = mlflowclient.call(server, "experiments/get-by-name?experiment_name=7")
    assert status == 200, body
    (run,) = mlflowclient.call(server, "runs/search", {"experiment_ids": [body["experiment"]["experiment_id"]]})[1]["runs"]
    assert points(server, run["info"]["run_id"], "loss") == [(3, 3.0)]
    assert job(server, "numbered")["HyperParameters"]["lr"] == "0.5"


def test_a_model_is_logged_while_the_server_is_away(server, ship, train):
    port = server.port
    server.kill()
    given, _ = finish(train(LOG_MODEL, "--job", "modelled", "--drain-timeout", "500ms"))
    server.start(f"127.0.0.1:{port}")
    assert ship.run("--job", "next", "--", "true").returncode == 0
    info = mlflowclient.call(server, f"logged-models/{given[-1]['model']}")[1]["model"]["info"]
    assert given[-1]["again"] == [7] and (info["name"], info["status"], info["source_run_id"]) == ("net", "LOGGED_MODEL_READY", given[-1]["run"])


@long
def test_files_stay_with_the_training_though_the_server_would_keep_them(make_server, train):
    """Through the relay no training waits for a file, or fails for one."""
    keeping = make_server("--mlflow-artifacts", "mlflow-artifacts:")
    given, _ = finish(train("""
places = []
for name in ("Default", "exp"):
    mlflow.set_experiment(name)
    with mlflow.start_run() as run:
        mlflow.log_text("hello", "a.txt")
        places.append(run.info.artifact_uri)
        assert open(run.info.artifact_uri + "/a.txt").read() == "hello"
give(places)
""", SMFLEET_SERVER=keeping.url))
    assert all(place.startswith("./mlflow-artifacts/") for place in given[-1]), given


@long
def test_a_model_is_registered_beside_the_training(server, train, tmp_path):
    """The server has no registry; a training that worked without the relay works with it."""
    given, _ = finish(train("""
class Model(mlflow.pyfunc.PythonModel):
    def predict(self, model_input):
        return model_input
with mlflow.start_run() as run:
    mlflow.pyfunc.log_model(name="net", python_model=Model(), pip_requirements=["mlflow"], registered_model_name="best")
give({"versions": [v.version for v in client.search_model_versions("name='best'")], "again": mlflow.pyfunc.load_model("models:/best/1").predict([7])})
""", "--job", "registered"))
    assert [str(v) for v in given[-1]["versions"]] == ["1"] and given[-1]["again"] == [7]
    assert (tmp_path / "mlflow-registry").exists()


def test_what_is_left_at_the_end_is_said_and_sent_later(server, ship, train):
    port = server.port
    server.kill()
    given, err = finish(train("""
with mlflow.start_run(run_name="kept") as run:
    mlflow.log_metric("loss", 3.0, step=3)
give({"run": run.info.run_id})
""", "--job", "kept-job", "--drain-timeout", "500ms"))
    path = re.search(r"are kept in '(.*\.calls)'", err)
    assert path and os.path.exists(path.group(1)), err
    server.start(f"127.0.0.1:{port}")
    assert ship.run("--job", "next", "--", "true").returncode == 0
    assert not os.path.exists(path.group(1))
    assert points(server, given[-1]["run"], "loss") == [(3, 3.0)]


ENVIRONMENT = "give({name: value for name, value in os.environ.items() if name.startswith('MLFLOW_') or name.lower() == 'no_proxy'})"


@pytest.mark.parametrize("variable", ["MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_REGISTRY_URI"])
def test_a_training_with_a_tracker_of_its_own_is_left_alone(ship, variable):
    """Also one that names its server in its code, of which the variables only hold the password."""
    script = "import json, os\ndef give(x): print(json.dumps(x))\n" + ENVIRONMENT
    out = ship.run("--job", "own", "--", "/usr/bin/python3", "-c", script, **{variable: "sqlite:///mine.db"}).stdout
    assert json.loads(out) == {variable: "sqlite:///mine.db"}


def plain_environment(ship, folder, *options, command=None, **more):
    script = "import json, os\ndef give(x): print(json.dumps(x))\n" + ENVIRONMENT
    clean = {name: value for name, value in ship.env.items() if "proxy" not in name.lower()}
    out = subprocess.run([ship.program, "--job", "env", *options, "--", *(command or ["/usr/bin/python3", "-c", script])], cwd=folder,
        env={**clean, **more}, capture_output=True, timeout=60, check=True).stdout
    return json.loads(out.splitlines()[-1])


def test_what_the_training_finds_in_its_environment(ship, tmp_path):
    found = plain_environment(ship, tmp_path, http_proxy="http://proxy:3128", NO_PROXY="intern")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", found["MLFLOW_TRACKING_URI"]) and re.fullmatch(r"[0-9a-f]{40}", found["MLFLOW_TRACKING_TOKEN"])
    assert found["no_proxy"] == found["NO_PROXY"] == "intern,127.0.0.1"
    assert plain_environment(ship, tmp_path, "--no-relay") == {}
    # what it starts elsewhere by srun would find nobody at that address
    assert plain_environment(ship, tmp_path, SLURM_JOB_NUM_NODES="2", SLURM_JOB_ID="1") == {}
    assert plain_environment(ship, tmp_path, SLURM_JOB_NUM_NODES="2", SLURM_JOB_ID="1", SLURM_STEP_ID="0") != {}
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n")
    srun.chmod(0o755)
    script = "import json, os\nprint(json.dumps({n: v for n, v in os.environ.items() if n.startswith('MLFLOW_TRACKING')}))"
    assert plain_environment(ship, tmp_path, command=[str(srun), "-c", script]) == {}
    # runs that MLflow's client keeps in files stay together
    (tmp_path / "mlruns").mkdir()
    assert plain_environment(ship, tmp_path) == {}


def test_the_log_does_not_have_the_relay_s_secret(server, ship, tmp_path):
    """W&B's client prints its address, and more people read a log than may write; the bytes of a line stay as many."""
    command = 'echo "to $WANDB_BASE_URL, $WANDB_BASE_URL."; printenv MLFLOW_TRACKING_TOKEN; echo "step 1 loss: 2.5"'
    told = subprocess.run([ship.program, "--job", "told", "--", "sh", "-c", command], cwd=tmp_path, env=ship.env, capture_output=True, text=True, timeout=60, check=True)
    url, token, _ = told.stdout.splitlines()
    secret = re.fullmatch(r"to (\S+)/([0-9a-f]{40}), \1/\2\.", url)
    assert secret and token == secret[2], "the training's own output is as it is"
    hidden = 40 * "*"
    assert lines(server, "told") == [f"to {secret[1]}/{hidden}, {secret[1]}/{hidden}.", hidden, "step 1 loss: 2.5"]
    server.wait_for_points("told", "train:loss", 1)


def test_only_the_training_may_write(server, ship, tmp_path):
    script = """
import json, os, urllib.error, urllib.request
def ask(path, body=None, token=None, method=None):
    head = {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {})}
    request = urllib.request.Request(os.environ["MLFLOW_TRACKING_URI"] + path, body, head, method=method)
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())["error_code"]
mine = os.environ["MLFLOW_TRACKING_TOKEN"]
create = "/api/2.0/mlflow/runs/create"
print(json.dumps([ask(create, b"{}"), ask(create, b"{}", "0" * 40), ask(create, b"{}", mine[:-1]), ask(create, b"[]", mine),
    ask(create, b"{", mine), ask("/api/2.0/mlflow/runs/log-metric", b"{}", mine), ask(create, b" " * 2047 + b"{", mine),
    ask(create, b" " * 2046 + b"{}", mine), ask(create, b" " * 2047 + b"{}", mine)]))
"""
    clean = {name: value for name, value in ship.env.items() if not name.startswith("MLFLOW_")}
    out = subprocess.run([ship.program, "--job", "guarded", "--relay-bytes", "2048", "--", "/usr/bin/python3", "-c", script], cwd=tmp_path, env=clean,
        capture_output=True, timeout=60, check=True)
    assert json.loads(out.stdout) == [[401, "UNAUTHENTICATED"]] * 3 + [[400, "INVALID_PARAMETER_VALUE"]] * 4 + [
        200, [413, "RESOURCE_LIMIT_EXCEEDED"]], out.stderr
    assert jobs(server) == ["guarded"]


def test_a_full_spool_drops_and_says_so(server, train, tmp_path):
    """The training goes on; what was taken before is sent."""
    port = server.port
    server.kill()
    process = train("""
run = mlflow.start_run(run_name="full").info.run_id
for step in range(200):
    mlflow.log_metric("loss", 1.0 + step, step=step)
wait_for("full")
give({"run": run})
""", "--job", "full-job", "--spool-bytes", "8KiB")
    wait_for_line(process, '"full"')
    server.start(f"127.0.0.1:{port}")
    (tmp_path / "full").touch()
    given, err = finish(process)
    assert "wait already (--spool-bytes)" in err and re.search(r"\d+ messages of the training to its tracker were dropped", err), err
    there = points(server, given[-1]["run"], "loss")
    assert there and there == [(step, 1.0 + step) for step in range(len(there))] and len(there) < 200


OUTAGE_S = 60 if os.environ.get("SM_LONG") else 3
MEASURED = """
def steps(first, count):  # each call's time, beside work of 20 ms a step
    times = []
    for step in range(first, first + count):
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            pass
        begin = time.perf_counter()
        mlflow.log_metrics({"loss": 1.0 + step, "grad_norm": 2.0}, step=step)
        times.append(time.perf_counter() - begin)
    return times
count = int(os.environ["STEPS"])
mlflow.set_experiment("measured")
run = mlflow.start_run(run_name="measured").info.run_id
there = steps(0, count)
wait_for("away")
away = steps(count, count)
wait_for("back")
mlflow.end_run()
give({"run": run, "there": sorted(there), "away": sorted(away), "steps": 2 * count})
"""


def test_what_an_outage_costs_the_training(server, train, tmp_path):
    """The server is killed and stays away: the calls of a training are as quick as before. A minute of it, and +1 % of a step's time at
    most, with SM_LONG; in a few seconds on a busy machine only what is grossly slower is seen."""
    count = OUTAGE_S * 1000 // 25
    port = server.port
    process = train(MEASURED, "--job", "measured", STEPS=str(count))
    wait_for_line(process, '"away"')
    server.kill()
    (tmp_path / "away").touch()
    wait_for_line(process, '"back"')
    server.start(f"127.0.0.1:{port}")
    (tmp_path / "back").touch()
    given, _ = finish(process)
    facts = given[-1]
    there, away = (facts[phase][count // 2] for phase in ("there", "away"))
    print(f"a call: {1000 * there:.2f} ms there, {1000 * away:.2f} ms away; the longest {1000 * facts['away'][-1]:.0f} ms")
    assert away - there <= (0.01 * (0.02 + there) if os.environ.get("SM_LONG") else there)
    assert facts["away"][-1] < 1.0, "no call waits for the server"
    for key in ("loss", "grad_norm"):
        assert [step for step, _ in points(server, facts["run"], key)] == [*range(2 * count)], key


def test_a_server_that_does_not_know_the_token(make_server, train, tmp_path):
    """The training is not kept waiting for another one, and what it said stays in the spool."""
    guarded = make_server()
    token_of(guarded, "somebody", "--scope", "write")
    process = train("""
with mlflow.start_run() as run:
    mlflow.log_metric("loss", 1.0, step=1)
give({"run": run.info.run_id})
""", "--job", "unknown", "--drain-timeout", "1h", SMFLEET_SERVER=guarded.url, SMFLEET_TOKEN="smf_wrong")
    given, err = finish(process)
    assert len(given[-1]["run"]) == 32 and "are kept in" in err, err
    assert len(list((tmp_path / "spool").glob("*.calls"))) == 1


def test_what_our_own_token_may_not_send_waits(make_server, ship, train, tmp_path):
    """As behind the end of a client certificate: the next sm-ship, which may, sends it all."""
    guarded = make_server()
    reads, _ = token_of(guarded, "reader", "--scope", "read")
    writes, _ = token_of(guarded, "writer", "--scope", "write")
    given, err = finish(train("""
with mlflow.start_run() as run:
    for step in range(3):
        mlflow.log_metric("loss", 1.0 + step, step=step)
give({"run": run.info.run_id})
""", "--job", "waits", "--drain-timeout", "1h", SMFLEET_SERVER=guarded.url, SMFLEET_TOKEN=reads))
    assert "scope 'write'" in err and "are kept in" in err and "not taken" not in err, err
    assert ship.run("--job", "next", "--", "true", SMFLEET_SERVER=guarded.url, SMFLEET_TOKEN=writes).returncode == 0
    assert not list((tmp_path / "spool").glob("*.calls"))
    _, history = mlflowclient.call(guarded, f"metrics/get-history?run_id={given[-1]['run']}&metric_key=loss", token=reads)
    assert [(point["step"], point["value"]) for point in history["metrics"]] == [(0, 1.0), (1, 2.0), (2, 3.0)]


@long
def test_a_server_that_is_killed_in_the_middle_of_it(server, train):
    """Requests whose replies were lost are sent again: each point is there once, in whichever moment the server was killed."""
    port = server.port
    process = train("""
run = mlflow.start_run(run_name="kills").info.run_id
give({"run": run})
sys.stdout.flush()
for step in range(400):
    mlflow.log_metric("loss", 1.0 + step, step=step)
    mlflow.log_metric("unnumbered", 1.0 + step)
    if step % 10 == 0:
        mlflow.log_param(f"p{step}", step)
mlflow.end_run()
""", "--job", "killed-often")
    run_id = json.loads(next(line for line in process.stdout if line.startswith("{")))["run"]
    kills = 0
    while process.poll() is None and kills < 4:
        # in the first moment after something more of it came
        before = len(points(server, run_id, "loss")) if mlflowclient.call(server, f"runs/get?run_id={run_id}")[0] == 200 else 0
        wait_until(lambda: process.poll() is not None or (mlflowclient.call(server, f"runs/get?run_id={run_id}")[0] == 200
            and len(points(server, run_id, "loss")) > before), what="points")
        server.kill()
        server.start(f"127.0.0.1:{port}")
        kills += 1
    finish(process)
    assert kills >= 2
    assert points(server, run_id, "loss") == [(step, 1.0 + step) for step in range(400)]
    assert points(server, run_id, "unnumbered") == [(step, 1.0 + step) for step in range(400)]
    assert job(server, "killed-often")["HyperParameters"]["p390"] == "390"
