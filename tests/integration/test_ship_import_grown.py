"""sm-ship --import of what has grown since: the job ends where it ends now, and what somebody stated of its end stays while nothing is new."""

import random
import struct
import threading

import pytest
from shipping import job
from smserver import wait_until
from tfevents import event, message, record, simple

FIRST = 1_700_000_000  # 2023-11-14T22:13:20Z
VERSION = record(b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2"))


@pytest.fixture
def server(emptied_server):
    return emptied_server


def mlflow(rows):
    return b"run_id,key,value,step,timestamp\n" + b"".join(b"grown,loss,2,%d,%d\n" % (i, 1000 * (FIRST + i)) for i in range(rows))


def wandb(rows):
    return b"_step,_timestamp,loss\n" + b"".join(b"%d,%d,2\n" % (i, FIRST + i) for i in range(rows))


def events(rows):
    return VERSION + b"".join(event(i, FIRST + i, simple("loss", 2)) for i in range(rows))


def log(rows):
    seconds = [22 * 3600 + 13 * 60 + 20 + i for i in range(rows)]
    return b"".join(b"2023-11-14T%02d:%02d:%02dZ step %d\n" % (s // 3600, s // 60 % 60, s % 60, i) for i, s in enumerate(seconds))


KINDS = [mlflow, wandb, events, log]


def imported(ship, folder, kind, rows, *options):
    (folder / "grown").write_bytes(kind(rows))
    result = ship.run("--import", f"{folder}/grown", "--job", "grown", *options)
    assert result.returncode == 0, result.stderr
    return result.stderr.decode()


def state(server):
    document = job(server, "grown")
    return document["TrainingJobStatus"], document["TrainingStartTime"], document.get("TrainingEndTime")


def ended(rows, status="Completed"):
    return status, FIRST, FIRST + rows - 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_grown_ends_where_it_ends_now(server, ship, tmp_path, kind):
    for rows in (80, 80, 100, 100, 130):
        imported(ship, tmp_path, kind, rows)
        assert state(server) == ended(rows)


def test_a_run_of_an_event_file_a_minute_a_step(server, ship, tmp_path):
    for steps in (11, 21):
        (tmp_path / "grown").write_bytes(VERSION + b"".join(event(i, FIRST + 60 * i, simple("loss", 2)) for i in range(steps)))
        assert ship.run("--import", f"{tmp_path}/grown", "--job", "grown").returncode == 0
        assert state(server) == ("Completed", FIRST, FIRST + 60 * (steps - 1))


@pytest.mark.parametrize("status, seconds", [("Completed", -30), ("Completed", 3600), ("Failed", -30), ("Failed", 3600), ("Stopped", 0)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stated_of_the_end_stays_while_nothing_is_new(server, ship, tmp_path, kind, status, seconds):
    """A run that came without its end: somebody says how it ended and when, earlier or later than its last row."""
    imported(ship, tmp_path, kind, 80)
    at_ms = 1000 * (FIRST + 79 + seconds)
    document = {"SecondaryStatus": "Training", "time_ms": at_ms - 1000}, {"SecondaryStatus": status, "time_ms": at_ms}
    assert [server.post("/api/v1/jobs/grown/transitions", json=told).status for told in document] == [204, 204]
    before = job(server, "grown")
    assert "nothing is new" in imported(ship, tmp_path, kind, 80)
    assert state(server) == (before["TrainingJobStatus"], before["TrainingStartTime"], before["TrainingEndTime"])
    assert job(server, "grown")["SecondaryStatusTransitions"] == before["SecondaryStatusTransitions"]


def send_points(server, first, end):
    body = "".join(f'{{"metric": "loss", "step": {i}, "value": 2, "ts_ms": {1000 * (FIRST + i)}}}\n' for i in range(first, end))
    assert server.post("/api/v1/points?job=grown&stream=algo-1", body, content_type="application/x-ndjson").body["accepted"] == end - first


def test_an_end_that_nobody_dated_moves_with_what_is_new(server, ship, tmp_path):
    send_points(server, 0, 80)
    assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: state(server) == ended(80), what="the end of the points")
    for rows in (80, 100, 120):
        imported(ship, tmp_path, wandb, rows)
        assert state(server) == ended(rows)


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("kind", [wandb, events])
def test_an_import_that_was_killed_behind_its_points_ends_all_the_same(server, ship, tmp_path, kind, stated):
    """What such an import leaves: a session that went on with the job, where somebody stated that it ended, and the new points."""
    imported(ship, tmp_path, kind, 80)
    if stated:
        assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": "Completed", "time_ms": 1000 * (FIRST + 79)}).status == 204
    assert server.post("/api/v1/sessions", json={"job": "grown", "stream": "algo-1", "resume": True, "past": True}).status == 201
    assert job(server, "grown")["TrainingJobStatus"] == ("InProgress" if stated else "Completed"), "as far as it was imported"
    send_points(server, 80, 100)
    wait_until(lambda: state(server) == ended(100), what="the end of what was sent")
    assert "all 100 lines and points were there already" in imported(ship, tmp_path, kind, 100)
    assert state(server) == ended(100)


@pytest.mark.parametrize("kind", KINDS)
def test_an_import_of_what_has_grown_may_be_killed_at_any_time(server, ship, tmp_path, kind):
    rows, chance, pause = 3000, random.Random(), threading.Event()
    imported(ship, tmp_path, kind, rows // 2)
    (tmp_path / "grown").write_bytes(kind(rows))
    for _ in range(4):
        process = ship.start("--import", f"{tmp_path}/grown", "--job", "grown", "--spool-bytes", "16KiB")
        pause.wait(chance.random() / 2)
        process.kill()
        process.communicate()
    imported(ship, tmp_path, kind, rows)
    assert state(server) == ended(rows)


def test_a_stated_end_behind_what_is_new_stays(server, ship, tmp_path):
    imported(ship, tmp_path, wandb, 80)
    for status, seconds in (("Training", 3599), ("Completed", 3600)):
        assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": status, "time_ms": 1000 * (FIRST + seconds)}).status == 204
    assert "20 are new" in imported(ship, tmp_path, wandb, 100)
    assert state(server) == ("Completed", FIRST, FIRST + 3600)


@pytest.mark.parametrize("kind", [events, log])
@pytest.mark.parametrize("status", ["Failed", "Stopped"])
def test_what_failed_has_failed_whatever_is_new(server, ship, tmp_path, kind, status):
    imported(ship, tmp_path, kind, 80)
    for told, second in (("Training", 80), (status, 90)):
        assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": told, "time_ms": 1000 * (FIRST + second)}).status == 204
    assert "20 are new" in imported(ship, tmp_path, kind, 100)
    assert state(server) == (status, FIRST, FIRST + 90)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", ["Failed", "Stopped", "Completed"])
def test_an_end_without_a_time_follows_the_log_and_so_does_its_cost(server, ship, tmp_path, kind, status):
    """All that is known of when it ended is its log: what has grown since belongs to the same run."""
    prices = [{"instance": "ml.grown", "per_hour": 3600}]
    assert server.put("/api/v1/prices", json={"currency": "EUR", "prices": prices}).status == 200
    def cost():
        return server.get("/api/v1/jobs/grown/goodput").body["cost"]["total"]
    imported(ship, tmp_path, kind, 41, "--instance-type", "ml.grown", "--instance-count", "1")
    assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": status}).status == 204
    wait_until(lambda: (state(server), cost(), job(server, "grown")["end_from"]) == (ended(41, status), 40, "assumed"), what="the end of its log")
    assert "50 are new" in imported(ship, tmp_path, kind, 91)
    wait_until(lambda: (state(server), cost(), job(server, "grown")["end_from"]) == (ended(91, status), 90, "assumed"), what="the end of all of it")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", ["Failed", "Stopped"])
def test_an_end_with_a_time_stays_and_so_does_its_cost(server, ship, tmp_path, kind, status):
    prices = [{"instance": "ml.grown", "per_hour": 3600}]
    assert server.put("/api/v1/prices", json={"currency": "EUR", "prices": prices}).status == 200
    def cost():
        return server.get("/api/v1/jobs/grown/goodput").body["cost"]["total"]
    imported(ship, tmp_path, kind, 41, "--instance-type", "ml.grown", "--instance-count", "1")
    at_ms = 1000 * (FIRST + 40)
    assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": status, "time_ms": at_ms}).status == 204
    assert (state(server), cost(), job(server, "grown")["end_from"]) == (ended(41, status), 40, "stated")
    assert "50 are new" in imported(ship, tmp_path, kind, 91)
    assert (state(server), cost(), job(server, "grown")["end_from"]) == (ended(41, status), 40, "stated")


def test_an_end_stated_twice_moves_as_one(server, ship, tmp_path):
    imported(ship, tmp_path, events, 80)
    assert server.post("/api/v1/jobs/grown/transitions", json={"SecondaryStatus": "Completed", "time_ms": 1000 * (FIRST + 49)}).status == 204
    assert state(server) == ended(50)
    imported(ship, tmp_path, events, 100)
    assert state(server) == ended(100)


def test_an_end_by_exit_is_not_moved_by_what_is_imported_beside_it(server, ship, tmp_path):
    """The event files of a job that sm-ship ran: they end before it does."""
    session = server.post("/api/v1/sessions", json={"job": "grown", "stream": "algo-1"}).body["session"]
    assert server.post("/api/v1/logs?job=grown&stream=algo-1", "step 1 loss 2\n").status == 200
    assert server.post(f"/api/v1/sessions/{session}", json={"exit": {"code": 0}}).status == 200
    before = wait_until(lambda: job(server, "grown").get("TrainingEndTime"), what="the end")
    imported(ship, tmp_path, events, 80)
    assert job(server, "grown")["TrainingEndTime"] == before
    assert job(server, "grown")["TrainingJobStatus"] == "Completed"
