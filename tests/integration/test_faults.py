"""A disk that fails, fills, or loses power at a chosen operation: what was acknowledged is there, once; the rest is said plainly."""

import contextlib
import errno
import http.client
import itertools
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from faults import CHANGES, CODES, FILL, FOR_EVER, KILL, POWER_LOSS, SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE, SQLITE_READONLY, STALL, \
    DELETE, SYNC, WRITE, FaultyServer
from awsclients import token_of
from engine import of_a_file
from howlong import long
from smserver import PATIENCE_S, sanitizer_environment, wait_until

pytestmark = of_a_file("whose disk fails")

# So many operations of a run are made to fail in turn; tests/run --all sets SM_KILLS to 200.
SWEEP = max(8, int(os.environ.get("SM_KILLS", "20")) // 2)
SEALING = ("--seal-age", "100ms", "--seal-bytes", "64KiB")
BATCH_LINES = 40


class Feeder:
    """Numbered lines into one stream; what has no 200 is sent again from its offset, as a client does."""

    def __init__(self, server, job="j"):
        self.server, self.job, self.acknowledged, self.offset = server, job, 0, 0
        self.refusals = []

    def body(self):
        return b"".join(b"step: %d loss: %d.5\n" % (n, n % 97) for n in range(self.acknowledged, self.acknowledged + BATCH_LINES))

    def post(self):
        """True: acknowledged. False: refused with a reason. A connection that breaks raises."""
        body = self.body()
        reply = self.server.post(f"/api/v1/logs?job={self.job}&stream=s&offset={self.offset}", body)
        if reply.status == 200:
            assert reply.body["next_offset"] == self.offset + len(body), reply
            self.acknowledged += BATCH_LINES
            self.offset += len(body)
            return True
        assert reply.status in (500, 503), reply
        assert "database" in str(reply.body), reply
        self.refusals.append(reply)
        return False

    def post_until(self, condition, what):
        def try_once():
            self.post()
            return condition()
        wait_until(try_once, what=what)

    def check_lines(self, under_way=0):
        """All that was acknowledged, once, in order; the batch under way whole or not at all."""
        if not self.acknowledged and self.server.get(f"/api/v1/jobs/{self.job}/logs?stream=s").status == 404:
            return
        texts = [line["text"] for line in self.server.lines(self.job, "s")]
        assert len(texts) in (self.acknowledged, self.acknowledged + under_way), (len(texts), self.acknowledged)
        assert texts == [f"step: {n} loss: {n % 97}.5" for n in range(len(texts))]

    def check_points(self):
        row = self.server.wait_for_points(self.job, "train:loss", self.acknowledged, "s")
        assert (row["count"], row["first_step"], row["last_step"]) == (self.acknowledged, 0, self.acknowledged - 1)


def assert_whole(server):
    database = sqlite3.connect(server.database)
    try:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        database.close()


@pytest.fixture
def faulty(tmp_path):
    server = FaultyServer(tmp_path / "faulty", *SEALING)
    yield server
    server.disk.mend()
    server.close()


@pytest.mark.parametrize("operations,code,cause,torn_bytes", [
    ((WRITE,), SQLITE_IOERR_WRITE, errno.EIO, 0),
    ((WRITE,), SQLITE_IOERR_WRITE, errno.EIO, 512),
    ((WRITE,), SQLITE_FULL, errno.ENOSPC, 0),
    ((SYNC,), SQLITE_IOERR_FSYNC, errno.EIO, 0),
], ids=["write", "torn write", "full", "sync"])
def test_one_operation_fails_and_ingest_goes_on(faulty, operations, code, cause, torn_bytes):
    feeder = Feeder(faulty.start())
    for number in range(1, SWEEP + 1):
        faulty.disk.arm(number, operations, code=code, cause=cause, torn_bytes=torn_bytes)
        feeder.post_until(lambda: faulty.disk.get("failed"), f"failure {number}")
        faulty.disk.mend()
        feeder.post_until(lambda before=feeder.acknowledged: feeder.acknowledged > before, "ingest after the failure")
    assert feeder.refusals
    feeder.check_lines()
    feeder.check_points()
    faulty.stop()
    assert_whole(faulty)
    faulty.start()
    feeder.check_lines()
    feeder.check_points()


@pytest.mark.parametrize("code,cause,status,reason", [
    (SQLITE_FULL, errno.ENOSPC, 503, "full"),
    (SQLITE_READONLY, errno.EROFS, 503, "read-only"),
    (SQLITE_IOERR_WRITE, errno.EIO, 500, "Input/output error"),
], ids=["full", "read-only", "broken"])
def test_a_disk_that_takes_nothing(faulty, code, cause, status, reason):
    feeder = Feeder(faulty.start())
    assert feeder.post()
    faulty.disk.arm(1, CHANGES, count=FOR_EVER, code=code, cause=cause)
    for _ in range(3):
        assert not feeder.post()
    for reply in feeder.refusals:
        assert reply.status == status and reason in str(reply.body), reply
    feeder.check_lines() # reads go on
    faulty.disk.mend()
    feeder.post_until(lambda: feeder.acknowledged >= 3 * BATCH_LINES, "ingest on the mended disk")
    feeder.check_lines()
    feeder.check_points()
    faulty.restart()
    feeder.check_lines()


def test_a_commit_on_a_full_disk_is_not_told_by_what_failed_before(faulty):
    """Its cause is its own, not that of the checkpoint before it."""
    post = lambda: faulty.post("/api/v1/logs?job=j&stream=s", "a line\n")
    faulty.start()
    for _ in range(20):
        wait_until(lambda: post().status == 200, what="a disk that works")
        faulty.wait_for_extraction()
        faulty.disk.arm(2, (SYNC,), count=FOR_EVER, code=SQLITE_IOERR_FSYNC, cause=errno.EIO)
        post()  # the first sync is a commit's, and behind it there is something to move into the file
        wait_until(lambda: faulty.disk.get("failed"), what="a sync that fails")
        if re.search("event=checkpoint_failed.*Input/output error", faulty.log_text()):
            break
        faulty.disk.mend()  # it was that of what was read out of the line, which came first
    faulty.disk.arm(1, (SYNC,), count=FOR_EVER, code=SQLITE_IOERR_FSYNC, cause=errno.ENOSPC)
    reply = post()
    assert reply.status == 503 and "the disk is full" in str(reply.body), reply
    assert "event=checkpoint_failed" in faulty.log_text()


def test_a_start_of_which_a_name_fails_goes_on_or_says_why(faulty):
    """Behind a crash: its log and its socket are still there."""
    ends = 0
    for number in itertools.count(1):
        faulty.start().kill()
        faulty.disk.arm(number, (DELETE,), action=FILL, code=CODES[DELETE])
        faulty.launch()
        wait_until(lambda: faulty.process.poll() is not None or "event=listening" in faulty.log_text(), what="the end of a start")
        has_failed = faulty.disk.get("failed") > 0
        faulty.disk.mend()
        if faulty.process.poll() is None:
            faulty.kill()
        else:
            assert faulty.wait() == 1 and "Input/output error" in faulty.log_text() and str(faulty.folder) in faulty.log_text(), faulty.log_text()
            faulty.process = None
            ends += 1
        if not has_failed:
            break
    assert ends


def test_a_disk_that_fills_within_a_write_of_a_start_is_told(faulty):
    """It takes the first bytes, and says why at the next ones: also of the small files beside the database."""
    faulty.start().stop()
    ends, has_failed = 0, True
    for number in itertools.count(1):
        faulty.database.with_name(faulty.database.name + ".key").unlink(missing_ok=True)
        faulty.disk.arm(number, (WRITE,), count=FOR_EVER, action=FILL, code=SQLITE_FULL, cause=errno.ENOSPC, torn_bytes=2)
        faulty.launch()
        wait_until(lambda: faulty.process.poll() is not None or "event=listening" in faulty.log_text(), what="the end of a start")
        has_failed = faulty.disk.get("failed") > 0
        faulty.disk.mend()
        if faulty.process.poll() is None:
            faulty.kill()
        else:
            assert faulty.wait() == 1 and re.search("disk is full|No space left", faulty.log_text()) and str(faulty.folder) in faulty.log_text(), faulty.log_text()
            faulty.process = None
            ends += 1
        if not has_failed:
            break
    assert ends >= 2


def test_who_signs_in_by_a_token_on_a_full_disk_is_let_in(faulty):
    """To see what is wrong; the server's own log has what the audit log cannot take."""
    faulty.start()
    token, _ = token_of(faulty, "root", "--scope", "admin")
    faulty.disk.arm(1, CHANGES, count=FOR_EVER, code=SQLITE_FULL, cause=errno.ENOSPC)
    reply = faulty.post("/api/v1/session", json={"token": token})
    assert reply.status == 204
    assert faulty.get("/api/v1/jobs", headers={"Cookie": reply.headers["Set-Cookie"].partition(";")[0]}).status == 200
    faulty.wait_for_log('event=sign_in_not_audited token="root" error=".*full')


@pytest.mark.parametrize("action,torn_bytes", [pytest.param(KILL, 0, id="kill"), pytest.param(KILL, 1000, id="kill, torn", marks=long),
    pytest.param(POWER_LOSS, 0, id="power loss", marks=long), pytest.param(POWER_LOSS, 1000, id="power loss, torn")])
def test_the_end_at_each_operation(faulty, action, torn_bytes):
    """From the first operation of a life on: recovery and migration are met as well as commits, seals and checkpoints."""
    feeder = Feeder(faulty)
    ends = 0
    for number in range(1, SWEEP + 1):
        faulty.disk.arm(number, CHANGES, action=action, torn_bytes=torn_bytes)
        under_way = BATCH_LINES
        try:
            faulty.start()
            feeder.post_until(lambda: faulty.process.poll() is not None, f"the end at operation {number}")
        except (OSError, http.client.HTTPException):
            pass
        except AssertionError:
            assert faulty.disk.get("failed") == 1 # it ended before it listened
            under_way = 0
        assert faulty.wait() == -9
        ends += 1
        faulty.process = None
        faulty.assert_clean()
        faulty.disk.mend()
        faulty.start()
        feeder.check_lines(under_way)
        assert feeder.post()
        feeder.check_lines()
        faulty.kill()
        assert_whole(faulty)
    faulty.start()
    feeder.check_lines()
    feeder.check_points()
    print(f"{ends} ends, {feeder.acknowledged} lines and points checked")


@pytest.mark.parametrize("seeds", [1, pytest.param(16, marks=long)])
def test_the_power_goes_at_each_sync_of_a_first_start(faulty, seeds):
    """What was not synced by then is there or not, names of files as well: the next start is a first one again, or goes on."""
    number, is_through = 0, False
    while not is_through:
        number += 1
        for seed in range(seeds):
            for path in faulty.folder.glob("smfleet.db*"):
                path.unlink()
            faulty.disk.arm(number, (SYNC, DELETE), action=POWER_LOSS, keep=500, seed=100 * number + seed)
            with contextlib.suppress(AssertionError):
                faulty.start()
            is_through = faulty.disk.get("failed") == 0
            faulty.kill()
            faulty.disk.mend()
            faulty.start()
            faulty.kill()
            assert_whole(faulty)
    assert number > 10


def test_the_key_of_secrets_outlives_the_power(faulty):
    """A secret that was acknowledged can be read by it alone; the name of its file is on the disk before anything is sealed with it."""
    faulty.disk.arm(0, (SYNC,), action=POWER_LOSS)
    key = faulty.database.with_name(faulty.database.name + ".key")
    faulty.start()
    made = key.read_bytes()
    assert faulty.post("/api/v1/webhooks", json={"url": "https://example.com/", "secret": "whsec_c2VjcmV0IG9mIHR3ZW50eSBieXRlcw=="}).status == 201
    faulty.disk.set(seen=0, fail_at=1)
    with pytest.raises((OSError, http.client.HTTPException)):
        faulty.send("j", "a line")
    assert faulty.wait() == -9
    faulty.process = None
    faulty.disk.mend()
    faulty.start()
    assert key.read_bytes() == made


def start_of_a_body(server, target, body, more_bytes=1 << 20):
    """A connection that has sent this much of a body and means to send more."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    connection.sendall(f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body) + more_bytes}\r\n\r\n".encode() + body)
    return connection


@pytest.mark.parametrize("target,line", [
    ("/api/v1/logs?job=j&stream=s", b'step: %d loss: 1.5 and a text that fills a slice soon\n'),
    ("/api/v1/import", b'{"job": {"TrainingJobName": "job-%d"}}\n'),
], ids=["logs", "import"])
def test_a_stop_while_the_disk_hangs_comes_to_its_end(tmp_path, target, line):
    """The server gives the connection up that waits for the disk; once the disk is back, nothing waits for anything."""
    server = FaultyServer(tmp_path / "hangs", "--slice-bytes", "64KiB", "--stop-timeout", "2s")
    try:
        feeder = Feeder(server.start(), "before")
        assert feeder.post()  # what is to be sealed at the stop, by a thread that then waits for the disk, too
        server.disk.arm(0, (SYNC,), action=STALL)
        connection = start_of_a_body(server, target, b"".join(line % n for n in range(6000)))
        wait_until(lambda: server.disk.get("failed"), what="a sync that hangs")
        server.signal(signal.SIGTERM)
        with connection, contextlib.suppress(ConnectionResetError):  # as where the server had not read all that was sent
            while connection.recv(65536):
                pass
        server.wait_for_log("event=stop_gives_up")
        server.disk.mend()
        server.stop()
        server.start()
        feeder.check_lines()
    finally:
        server.disk.mend()
        server.close()


def test_a_stop_while_the_disk_stays_away_ends_as_by_a_crash(tmp_path):
    """Else nobody could start another server on the database but by SIGKILL. What was acknowledged is there."""
    server = FaultyServer(tmp_path / "away", "--stop-timeout", "500ms")
    server.environment["TSAN_OPTIONS"] = os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"  # nobody joins what it leaves behind
    try:
        feeder = Feeder(server.start())
        assert feeder.post()
        server.disk.arm(0, (SYNC,), action=STALL)
        server.signal(signal.SIGTERM)
        assert server.wait() == 1
        server.assert_clean()
        assert "event=stop_forced" in server.log_text()
        server.disk.mend()
        server.start()
        feeder.check_lines()
        feeder.check_points()
    finally:
        server.disk.mend()
        server.close()


def test_memory_runs_out_at_each_allocation_of_a_post(faulty):
    """Before the commit the post is refused whole; behind it the server waits for memory, as it cannot take the commit back."""
    faulty.start()
    number, statuses, has_failed = 0, set(), True
    while has_failed:
        number += 1
        faulty.memory.arm(number)
        with contextlib.suppress(ConnectionError, http.client.HTTPException):  # before there is a request to answer
            reply = faulty.post(f"/api/v1/logs?job=j{number}&stream=s", b"step: 1 loss: 2.5\n")
            faulty.memory.set(fail_at=0)
            statuses.add(reply.status)
            assert reply.status == 200 or "memory" in str(reply.body), reply
            kept = faulty.get(f"/api/v1/jobs/j{number}/logs?stream=s")
            texts = [line["text"] for line in kept.body["lines"]] if kept.status == 200 else []  # a refused one may leave its empty stream
            is_stored = reply.status == 200 or "for the reply" in str(reply.body)
            assert texts == ["step: 1 loss: 2.5"] * is_stored, (reply, texts)
        faulty.memory.set(fail_at=0)
        has_failed = faulty.memory.get("failed") > 0
    assert number > 50 and 200 in statuses and len(statuses) > 1
    assert "event=commit_waits" in faulty.log_text()


def post_until_the_writer_waits(server):
    """The thread whose allocation failed gets none any more: before the commit that is a refusal, and then it is the writer behind it. The line that is committed."""
    for number in itertools.count(1):
        line = f"step: {number:08d} loss: 2.5"
        server.memory.arm(number, lasts=True)
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
            connection.sendall(f"POST /api/v1/logs?job=j&stream=s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: {len(line)}\r\n\r\n{line}".encode())
            wait_until(lambda connection=connection: "event=commit_waits" in server.log_text() or select.select([connection], [], [], 0)[0], what="an answer")
        if "event=commit_waits" in server.log_text():
            return line
        assert server.memory.get("failed"), "no allocation is left, and the writer never waited"
        server.memory.set(fail_at=0)


def test_a_stop_waits_with_the_writer_for_memory(tmp_path):
    """The commit is durable and cannot be taken back; what the stop itself frees may be the memory that it waits for."""
    server = FaultyServer(tmp_path / "short", "--stop-timeout", "500ms").start()
    try:
        server.send("j", "before", stream="s")  # there is no job and no stream to be made
        line = post_until_the_writer_waits(server)
        server.signal(signal.SIGTERM)
        wait_until(lambda: server.process.poll() is not None or "event=stop_gives_up" in server.log_text(), what="a stop that has told all threads to end")
        looks = server.memory.get("failed") + 5
        wait_until(lambda: server.process.poll() is not None or server.memory.get("failed") > looks, what="a writer that goes on to look for memory")
        server.memory.set(fail_at=0)
        server.stop()
        server.start()
        assert [row["text"] for row in server.lines("j", "s")].count(line) == 1
    finally:
        server.close()


WRITES_AND_DIES = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode=WAL")
database.execute("CREATE TABLE of_the_older_copy AS SELECT 1 AS one")
database.commit()
os._exit(0)
"""


def command(server, *words):
    done = subprocess.run([server.bin("sm-server"), *words, "--db", str(server.database)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=sanitizer_environment({"PATH": "/usr/bin:/bin", **server.environment}))
    return done.returncode, done.stdout


def is_older(copy):
    """What was committed into it is in its log; looked at elsewhere, so that whoever closes it changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for path in copy.parent.glob(f"{copy.name}*"):
            shutil.copy(path, folder)
        with contextlib.closing(sqlite3.connect(pathlib.Path(folder) / copy.name)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'of_the_older_copy'").fetchone() == (1,)


@pytest.mark.parametrize("is_running", [pytest.param(True, marks=long), False], ids=["of a server", "without one"])
def test_a_copy_beside_whose_place_a_name_stays_is_none(faulty, tmp_path, is_running):
    """The log of the older copy would be read into it."""
    copy, older, refused = tmp_path / "copies" / "copy.db", tmp_path / "older", 0
    copy.parent.mkdir()
    faulty.start().send("j", "a line")
    if not is_running:
        faulty.stop()
    assert command(faulty, "backup", str(copy))[0] == 0
    subprocess.run([sys.executable, "-c", WRITES_AND_DIES, copy], check=True)
    shutil.copytree(copy.parent, older)
    for number in itertools.count(1):
        shutil.rmtree(copy.parent)
        shutil.copytree(older, copy.parent)
        faulty.disk.arm(number, (DELETE,), action=FILL, code=CODES[DELETE])
        code, said = command(faulty, "backup", str(copy))
        has_failed = faulty.disk.get("failed") > 0
        faulty.disk.mend()
        if not has_failed:
            break
        refused += code != 0
        assert is_older(copy) == (code != 0), (number, said)
        assert code == 0 or str(tmp_path) in said and "Input/output error" in said, said
    assert code == 0 and refused > 0


@pytest.mark.parametrize("action", [FILL, KILL], ids=["a rename fails", "it ends at a rename"])
def test_a_restore_that_comes_to_nothing_leaves_the_database_or_is_done_again(faulty, tmp_path, action):
    """Without a database the next start would make a new one; the log of the older one, read into the copy, would bring back what was behind it."""
    copy, kept = tmp_path / "copy.db", tmp_path / "kept"
    faulty.start().send("j", "before")
    assert command(faulty, "backup", str(copy))[0] == 0
    faulty.send("j", "behind")
    faulty.kill()  # its log stays beside it
    shutil.copytree(faulty.folder, kept, ignore=shutil.ignore_patterns("*.sock"))
    for number in itertools.count(1):
        for path in faulty.folder.glob("smfleet.db*"):
            path.unlink()
        for path in kept.glob("smfleet.db*"):
            shutil.copy(path, faulty.folder)
        faulty.disk.arm(number, (DELETE,), action=action, code=CODES[DELETE])
        code, said = command(faulty, "restore", str(copy), "--replace")
        has_failed = faulty.disk.get("failed") > 0
        faulty.disk.mend()
        if code < 0:
            code, said = command(faulty, "restore", str(copy), "--replace")
        assert faulty.database.exists(), (number, said)
        faulty.start()
        texts = [line["text"] for line in faulty.lines("j")]
        assert texts == (["before", "behind"] if code else ["before"]), (number, said)
        faulty.kill()
        if not has_failed:
            break
        assert code == 0 or "Input/output error" in said and str(faulty.folder) in said, said
    assert code == 0 and number > 3


@pytest.mark.parametrize("is_running", [True, False], ids=["of a server", "without one"])
def test_a_copy_that_cannot_be_synced_leaves_the_older_one_whole(faulty, tmp_path, is_running):
    copy, kept = tmp_path / "copies" / "copy.db", 0
    copy.parent.mkdir()
    faulty.start().send("j", "a line")
    if not is_running:
        faulty.stop()
    # a server syncs its own log between these, which may take the numbers of all of the copy's: then once more
    for number in itertools.chain.from_iterable(itertools.repeat(range(1, 12), 6)):
        command(faulty, "backup", str(copy))
        subprocess.run([sys.executable, "-c", WRITES_AND_DIES, copy], check=True)
        faulty.disk.arm(number, (SYNC,), action=FILL, code=SQLITE_IOERR_FSYNC)
        code, said = command(faulty, "backup", str(copy))
        has_failed = faulty.disk.get("failed") > 0
        faulty.disk.mend()
        assert code == 0 or has_failed, said
        if not has_failed and kept:
            break
        if code:  # else it was the server's own, of its log
            kept += is_older(copy)
            assert is_older(copy) or "copies'" in said, said  # only where it had its name already, which was not synced
    assert kept >= 1 and not has_failed
