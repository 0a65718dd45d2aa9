"""sm-ship knows files by what they hold, whatever they are called: TensorBoard's event files, logs, what is neither."""

import os
import struct

import pytest
from shipping import job, lines
from smserver import wait_until
from tfevents import event, hparams, message, record, simple

VERSION = record(b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2"))


@pytest.fixture
def server(emptied_server):
    return emptied_server


def counts(server, name):
    reply = server.get(f"/api/v1/jobs/{name}/metrics")
    return {(row["stream"], row["metric"]): row["count"] for row in reply.body["series"]} if reply.status == 200 else {}


def make_runs(folder):
    """Two runs with a log each; one run's events are in two files, of which one is not called as TensorBoard calls them."""
    for name, loss in (("gpt", 2), ("bert", 5)):
        run = folder / name
        run.mkdir(parents=True)
        (run / "train.log").write_text("".join(f"[2023-11-15 00:00:{i:02},000] {name} line {i}\n" for i in range(7)))
        (run / "events.0").write_bytes(VERSION + b"".join(event(i, 1.7e9 + i, simple("train/loss", loss)) for i in range(40)))
    (folder / "gpt" / "events.out.tfevents.1700000100.host.1.0").write_bytes(
        VERSION + b"".join(event(i, 1.7e9 + i, simple("train/loss", 1)) for i in range(40, 60)))
    (folder / "gpt" / "model.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + bytes(range(256)) * 40)
    (folder / "gpt" / "train.tfrecord").write_bytes(record(message(1, b"an example of the training data")))  # no Event
    (folder / "gpt" / "after.log").write_bytes(b"\0" * 100 + b"a log that was cut under its writer\n")


def test_a_folder_of_runs_is_imported_by_what_its_files_hold(server, ship, tmp_path):
    make_runs(tmp_path / "runs")
    pattern = f"{tmp_path}/runs/(?<job>[^/]+)/(?:(?<stream>.+)[.]log|.+)"
    for _ in range(2):  # again: nothing is doubled
        result = ship.run("--import", pattern)
        errors = result.stderr.decode()
        assert result.returncode == 4, errors
        assert "/gpt/model.npy' is binary" in errors and "/gpt/train.tfrecord' is binary" in errors
        assert "2 jobs of 6 files" in errors and "2 files hold nothing to send" in errors
        wait_until(lambda: counts(server, "gpt") == {("algo-1", "train/loss"): 60}, what="the points of two files")
        assert counts(server, "bert") == {("algo-1", "train/loss"): 40}
        assert lines(server, "gpt", "train") == [f"[2023-11-15 00:00:{i:02},000] gpt line {i}" for i in range(7)]
        assert len(lines(server, "gpt", "after")) == 1 and lines(server, "gpt") == []
    document = job(server, "gpt")
    assert document["TrainingJobStatus"] == "Completed"
    assert document["TrainingStartTime"] == 1.7e9, "2023-11-14 22:13:20, before the log's first line"


def test_a_run_of_points_alone_ran_when_they_were_made(server, ship, tmp_path):
    (tmp_path / "old").write_bytes(VERSION + b"".join(event(i, 1.7e9 + 60 * i, simple("loss", 2)) for i in range(11)))
    result = ship.run("--import", f"{tmp_path}/(?<job>old)")
    assert result.returncode == 0, result.stderr
    document = job(server, "old")
    assert (document["TrainingStartTime"], document["TrainingEndTime"]) == (1.7e9, 1.7e9 + 600)
    goodput = server.get("/api/v1/jobs/old/goodput").body
    assert (goodput["wall_seconds"], goodput["cost"]["billable_seconds"]) == (600, 600)


def test_what_of_an_event_file_and_a_log_was_there_already_is_said(server, ship, tmp_path):
    """Twice the same, then longer."""
    for steps, words in ((11, None), (11, "all 22 lines and points were there already"), (21, "22 of 42 lines and points were there already, 20 are new")):
        for name in ("points", "text"):
            (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "points" / "old").write_bytes(VERSION + b"".join(event(i, 1.7e9 + 60 * i, simple("loss", 2)) for i in range(steps)))
        (tmp_path / "text" / "log").write_text("".join(f"2023-11-15T00:{i:02}:00Z line {i}\n" for i in range(steps)))
        result = ship.run("--import", f"{tmp_path}/(?<job>points|text)/.+")
        errors = result.stderr.decode()
        assert result.returncode == 0, errors
        assert words in errors if words else "there already" not in errors, errors
        wait_until(lambda steps=steps: counts(server, "points") == {("algo-1", "loss"): steps}, what="the points")
        assert len(lines(server, "text")) == steps


def test_a_damaged_event_file_is_no_success(server, ship, tmp_path):
    whole = VERSION + b"".join(event(i, 1.7e9 + i, simple("loss", 2)) for i in range(3))
    at = len(VERSION)
    (tmp_path / "head").write_bytes(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])  # the length of a record: the rest cannot be found
    (tmp_path / "body").write_bytes(whole[:-6] + bytes([whole[-6] ^ 0xff]) + whole[-5:])  # one record's content
    for name, words, points in (("head", f"is damaged behind byte {at} ", 0), ("body", "1 damaged records are passed over", 2)):
        result = ship.run("--import", f"{tmp_path}/(?<job>{name})")
        errors = result.stderr.decode()
        assert result.returncode == 4 and words in errors and "1 runs were not read whole" in errors, errors
        wait_until(lambda name=name, points=points: counts(server, name) == ({("algo-1", "loss"): points} if points else {}), what="the points before it")


def test_a_damaged_event_file_without_any_point_makes_no_job(server, ship, tmp_path):
    """At the length of its first event, or in the content of its only one; the run beside them is imported all the same."""
    whole, at = VERSION + event(0, 1.7e9, simple("loss", 2)), len(VERSION)
    (tmp_path / "head").write_bytes(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
    (tmp_path / "body").write_bytes(whole[:-6] + bytes([whole[-6] ^ 0xff]) + whole[-5:])
    (tmp_path / "sound").write_bytes(whole)
    result = ship.run("--import", f"{tmp_path}/(?<job>head|body|sound)")
    errors = result.stderr.decode()
    assert sorted(row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]) == ["sound"]
    assert result.returncode == 4 and "1 jobs of 3 files" in errors and "2 runs were not read whole" in errors, errors
    assert all(f"job '{name}': nothing of its files could be read: no job is made of them" in errors for name in ("head", "body")), errors
    before = job(server, "sound")["SecondaryStatusTransitions"]
    (tmp_path / "sound").write_bytes((tmp_path / "head").read_bytes())
    assert ship.run("--import", f"{tmp_path}/(?<job>sound)").returncode == 4
    assert job(server, "sound")["SecondaryStatusTransitions"] == before


def test_runs_of_two_folders_are_not_one_stream(ship, tmp_path):
    for name in ("lr1", "lr2"):
        (tmp_path / "exp" / name).mkdir(parents=True)
        (tmp_path / "exp" / name / "events").write_bytes(VERSION)
    result = ship.run("--import", f"{tmp_path}/(?<job>exp)/.+")
    assert result.returncode == 2 and b"are both stream 'algo-1' of job 'exp'" in result.stderr


def write_split(folder, name, points):
    """As Keras does: the same tag in a folder of the training and in one of the evaluations."""
    (folder / name).mkdir(parents=True)
    (folder / name / "events.out.tfevents.1").write_bytes(VERSION + b"".join(event(step, 1.7e9 + step, simple("loss", value)) for step, value in points))


def make_split_run(folder):
    write_split(folder, "train", [(step, 4 / (step + 1)) for step in range(60)])
    write_split(folder, "validation", [(step, 5 / (step + 1)) for step in range(9, 60, 10)])


@pytest.mark.parametrize("pattern, streams", [("(?<job>exp)/(?<stream>train|validation)/.*", ("train", "validation")), ("(?<job>exp)/.+", ("algo-1", "algo-1"))],
                         ids=["a-stream-a-folder", "any"])
def test_the_losses_of_train_and_validation_are_two_metrics(server, ship, tmp_path, pattern, streams):
    make_split_run(tmp_path / "exp")
    for _ in range(2):
        result = ship.run("--import", f"{tmp_path}/{pattern}")
        assert result.returncode == 0, result.stderr
        wait_until(lambda: counts(server, "exp") == {(streams[0], "loss"): 60, (streams[1], "validation/loss"): 6}, what="both losses")
    wanted = {"loss.count": 60, "loss.best": pytest.approx(4 / 60), "eval_loss.count": 6, "eval_loss.best": pytest.approx(5 / 60)}
    wait_until(lambda: server.get(f"/api/v1/jobs?q=name=exp&fields={','.join(wanted)}").body["jobs"][0]["fields"] == wanted, what="the roles of both")


def test_the_losses_of_train_and_validation_are_two_metrics_as_they_come(server, follow, tmp_path):
    make_split_run(tmp_path / "exp")
    follow("followed", tmp_path / "*" / "*" / "*")
    wait_until(lambda: counts(server, "followed") == {("exp/train", "loss"): 60, ("exp/validation", "validation/loss"): 6}, what="both losses")


def test_what_a_restart_made_again_counts_once_in_all_its_metrics(server, ship, tmp_path):
    """Killed at 52, again from 40, killed at 85, again from 75: each metric comes behind the loss, whose steps tell it."""
    parts, at = [range(53), range(40, 86), range(75, 100)], 1.7e9
    for folder, tags, every in (("train", ("loss", "lr"), 1), ("validation", ("loss",), 10)):
        written, seconds = VERSION, at
        for number, part in enumerate(parts):
            seconds += 100
            for step in part:
                seconds += 1
                if step % every == every - 1:
                    written += event(step, seconds, *(simple(tag, step + number / 8) for tag in tags))
        (tmp_path / "exp" / folder).mkdir(parents=True)
        (tmp_path / "exp" / folder / "events.out.tfevents.1").write_bytes(written)
    assert ship.run("--import", f"{tmp_path}/(?<job>exp)/.+").returncode == 0
    last_lr = sum(step + (0 if step < 40 else 1 if step < 75 else 2) / 8 for step in range(100)) / 100
    wait_until(lambda: counts(server, "exp") == {("algo-1", "loss"): 100, ("algo-1", "lr"): 100, ("algo-1", "validation/loss"): 10}, what="what counts")
    assert server.series("exp", "lr")["mean"] == pytest.approx(last_lr)
    for attempt, part in enumerate(parts, 1):
        for metric, steps in (("lr", part), ("validation/loss", [step for step in part if step % 10 == 9])):
            assert server.points("exp", metric, attempts=attempt, buckets=1000)["columns"]["x"] == list(steps), (metric, attempt)


def test_a_run_that_is_called_test_is_trained(server, ship, follow, tmp_path):
    write_split(tmp_path, "test", [(1, 2), (2, 1)])
    assert ship.run("--import", f"{tmp_path}/(?<job>[^/]+)/.+").returncode == 0
    follow("smoke", tmp_path / "test" / "*")
    wait_until(lambda: counts(server, "test") == {("algo-1", "loss"): 2}, what="the import")
    wait_until(lambda: counts(server, "smoke") == {("test", "loss"): 2}, what="what is followed")


def test_files_that_are_followed_are_known_by_what_they_hold(server, follow, tmp_path):
    run = tmp_path / "runs" / "exp1"
    run.mkdir(parents=True)
    (run / "scalars").write_bytes(VERSION + event(0, 1.7e9, simple("loss", 2)))
    (run / "weights").write_bytes(b"\x93NUMPY\x01\x00v\x00" + bytes(range(256)))
    (run / "out").write_text("a line\n")
    process = follow("kinds", tmp_path / "runs" / "*" / "*")
    wait_until(lambda: counts(server, "kinds") == {("exp1", "loss"): 1} and lines(server, "kinds", "exp1/out") == ["a line"],
               what="points and lines")
    (run / "late").write_bytes(VERSION + event(1, 1.7e9, simple("loss", 2)))  # found while the others are followed
    with (run / "scalars").open("ab") as out:
        out.write(event(2, 1.7e9 + 2, simple("loss", 1)))
    wait_until(lambda: counts(server, "kinds") == {("exp1", "loss"): 3}, what="the points that came")
    process.terminate()
    errors = process.communicate(timeout=30)[1].decode()
    assert process.returncode == 4 and errors.count("/exp1/weights' is binary") == 1, errors
    assert {row["stream"] for row in server.get("/api/v1/jobs/kinds/streams").body["streams"]} == {"exp1", "exp1/out"}


def without_roots_rights(ship, tmp_path):
    """Root reads all files, whatever their mode is."""
    drop = "" if os.geteuid() else "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search"
    wrapper = tmp_path / "sm-ship"
    wrapper.write_text(f'#!/bin/sh\nexec {drop} {ship.program} "$@"\n')
    wrapper.chmod(0o755)
    ship.program = str(wrapper)


def test_what_a_glob_finds_and_cannot_read_is_said_once_and_looked_at_again(server, ship, follow, tmp_path):
    without_roots_rights(ship, tmp_path)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text("one\n")
    (logs / "b.log").write_text("two\n")
    (logs / "b.log").chmod(0)
    (logs / "circle.log").symlink_to("circle.log")
    (logs / "later.log").symlink_to(tmp_path / "later")  # of what is yet to come nothing is said
    process = follow("unread", logs / "*.log")
    wait_until(lambda: lines(server, "unread", "a.log") == ["one"], what="what can be read")
    (logs / "x.log").write_text("three\n")
    wait_until(lambda: lines(server, "unread", "x.log") == ["three"], what="a file behind those that cannot be read")
    (logs / "b.log").chmod(0o644)
    (tmp_path / "later").write_text("four\n")
    wait_until(lambda: (lines(server, "unread", "b.log"), lines(server, "unread", "later.log")) == (["two"], ["four"]), what="what can be read now")
    process.terminate()
    errors = process.communicate(timeout=30)[1].decode()
    assert process.returncode == 4, errors
    assert errors.count("cannot open") == 2, errors
    assert f"cannot open '{logs}/b.log': Permission denied" in errors and f"cannot open '{logs}/circle.log': Too many levels" in errors, errors
    assert {row["stream"] for row in server.get("/api/v1/jobs/unread/streams").body["streams"]} == {"a.log", "b.log", "later.log", "x.log"}


def test_a_binary_file_that_is_named_is_a_mistake(ship, tmp_path):
    path = tmp_path / "model.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00v\x00" + bytes(range(256)))
    result = ship.run("--job", "binary", str(path))
    assert result.returncode == 2 and b"model.npy' is binary" in result.stderr


SETTINGS = {"lr": 0.0003, "batch_size": 32.0, "seed": 123456789.0, "optimizer": "adamw", "amp": True, "tied": False, "note": "a, \u201cb\u201d\n"}
AS_TEXT = {"lr": "0.0003", "batch_size": "32", "seed": "123456789", "optimizer": "adamw", "amp": "true", "tied": "false", "note": "a, \u201cb\u201d\n"}


def make_run(path, settings, points=3):
    path.write_bytes(VERSION + event(0, 1.7e9, hparams(settings)) + b"".join(event(i, 1.7e9 + i, simple("loss", 2)) for i in range(points)))


def test_hparams_of_an_event_file_are_the_jobs_hyperparameters(server, ship, tmp_path):
    make_run(tmp_path / "tuned", SETTINGS)
    for _ in range(2):  # again: nothing is doubled, nothing differs
        result = ship.run("--import", f"{tmp_path}/(?<job>tuned)")
        assert result.returncode == 0 and b"left as it is" not in result.stderr, result.stderr
        assert job(server, "tuned")["HyperParameters"] == AS_TEXT
        wait_until(lambda: counts(server, "tuned") == {("algo-1", "loss"): 3}, what="the points")
    assert [row["TrainingJobName"] for row in server.get("/api/v1/jobs?q=hp.batch_size%3D32").body["jobs"]] == ["tuned"]


def test_what_is_stated_stays_and_what_differs_is_said(server, ship, tmp_path):
    make_run(tmp_path / "posted", SETTINGS)
    posted = server.post("/api/v1/jobs", json={"TrainingJobName": "posted", "HyperParameters": {"lr": "1e-4", "warmup": "100"}})
    assert posted.status in (200, 201)
    result = ship.run("--import", f"{tmp_path}/(?<job>posted)")
    errors = result.stderr.decode()
    assert result.returncode == 0, errors
    assert job(server, "posted")["HyperParameters"] == {**AS_TEXT, "lr": "1e-4", "warmup": "100"}
    said = [line for line in errors.splitlines() if "left as it is" in line]
    assert len(said) == 1 and "lr" in said[0] and "'1e-4'" in said[0] and "'0.0003'" in said[0], errors
    make_run(tmp_path / "told", SETTINGS)
    result = ship.run("--import", f"{tmp_path}/(?<job>told)", "--hp", "optimizer=sgd")
    assert result.returncode == 0
    assert job(server, "told")["HyperParameters"] == {**AS_TEXT, "optimizer": "sgd"}


def test_hparams_that_come_late_to_a_file_that_is_followed(server, follow, tmp_path):
    path = tmp_path / "events"
    path.write_bytes(VERSION + event(0, 1.7e9, simple("loss", 2)))
    follow("late", path)
    wait_until(lambda: counts(server, "late").get((tmp_path.name, "loss")) == 1, what="the first point")
    with path.open("ab") as out:
        out.write(event(1, 1.7e9 + 1, hparams({"lr": 0.5})))
    wait_until(lambda: job(server, "late").get("HyperParameters") == {"lr": "0.5"}, what="the settings")


def test_many_and_long_hparams(server, ship, tmp_path):
    """SageMaker's document takes a hundred of 2500 characters: what is more is kept beside them, and found."""
    many = {f"k{i:03}": float(i) for i in range(130)}
    make_run(tmp_path / "many", {**many, "long": "\u00e9" * 3000})
    result = ship.run("--import", f"{tmp_path}/(?<job>many)")
    assert result.returncode == 0, result.stderr
    document = job(server, "many")
    stated = document["HyperParameters"] | document["OtherHyperParameters"]
    assert len(document["HyperParameters"]) == 100 and {key: stated[key] for key in many} == {key: str(int(value)) for key, value in many.items()}
    assert stated["long"] == "\u00e9" * 2499 + "\u2026"
    assert [row["TrainingJobName"] for row in server.get("/api/v1/jobs?q=hp.k129%3D129").body["jobs"]] == ["many"]


def test_settings_are_added_by_patch(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "patched", "HyperParameters": {"lr": "1e-4"}}).status in (200, 201)
    reply = server.patch("/api/v1/jobs/patched", json={"hp": {"lr": "2e-4", "batch": "8"}})
    assert reply.status == 200 and reply.body == {"job": "patched", "kept": {"lr": "1e-4"}}
    assert job(server, "patched")["HyperParameters"] == {"lr": "1e-4", "batch": "8"}
    refused = server.patch("/api/v1/jobs/patched", json={"hp": []})
    assert refused.status == 422 and refused.body["field"] == "hp"
    assert server.patch("/api/v1/jobs/patched", json={"hp": {"gpus": 8}}).body["kept"] == {}  # texts, as SageMaker's are
    assert job(server, "patched")["HyperParameters"] == {"lr": "1e-4", "batch": "8", "gpus": "8"}


def make_long_run(path, points):
    """Far more than one batch of 256 KiB, and than the spools of these tests."""
    path.write_bytes(VERSION + b"".join(event(i, 1.7e9 + i, simple("train/loss_of_a_long_name", i % 100), simple("lr", 0.5)) for i in range(points)))


def test_points_of_event_files_wait_in_their_files_when_the_spool_is_full(server, ship, tmp_path):
    make_long_run(tmp_path / "small-spool", 3000)
    result = ship.run("--import", f"{tmp_path}/(?<job>small-spool)", "--spool-bytes", "16KiB")
    assert result.returncode == 0 and b"dropped" not in result.stderr and b"full" not in result.stderr, result.stderr
    wait_until(lambda: set(counts(server, "small-spool").values()) == {3000}, what="all points")


def test_a_spool_that_is_smaller_than_a_point_takes_one_at_a_time(server, ship, tmp_path):
    make_run(tmp_path / "tiny-spool", {"lr": 0.5}, points=10)
    result = ship.run("--import", f"{tmp_path}/(?<job>tiny-spool)", "--spool-bytes", "10")
    assert result.returncode == 0, result.stderr
    wait_until(lambda: counts(server, "tiny-spool") == {("algo-1", "loss"): 10}, what="all points")


def test_a_long_run_that_is_imported_twice_is_there_once(server, ship, tmp_path):
    make_long_run(tmp_path / "twice", 6000)
    for _ in range(2):
        result = ship.run("--import", f"{tmp_path}/(?<job>twice)")
        assert result.returncode == 0, result.stderr
    wait_until(lambda: min(counts(server, "twice").values(), default=0) >= 6000, what="all points")
    assert set(counts(server, "twice").values()) == {6000}


def test_events_without_a_time_have_the_files(server, ship, tmp_path):
    path = tmp_path / "timeless"
    path.write_bytes(VERSION + event(1, 0.0, simple("loss", 2)) + event(2, 12.5, simple("loss", 1)))
    os.utime(path, (1715000000, 1715000000))
    for _ in range(2):
        result = ship.run("--import", f"{tmp_path}/(?<job>timeless)")
        assert result.returncode == 0, result.stderr
        wait_until(lambda: counts(server, "timeless") == {("algo-1", "loss"): 2}, what="the points")
    rows = server.points("timeless", "loss", raw="true")["series"][0]
    assert (rows["step"], rows["ts_ms"]) == ([1, 2], [1715000000000] * 2)


def test_points_that_the_server_does_not_take_are_said(server, ship, tmp_path):
    (tmp_path / "names").write_bytes(VERSION + event(1, 1.7e9, simple("loss", 2)) + event(1, 1.7e9, simple("x" * 300, 2)))
    result = ship.run("--import", f"{tmp_path}/(?<job>names)")
    assert result.returncode == 0 and b"the server did not take 1 point of stream 'algo-1': " in result.stderr, result.stderr
    wait_until(lambda: counts(server, "names") == {("algo-1", "loss"): 1}, what="the point that it takes")


def test_points_leave_no_file_in_the_spools_folder(server, ship, follow, tmp_path):
    """They can be read again: what is killed need not leave them."""
    path = tmp_path / "events"
    path.write_bytes(VERSION + event(0, 1.7e9, simple("loss", 2)))
    follow("clean", path)
    wait_until(lambda: counts(server, "clean").get((tmp_path.name, "loss")) == 1, what="the point")
    assert list(ship.spool.glob("*.points")) == []
