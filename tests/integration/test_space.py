"""A disk that fills and has room again, and kill -9 in the middle of work on the file."""

import json
import os
import random
import sqlite3
import subprocess
import threading
import time

import pytest

from diskroom import Watch, free
from engine import of_a_file
from smserver import Server, find_binary, sanitizer_environment, wait_until

pytestmark = of_a_file("and its size")

DISK_BYTES = 24 << 20


def noise(rng, count):
    """Lines that do not compress to nothing."""
    return [f"step {i} {rng.randbytes(400).hex()}" for i in range(count)]


def texts(server, job):
    return [row["text"] for row in server.lines(job)]


def check(server):
    done = subprocess.run([find_binary("sm-server"), "check", "--db", str(server.database)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=sanitizer_environment({"PATH": "/usr/bin:/bin"}), timeout=120, check=False)
    assert done.returncode == 0 and b": 0 problems" in done.stdout, done.stdout.decode()


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(folder)],
            stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("reserve", ["4MiB", "0"], ids=["the reserve is reached", "the disk is full"])
def test_a_disk_that_fills_stops_ingest_until_it_has_room(small_disk, reserve):
    server = Server(small_disk, "--min-free-bytes", reserve, "--log-bytes", "0", "--seal-age", "100ms")
    rng, sent = random.Random(3), []

    def post():
        lines = noise(rng, 100)
        reply = server.post("/api/v1/logs?job=a&stream=algo-1", "\n".join(lines) + "\n")
        if reply.status == 200:
            sent.extend(lines)
        return reply

    server.start()
    try:
        post()
        ballast = small_disk / "ballast"
        with open(ballast, "wb") as file: # somebody else's file takes the rest
            left = os.statvfs(small_disk)
            file.write(b"x" * (left.f_bavail * left.f_frsize - (1 << 20)))

        def refused():
            reply = post()
            return reply if reply.status != 200 else None
        reply = wait_until(refused, what="ingest to stop")
        assert reply.status == 503 and int(reply.headers["Retry-After"]) > 0, reply
        assert "disk" in reply.body["detail"] or "free" in reply.body["detail"], reply
        assert texts(server, "a") == sent, "reads go on"
        assert server.get("/api/v1/jobs").body["jobs"][0]["TrainingJobName"] == "a"
        ballast.unlink()
        before = len(sent)
        wait_until(lambda: post().status == 200, what="ingest to resume by itself")
        assert len(sent) == before + 100 and texts(server, "a") == sent
        wait_until(lambda: server.get("/readyz").status == 200, what="the server to be ready")
        server.stop()
        check(server)
    finally:
        server.close()


def test_what_is_to_stay_free_does(small_disk):
    """Also behind what follows from lines that were taken, blocks, points, checkpoints, the end, the room is left."""
    least_bytes = 8 << 20
    server = Server(small_disk, "--min-free-bytes", str(least_bytes), "--log-bytes", "0", "--seal-age", "100ms")
    server.start()
    watch = Watch(small_disk)
    try:
        definition = {"Name": "loss", "Regex": r"step (?<step>\d+) (?<value>\d)"}
        for job in range(4):
            assert server.post("/api/v1/jobs", json={"TrainingJobName": f"j{job}", "AlgorithmSpecification": {"MetricDefinitions": [definition]}}).status == 201

        def fill(job):
            rng, refused = random.Random(job), 0
            for _ in range(400):
                reply = server.post(f"/api/v1/logs?job=j{job}&stream=algo-1", "\n".join(noise(rng, 500)) + "\n")
                if reply.status == 503:
                    assert "--min-free-bytes" in reply.body["detail"], reply
                    refused += 1
                    if refused == 40:  # what others had in hand at the first is written by then
                        return
                else:
                    assert reply.status == 200, reply
            raise AssertionError("the disk is larger than all that was sent")

        senders = [threading.Thread(target=fill, args=(job,)) for job in range(4)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        before = server.get("/api/v1/retention").body["used_at_ms"] or 0
        wait_until(lambda: (server.get("/api/v1/retention").body["used_at_ms"] or 0) > before + 4000, what="the server to have looked at all, twice")
        assert server.get("/api/v1/jobs/j0/logs?stream=algo-1").status == 200
        server.stop()
        assert watch.end() >= least_bytes
        check(server)
    finally:
        watch.end()
        server.close()


def test_a_disk_that_stays_full_is_said_now_and_then(small_disk):
    server = Server(small_disk, "--min-free-bytes", "0", "--log-bytes", "0", "--seal-age", "100ms")
    rng = random.Random(6)
    server.start()
    try:
        server.send("a", noise(rng, 10))
        (small_disk / "ballast").write_bytes(bytes(free(small_disk) - (1 << 20)))

        def failed():
            server.post("/api/v1/logs?job=a&stream=algo-1", "\n".join(noise(rng, 2000)) + "\n")
            return server.figure("failed_commits_total") >= 40
        wait_until(failed, what="many commits to fail")
        said = [line for line in server.log if "event=commit_failed" in line]
        assert 1 <= len(said) <= 12 and "left_out=" in said[-1], said
        (small_disk / "ballast").unlink()
        server.stop()
    finally:
        server.close()


def test_a_database_from_elsewhere_keeps_its_text_at_its_first_start(small_disk):
    """Without a limit that anybody set, and larger than half of what is free where it is put."""
    server = Server(small_disk, "--min-free-bytes", "0", "--seal-age", "100ms")
    rng = random.Random(5)
    try:
        server.start()
        for part in range(2):
            server.send("old", noise(rng, 500), stream=f"s{part}")
        wait_until(lambda: server.figure("sealed_lines_total") == 1000, what="sealed text")
        ended = {"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000) - 2 * 86_400_000}
        assert server.post("/api/v1/jobs/old/transitions", json=ended).status < 300
        server.stop()
        with sqlite3.connect(server.database) as database:
            database.execute("DELETE FROM settings WHERE key = 'log_bytes'")
        database.close()
        room = os.statvfs(small_disk)
        (small_disk / "of others").write_bytes(b"x" * (room.f_bavail * room.f_frsize - (2 << 20)))
        room = os.statvfs(small_disk)
        assert server.database.stat().st_size > room.f_bavail * room.f_frsize / 2
        server.start()
        told = wait_until(lambda: (body := server.get("/api/v1/retention").body)["used_bytes"] and body, what="a look at the disk")
        assert told["used_bytes"] < told["log_bytes"] < told["used_bytes"] + room.f_bavail * room.f_frsize
        assert gone_blocks(server) == 0
        server.restart()  # and it is remembered
        assert server.get("/api/v1/retention").body["log_bytes"] == told["log_bytes"]
        assert all(server.get(f"/api/v1/jobs/old/logs?stream=s{part}").status == 200 for part in range(2))
    finally:
        server.close()


def test_a_limit_that_nobody_stated_follows_the_size_of_the_disk(small_disk):
    server = Server(small_disk, "--min-free-bytes", "0")

    def limit():
        return server.get("/api/v1/retention").body["log_bytes"]

    def resize(mib):
        subprocess.run(["mount", "-o", f"remount,size={mib}m", str(small_disk)], check=True)

    try:
        server.start()
        first = limit()
        resize(96)
        wait_until(lambda: limit() == first + (36 << 20), what="half of what the disk has got")
        server.restart()
        assert limit() == first + (36 << 20)
        resize(24)
        wait_until(lambda: limit() == first, what="half of what the disk has lost")
        resize(1 << 20)
        wait_until(lambda: limit() > 1 << 30, what="a large disk")
        assert server.put("/api/v1/retention", json={"log_bytes": 5 << 20}).status == 200
        resize(24)
        before = server.get("/api/v1/retention").body["used_at_ms"]
        wait_until(lambda: server.get("/api/v1/retention").body["used_at_ms"] > before, what="another look")
        assert limit() == 5 << 20, "what is stated stays"
        server.stop()
    finally:
        server.close()


def gone_blocks(server):
    return server.figure("expired_blocks_total")


def test_killed_while_text_is_deleted(make_server):
    """Some streams have lost their text then, the others have all of it, and the rest goes after the next start."""
    server, streams = make_server("--seal-age", "100ms"), 1500
    rows = [{"job": "old", "stream": f"s{i}", "line": f"line {n} of {i}"} for i in range(streams) for n in range(3)]
    reply = server.post("/api/v1/logs", "".join(json.dumps(row) + "\n" for row in rows), content_type="application/x-ndjson")
    assert reply.body["accepted"] == 3 * streams, reply
    ended = {"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000) - 86_400_000}
    assert server.post("/api/v1/jobs/old/transitions", json=ended).status < 300
    wait_until(lambda: server.figure("sealed_lines_total") == 3 * streams, what="sealed text")
    assert server.put("/api/v1/retention", json={"log_bytes": 1}).status == 200
    wait_until(lambda: gone_blocks(server) > 0, what="the first slice to go")
    server.kill()
    check(server)
    with sqlite3.connect(server.database) as database: # so that nothing more goes while it is looked at
        database.execute("UPDATE settings SET value = CAST('0' AS BLOB) WHERE key = 'log_bytes'")
    database.close()
    server.start()
    found = server.get("/api/v1/jobs/old/streams").body["streams"]
    lost = {row["stream"] for row in found if row.get("deleted_lines")}
    assert len(found) == streams and 0 < len(lost) < streams
    kept = min({row["stream"] for row in found} - lost)
    assert [row["text"] for row in server.lines("old", kept)] == [f"line {n} of {kept[1:]}" for n in range(3)]
    assert server.get(f"/api/v1/jobs/old/logs?stream={min(lost)}").status == 410
    assert server.put("/api/v1/retention", json={"log_bytes": 1}).status == 200
    wait_until(lambda: len(lost) + gone_blocks(server) == streams, what="the rest to go")
    server.stop()
    check(server)


def test_killed_while_a_backup_is_made(make_server, tmp_path):
    server = make_server("--seal-age", "100ms")
    rng, want = random.Random(5), []
    for _ in range(10):
        lines = noise(rng, 5000)
        server.send("a", lines)
        want += lines
    copy = tmp_path / "copies" / "copy.db"
    copy.parent.mkdir()
    command = [find_binary("sm-server"), "backup", str(copy), "--db", str(server.database)]
    environment = sanitizer_environment({"PATH": "/usr/bin:/bin"})
    backup = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    wait_until(lambda: list(copy.parent.iterdir()), what="the copy to begin")
    server.kill()
    out, err = backup.communicate(timeout=60)
    if backup.returncode == 0:
        pytest.fail(f"the backup was through before the kill: {out!r}") # make it larger
    assert b"did not answer" in err and not copy.exists(), err
    check(server)
    server.start()
    assert texts(server, "a") == want
    assert subprocess.run(command, stdout=subprocess.PIPE, env=environment, timeout=120, check=True).stdout.decode().strip() == str(copy)
    assert [path.name for path in copy.parent.iterdir()] == ["copy.db"], "what was left of the first one is gone"
