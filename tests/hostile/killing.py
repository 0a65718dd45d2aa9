"""Ends at named phases: each is done once to learn how much it asks of the disk, and then again and again, ended at any operation of it by SIGKILL or by the power's loss, or held up
because the disk is full, or one operation of it fails. What had been acknowledged is there afterwards, once; what was under way is there whole, or not at all; and sm-server check finds nothing."""

import contextlib
import functools
import os
import random
import sqlite3
import subprocess

from attack import attack
from ends import Failures, Fills, Kills, PowerLosses
from olddb import older_database
from smserver import sanitizer_environment, wait_until

LINES = [f"step {n} loss={3 + n % 7 / 10:.1f}" for n in range(4000)]
SEALS = ("--seal-age", "100ms", "--seal-bytes", "64KiB")
DEFINITIONS = {"definitions": [{"Name": "again", "Regex": "loss=([0-9.]+)"}]}
OLDEST, SHUTS_OUT = 40, 41  # the first migration behind it that older programs cannot live with


def command(server, *words, database=None):
    """(exit code, what it said)"""
    done = subprocess.run([server.bin("sm-server"), *words, "--db", str(database or server.database)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=sanitizer_environment({"PATH": "/usr/bin:/bin", **server.environment}))
    return done.returncode, done.stdout


def check(server, database=None):
    code, said = command(server, "check", database=database)
    assert code == 0 and ": 0 problems" in said, said


def texts(server, job="kept"):
    return [line["text"] for line in server.lines(job)]


def fresh(server):
    """No process, and no file: the next start is the first."""
    if server.process:
        server.stop()
    for path in server.folder.glob("smfleet.db*"):
        path.unlink()


def phase(held):
    """Of all four rooms."""

    def note(function):
        for room, ends in (("killing", Kills), ("power", PowerLosses), ("full", Fills), ("failing", Failures)):
            def carry_out(fight, ends=ends):
                return function(fight, ends(fight))
            attack(room, held, kind=ends.kind)(functools.wraps(function)(carry_out))
        return function

    return note


def end_in_the_middle(fight, ends, prepare, begin, whole, afterwards, mend=lambda server: None):
    """
    prepare(server): up to the phase, ends with or without a running server. begin(server): the phase, as far as it is asked for. whole(server): it is through.
    mend(server): before the next start. afterwards(server, is_begun): what must hold, whether or not the server had said that it does what was asked.
    """
    server = fight.server
    prepare(server)

    def do():
        begin(server)
        wait_until(lambda: whole(server), what="the end of the phase")

    ends.measure(do)
    if server.process:
        server.kill()
    while fight.goes_on(6):
        prepare(server)
        is_begun = ends.during(lambda: begin(server), lambda: whole(server))
        mend(server)
        if fight.chance.random() < 0.3:  # and once more, at the beginning of what repairs it
            ends.during_repair()
        server.start("127.0.0.1:0", *SEALS)
        afterwards(server, is_begun)
        server.stop()
        check(server)
    fresh(server)
    server.start()
    return ends.figure()


def is_listening(server):
    return server.process.poll() is None and any("event=listening" in line for line in server.log)


@phase("tables as after a first start")
def in_the_first_start(fight, ends):
    fight.server.makes_its_tables = True
    return end_in_the_middle(fight, ends, fresh, lambda server: server.launch(), is_listening, lambda server, _: server.send("kept", LINES[:10]))


@phase("the newest version, with its rows, and a whole copy of the older one")
def in_a_migration(fight, ends):
    fight.server.makes_its_tables = True

    def prepare(server):
        fresh(server)
        with older_database(server.database, OLDEST):
            pass

    def afterwards(server, _):
        copies = sorted(path for path in server.folder.glob("*.before-*") if ".partial" not in path.name)
        assert copies and copies[0].name.endswith(f"before-{SHUTS_OUT:04d}"), sorted(server.folder.iterdir())
        for copy in copies:  # another one, where the second start began in the middle
            with contextlib.closing(sqlite3.connect(copy)) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)], copy
                assert OLDEST <= database.execute("PRAGMA user_version").fetchone()[0] < int(copy.name[-4:]), copy
        server.send("kept", LINES[:10])

    return end_in_the_middle(fight, ends, prepare, lambda server: server.launch(), is_listening, afterwards)


def with_lines(server, *options):
    fresh(server)
    server.start("127.0.0.1:0", *options)
    server.send("kept", LINES)


def all_are_there(server, _=True):
    assert texts(server) == LINES


@phase("a batch whole or not at all, and the rest when it is sent again")
def in_ingest(fight, ends):
    batch, sent = 250, {}

    def prepare(server):
        with_lines(server, *SEALS)
        sent.update(lines=0, bytes=0)

    def begin(server):
        while sent["lines"] < len(LINES):
            body = "".join(f"{line}\n" for line in LINES[sent["lines"]:sent["lines"] + batch])
            reply = server.post(f"/api/v1/logs?job=fed&stream=algo-1&offset={sent['bytes']}", body)
            assert reply.status == 200, reply
            sent.update(lines=sent["lines"] + batch, bytes=reply.body["next_offset"])

    def afterwards(server, _):
        all_are_there(server)
        there = texts(server, "fed") if sent["lines"] or server.get("/api/v1/jobs/fed").status == 200 else []
        assert len(there) in (sent["lines"], sent["lines"] + batch) and there == LINES[:len(there)], (len(there), sent)
        begin(server)
        assert texts(server, "fed") == LINES
        server.wait_for_points("fed", "train:loss", len(LINES))

    return end_in_the_middle(fight, ends, prepare, begin, lambda server: sent["lines"] == len(LINES), afterwards)


@phase("each line once")
def in_sealing(fight, ends):
    def prepare(server):
        with_lines(server, "--seal-age", "1h")
        server.kill()  # a stop would seal

    def is_sealed(server):
        """Asked of the server, not of its file: whoever looks into that while a server starts may shut it out."""
        return is_listening(server) and server.figure("sealed_lines_total") == len(LINES)

    return end_in_the_middle(fight, ends, prepare, lambda server: server.launch("127.0.0.1:0", *SEALS), is_sealed, all_are_there)


@phase("the old series or the new, never half")
def in_a_back_fills_switch(fight, ends):
    def begin(server):
        server.wait_for_points("kept", "train:loss", len(LINES))
        reply = server.put("/api/v1/jobs/kept/definitions?backfill=true", json=DEFINITIONS)
        assert reply.status < 300, reply

    def is_filled_back(server):
        backfill = server.get("/api/v1/jobs/kept/definitions").body["backfill"]
        if backfill and backfill["state"] == "failed":  # by a broken disk; a full one is waited for
            ends.heard(backfill["error"])
            begin(server)
        return (server.series("kept", "again") or {}).get("count") == len(LINES)

    def afterwards(server, is_begun):
        all_are_there(server)
        counts = [(server.series("kept", name) or {}).get("count", 0) for name in ("train:loss", "again")]
        assert counts in ([len(LINES), 0], [0, len(LINES)]), counts

    return end_in_the_middle(fight, ends, lambda server: with_lines(server, *SEALS), begin, is_filled_back, afterwards)


@phase("the limit that was taken holds; points stay, others' lines too")
def in_trimming(fight, ends):
    chance = random.Random(fight.chance.random())

    def prepare(server):
        with_lines(server, *SEALS, "--log-bytes", "0")
        server.send("trimmed", [f"{line} {chance.randbytes(40).hex()}" for line in LINES])
        assert server.post("/api/v1/jobs/trimmed/transitions", json={"SecondaryStatus": "Completed"}).status < 300
        server.wait_for_points("trimmed", "train:loss", len(LINES))
        wait_until(lambda: server.sql("SELECT sum(line_count) FROM blocks") == [(2 * len(LINES),)], what="all lines to be sealed")

    def begin(server):
        assert server.put("/api/v1/retention", json={"log_bytes": 1}).status == 200

    def gone(server):
        return server.get("/api/v1/jobs/trimmed/logs?stream=algo-1&from=0&limit=1").body.get("first_kept_line") == len(LINES)

    def afterwards(server, is_begun):
        if not is_begun:
            begin(server)
        wait_until(lambda: gone(server), what="the rest of the trimming")
        all_are_there(server)
        assert server.series("trimmed", "train:loss")["count"] == len(LINES)

    return end_in_the_middle(fight, ends, prepare, begin, gone, afterwards)


@phase("the job is there whole, or gone; others stay")
def in_a_deletion(fight, ends):
    def prepare(server):
        with_lines(server, *SEALS)
        server.send("goes", LINES)
        assert server.post("/api/v1/jobs/goes/transitions", json={"SecondaryStatus": "Completed"}).status < 300

    def begin(server):
        wait_until(lambda: server.delete("/api/v1/jobs/goes?purge=true").status in (200, 204, 404), what="a deletion that is taken")

    def gone(server):
        return server.get("/api/v1/jobs/goes").status == 404 and server.sql("SELECT count(*) FROM dead_jobs") == [(0,)]

    def afterwards(server, is_begun):
        all_are_there(server)
        if not is_begun:
            assert server.get("/api/v1/jobs/goes").status == 404 or texts(server, "goes") == LINES
            begin(server)
        wait_until(lambda: gone(server), what="the rest of the deletion")

    return end_in_the_middle(fight, ends, prepare, begin, gone, afterwards)


@phase("the rows of before, or the backup's, never some of both")
def in_a_restore(fight, ends):
    """Its own process ends; the next one may replace what it left. The log beside the database that is replaced is part of that."""
    copy, later = fight.server.folder / "copy.db", [f"later {n}" for n in range(1000)]

    def prepare(server):
        with_lines(server, *SEALS)
        copy.unlink(missing_ok=True)
        code, said = command(server, "backup", str(copy))
        assert code == 0, said
        server.send("kept", later)
        server.kill()  # a stop would leave no log

    def begin(server):
        server.launch_command("restore", str(copy), "--replace")

    def is_through(server):
        return server.process.poll() == 0

    def mend(server):
        if not os.path.exists(server.database):
            begin(server)
            assert server.process.wait() == 0
            server.process = None

    def afterwards(server, _):
        assert texts(server) in (LINES, LINES + later), len(texts(server))

    return end_in_the_middle(fight, ends, prepare, begin, is_through, afterwards, mend)


@phase("a whole copy, or none; the server goes on")
def in_a_backup(fight, ends):
    copy = fight.server.folder / "copies" / "copy.db"

    def prepare(server):
        with_lines(server, *SEALS)
        copy.parent.mkdir(exist_ok=True)
        copy.unlink(missing_ok=True)

    def begin(server):
        code, said = command(server, "backup", str(copy))
        if code:
            ends.heard(said)
        assert code == 0, said

    def afterwards(server, is_begun):
        all_are_there(server)
        assert copy.exists() or not is_begun
        if copy.exists():
            check(server, copy)
        server.send("kept", "another line")
        begin(server)  # what is left of a copy that was cut off is in nobody's way
        assert [path.name for path in copy.parent.iterdir()] == ["copy.db"], list(copy.parent.iterdir())

    return end_in_the_middle(fight, ends, prepare, begin, lambda server: copy.exists(), afterwards)


@phase("the job is there whole, or not at all")
def in_an_import(fight, ends):
    exported = []

    def prepare(server):
        if not exported:
            with_lines(server, *SEALS)
            exported.append(server.get("/api/v1/export").raw)
        fresh(server)
        server.start("127.0.0.1:0", *SEALS)

    def begin(server):
        reply = server.post("/api/v1/import", exported[0], content_type="application/x-ndjson")
        assert reply.status == 200 and reply.body["imported"] + reply.body["skipped"] == 1, reply

    def is_there(server):
        return server.get("/api/v1/jobs/kept").status == 200

    def afterwards(server, is_begun):
        assert is_there(server) or not is_begun
        if not is_there(server):
            begin(server)
        all_are_there(server)
        server.wait_for_points("kept", "train:loss", len(LINES))

    return end_in_the_middle(fight, ends, prepare, begin, is_there, afterwards)


@phase("a whole reply, also of a server that can write nothing")
def in_an_export(fight, ends):
    replies = []

    def prepare(server):
        replies.clear()
        with_lines(server, *SEALS)

    def begin(server):
        server.send("other", LINES[:100])
        replies.append(server.get("/api/v1/export").raw)

    def afterwards(server, _):
        all_are_there(server)
        assert all(reply.count(b"step ") >= len(LINES) for reply in replies), replies[0][:3000]

    return end_in_the_middle(fight, ends, prepare, begin, lambda server: replies, afterwards)
