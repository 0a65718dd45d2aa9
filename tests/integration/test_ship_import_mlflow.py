"""sm-ship --import-mlflow: what MLflow's own client wrote into its own stores becomes jobs, and the same client reads it here as it was."""

import contextlib
import os
import re
import signal
import socket
import sqlite3
import threading

import mlflowclient
import pytest
from howlong import IS_LONG
from smserver import ROOT, quote, wait_until

RUNS, POINTS = 50 if IS_LONG else 12, 48
SQL = ROOT / ".cache/mlflow-sql"
WITH_SQL = f"{ROOT}/.cache/mlflow-3:{SQL}"
# Two axes of steps, values that are no numbers, a name with a folder, calls without a step, a deleted run, files.
MAKE = """
import warnings
warnings.filterwarnings("ignore")
place, count = sys.argv[1], int(sys.argv[2])
mlflow.set_tracking_uri(place)
client = MlflowClient()
from mlflow.entities import Metric, Param, RunTag
names = ["pretrain", "it is: a test #2 ü"]
ids = [client.create_experiment(name) for name in names]
began, parent = 1700000000000, None
for number in range(count):
    tags = {"mlflow.user": "ada", "nr": str(number), "text": "two\\nlines: 'x'"}
    if parent and number % 10:
        tags["mlflow.parentRunId"] = parent
    run = client.create_run(ids[number % 2], start_time=began + number * 100000, tags=tags, run_name=f"run {number}: ä")
    run_id = run.info.run_id
    parent = run_id if number % 10 == 0 else parent
    at = began + number * 100000
    metrics = [Metric("train/loss", 4 / (step + 1) + number, at + step * 50, step) for step in range(40)]
    metrics += [Metric("eval loss", float("nan") if epoch == 3 else 1 / (epoch + 3), at + epoch * 2000, epoch) for epoch in range(5)]
    metrics += [Metric("late", 0.1 * step, at + step, 1000000 - step) for step in range(3)]
    client.log_batch(run_id, metrics=metrics, params=[Param("lr", "3e-4"), Param("long/name", "x" * 300 + " end")])
    client.set_terminated(run_id, ["FINISHED", "FAILED", "KILLED"][number % 3], end_time=at + 20000)
extra = client.create_run(ids[0], start_time=began, run_name="deleted")
client.delete_run(extra.info.run_id)
give({"deleted": extra.info.run_id})
"""

# Of each place its runs with all that is known of them: the tracking server's, and stores.
READ = """
import warnings
warnings.filterwarnings("ignore")
def read():
    client, runs = MlflowClient(), {}
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id], max_results=1000):
            info = run.info
            runs[info.run_id] = {"experiment": experiment.name, "name": info.run_name, "user": info.user_id, "status": info.status,
                "start": info.start_time, "end": info.end_time, "artifacts": info.artifact_uri, "params": run.data.params, "tags": run.data.tags,
                "history": {key: [[m.timestamp, m.step, repr(m.value)] for m in client.get_metric_history(info.run_id, key)] for key in run.data.metrics}}
    return runs
everything = [read()]
for place in sys.argv[1:]:
    mlflow.set_tracking_uri(place)
    everything.append(read())
give(everything)
"""


class Nowhere:
    """In place of a server: each script names its store. MLflow makes the folder all the same."""

    def __init__(self, folder):
        self.folder = folder
        self.url = f"file://{folder}/nowhere"


@pytest.fixture(scope="module")
def mlruns(tmp_path_factory):
    """(a file store of 50 runs, the id of its deleted one)"""
    folder = tmp_path_factory.mktemp("mlflow")
    made = mlflowclient.run(Nowhere(folder), "2", MAKE, folder / "mlruns", RUNS)
    return folder / "mlruns", made["deleted"]


def counted(result):
    """(new points, points that were there) of an import that ended well"""
    assert result.returncode == 0, result.stderr
    new, there = re.search(rb"(\d+) points are new, (\d+) were there already", result.stderr).groups()
    return int(new), int(there)


@contextlib.contextmanager
def cut_way(server, most_bytes):
    """The address of a way to the server on which only so much arrives there: what is sent over it is never through, however fast it is."""
    left = most_bytes

    def carry(client):
        nonlocal left
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", server.port)) as onward:
            threading.Thread(target=answer, args=(onward, client), daemon=True).start()
            while left > 0 and (data := client.recv(min(left, 4096))):
                left -= len(data)
                onward.sendall(data)
            is_over.wait()

    def answer(onward, client):
        with contextlib.suppress(OSError):
            while data := onward.recv(65536):
                client.sendall(data)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=carry, args=(listener.accept()[0],), daemon=True).start()

    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        is_over.set()


def test_a_folder_of_runs_is_here_as_it_was(server, ship, mlruns):
    folder, deleted = mlruns
    with cut_way(server, 15_000) as address:  # a run is 3000 bytes
        first = ship.start("--import-mlflow", str(folder), SMFLEET_SERVER=address)
        wait_until(lambda: len(server.get("/api/v1/jobs").body["jobs"]) >= 3, what="some runs are here")
        first.kill()
    assert first.wait() == -signal.SIGKILL, "it was killed in the middle"
    first.communicate()
    result = ship.run("--import-mlflow", str(folder))
    new, there = counted(result)
    assert new + there == RUNS * POINTS and new and there
    said = result.stderr.decode()
    assert f"{RUNS} runs of MLflow are jobs" in said
    assert f"run {deleted} ('deleted') is deleted: left out" in said and "not moved: 1 deleted runs" in said
    here, as_it_was = mlflowclient.run(server, "2", READ, folder)
    assert len(here) == RUNS and here.keys() == as_it_was.keys()
    for run_id in here:
        assert here[run_id] == as_it_was[run_id]
    job = server.get(f"/api/v1/jobs/{quote('pretrain/run 0: ä')}").body
    assert (job["TrainingStartTime"], job["TrainingEndTime"]) == (1700000000, 1700000020)
    assert counted(ship.run("--import-mlflow", str(folder))) == (0, RUNS * POINTS), "again: nothing is doubled"
    assert len(server.get("/api/v1/jobs?limit=1000").body["jobs"]) == RUNS


def test_runs_of_a_server_are_here_as_there(server, ship, make_server):
    """Ours speaks MLflow's protocol: two experiments, pages of histories, values that are no numbers, who may ask."""
    other = make_server()
    runs = {}
    for name, points in (("first", 30), ("second", 26_000)):
        status, made = mlflowclient.call(other, "experiments/create", {"name": f"exp {name}"})
        assert status == 200
        run_id = mlflowclient.make_run(other, experiment_id=made["experiment_id"], run_name=name, user_id="ada", start_time=1700000000000,
            tags=[{"key": "team", "value": "nlp"}])
        for at in range(0, points, 1000):
            assert mlflowclient.call(other, "runs/log-batch", {"run_id": run_id, "params": [{"key": "lr", "value": "3e-4"}], "metrics": [
                {"key": "loss", "value": "NaN" if step == 7 else 1 / (step + 1), "timestamp": 1700000000000 + step, "step": step}
                for step in range(at, min(points, at + 1000))]})[0] == 200
        assert mlflowclient.call(other, "runs/update", {"run_id": run_id, "status": "KILLED", "end_time": 1700000100000})[0] == 200
        runs[run_id] = points
    assert counted(ship.run("--import-mlflow", other.url)) == (26_030, 0)
    for run_id in runs:
        if runs[run_id] == 30:
            assert whole_history(server, run_id) == whole_history(other, run_id)
        there, here = (mlflowclient.call(at, f"runs/get?run_id={run_id}")[1]["run"] for at in (other, server))
        for run in (there, here):
            run["info"].pop("experiment_id")
            run["data"]["tags"].sort(key=lambda tag: tag["key"])
        assert here == there
    assert len(whole_history(server, run_id)) == 26_000, "more than a page"
    assert counted(ship.run("--import-mlflow", other.url)) == (0, 26_030)
    other.stop()
    away = ship.run("--import-mlflow", other.url, "--drain-timeout", "0s")
    assert away.returncode == 3


def test_steps_of_a_server_are_here_as_there(server, ship, make_server):
    """To the last step that a double holds: protobuf's JSON has them as numbers."""
    other = make_server()
    run_id = mlflowclient.make_run(other, run_name="far", start_time=1700000000000)
    most = 2**53
    steps = sorted({sign * (most - down) for sign in (1, -1) for down in (*range(5), most // 2, most // 8)} | {9 * 10**15 + 1})
    assert mlflowclient.call(other, "runs/log-batch", {"run_id": run_id, "metrics": [
        {"key": "m", "value": n, "timestamp": 1700000000000 + n, "step": step} for n, step in enumerate(steps)]})[0] == 200
    assert counted(ship.run("--import-mlflow", other.url)) == (len(steps), 0)
    assert [step for step, _, _ in mlflowclient.history(server, run_id, "m")] == steps


def whole_history(server, run_id):
    rows, token = [], ""
    while token is not None:
        page = mlflowclient.call(server, f"metrics/get-history?run_id={run_id}&metric_key=loss&max_results=25000{token}")[1]
        rows += page["metrics"]
        token = f"&page_token={page['next_page_token']}" if "next_page_token" in page else None
    return rows


# As MLflow 3.17 makes them, without what is not read.
SCHEMA = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR(256) UNIQUE NOT NULL, lifecycle_stage VARCHAR(32));
CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), user_id VARCHAR(256), status VARCHAR(9), start_time BIGINT,
    end_time BIGINT, lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200), experiment_id INTEGER);
CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value DOUBLE NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL,
    step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL, PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
CREATE TABLE tags (key VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
"""


def test_a_database_of_runs_is_here_as_it_was(server, ship, tmp_path):
    runs = [f"{number:032x}" for number in range(4)]
    with sqlite3.connect(tmp_path / "mlflow.db") as made:
        made.executescript(SCHEMA)
        made.executemany("INSERT INTO experiments VALUES (?, ?, ?)", [(1, "exp ü", "active"), (2, "gone", "deleted")])
        made.executemany("INSERT INTO runs VALUES (?, ?, 'ada', 'FAILED', 1700000000000, 1700000100000, ?, 's3://b/a', ?)",
            [(runs[0], "one", "active", 1), (runs[1], "two", "deleted", 1), (runs[2], "three", "active", 2), (runs[3], "four", "active", 1)])
        made.executemany("INSERT INTO metrics VALUES ('loss', ?, ?, ?, ?, ?)", [(0 if step == 7 else 1 / (step + 1), 1700000000000 + step, run, step, step == 7)
            for run in runs for step in range(50)])
        made.execute("INSERT INTO params VALUES ('lr', '3e-4', ?)", (runs[0],))
        made.execute("INSERT INTO tags VALUES ('mlflow.parentRunId', ?, ?)", (runs[0], runs[3]))
    result = ship.run("--import-mlflow", str(tmp_path / "mlflow.db"))
    assert counted(result) == (100, 0) and b"not moved: 2 deleted runs" in result.stderr
    for run in (runs[0], runs[3]):
        assert mlflowclient.history(server, run, "loss") == [
            (step, "NaN" if step == 7 else 1 / (step + 1), 1700000000000 + step) for step in range(50)]
    info = mlflowclient.call(server, f"runs/get?run_id={runs[0]}")[1]["run"]["info"]
    assert {"run_name": "one", "user_id": "ada", "status": "FAILED", "start_time": 1700000000000, "end_time": 1700000100000,
        "artifact_uri": "s3://b/a"}.items() <= info.items()
    data = mlflowclient.call(server, f"runs/get?run_id={runs[3]}")[1]["run"]["data"]
    assert {"key": "mlflow.parentRunId", "value": runs[0]} in data["tags"]
    assert mlflowclient.call(server, f"runs/get?run_id={runs[2]}")[0] == 404
    assert counted(ship.run("--import-mlflow", f"sqlite:///{tmp_path}/mlflow.db")) == (0, 100)


LARGEST = 1.7976931348623157e308


def test_infinities_of_a_database_are_here_as_such(server, ship, tmp_path):
    """MLflow's databases hold them as the largest finite number."""
    values = [1.0, LARGEST, -LARGEST, 1.7e308, 2.0]
    with sqlite3.connect(tmp_path / "mlflow.db") as made:
        made.executescript(SCHEMA)
        made.execute("INSERT INTO experiments VALUES (1, 'exp', 'active')")
        made.execute("INSERT INTO runs VALUES (?, 'one', 'ada', 'FINISHED', 1700000000000, 1700000100000, 'active', 's3://b/a', 1)", ("a" * 32,))
        made.executemany("INSERT INTO metrics VALUES ('loss', ?, ?, ?, ?, 0)", [(value, 1700000000001 + step, "a" * 32, step) for step, value in enumerate(values, 1)])
    for new, there in ((5, 0), (0, 5)):
        assert counted(ship.run("--import-mlflow", str(tmp_path / "mlflow.db"))) == (new, there)
    assert [value for _, value, _ in mlflowclient.history(server, "a" * 32, "loss")] == [1.0, "Infinity", "-Infinity", 1.7e308, 2.0]


@pytest.mark.skipif(not os.environ.get("SM_LONG") or not SQL.is_dir(), reason="needs SM_LONG and .cache/mlflow-sql (tests/clients/mlflow-sql.txt)")
def test_a_database_that_mlflow_made_is_here_as_it_was(server, ship, tmp_path):
    place = f"sqlite:///{tmp_path}/mlflow.db"
    made = mlflowclient.run(Nowhere(tmp_path), "3", MAKE, place, RUNS, PYTHONPATH=WITH_SQL, MLFLOW_ALLOW_FILE_STORE="true")
    result = ship.run("--import-mlflow", place)
    assert counted(result) == (RUNS * POINTS, 0) and made["deleted"].encode() in result.stderr
    here, as_it_was = mlflowclient.run(server, "3", READ, place, PYTHONPATH=WITH_SQL)
    assert here.keys() == as_it_was.keys() and len(here) == RUNS
    for run_id in here:
        for run in (here[run_id], as_it_was[run_id]):  # the database knows no order
            run["history"] = {key: sorted(points) for key, points in run["history"].items()}
        assert here[run_id] == as_it_was[run_id]


NAMESAKES = """
import warnings
warnings.filterwarnings("ignore")
if sys.argv[1]:
    mlflow.set_tracking_uri(sys.argv[1])
client = MlflowClient()
experiment = client.create_experiment("exp")
for number in range(4):
    began = 1700000000000 + number * 100000
    run = client.create_run(experiment, start_time=began, run_name="same")
    client.log_metric(run.info.run_id, "loss", number, timestamp=began, step=1)
    client.set_terminated(run.info.run_id, end_time=began + 1000)
give({})
"""


@pytest.mark.parametrize("kind", ["folder", "server"])
def test_of_runs_of_one_name_the_first_one_has_the_plain_name(server, ship, make_server, tmp_path, kind):
    other = make_server() if kind == "server" else Nowhere(tmp_path)
    place = other.url if kind == "server" else str(tmp_path / "mlruns")
    mlflowclient.run(other, "2", NAMESAKES, "" if kind == "server" else place)
    for _ in range(2):
        assert ship.run("--import-mlflow", place).returncode == 0
        jobs = [server.get(f"/api/v1/jobs/{quote(name)}").body for name in ("exp/same", "exp/same-2", "exp/same-3", "exp/same-4")]
        assert [job["TrainingStartTime"] for job in jobs] == [1700000000 + number * 100 for number in range(4)]


def make_by_hand(folder, run_id="0123456789abcdef0123456789abcdef", metric="1700000000000 1.5 0\n", meta=""):
    run = folder / "mlruns" / "7" / run_id
    (run / "metrics").mkdir(parents=True)
    (run / "artifacts" / "plots").mkdir(parents=True)
    (run / "artifacts" / "plots" / "a.png").write_bytes(b"png")
    (run.parent / "meta.yaml").write_text("name: exp\nlifecycle_stage: active\n")
    (run / "meta.yaml").write_text(f"run_id: {run_id}\nrun_name: one\nstatus: 3\nstart_time: 1700000000000\nend_time: 1700000001000\n{meta}")
    (run / "metrics" / "loss").write_text(metric)
    return folder / "mlruns"


def test_what_is_left_out_is_listed(server, ship, tmp_path):
    place = make_by_hand(tmp_path, metric="1700000000000 1.5 1\n1700000000000 1.5 1\n1700000000001 nan 2\n12 1 3\n1700000000002 2 9007199254740993\n1700000000003 inf 4")
    (place / "7" / "traces" / "t1").mkdir(parents=True)
    (place / "models" / "m1").mkdir(parents=True)
    result = ship.run("--import-mlflow", str(place))
    said = result.stderr.decode()
    assert result.returncode == 4 and "3 points are new, 1 were there already" in said
    for left in ("1 files of artifacts", "1 models", "1 traces", "2 points whose time is before 1990 or whose step is beyond 2^53"):
        assert f"not moved: {left}" in said
    assert mlflowclient.history(server, "0123456789abcdef0123456789abcdef", "loss") == [
        (1, 1.5, 1700000000000), (2, "NaN", 1700000000001), (4, "Infinity", 1700000000003)]


def test_an_import_rings_nobody(server, ship, receiver, tmp_path):
    """A run that failed, one that MLflow still calls running, a spike and a NaN, all long ago; then a run of today that fails."""
    events = ["incident", "job_state"]
    assert server.post("/api/v1/webhooks", json={"url": receiver.url, "events": events}).status == 201
    metric = "".join(f"{1700000000000 + 1000 * step} {500 if step == 400 else 1 + 0.001 * (step % 7)} {step}\n" for step in range(1, 600))
    for run_id, status in (("a" * 32, 4), ("b" * 32, 1)):
        meta = f"run_name: {run_id[0]}\nstatus: {status}\n"
        place = make_by_hand(tmp_path, run_id=run_id, metric=metric + "1700000700000 nan 600\n", meta=meta)
        (place / "7" / run_id / "meta.yaml").write_text(f"run_id: {run_id}\nrun_name: {run_id[0]}\nstatus: {status}\nstart_time: 1700000000000\nend_time: 1700000800000\n")
    assert counted(ship.run("--import-mlflow", str(place))) == (1200, 0)
    wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="an incident")
    today = mlflowclient.make_run(server, run_name="today")
    assert mlflowclient.call(server, "runs/update", {"run_id": today, "status": "FAILED"})[0] == 200
    receiver.wait_for(1)
    assert all("today" in str(one) for one in receiver.messages()), receiver.messages()


def test_damage_is_named_and_the_rest_is_here(server, ship, tmp_path):
    make_by_hand(tmp_path, metric="1700000000000 1.5 1\n1700000000001 x 2\n")
    make_by_hand(tmp_path, run_id="f" * 32, meta="user_id: 'open\n")
    result = ship.run("--import-mlflow", str(tmp_path / "mlruns"))
    said = result.stderr.decode()
    assert result.returncode == 4 and "metrics/loss', line 2, is no point: '1700000000001 x 2'" in said
    assert "a run cannot be read" in said and "meta.yaml': 'user_id': quotes do not end" in said
    assert mlflowclient.history(server, "0123456789abcdef0123456789abcdef", "loss") == [(1, 1.5, 1700000000000)]
    assert server.get("/api/v1/jobs/exp%2Fone").body["TrainingJobStatus"] == "Completed"


def test_a_place_that_is_none_is_refused(ship, tmp_path):
    for place in (f"{tmp_path}/nope", f"sqlite:///{tmp_path}/nope"):
        result = ship.run("--import-mlflow", place)
        assert result.returncode == 2 and f"{tmp_path}/nope': No such file or directory".encode() in result.stderr
    result = ship.run("--import-mlflow", str(tmp_path))
    assert result.returncode == 2 and b"has no runs of MLflow" in result.stderr
    (tmp_path / "1/meta.yaml").mkdir(parents=True)
    result = ship.run("--import-mlflow", str(tmp_path))
    assert result.returncode and b"1/meta.yaml" in result.stderr, "an experiment that cannot be read is none that is not there"
    (tmp_path / "other.db").write_bytes(b"no database")
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE a (b)")
    for name, why in (("other.db", b"file is not a database"), ("empty.db", b"it has no table 'runs'")):
        result = ship.run("--import-mlflow", str(tmp_path / name))
        assert result.returncode == 2 and why in result.stderr
    result = ship.run("--import-mlflow", str(make_by_hand(tmp_path)), "--drain-timeout", "0s", SMFLEET_SERVER="http://127.0.0.1:1")
    assert result.returncode == 3 and b"start it again, and it goes on where it stood" in result.stderr


GROW = """
import warnings
warnings.filterwarnings("ignore")
place, run_id, begin, status, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
mlflow.set_tracking_uri(place)
client = MlflowClient()
from mlflow.entities import Metric
if run_id == "new":
    run_id = client.create_run("0", start_time=1700000000000, run_name="grown").info.run_id
client.update_run(run_id, "RUNNING")
client.log_batch(run_id, metrics=[Metric("loss", 1.0, 1700000000000 + 1000 * at, at) for at in range(begin, begin + 60)])
if status != "RUNNING":
    client.set_terminated(run_id, status, end_time=1700000000000 + 1000 * end)
give({"run": run_id})
"""


def test_a_run_that_went_on_at_its_source_goes_on_here(server, ship, tmp_path):
    """Its second end is later: the job trained again from the first point behind the first one, and costs that."""
    def grow(run, begin, status, end=0):
        made = mlflowclient.run(Nowhere(tmp_path), "2", GROW, tmp_path / "mlruns", run, begin, status, end)
        assert ship.run("--import-mlflow", str(tmp_path / "mlruns")).returncode == 0
        return made["run"]

    def seen():
        document = server.get("/api/v1/jobs/Default%2Fgrown").body
        told = [(row["Status"], row["StartTime"] - 1700000000) for row in document["SecondaryStatusTransitions"]]
        return document["TrainingJobStatus"], document.get("BillableTimeInSeconds"), [row for row in told if row[0] != "Starting"]

    begun, ended, resumed = ("Training", 0), ("Completed", 60), ("Training", 401)
    run = grow("new", 1, "FINISHED", 60)
    assert seen() == ("Completed", 60, [begun, ended])
    grow(run, 401, "RUNNING")
    status, _, told = seen()
    assert (status, told) == ("InProgress", [begun, ended, resumed])
    grow(run, 461, "FINISHED", 530)
    expected = ("Completed", 60 + 129, [begun, ended, resumed, ("Completed", 530)])
    assert seen() == expected
    assert ship.run("--import-mlflow", str(tmp_path / "mlruns")).returncode == 0
    assert seen() == expected, "again: nothing is new"
    grow(run, 601, "FAILED", 670)
    assert seen() == ("Failed", 60 + 129 + 69, [*expected[2], ("Training", 601), ("Failed", 670)])


def test_an_end_that_was_stated_here_holds_while_nothing_is_new(server, ship, tmp_path):
    """The source's run is RUNNING for ever, as one that was killed: somebody says here how it ended."""
    run = mlflowclient.run(Nowhere(tmp_path), "2", GROW, tmp_path / "mlruns", "new", 1, "RUNNING", 0)["run"]
    assert ship.run("--import-mlflow", str(tmp_path / "mlruns")).returncode == 0
    told = server.post("/api/v1/jobs/Default%2Fgrown/transitions", json={"SecondaryStatus": "Failed", "time_ms": 1700000050000})
    assert told.status == 204
    status = lambda: server.get("/api/v1/jobs/Default%2Fgrown").body["TrainingJobStatus"]
    for _ in range(2):
        assert ship.run("--import-mlflow", str(tmp_path / "mlruns")).returncode == 0 and status() == "Failed"
    mlflowclient.run(Nowhere(tmp_path), "2", GROW, tmp_path / "mlruns", run, 101, "RUNNING", 0)
    assert ship.run("--import-mlflow", str(tmp_path / "mlruns")).returncode == 0 and status() == "InProgress"
