"""Ends at named phases: each is done once to learn how long it takes, and then again and again, ended by SIGKILL at any moment of it, or by the power's loss at any operation
of the disk. What had been acknowledged is there afterwards, once; what was under way is there whole, or not at all; and sm-server check finds nothing."""

import contextlib
import functools
import os
import random
import sqlite3
import subprocess

from attack import attack
from ends import Kills, PowerLosses
from olddb import older_database
from smserver import find_binary, sanitizer_environment, wait_until

LINES = [f"step {n} loss={3 + n % 7 / 10:.1f}" for n in range(4000)]
SEALS = ("--seal-age", "100ms", "--seal-bytes", "64KiB")
DEFINITIONS = {"definitions": [{"Name": "again", "Regex": "loss=([0-9.]+)"}]}
OLDEST, SHUTS_OUT = 40, 41  # the first migration behind it that older programs cannot live with


def check(server):
    done = subprocess.run([find_binary("sm-server"), "check", "--db", str(server.database)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=sanitizer_environment({"PATH": "/usr/bin:/bin"}))
    assert done.returncode == 0 and ": 0 problems" in done.stdout, done.stdout


def texts(server, job="kept"):
    return [line["text"] for line in server.lines(job)]


def fresh(server):
    """No process, and no file: the next start is the first."""
    if server.process:
        server.stop()
    for path in server.folder.glob("smfleet.db*"):
        path.unlink()


def phase(held):
    """Of both rooms."""

    def note(function):
        for room, ends in (("killing", Kills), ("power", PowerLosses)):
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
    return any("event=listening" in line for line in server.log)


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


@phase("each line once")
def in_sealing(fight, ends):
    def prepare(server):
        with_lines(server, "--seal-age", "1h")
        server.kill()  # a stop would seal

    return end_in_the_middle(fight, ends, prepare, lambda server: server.launch("127.0.0.1:0", *SEALS),
        lambda server: server.sql("SELECT sum(line_count) FROM blocks") == [(len(LINES),)], all_are_there)


@phase("the old series or the new, never half")
def in_a_back_fills_switch(fight, ends):
    def begin(server):
        server.wait_for_points("kept", "train:loss", len(LINES))
        reply = server.put("/api/v1/jobs/kept/definitions?backfill=true", json=DEFINITIONS)
        assert reply.status < 300, reply

    def afterwards(server, is_begun):
        all_are_there(server)
        counts = [(server.series("kept", name) or {}).get("count", 0) for name in ("train:loss", "again")]
        assert counts in ([len(LINES), 0], [0, len(LINES)]), counts

    return end_in_the_middle(fight, ends, lambda server: with_lines(server, *SEALS), begin, lambda server: (server.series("kept", "again") or {}).get("count") == len(LINES), afterwards)


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

    def command(server, *words):
        return [server.bin("sm-server"), *words, "--db", str(server.database)]

    def environment(server):
        return sanitizer_environment({"PATH": "/usr/bin:/bin", **server.environment})

    def prepare(server):
        with_lines(server, *SEALS)
        copy.unlink(missing_ok=True)
        subprocess.run(command(server, "backup", str(copy)), check=True, stdout=subprocess.DEVNULL, env=environment(server))
        server.send("kept", later)
        server.kill()  # a stop would leave no log

    def begin(server):
        server.process = subprocess.Popen(command(server, "restore", str(copy), "--replace"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(server))

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
