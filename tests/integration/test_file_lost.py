"""The database's file is taken away, replaced or cut under a running server: it says so and stores nothing that nobody would find."""

import contextlib
import os
import shutil
import sqlite3
import threading

import pytest

from engine import of_a_file
from smserver import wait_until

pytestmark = of_a_file("that goes away under its server")

SEALING = ("--seal-age", "100ms")
ROUNDS, READERS = 3, 4
LINES = [f"step: {n} loss: 1.5" for n in range(50)]


def moved_away(server):
    server.database.rename(server.database.with_name("away.db"))


def deleted(server):
    server.database.unlink()


def replaced(server):
    shutil.copyfile(server.database, server.folder / "other.db")
    (server.folder / "other.db").rename(server.database)


def cut_to_nothing(server):
    os.truncate(server.database, 0)


def cut_in_half(server):
    os.truncate(server.database, server.database.stat().st_size // 16384 * 8192)


def written_over(server):
    """Not by a copy, which cuts it to nothing first: the server may look just then, and say that."""
    earlier = (server.folder / "earlier.db").read_bytes()
    with open(server.database, "r+b", buffering=0) as file:
        assert file.write(earlier) == len(earlier)
        file.truncate()


def log_deleted(server):
    server.database.with_name("smfleet.db-wal").unlink()


def folder_moved(server):
    server.folder.rename(server.folder.with_name("moved"))
    server.folder.mkdir()


def other_folder(server):
    moved = server.folder.with_name("moved")
    if moved.exists():
        server.folder.rmdir()
        moved.rename(server.folder)


WAYS = {moved_away: "deleted or moved away", deleted: "deleted or moved away", replaced: "replaced by another file",
    cut_to_nothing: "was cut", cut_in_half: "was cut", written_over: "written over", log_deleted: "lost its log",
    folder_moved: "deleted or moved away"}


def is_said(server, why):
    ready, metrics = server.get("/readyz"), server.get("/metrics").body
    if ready.status == 200:
        return False
    assert ready.status == 503 and why in str(ready.body) and "started again" in str(ready.body), ready
    return "\nsmfleet_database_lost 1\n" in metrics


@pytest.fixture
def filled(make_server):
    """Some lines are sealed in the file, of which there is an earlier copy made as backups are."""
    server = make_server(*SEALING, start=False)
    server.makes_its_tables = True  # they are in its log, and their move into the file is seen
    server.start()
    server.send("j", LINES)
    with contextlib.closing(sqlite3.connect(server.database)) as database:
        database.execute("VACUUM INTO ?", (str(server.folder / "earlier.db"),))
    wait_until(lambda: "smfleet_sealed_lines_total 50" in server.get("/metrics").body, what="the seal")
    wait_until(lambda: server.database.stat().st_size > 200 * 1024, what="the log to be moved into the file")
    # it was begun to be; what is written behind it is acknowledged when it is over
    assert server.patch("/api/v1/jobs/j", json={"notes": "here"}).status == 200
    return server


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_uploads_are_refused_and_it_is_said(filled, way):
    assert filled.get("/readyz").status == 200 and "\nsmfleet_database_lost 0\n" in filled.get("/metrics").body
    way(filled)
    reply = filled.post("/api/v1/logs?job=j&stream=algo-1", "lost?\n")
    assert reply.status == 503 and WAYS[way] in reply.body["detail"] and int(reply.headers["Retry-After"]) > 0, reply
    assert is_said(filled, WAYS[way])
    assert filled.post("/api/v1/jobs", json={"TrainingJobName": "new"}).status == 503
    assert filled.log_text().count("event=database_lost") == 1
    filled.stop()
    other_folder(filled)


def test_it_is_noticed_without_any_upload(filled):
    moved_away(filled)
    wait_until(lambda: is_said(filled, "deleted or moved away"), what="readyz to say so")


def test_what_was_acknowledged_is_there_when_the_file_comes_back(filled):
    acknowledged, is_over = [], threading.Event()

    def send():
        for n in range(100000):
            reply = filled.post("/api/v1/logs?job=load&stream=algo-1", f"line {n}\n")
            if reply.status != 200:
                assert reply.status == 503, reply
                break
            acknowledged.append(f"line {n}")
        is_over.set()
    sender = threading.Thread(target=send)
    sender.start()
    wait_until(lambda: len(acknowledged) > 20, what="some load")
    away = filled.database.with_name("away.db")
    filled.database.rename(away)
    assert is_over.wait(60)
    sender.join()
    away.rename(filled.database)
    reply = filled.post("/api/v1/logs?job=load&stream=algo-1", "too early\n")
    assert reply.status == 503 and "even if the file is put back" in reply.body["detail"], reply
    assert is_said(filled, "moved away")
    filled.restart()
    assert filled.get("/readyz").status == 200
    stored = [line["text"] for line in filled.lines("load")]
    assert stored[:len(acknowledged)] == acknowledged and len(stored) - len(acknowledged) <= 1
    filled.send("load", "it goes on")


def test_a_copy_that_was_put_there_by_hand_does_not_meet_the_old_log(filled):
    """Twice the worst case: a restore by cp or mv under the server. Its pages and those of the server's log must not be mixed."""
    for put in (lambda: shutil.copyfile(filled.folder / "earlier.db", filled.database),
            lambda: shutil.copy(filled.folder / "earlier.db", filled.folder / "x.db").rename(filled.database)):
        filled.send("later", [f"later {n}" for n in range(200)])
        put()
        assert filled.post("/api/v1/logs?job=j", "no\n").status == 503
        filled.kill()
        filled.start("127.0.0.1:0", *SEALING)
        assert [line["text"] for line in filled.lines("j")] == LINES
        assert filled.get("/api/v1/jobs/later").status == 404
        with contextlib.closing(sqlite3.connect(filled.database)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_empty_file_is_not_taken_for_a_new_database(filled):
    cut_to_nothing(filled)
    assert filled.post("/api/v1/logs?job=j", "no\n").status == 503
    filled.kill()
    with pytest.raises(AssertionError, match="is empty \\(0 bytes\\)"):
        filled.start()
    filled.wait()
    filled.process = None


def test_what_others_may_do_to_the_file_is_no_loss(filled, tmp_path):
    os.utime(filled.database)
    filled.database.chmod(0o640)
    os.link(filled.database, tmp_path / "name.db")
    with contextlib.closing(sqlite3.connect(filled.database)) as database:
        database.execute("CREATE TABLE theirs (bytes)")
        database.execute("INSERT INTO theirs VALUES (zeroblob(300000))")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        database.execute("DROP TABLE theirs")
        database.commit()
        database.execute("PRAGMA incremental_vacuum")
        database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    filled.send("j", "goes on")
    assert filled.get("/readyz").status == 200


def test_a_log_is_emptied_though_somebody_reads(filled):
    """Who reads has a view of the log, which can't be emptied under it: the answer waits for those, since a kill may come behind it."""
    is_over = threading.Event()

    def read():
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                filled.get("/api/v1/jobs/later/logs?stream=algo-1&limit=1000")
    filled.send("later", [f"later {n}" for n in range(20000)])
    for _ in range(ROUNDS):
        is_over.clear()
        readers = [threading.Thread(target=read) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        filled.send("later", [f"later {n}" for n in range(20000)])
        shutil.copy(filled.folder / "earlier.db", filled.folder / "x.db").rename(filled.database)
        assert filled.post("/api/v1/logs?job=j", "no\n").status == 503
        filled.kill()
        is_over.set()
        for reader in readers:
            reader.join()
        filled.start("127.0.0.1:0", *SEALING)
        assert [line["text"] for line in filled.lines("j")] == LINES
