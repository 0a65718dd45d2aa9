"""sm-ship with what is there already: folders of old logs, TensorBoard's event files."""

import json
import os
import random
import struct
import subprocess
import threading

import pytest
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from shipping import job, lines
from smserver import wait_until
from tfevents import event, message, record, simple, tensor

NCCL_LOG = os.path.join(os.environ.get("SM_LOGS") or os.path.join(os.path.dirname(__file__), "../../../shared/logs"), "megatron-lm/perf_n16_nccl.log")


def make_old_logs(folder):
    """Two jobs, three streams: lines with times, lines without, a file whose last line is open."""
    (folder / "runs" / "gpt").mkdir(parents=True)
    (folder / "runs" / "bert").mkdir()
    first = folder / "runs" / "gpt" / "algo-1.out"
    first.write_text("Started\n" + "".join(
        f"[2024-05-06 07:{i // 60:02}:{i % 60:02},000] step {i} loss {5 if i == 500 else 1 + 0.001 * (i % 7)}\n" for i in range(600))
        + "Traceback (most recent call last):\n")
    second = folder / "runs" / "gpt" / "algo-2.out"
    second.write_text("no time at all\nstep 1 loss 2.5")
    third = folder / "runs" / "bert" / "algo-1.out"
    third.write_text("x" * 3_000_000 + "\nsecond\n")
    (folder / "packed").mkdir()
    (folder / "packed" / "old.gz").write_bytes(b"\x1f\x8b\x08 and so on")
    (folder / "runs" / "README").write_text("not a log\n")
    for path in (first, second, third):
        os.utime(path, (1715000000, 1715000000))
    return {("gpt", "algo-1"): first, ("gpt", "algo-2"): second, ("bert", "algo-1"): third}


def test_old_logs_are_imported_once(server, ship, tmp_path):
    make_old_logs(tmp_path)
    pattern = f"{tmp_path}/runs/(?<job>[^/]+)/(?<stream>.+)[.]out"
    for _ in range(2):  # again: nothing is doubled
        result = ship.run("--import", pattern, "--tag", "team=nlp")
        assert result.returncode == 0 and b"2 jobs of 3 files" in result.stderr and b"1 other files" in result.stderr
        rows = {row["stream"]: row for row in server.get("/api/v1/jobs/gpt/streams").body["streams"]}
        assert {name: row["lines"] for name, row in rows.items()} == {"algo-1": 602, "algo-2": 2}
        assert len(lines(server, "bert")) == 4  # an endless line comes in pieces
    document = job(server, "gpt")
    assert document["TrainingJobStatus"] == "Completed"
    assert {"Key": "team", "Value": "nlp"} in document["Tags"]
    assert sorted(row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]) == ["bert", "gpt"]


def test_names_for_which_the_pattern_has_no_group(server, ship, tmp_path):
    """They are those that were stated, of all files; a group of the pattern says more."""
    make_old_logs(tmp_path)
    one = ship.run("--job", "mine", "--stream", "access", "--host", "gpu7", "--import", f"{tmp_path}/runs/gpt/algo-2[.]out")
    assert one.returncode == 0, one
    two = ship.run("--job", "theirs", "--stream", "access", "--host", "gpu7", "--import", f"{tmp_path}/runs/(?<host>gpt)/(?<stream>algo-2)[.]out")
    assert two.returncode == 0, two
    named = lambda name: [(row["stream"], row["host"], row["lines"]) for row in server.get(f"/api/v1/jobs/{name}/streams").body["streams"]]
    assert (named("mine"), named("theirs")) == ([("access", "gpu7", 2)], [("algo-2", "gpt", 2)])
    several = ship.run("--job", "both", "--stream", "access", "--import", f"{tmp_path}/runs/gpt/.+[.]out")
    assert several.returncode == 2 and b"are both stream 'access' of job 'both'" in several.stderr, several


def test_imported_lines_have_their_own_times(server, ship, tmp_path):
    make_old_logs(tmp_path)
    assert ship.run("--import", f"{tmp_path}/runs/(?<job>gpt)/(?<stream>.+)[.]out").returncode == 0
    rows = server.lines("gpt", "algo-1")
    start = rows[1]["ts_ms"]
    assert start == 1714978800000 and rows[600]["ts_ms"] == start + 599_000
    assert rows[0]["ts_ms"] == start and rows[601]["ts_ms"] == rows[600]["ts_ms"], "lines without a time belong to their neighbours"
    assert [row["ts_ms"] for row in server.lines("gpt", "algo-2")] == [1715000000000] * 2
    document = job(server, "gpt")
    assert document["TrainingStartTime"] == start / 1000 and document["TrainingEndTime"] == 1715000000


def ends_of(document):
    return document["TrainingStartTime"], document["TrainingEndTime"]


@pytest.mark.parametrize("tail, start, end", [
    ("[2021-05-27 21:42:23,500] step 1 loss 2.5\n[2021-05-27 21:43:00,000] step 2 loss 2\n", 1622151743.5, 1622151780),
    ("2021-05-27 21:42:23 no newline behind it", 1622151743, 1622151743),
    ("no time in it\n", 1715000000, 1715000000),  # then the file's
])
def test_a_long_header_without_times_has_the_first_time_behind_it(server, ship, tmp_path, tail, start, end):
    path = tmp_path / "old.log"
    path.write_text("".join(f"++ echo module {i} {'x' * 100}\n" for i in range(9000)) + "y" * 200_000 + "2021-01-01 00:00:00\n" + tail)
    os.utime(path, (1715000000, 1715000000))
    assert ship.run("--import", f"{tmp_path}/(?<job>.+)[.]log").returncode == 0
    assert ends_of(job(server, "old")) == (start, end)
    assert lines(server, "old")[0].startswith("++ echo module 0")


@pytest.mark.skipif(not os.path.exists(NCCL_LOG), reason="the collection of logs is not here")
def test_a_log_with_a_thousand_lines_of_environment_ends_when_it_ended(server, ship):
    assert ship.run("--import", NCCL_LOG.replace("perf_n16_nccl", "(?<job>perf_n16_nccl)")).returncode == 0
    start, end = ends_of(job(server, "perf_n16_nccl"))
    assert start == 1622151743 and start <= end < start + 86400  # Thu May 27 21:42:23 2021


def test_imported_incidents_page_nobody(server, ship, tmp_path):
    make_old_logs(tmp_path)
    assert server.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/"}).status in (200, 201)
    assert ship.run("--import", f"{tmp_path}/runs/(?<job>gpt)/(?<stream>.+)[.]out",
                    "--metric", r"loss=loss ([0-9.]+)").returncode == 0
    server.wait_for_points("gpt", "loss", 600)
    found = wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the spike")
    assert any(incident["kind"] == "loss_spike" for incident in found)
    hooks = server.get("/api/v1/webhooks").body["webhooks"]
    assert server.get(f"/api/v1/webhooks/{hooks[0]['id']}/deliveries").body["deliveries"] == []


def test_an_import_that_was_killed_goes_on(server, ship, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    texts = {f"run{i}": [f"{i} line {j} " + "y" * 60 for j in range(20_000)] for i in range(4)}
    for name, content in texts.items():
        (folder / f"{name}.log").write_text("\n".join(content) + "\n")
    pause = threading.Event()
    chance = random.Random()
    for _ in range(6):
        process = ship.start("--import", f"{folder}/(?<job>.+)[.]log")
        pause.wait(chance.random())
        process.kill()
        process.communicate()
    assert ship.run("--import", f"{folder}/(?<job>.+)[.]log").returncode == 0
    for name, content in texts.items():
        assert lines(server, name) == content


def test_an_import_shows_how_far_it_is(server, ship, tmp_path):
    make_old_logs(tmp_path)
    main, terminal = os.openpty()
    process = subprocess.Popen([ship.program, "--import", f"{tmp_path}/runs/(?<job>[^/]+)/(?<stream>.+)[.]out"],
                               stdin=subprocess.DEVNULL, stderr=terminal, env=ship.env)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(main, 4096):
            shown += chunk
    except OSError:  # the other side is closed
        pass
    os.close(main)
    assert process.wait(30) == 0
    assert b"[########################] 100 %" in shown and b" of 3.0 MB  gpt" in shown


@pytest.mark.parametrize("pattern, words", [
    ("{}/(?<stream>.+)[.]out", b"has no group (?<job>"),
    ("{}/(?<job>.+", b"the pattern of --import"),
    ("{}/(?<job>.+)[.]nothing", b"no file matches --import"),
    ("/nowhere/(?<job>.+)", b"cannot read folder '/nowhere/'"),
    ("{}/packed/(?<job>.+)[.]gz", b"is compressed: unpack it"),
    ("{}/runs/(?<job>[^/]+)/.+[.]out", b"are both stream 'algo-1' of job 'gpt'"),
])
def test_mistakes_in_an_import(ship, tmp_path, pattern, words):
    make_old_logs(tmp_path)
    result = ship.run("--import", pattern.format(tmp_path))
    assert result.returncode == 2 and words in result.stderr


def series_counts(server, name):
    reply = server.get(f"/api/v1/jobs/{name}/metrics")
    return {(row["stream"], row["metric"]): row["count"] for row in reply.body["series"]} if reply.status == 200 else {}


def test_event_files_are_points(server, ship, follow, tmp_path):
    run = tmp_path / "runs" / "exp1"
    run.mkdir(parents=True)
    file = run / "events.out.tfevents.1700000000.host.1.0"
    file.write_bytes(record(b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2")))
    process = follow("board", tmp_path / "runs" / "*" / "events.out.tfevents.*")
    with file.open("ab") as out:
        for step in range(100):
            out.write(event(step, 1.7e9 + step, simple("train/loss", 2 - step / 100), tensor("lr", 0.5)))
        broken = bytearray(event(100, 1.7e9, simple("train/loss", 9)))
        broken[-6] ^= 1  # passed over
        out.write(broken + event(101, 1.7e9 + 101, simple("train/loss", float("nan"))) + event(102, 1.7e9, simple("lr", 1))[:-3])
    wait_until(lambda: series_counts(server, "board") == {("exp1", "train/loss"): 101, ("exp1", "lr"): 100}, what="the points")
    with file.open("ab") as out:  # the end of the record that was cut
        out.write(event(102, 1.7e9, simple("lr", 1))[-3:])
    wait_until(lambda: series_counts(server, "board")["exp1", "lr"] == 101, what="the last point")
    points = server.points("board", "train/loss", stream="exp1", raw="true")
    assert "1.01" in json.dumps(points)
    process.kill()  # the next one passes over what the server has
    process.communicate()
    second = run / "events.out.tfevents.1700000500.host.1.0"
    second.write_bytes(event(103, 1.7e9 + 103, simple("lr", 2)))
    follow("board", tmp_path / "runs" / "*" / "events.out.tfevents.*")
    wait_until(lambda: series_counts(server, "board")["exp1", "lr"] == 102, what="the point of the second file")
    assert series_counts(server, "board") == {("exp1", "train/loss"): 101, ("exp1", "lr"): 102}


def test_an_event_file_that_is_none(server, ship, tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event(1, 1.7e9, simple("loss", 1)) + b"this is no record of TensorBoard's at all")
    result = ship.run("--job", "bad-events", str(path))
    assert result.returncode == 0 and b"is damaged behind byte" in result.stderr
    wait_until(lambda: list(series_counts(server, "bad-events").values()) == [1], what="the point before the damage")
