"""An import knows no more of a job than its files say: when it began and ended is assumed, as of a log that is posted, and what bears no
times takes no time."""

import datetime
import os
import pathlib
from engine import of_a_file
import sqlite3
import struct

import pytest
from shipping import job
from smserver import wait_until
from tfevents import event, message, record, simple

DAY_S, HOUR_S, STEP_S, STEPS = 86400, 3600, 10, 360
FIRST = 1_700_000_000  # 2023-11-14T22:13:20Z
AGAIN = FIRST + 50 * HOUR_S  # an hour of work, two days and an hour of silence, an hour of work
VERSION = record(b"\x09" + struct.pack("<d", FIRST) + message(3, b"brain.Event:2"))
TYPE, PER_HOUR = "ml.imported", 10
WRITTEN = FIRST + 100 * DAY_S


@pytest.fixture
def server(emptied_server):
    return emptied_server


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def log(rows):
    return "".join(f"{stamp(at_s)} step {step} loss: {3 - step / 1000:.3f}\n" for step, at_s in rows).encode()


def wandb(rows):
    return ("_step,_timestamp,loss\n" + "".join(f"{step},{at_s},2\n" for step, at_s in rows)).encode()


def mlflow(rows):
    return ("run_id,key,value,step,timestamp\n" + "".join(f"run,loss,2,{step},{1000 * at_s}\n" for step, at_s in rows)).encode()


def events(rows):
    return VERSION + b"".join(event(step, at_s, simple("loss", 2)) for step, at_s in rows)


KINDS = [log, wandb, mlflow, events]


def two_hours():
    return [(step, FIRST + step * STEP_S) for step in range(STEPS + 1)] + [(STEPS + 1 + step, AGAIN + step * STEP_S) for step in range(STEPS + 1)]


def imported(ship, path, content, *options, written=None):
    path.write_bytes(content)
    if written:
        os.utime(path, (written, written))
    result = ship.run("--import", str(path), "--job", "run", *options)
    assert result.returncode == 0, result.stderr
    return result.stderr.decode()


def priced(server):
    assert server.put("/api/v1/prices", json={"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]}).status == 200


def bill(server, name="run"):
    """Start, end, seconds by the document, by goodput, cost."""
    document, cost = job(server, name), server.get(f"/api/v1/jobs/{name}/goodput").body.get("cost") or {}
    return (document.get("TrainingStartTime"), document.get("TrainingEndTime"), document.get("BillableTimeInSeconds"),
            cost.get("billable_seconds"), cost.get("total"))


def wait_for_bill(server, *wanted, name="run"):
    try:
        wait_until(lambda: bill(server, name) == wanted, what="the bill")
    except BaseException:
        print(bill(server, name), job(server, name))
        raise


def sources(server, name="run"):
    document = job(server, name)
    return document["TrainingJobStatus"], document["start_from"], document["end_from"]


@pytest.mark.parametrize("kind", KINDS)
def test_two_days_of_silence_are_not_billed(server, ship, tmp_path, kind):
    priced(server)
    wanted = FIRST, AGAIN + HOUR_S, 2 * HOUR_S, 2 * HOUR_S, 2 * PER_HOUR
    for _ in range(2):
        imported(ship, tmp_path / "file", kind(two_hours()), "--instance-type", TYPE, "--instance-count", "1")
        wait_for_bill(server, *wanted)
        assert sources(server) == ("Completed", "assumed", "assumed")
    server.restart()
    wait_for_bill(server, *wanted)
    days = server.get("/api/v1/aggregate?q=name%3Drun&by=day&of=sum:node_hours").body["groups"]
    assert sum(day["sum:node_hours"] for day in days) == pytest.approx(2)
    assert job(server, "run")["CreationTime"] == FIRST, "it is as old as its log"


def test_the_same_log_is_billed_the_same_by_the_plain_door(server, ship, tmp_path):
    priced(server)
    document = {"TrainingJobName": "posted", "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": 1, "VolumeSizeInGB": 1}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    server.send("posted", log(two_hours()).decode().splitlines())
    assert server.post("/api/v1/jobs/posted/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    imported(ship, tmp_path / "file", log(two_hours()), "--instance-type", TYPE, "--instance-count", "1")
    wanted = FIRST, AGAIN + HOUR_S, 2 * HOUR_S, 2 * HOUR_S, 2 * PER_HOUR
    wait_for_bill(server, *wanted)
    wait_for_bill(server, *wanted, name="posted")


def test_a_date_that_a_line_happens_to_show_is_no_start_and_no_end(server, ship, tmp_path):
    rows = [(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]
    content = f"{stamp(FIRST - 200 * DAY_S)} image built\n".encode() + log(rows) + f"{stamp(FIRST + 90 * DAY_S)} the licence ends\n".encode()
    imported(ship, tmp_path / "file", content)
    wait_for_bill(server, FIRST, FIRST + HOUR_S, HOUR_S, HOUR_S, None)


# ---- what bears no times ----

def chart(rows):
    return ('"Step","run - loss","run - loss__MIN","run - loss__MAX"\n' + "".join(f'"{i}","{i}","{i}","{i}"\n' for i in range(rows))).encode()


def keys(rows):
    return ("_step,loss\n" + "".join(f"{i},2\n" for i in range(rows))).encode()


def timeless_events(rows):
    return VERSION + b"".join(event(i, 0.0, simple("loss", 2)) for i in range(rows))


def timeless_log(rows):
    return "".join(f"step {i} loss: 2.5\n" for i in range(rows)).encode()


@pytest.mark.parametrize("grown_s", [2 * HOUR_S, 10 * DAY_S])
@pytest.mark.parametrize("kind", [chart, keys, timeless_events, timeless_log])
def test_what_bears_no_times_takes_no_time_however_it_grows(server, ship, tmp_path, kind, grown_s):
    priced(server)
    for number, rows in enumerate((50, 70, 90, 110)):
        options = ["--metric", "loss=loss: ([0-9.]+)"] if kind is timeless_log else []
        imported(ship, tmp_path / "file", kind(rows), "--instance-type", TYPE, "--instance-count", "1", *options, written=WRITTEN + number * grown_s)
        wait_until(lambda rows=rows: (server.series("run", "loss") or {}).get("count") == rows, what="all points")
        wait_for_bill(server, WRITTEN, WRITTEN, None, None, None)
        reason = server.get("/api/v1/jobs/run/goodput").body["cost"]["reason"]
        assert (job(server, "run")["TrainingJobStatus"], reason) == ("Completed", "no times")
    points = server.points("run", "loss", raw="true")["series"][0]
    assert set(points["ts_ms"]) == {1000 * WRITTEN}


def test_files_of_one_job_that_bear_no_times_are_of_one_moment(server, ship, tmp_path):
    """Two charts that were downloaded an hour after each other: that hour was no training."""
    for number, metric in enumerate(("loss", "acc")):
        (tmp_path / f"{metric}.csv").write_bytes(chart(20).replace(b"loss", metric.encode()))
        os.utime(tmp_path / f"{metric}.csv", (WRITTEN + number * HOUR_S,) * 2)
    assert ship.run("--import", f"{tmp_path}/.+[.]csv").returncode == 0
    wait_for_bill(server, WRITTEN + HOUR_S, WRITTEN + HOUR_S, None, None, None)


def test_a_chart_without_times_of_a_job_that_has_some_is_of_its_end(server, ship, tmp_path):
    imported(ship, tmp_path / "log", log([(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]))
    errors = imported(ship, tmp_path / "file", chart(50).replace(b"run - loss", b"run - acc"), written=FIRST + 3 * HOUR_S)
    assert f"all its points are of {stamp(FIRST + HOUR_S)[:-1]}.000Z" in errors, errors
    wait_until(lambda: (server.series("run", "acc") or {}).get("count") == 50, what="the chart's points")
    wait_for_bill(server, FIRST, FIRST + HOUR_S, HOUR_S, HOUR_S, None)


def test_a_chart_without_times_beside_what_has_some_is_of_its_end(server, ship, tmp_path):
    """At once: the chart was downloaded three hours after the run."""
    (tmp_path / "history.csv").write_bytes(wandb([(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]))
    (tmp_path / "a chart.csv").write_bytes(chart(50).replace(b"run - loss", b"run - acc"))
    for name in ("history.csv", "a chart.csv"):
        os.utime(tmp_path / name, (FIRST + 4 * HOUR_S,) * 2)
    for words in ("1 jobs of 2 files", "all 411 lines and points were there already"):
        result = ship.run("--import", f"{tmp_path}/.+[.]csv", "--job", "run")
        errors = result.stderr.decode()
        assert result.returncode == 0 and words in errors and errors.count(f"points are of {stamp(FIRST + HOUR_S)[:-1]}.000Z (assumed)") == 1, errors
        wait_for_bill(server, FIRST, FIRST + HOUR_S, HOUR_S, HOUR_S, None)
        assert (server.series("run", "loss")["count"], server.series("run", "acc")["count"]) == (STEPS + 1, 50)


# ---- how it ended, where somebody says ----

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [40, 59])
@pytest.mark.parametrize("status", ["Failed", "Stopped"])
def test_how_it_ended_is_known_better_by_who_says_so(server, ship, tmp_path, kind, at, status):
    """A minute a step. It is stated to have failed at its 40th or its last, and what came since is 15 minutes more."""
    priced(server)
    options = "--instance-type", TYPE, "--instance-count", "1"
    rows = [(step, FIRST + 60 * step) for step in range(75)]
    imported(ship, tmp_path / "file", kind(rows[:60]), *options)
    wait_for_bill(server, FIRST, FIRST + 59 * 60, 59 * 60, 59 * 60, pytest.approx(59 / 60 * PER_HOUR, abs=1e-5))
    told = {"SecondaryStatus": status, "FailureReason": "x", "time_ms": 1000 * (FIRST + 60 * at)}
    assert server.post("/api/v1/jobs/run/transitions", json=told).status == 204
    wanted = FIRST, FIRST + 60 * at, 60 * at, 60 * at, pytest.approx(at / 60 * PER_HOUR, abs=1e-5)
    wait_for_bill(server, *wanted)
    assert "15 are new" in imported(ship, tmp_path / "file", kind(rows), *options)
    wait_for_bill(server, *wanted)
    assert sources(server) == (status, "assumed", "stated")
    assert [row["Status"] for row in job(server, "run")["SecondaryStatusTransitions"]] == ["Training", status]


def test_points_that_the_server_refuses_are_no_news_of_the_end(server, ship, tmp_path):
    rows = [(step, FIRST + step) for step in range(80)]
    content = events(rows) + event(1, FIRST + 1, simple("x" * 300, 2))
    imported(ship, tmp_path / "file", content)
    wait_for_bill(server, FIRST, FIRST + 79, 79, 79, None)
    told = {"SecondaryStatus": "Completed", "time_ms": 1000 * (FIRST + 49)}
    assert server.post("/api/v1/jobs/run/transitions", json=told).status == 204
    wait_for_bill(server, FIRST, FIRST + 49, 49, 49, None)
    before = job(server, "run")["SecondaryStatusTransitions"]
    errors = imported(ship, tmp_path / "file", content)
    assert "did not take 1 point" in errors and "all 80 lines and points were there already: nothing is new" in errors, errors
    assert job(server, "run")["SecondaryStatusTransitions"] == before and sources(server) == ("Completed", "assumed", "stated")


def test_what_was_imported_may_be_gone_on_with(server, ship, tmp_path):
    """A day later somebody states that it trains again, and a day after that how that ended."""
    priced(server)
    imported(ship, tmp_path / "file", log([(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]), "--instance-type", TYPE, "--instance-count", "1")
    again = FIRST + DAY_S
    for status, at_s in (("Training", again), ("Completed", again + HOUR_S)):
        assert server.post("/api/v1/jobs/run/transitions", json={"SecondaryStatus": status, "time_ms": 1000 * at_s}).status == 204
    wait_for_bill(server, FIRST, again + HOUR_S, 2 * HOUR_S, 2 * HOUR_S, 2 * PER_HOUR)
    imported(ship, tmp_path / "file", log([(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]))
    wait_for_bill(server, FIRST, again + HOUR_S, 2 * HOUR_S, 2 * HOUR_S, 2 * PER_HOUR)


def test_a_session_goes_on_with_what_was_imported(server, ship, tmp_path):
    imported(ship, tmp_path / "file", log([(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]))
    assert server.post("/api/v1/sessions", json={"job": "run", "stream": "algo-1", "resume": True}).status == 201
    server.send("run", ["step 400 loss: 1.5"])
    wait_until(lambda: job(server, "run")["TrainingJobStatus"] == "InProgress", what="a job that goes on")
    assert [(row["Status"], row.get("EndTime")) for row in job(server, "run")["SecondaryStatusTransitions"]][0] == ("Training", FIRST + HOUR_S)


def test_more_of_the_log_by_another_door_moves_its_end(server, ship, tmp_path):
    imported(ship, tmp_path / "file", log([(step, FIRST + step * STEP_S) for step in range(STEPS + 1)]))
    server.send("run", log([(STEPS + step, FIRST + (STEPS + step) * STEP_S) for step in range(1, STEPS + 1)]).decode().splitlines())
    wait_for_bill(server, FIRST, FIRST + 2 * HOUR_S, 2 * HOUR_S, 2 * HOUR_S, None)
    assert sources(server) == ("Completed", "assumed", "assumed")


@pytest.mark.parametrize("body, field", [
    ({"SecondaryStatus": "Failed", "assumed": True}, "assumed"), ({"SecondaryStatus": "Completed", "assumed": 1}, "assumed"),
    ({"SecondaryStatus": "Completed", "assumed": True, "unless": ["Failed"]}, "assumed"),
])
def test_what_cannot_be_assumed(server, body, field):
    server.send("run", ["2023-11-14T22:13:20Z step 1 loss: 2.5"])
    refused = server.post("/api/v1/jobs/run/transitions", json=body)
    assert (refused.status, refused.body["field"]) == (422, field)
    assert server.post("/api/v1/jobs/nobody/transitions", json={"SecondaryStatus": "Completed", "assumed": True}).status == 404


# ---- machines of a job that is there already ----

def machines(server):
    document = job(server, "run")
    stated = document.get("ResourceConfig", {})
    return stated.get("InstanceType"), stated.get("InstanceCount"), document.get("nodes"), document.get("by_hand")


def hour(step_s=STEP_S):
    return log([(step, FIRST + step * step_s) for step in range(HOUR_S // step_s + 1)])


def test_machines_come_to_a_job_that_states_none(server, ship, tmp_path):
    priced(server)
    imported(ship, tmp_path / "file", hour())
    wait_for_bill(server, FIRST, FIRST + HOUR_S, HOUR_S, HOUR_S, None)
    for _ in range(2):
        errors = imported(ship, tmp_path / "file", hour(), "--instance-type", TYPE, "--instance-count", "3")
        assert "left as it is" not in errors
        wait_for_bill(server, FIRST, FIRST + HOUR_S, HOUR_S, HOUR_S, 3 * PER_HOUR)
        assert machines(server) == (None, None, 3, {"instance_type": TYPE, "nodes": 3})
    errors = imported(ship, tmp_path / "file", hour(), "--instance-type", "ml.other", "--instance-count", "3")
    assert f"job 'run' has {TYPE}, and --instance-type says 'ml.other': it is left as it is" in errors and "--instance-count" not in errors, errors
    assert machines(server)[3] == {"instance_type": TYPE, "nodes": 3}


@pytest.mark.parametrize("config", [{"InstanceType": TYPE, "InstanceCount": 2}, {"InstanceGroups": [
    {"InstanceGroupName": "a", "InstanceType": TYPE, "InstanceCount": 2}]}])
def test_machines_that_a_job_states_stay_and_that_is_said(server, ship, tmp_path, config):
    document = {"TrainingJobName": "run", "ResourceConfig": {"VolumeSizeInGB": 1, **config}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    errors = imported(ship, tmp_path / "file", hour(), "--instance-type", "ml.other", "--instance-count", "4")
    kind, count = (TYPE, 2) if "InstanceType" in config else ("InstanceGroups", "InstanceGroups")
    assert f"job 'run' has {kind}, and --instance-type says 'ml.other': it is left as it is" in errors, errors
    assert f"job 'run' has {count}, and --instance-count says '4': it is left as it is (PATCH /api/v1/jobs/run with by_hand" in errors, errors
    assert machines(server)[2:] == (2, None)
    if kind == TYPE:
        assert "left as it is" not in imported(ship, tmp_path / "file", hour(), "--instance-type", TYPE, "--instance-count", "2")


@pytest.mark.parametrize("is_announced", [True, False])
def test_machines_of_what_runs_now_come_to_an_announced_job(server, ship, is_announced):
    """The announced one states none; what sm-ship makes of its options has them at once."""
    if is_announced:
        assert server.post("/api/v1/jobs", json={"TrainingJobName": "run"}).status == 201
    result = ship.run("--job", "run", "--instance-type", TYPE, "--instance-count", "2", "--", "echo", "step 1")
    assert result.returncode == 0 and b"left as it is" not in result.stderr, result.stderr
    expected = (None, None, 2, {"instance_type": TYPE, "nodes": 2}) if is_announced else (TYPE, 2, 2, None)
    wait_until(lambda: machines(server) == expected, what="its machines")


# ---- an upgrade ----

def upgrade(server):
    """What the upgrade to version 39 does, to what an older program left."""
    server.stop()
    with sqlite3.connect(server.database) as database:
        database.executescript((pathlib.Path(__file__).parents[2] / "migrations/sqlite/0039_imported_ends.sql").read_text())
    database.close()
    server.start()


@of_a_file("of an older version")
def test_what_an_older_sm_ship_stated_of_its_imports_is_assumed(make_server):
    """It said of each that it trained from the first time to the last. Of what nobody imported that is what somebody stated."""
    server = make_server("--lease", "1s")
    priced(server)
    for name, tags in (("run", [{"Key": "imported", "Value": "old/run.log"}]), ("stated", [])):
        document = {"TrainingJobName": name, "Tags": tags, "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": 1, "VolumeSizeInGB": 1}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        server.send(name, log(two_hours()).decode().splitlines())
        for status, at_s in (("Training", FIRST), ("Completed", AGAIN + HOUR_S)):
            assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": 1000 * at_s}).status == 204
        wait_for_bill(server, FIRST, AGAIN + HOUR_S, 51 * HOUR_S, 51 * HOUR_S, 51 * PER_HOUR, name=name)
    upgrade(server)
    wait_for_bill(server, FIRST, AGAIN + HOUR_S, 2 * HOUR_S, 2 * HOUR_S, 2 * PER_HOUR)
    assert sources(server) == ("Completed", "assumed", "assumed")
    wait_for_bill(server, FIRST, AGAIN + HOUR_S, 51 * HOUR_S, 51 * HOUR_S, 51 * PER_HOUR, name="stated")
    assert sources(server, "stated") == ("Completed", "stated", "stated")
    server.send("run", log([(900 + step, AGAIN + HOUR_S + step * STEP_S) for step in range(1, STEPS + 1)]).decode().splitlines())
    wait_for_bill(server, FIRST, AGAIN + 2 * HOUR_S, 3 * HOUR_S, 3 * HOUR_S, 3 * PER_HOUR)
