"""sm-ship --import into a job that is there: what its log says and what its event files say of one metric, tags, settings, definitions."""

import struct

import pytest
from shipping import job
from smserver import wait_until
from tfevents import event, message, record, simple

FIRST = 1_700_000_000
VERSION = record(b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2"))


@pytest.fixture
def server(emptied_server):
    return emptied_server


def imported(ship, path, *options):
    result = ship.run("--import", str(path), "--job", "again", *options)
    assert result.returncode == 0, result.stderr
    return result.stderr.decode()


def write_log(folder, lines=11):
    (folder / "again.log").write_text("".join(f"2023-11-14T22:{20 + i}:00Z step {i} loss {3 - i / 8}\n" for i in range(lines)))
    return folder / "again.log", "--metric", "loss=loss ([0-9.]+)"


def write_events(folder, points):
    (folder / "again.events").write_bytes(VERSION + b"".join(event(i, FIRST + i, simple("loss", 50 + i)) for i in range(points)))
    return folder / "again.events"


def write_table(folder, points):
    (folder / "again.csv").write_text("_step,_timestamp,loss\n" + "".join(f"{i},{FIRST + i},{50 + i}\n" for i in range(points)))
    return folder / "again.csv"


def values(server):
    reply = server.points("again", "loss", raw="true")
    return sorted(value for row in reply["series"] for value in row["value"])


def wait_for(server, lines, points):
    """Those of the log, 3 - i / 8, and those of the files, 50 + i."""
    wanted = sorted([3 - i / 8 for i in range(lines)] + [50 + i for i in range(points)])
    wait_until(lambda: values(server) == wanted, what="the points of both")


@pytest.mark.parametrize("write", [write_events, write_table])
def test_points_beside_those_of_the_log_are_all_there(server, ship, tmp_path, write):
    imported(ship, *write_log(tmp_path))
    server.wait_for_points("again", "loss", 11)
    words = "stream 'algo-1' of job 'again' has 11 points of 'loss' from its log: those of the files come beside them"
    for points, more in ((7, words), (7, "all 7 lines and points were there already"), (20, "7 of 20 lines and points were there already, 13 are new")):
        errors = imported(ship, write(tmp_path, points))
        assert more in errors and errors.count(words) == 1, errors
        wait_for(server, 11, points)


OPTIONS = "--tag", "team=nlp", "--tag", "kind=old", "--hp", "lr=0.5", "--hp", "depth=12"


def stated(server):
    document = job(server, "again")
    tags = {tag["Key"]: tag["Value"] for tag in document["Tags"]}
    return document["HyperParameters"], {key: tags.get(key) for key in ("team", "kind", "own")}


@pytest.mark.parametrize("first", [(), ("--tag", "kind=new", "--tag", "own=1", "--hp", "lr=0.25")])
def test_tags_and_settings_come_to_a_job_that_is_there(server, ship, tmp_path, first):
    """A tag is what was said of it last. A setting that the job states is what it ran with: that it stays is said."""
    path = write_events(tmp_path, 5)
    imported(ship, path, *first)
    for _ in range(2):
        errors = imported(ship, path, *OPTIONS)
        assert stated(server) == ({"lr": "0.25" if first else "0.5", "depth": "12"}, {"team": "nlp", "kind": "old", "own": "1" if first else None})
        assert ("job 'again' has lr = '0.25', and --hp says '0.5': it is left as it is" in errors) == bool(first), errors
        modified = job(server, "again")["LastModifiedTime"]
    imported(ship, path, *OPTIONS[:4])
    assert job(server, "again")["LastModifiedTime"] == modified, "nothing is new"


def test_definitions_do_not_come_to_a_job_that_is_there_and_that_is_said(server, ship, tmp_path):
    words = "--metric loss=loss ([0-9.]+) is not applied"
    path, *metric = write_log(tmp_path)
    assert "not applied" not in imported(ship, path, *metric)
    assert "not applied" not in imported(ship, path, *metric), "it has it"
    other = imported(ship, path, "--metric", "loss=loss ([0-9]+)")
    assert "job 'again' is there already: --metric loss=loss ([0-9]+) is not applied (PUT /api/v1/jobs/again/definitions" in other, other
    assert server.delete("/api/v1/jobs/again").status == 204
    imported(ship, path)
    assert words in imported(ship, path, *metric)


def test_a_log_and_event_files_of_one_stream_at_once(server, ship, tmp_path):
    (tmp_path / "both").mkdir()
    write_log(tmp_path / "both")
    write_events(tmp_path / "both", 9)
    for _ in range(2):
        imported(ship, f"{tmp_path}/both/again.+", "--metric", "loss=loss ([0-9.]+)")
        wait_for(server, 11, 9)
