"""MLflow's own client, of two versions, unchanged: what training code calls, and what is read back."""

import re

import pytest

import mlflowclient
from howlong import long
from smserver import ROOT, quote, wait_until

TRAINING = """
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="first", tags={"team": "nlp"}) as run:
    mlflow.log_param("lr", 0.1)
    mlflow.log_params({"layers": 12, "model": "gpt 2"})
    for step in range(5):
        mlflow.log_metric("train/loss", 2.5 - step / 4, step=10 * step)
    mlflow.log_metric("asynchronous", 7.25, step=3, synchronous=False)
    mlflow.log_metrics({"train/loss": 1.25, "accuracy": float("nan"), "huge": float("inf")}, step=50)
    mlflow.set_tag("note", "a; b")
    mlflow.set_tags({"gone": "x", "kept": "y"})
    mlflow.delete_tag("gone")
    mlflow.flush_async_logging()
info = client.get_run(run.info.run_id).info
give({"run_id": info.run_id, "start": info.start_time, "end": info.end_time})
"""


def job(server, name):
    reply = server.get(f"/api/v1/jobs/{quote(name)}")
    assert reply.status == 200, reply
    return reply.body


@pytest.mark.parametrize("version", mlflowclient.EACH_VERSION)
def test_a_run_is_a_job(server, version):
    given = mlflowclient.run(server, version, TRAINING)
    row = job(server, "exp/first")
    assert row["TrainingJobStatus"] == "Completed"
    assert (row["TrainingStartTime"], row["TrainingEndTime"]) == (given["start"] / 1000, given["end"] / 1000)
    assert row["HyperParameters"] == {"lr": "0.1", "layers": "12", "model": "gpt 2"}
    tags = {tag["Key"]: tag["Value"] for tag in row["Tags"]}
    assert {"team": "nlp", "note": "a; b", "kept": "y", "mlflow.runName": "first"}.items() <= tags.items() and "gone" not in tags
    assert server.wait_for_points("exp/first", "train/loss", 6)["count"] == 6
    history = mlflowclient.history(server, given["run_id"], "train/loss")
    assert [point[:2] for point in history] == [(0, 2.5), (10, 2.25), (20, 2.0), (30, 1.75), (40, 1.5), (50, 1.25)]
    assert all(given["start"] <= ts_ms <= given["end"] for _, _, ts_ms in history)
    assert [point[:2] for key in ("asynchronous", "accuracy", "huge") for point in mlflowclient.history(server, given["run_id"], key)] == [
        (3, 7.25), (50, "NaN"), (50, "Infinity")]
    found = server.get(f"/api/v1/jobs?q={quote('hp.lr=0.1 and tag.team=nlp')}").body["jobs"]
    assert [row["TrainingJobName"] for row in found] == ["exp/first"]


READING = """
mlflow.set_experiment("exp")
for number in range(3):
    with mlflow.start_run(run_name="same") as run:
        mlflow.log_param("number", number)
        mlflow.log_metric("loss", 3.0 - number, step=7)
        mlflow.set_tag("odd", str(number % 2 == 1))
frame = mlflow.search_runs(experiment_names=["exp"], order_by=["metrics.loss DESC"])
give({
    "columns": sorted(frame.columns),
    "loss": list(frame["metrics.loss"]), "number": list(frame["params.number"]), "odd": list(frame["tags.odd"]),
    "status": list(frame["status"]),
    "some": list(mlflow.search_runs(experiment_names=["exp"], filter_string="metrics.loss < 3 and tags.odd = 'True'")["params.number"]),
    "newest": list(mlflow.search_runs(experiment_names=["exp"], max_results=1)["params.number"]),
    "experiments": sorted(e.name for e in client.search_experiments()),
    "history": [[m.step, m.value] for m in client.get_metric_history(run.info.run_id, "loss")],
    "nothing": client.get_experiment_by_name("none") is None,
})
"""


FRAMED = """
mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("exp")
for number, ends in enumerate(["FINISHED", "FAILED", "KILLED"]):
    mlflow.start_run(run_name=f"r{number}")
    mlflow.log_params({"number": number, "text": "a b"} if number else {"number": number})
    for step, loss in enumerate([3.0, 0.1 + 0.2, float("nan") if number == 2 else 1e-300]):
        mlflow.log_metric("loss", loss, step=step)
    if number == 1:
        mlflow.log_metrics({"acc/eval": float("inf"), "acc/low": -float("inf")}, step=9)
    mlflow.set_tag("odd", str(number % 2 == 1))
    mlflow.end_run(ends)
frame = mlflow.search_runs(experiment_names=["exp"], order_by=["params.number"])
frame.to_pickle(sys.argv[2])
give(list(frame.columns))
"""
COMPARED = """
import pandas
ours, theirs = (pandas.read_pickle(name) for name in sys.argv[1:])
own = ["run_id", "experiment_id", "artifact_uri", "start_time", "end_time"]  # another store gives others
assert all(ours[name].dtype == theirs[name].dtype and not ours[name].isna().any() for name in own), (ours.dtypes, theirs.dtypes)
assert (ours["end_time"] >= ours["start_time"]).all() and ours["run_id"].is_unique
pandas.testing.assert_frame_equal(ours.drop(columns=own), theirs.drop(columns=own), check_like=True, check_exact=True)
give(len(ours))
"""


@long
@pytest.mark.parametrize("version", mlflowclient.VERSIONS)
def test_the_frame_is_that_of_a_file_store(server, version, tmp_path):
    """The same runs logged to the server and to MLflow's own files: pandas' frames are equal but for what each store makes up."""
    more = {"MLFLOW_ALLOW_FILE_STORE": "true"}
    ours, theirs = tmp_path / "ours.pickle", tmp_path / "theirs.pickle"
    columns = mlflowclient.run(server, version, FRAMED, server.url, ours, **more)
    assert {"metrics.loss", "metrics.acc/eval", "params.text", "tags.odd", "tags.mlflow.runName"} <= set(columns)
    mlflowclient.run(server, version, FRAMED, (tmp_path / "files").as_uri(), theirs, **more)
    assert mlflowclient.run(server, version, COMPARED, ours, theirs) == 3


@long
@pytest.mark.parametrize("version", mlflowclient.VERSIONS)
def test_the_same_is_read_back(server, version):
    given = mlflowclient.run(server, version, READING)
    assert given.pop("columns") == sorted(["run_id", "experiment_id", "status", "artifact_uri", "start_time", "end_time", "metrics.loss",
        "params.number", "tags.odd", "tags.mlflow.user", "tags.mlflow.source.name", "tags.mlflow.source.type", "tags.mlflow.runName"])
    assert given == {"loss": [3.0, 2.0, 1.0], "number": ["0", "1", "2"], "odd": ["False", "True", "False"], "status": ["FINISHED"] * 3,
        "some": ["1"], "newest": ["2"], "experiments": ["Default", "exp"], "history": [[7, 1.0]], "nothing": True}
    # three runs of one name are three jobs
    assert [job(server, name)["HyperParameters"]["number"] for name in ("exp/same", "exp/same-2", "exp/same-3")] == ["0", "1", "2"]


def test_the_example_of_the_documentation(server):
    text = (ROOT / "docs/mlflow.md").read_text()
    example = re.search(r"^```python\n(.*?)^```", text, re.M | re.S).group(1)
    given = mlflowclient.run(server, "3", example + "give([list(best['params.layers']), list(best['metrics.loss']), run.info.run_id])")
    assert given[:2] == [["12"], [0.04]]
    assert [point[:2] for point in mlflowclient.history(server, given[2], "loss")] == [(n, 4 / (n + 1)) for n in range(100)]
    assert job(server, "pretrain/gpt-7")["HyperParameters"] == {"lr": "0.0003", "layers": "12"}


@long
def test_a_metric_of_several_runs_is_what_the_client_takes_for_it(server):
    """The client has no function for it, but its message, its address and its reader: what the page of MLflow and plugins use."""
    script = """
from mlflow.protos.service_pb2 import GetMetricHistoryBulkInterval
from mlflow.utils.proto_json_utils import message_to_json
runs = []
for count in (7, 40):
    with mlflow.start_run() as run:
        mlflow.MlflowClient().log_batch(run.info.run_id, [mlflow.entities.Metric("m", step / 2, 1790000000000 + step, step) for step in range(1, count)])
    runs.append(run.info.run_id)
asked = GetMetricHistoryBulkInterval(run_ids=runs, metric_key="m", max_results=10, start_step=1, end_step=100)
reply = client._tracking_client.store._call_endpoint(GetMetricHistoryBulkInterval, message_to_json(asked))
give([[runs.index(m.run_id), m.key, m.value, m.timestamp - 1790000000000, m.step] for m in reply.metrics])
"""
    # places in 39 points: 0, 4.22, 8.44, 12.67, 16.89, 21.11, 25.33, 29.56, 33.78, 38
    assert mlflowclient.run(server, "3", script) == [[run, "m", step / 2, step, step] for run, steps in enumerate(
        [range(1, 7), (1, 5, 9, 14, 18, 22, 26, 31, 35, 39)]) for step in steps]


def test_points_without_a_step_are_in_order_of_arrival(server):
    script = """
with mlflow.start_run() as run:
    for value in range(100):
        mlflow.log_metric("k", value)
give(run.info.run_id)
"""
    history = mlflowclient.history(server, mlflowclient.run(server, "2", script), "k")
    assert [point[:2] for point in history] == [(n, n) for n in range(100)]


def test_how_a_run_ends(server):
    script = """
mlflow.set_experiment("ends")
try:
    with mlflow.start_run(run_name="failed"):
        raise ValueError("as it happens")
except ValueError:
    pass
run = client.create_run("1", run_name="killed")
client.set_terminated(run.info.run_id, "KILLED")
going = client.create_run("1", run_name="going")
give([client.get_run(run.info.run_id).info.status, client.get_run(going.info.run_id).info.status])
"""
    assert mlflowclient.run(server, "2", script) == ["KILLED", "RUNNING"]
    statuses = {name: job(server, f"ends/{name}")["TrainingJobStatus"] for name in ("failed", "killed", "going")}
    assert statuses == {"failed": "Failed", "killed": "Stopped", "going": "InProgress"}
    assert "FAILED" in job(server, "ends/failed")["FailureReason"]


@pytest.mark.parametrize("version", mlflowclient.EACH_VERSION)
def test_what_is_not_here_stops_no_training(server, version):
    """Files go where the run's artifact_uri says, which is with the client; traces and datasets are no reason to end."""
    script = """
import pathlib
import pandas
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="odd") as run:
    mlflow.log_text("hello", "notes/a.txt")
    mlflow.log_dict({"a": 1}, "c.json")
    mlflow.log_input(mlflow.data.from_pandas(pandas.DataFrame({"x": [1.0]}), name="ds"), context="train")
    with mlflow.start_run(run_name="child", nested=True):
        mlflow.log_metric("m", 1.0)
    if hasattr(mlflow, "trace"):
        mlflow.trace(lambda x: x)(1)
    mlflow.log_metric("after", 1.0)
dataset = client.get_run(run.info.run_id).inputs.dataset_inputs[0]
folder = pathlib.Path(client.get_experiment("1").artifact_location)
give({"text": (folder / run.info.run_id / "artifacts/notes/a.txt").read_text(), "root": folder.parts[0], "dataset": dataset.dataset.name,
    "context": dataset.tags[0].value, "listed": [f.path for f in client.list_artifacts(run.info.run_id)]})
"""
    given = mlflowclient.run(server, version, script)
    assert given == {"text": "hello", "root": "mlflow-artifacts", "dataset": "ds", "context": "train", "listed": ["c.json", "notes"]}
    assert job(server, "exp/odd")["TrainingJobStatus"] == job(server, "exp/child")["TrainingJobStatus"] == "Completed"


def test_nested_runs_are_children(server):
    script = """
mlflow.set_experiment("sweep")
with mlflow.start_run(run_name="outer") as outer:
    for lr in ("0.1", "0.2"):
        with mlflow.start_run(run_name=f"lr-{lr}", nested=True) as inner:
            mlflow.log_param("lr", lr)
            with mlflow.start_run(run_name=f"seed-{lr}", nested=True):
                pass
found = mlflow.search_runs(experiment_names=["sweep"], filter_string=f"tags.mlflow.parentRunId = '{outer.info.run_id}'", order_by=["params.lr"])
give([outer.info.run_id, list(found["tags.mlflow.runName"])])
"""
    outer, found = mlflowclient.run(server, "2", script)
    assert found == ["lr-0.1", "lr-0.2"]
    assert job(server, "sweep/outer")["child_jobs"] == ["sweep/lr-0.1", "sweep/lr-0.2"] and "parent_job" not in job(server, "sweep/outer")
    inner = job(server, "sweep/lr-0.2")
    assert (inner["parent_job"], inner["child_jobs"]) == ("sweep/outer", ["sweep/seed-0.2"])
    leaf = job(server, "sweep/seed-0.2")
    assert leaf["parent_job"] == "sweep/lr-0.2" and "child_jobs" not in leaf
    rows = server.get(f"/api/v1/jobs?q={quote(f'tag.mlflow.parentRunId={outer}')}").body["jobs"]
    assert sorted(row["TrainingJobName"] for row in rows) == ["sweep/lr-0.1", "sweep/lr-0.2"]


@long
def test_where_files_go(make_server, tmp_path):
    """As an experiment says, else as the server does; a run keeps its place."""
    server = make_server("--mlflow-artifacts", str(tmp_path / "root"))
    script = """
own = client.create_experiment("own", artifact_location=sys.argv[1])
places = []
for experiment_id in ("0", own):
    run = client.create_run(experiment_id)
    client.log_text(run.info.run_id, "x", "f.txt")
    places.append([run.info.artifact_uri, run.info.run_id])
give(places)
"""
    (default, first), (own, second) = mlflowclient.run(server, "2", script, str(tmp_path / "elsewhere"))
    assert default == f"{tmp_path}/root/0/{first}/artifacts" and own == f"{tmp_path}/elsewhere/{second}/artifacts"
    assert (tmp_path / f"root/0/{first}/artifacts/f.txt").read_text() == (tmp_path / f"elsewhere/{second}/artifacts/f.txt").read_text() == "x"
    server.stop()
    server.start(f"127.0.0.1:{server.port}", "--mlflow-artifacts", str(tmp_path / "new"))
    assert mlflowclient.call(server, f"runs/get?run_id={first}")[1]["run"]["info"]["artifact_uri"] == default


@pytest.mark.parametrize("version", mlflowclient.VERSIONS)
def test_small_files_stay_with_the_run(make_server, version):
    """Of mlflow-artifacts: they are the job's attachments; what is too large costs no training, and is told; models stay with their client."""
    server = make_server("--mlflow-artifacts", "mlflow-artifacts:", "--max-attachment-bytes", "1000")
    script = """
import pathlib
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="r") as run:
    mlflow.log_text("hello", "notes/a.txt")
    mlflow.log_dict({"a": 1}, "c.json")
    pathlib.Path("folder/deep").mkdir(parents=True)
    pathlib.Path("folder/deep/ü b.bin").write_bytes(bytes(range(256)))
    mlflow.log_artifact("folder/deep/ü b.bin")
    mlflow.log_artifacts("folder", "tree")
    mlflow.log_text("x" * 1001, "large.txt")
    mlflow.log_metric("after", 1.0)
    model = client.create_logged_model("1", "m", source_run_id=run.info.run_id).artifact_location if hasattr(client, "create_logged_model") else None
try:
    client.download_artifacts(run.info.run_id, "large.txt")
    large = "there"
except Exception as error:
    large = str(error)
def listed(path=None):
    return [[f.path, f.is_dir, f.file_size] for f in client.list_artifacts(run.info.run_id, path)]
before = {"uri": run.info.artifact_uri, "id": run.info.run_id, "model": model, "large": large,
    "root": listed(), "tree": listed("tree"), "file": listed("c.json"),
    "text": pathlib.Path(client.download_artifacts(run.info.run_id, "notes/a.txt")).read_text(),
    "bytes": list(pathlib.Path(client.download_artifacts(run.info.run_id, "tree"), "deep/ü b.bin").read_bytes()),
    "tag": client.get_run(run.info.run_id).data.tags["smfleet.not_kept"]}
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
files = get_artifact_repository(run.info.artifact_uri)
files.delete_artifacts("tree")
files.delete_artifacts("c.json")
give({**before, "left": listed()})
"""
    given = mlflowclient.run(server, version, script)
    assert given["left"] == [["notes", True, None], ["ü b.bin", False, 256]]
    assert given["uri"].startswith("mlflow-artifacts:/") and given["uri"].endswith(f"/{given['id']}/artifacts")
    assert given["root"] == [["c.json", False, 12], ["notes", True, None], ["tree", True, None], ["ü b.bin", False, 256]]
    assert given["tree"] == [["tree/deep", True, None]] and given["file"] == []
    assert (given["text"], given["bytes"]) == ("hello", list(range(256)))
    assert given["tag"].startswith("large.txt: ") and "1001" in given["tag"] and "--max-attachment-bytes" in given["tag"]
    assert given["large"] != "there"
    assert given["model"] is None or given["model"].startswith("./mlflow-artifacts/1/models/")
    rows = server.get("/api/v1/jobs/exp%2Fr/attachments").body["attachments"]
    assert [row["path"] for row in rows] == ["notes/a.txt", "ü b.bin"]
    assert job(server, "exp/r")["TrainingJobStatus"] == "Completed"


def test_what_cannot_be_done_is_said(server):
    script = """
def said(call, *arguments):
    try:
        call(*arguments)
    except mlflow.exceptions.MlflowException as error:
        return [error.error_code, str(error)]
run = client.create_run("0")
give([said(client.delete_run, run.info.run_id), said(client.delete_experiment, "0"), said(client.get_run, "0" * 32),
    said(client.create_run, "77"), said(client.create_experiment, "Default")])
"""
    for (code, text), (wanted, part) in zip(mlflowclient.run(server, "3", script), [("INVALID_STATE", "is running"),
            ("NOT_IMPLEMENTED", "DELETE /api/v1/jobs/"), ("RESOURCE_DOES_NOT_EXIST", "no run"), ("RESOURCE_DOES_NOT_EXIST", "no experiment"),
            ("RESOURCE_ALREADY_EXISTS", "Default")], strict=True):
        assert code == wanted and part in text


TRASH = """
from mlflow.entities import ViewType
def said(call, *arguments):
    try:
        call(*arguments)
    except mlflow.exceptions.MlflowException as error:
        return [error.error_code, str(error)]
def names(view):
    return sorted(run.info.run_name for run in client.search_runs(["0"], run_view_type=view))
def shown(run_id):
    run = client.get_run(run_id)
    return [run.info.lifecycle_stage, run.info.status, run.data.params, run.data.metrics, run.data.tags["team"]]
for name in ("a", "b"):
    with mlflow.start_run(run_name=name, tags={"team": "nlp"}) as run:
        mlflow.log_param("lr", 0.1)
        mlflow.log_metrics({"loss": 2.5}, step=1)
        mlflow.log_metrics({"loss": 1.5}, step=2)
gone = run.info.run_id
before = shown(gone)
client.delete_run(gone)
client.delete_run(gone)
views = [names(view) for view in (ViewType.ACTIVE_ONLY, ViewType.DELETED_ONLY, ViewType.ALL)]
found = [run.info.run_id for run in client.search_runs(["0"], "metrics.loss < 2", run_view_type=ViewType.DELETED_ONLY)] == [gone]
deleted = shown(gone)
refused = [said(client.log_metric, gone, "loss", 1.0), said(client.log_param, gone, "x", 1), said(client.set_tag, gone, "x", "1"),
    said(client.set_terminated, gone)]
client.restore_run(gone)
client.restore_run(gone)
client.log_metric(gone, "loss", 0.5, step=3)
give({"before": before, "deleted": deleted, "views": views, "found": found, "refused": refused, "after": shown(gone), "active": names(ViewType.ACTIVE_ONLY)})
"""


@long
@pytest.mark.parametrize("version", mlflowclient.VERSIONS)
def test_a_deleted_run_is_in_the_trash_and_comes_back(server, version):
    given = mlflowclient.run(server, version, TRASH)
    assert given["before"] == ["active", "FINISHED", {"lr": "0.1"}, {"loss": 1.5}, "nlp"]
    assert given["deleted"] == ["deleted", *given["before"][1:]] and given["found"]
    assert given["views"] == [["a"], ["b"], ["a", "b"]]
    assert [code for code, _ in given["refused"]] == ["INVALID_PARAMETER_VALUE"] * 4
    assert all("must be in the 'active' state. Current state is deleted" in text for _, text in given["refused"])
    assert given["after"] == ["active", "FINISHED", {"lr": "0.1"}, {"loss": 0.5}, "nlp"] and given["active"] == ["a", "b"]
    assert server.wait_for_points("Default/b", "loss", 3)["count"] == 3


@long
def test_another_name_is_shown_and_found(server):
    script = """
run = client.create_run("0", run_name="before")
client.update_run(run.info.run_id, name="after")
client.rename_experiment(client.create_experiment("old", tags={"a": "1"}), "new")
experiment = client.get_experiment_by_name("new")
client.set_experiment_tag(experiment.experiment_id, "b", "2")
give([client.get_run(run.info.run_id).info.run_name, len(client.search_runs(["0"], "attributes.run_name = 'after'")),
    client.get_experiment(experiment.experiment_id).tags, client.get_experiment_by_name("old") is None])
"""
    assert mlflowclient.run(server, "2", script) == ["after", 1, {"a": "1", "b": "2"}, True]
    tags = {tag["Key"]: tag["Value"] for tag in job(server, "Default/before")["Tags"]}
    assert tags["mlflow.runName"] == "after"


def test_a_loss_that_is_no_number_is_noticed(server):
    script = """
with mlflow.start_run(run_name="nan"):
    for step in range(40):
        mlflow.log_metric("loss", 2.0 if step < 35 else float("nan"), step=step)
give(None)
"""
    mlflowclient.run(server, "3", script)
    wait_until(lambda: [row for row in server.get("/api/v1/incidents").body["incidents"]
        if row["job"] == "Default/nan" and row["kind"] == "non_finite"], what="an incident of the loss")


LOG_MODEL = """
class Model(mlflow.pyfunc.PythonModel):
    def predict(self, model_input):
        return model_input
mlflow.set_experiment("models")
with mlflow.start_run(run_name="modelled") as run:
    for step in (0, 1):
        mlflow.log_metric("before", 2.0 - step, step=step)
    info = mlflow.pyfunc.log_model(name="net", python_model=Model(), pip_requirements=["mlflow"])
    mlflow.log_metric("after", 1.0, step=1)
give({"run": run.info.run_id, "model": info.model_id, "again": mlflow.pyfunc.load_model(info.model_uri).predict([7])})
"""


@pytest.mark.parametrize("place", ["./mlflow-artifacts", "mlflow-artifacts:"])
def test_a_model_is_logged_and_loaded_again(make_server, place):
    """Its files are with the client, also where the server keeps those of runs; the server knows where, and the training goes on."""
    server = make_server("--mlflow-artifacts", place)
    given = mlflowclient.run(server, "3", LOG_MODEL)
    assert given["again"] == [7]
    status, said = mlflowclient.call(server, f"logged-models/{given['model']}")
    assert status == 200 and said["model"]["info"]["status"] == "LOGGED_MODEL_READY" and said["model"]["info"]["source_run_id"] == given["run"]
    assert job(server, "models/modelled")["TrainingJobStatus"] == "Completed"
    assert [row[:2] for row in mlflowclient.history(server, given["run"], "before")] == [(0, 2), (1, 1)], "the client logs step 0 again, for the model"
