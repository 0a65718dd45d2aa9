"""Kills at named phases: each is done once to learn how long it takes, and then again and again, ended by SIGKILL at any moment of it. What had been acknowledged is there
afterwards, once; what was under way is there whole, or not at all; and sm-server check finds nothing."""

import os
import random
import shutil
import subprocess
import time

from attack import attack
from olddb import older_database
from smserver import find_binary, sanitizer_environment, wait_until

LINES = [f"step {n} loss={3 + n % 7 / 10:.1f}" for n in range(4000)]
SEALS = ("--seal-age", "100ms", "--seal-bytes", "64KiB")
DEFINITIONS = {"definitions": [{"Name": "again", "Regex": "loss=([0-9.]+)"}]}
OLDEST = 40


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


def kill_in_the_middle(fight, prepare, begin, whole, afterwards):
    """prepare(server): up to the phase, ends with or without a running server. begin(server): the phase, as far as it is asked for. whole(server): it is through."""
    server = fight.server
    prepare(server)
    began = time.monotonic()
    begin(server)
    wait_until(lambda: whole(server), what="the end of the phase")
    takes = time.monotonic() - began
    while fight.goes_on(6):
        prepare(server)
        ended = time.monotonic() + fight.chance.random() * takes * 1.1
        begin(server)
        while time.monotonic() < ended:
            time.sleep(max(0.0, min(0.001, ended - time.monotonic())))
        server.kill()
        if fight.chance.random() < 0.3:  # and once more, at the beginning of what repairs it
            server.launch()
            time.sleep(fight.chance.random() * 0.3)
            server.kill()
        server.start("127.0.0.1:0", *SEALS)
        afterwards(server)
        server.stop()
        check(server)
    fresh(server)
    server.start()
    return f"{fight.tried - 1} kills over {1000 * takes:.0f} ms of it"


@attack("killing", "tables as after a first start")
def in_the_first_start(fight):
    fight.server.makes_its_tables = True
    return kill_in_the_middle(fight, fresh, lambda server: server.launch(), lambda server: any("event=listening" in line for line in server.log),
        lambda server: server.send("kept", LINES[:10]))


@attack("killing", "the newest version, with its rows")
def in_a_migration(fight):
    fight.server.makes_its_tables = True

    def prepare(server):
        fresh(server)
        with older_database(server.database, OLDEST):
            pass

    return kill_in_the_middle(fight, prepare, lambda server: server.launch("127.0.0.1:0", "--no-backup"), lambda server: any("event=listening" in line for line in server.log),
        lambda server: server.send("kept", LINES[:10]))


def with_lines(server, *options):
    fresh(server)
    server.start("127.0.0.1:0", *options)
    server.send("kept", LINES)


def all_are_there(server):
    assert texts(server) == LINES


@attack("killing", "each line once")
def in_sealing(fight):
    def prepare(server):
        with_lines(server, "--seal-age", "1h")
        server.kill()  # a stop would seal

    return kill_in_the_middle(fight, prepare, lambda server: server.launch("127.0.0.1:0", *SEALS),
        lambda server: server.sql("SELECT sum(line_count) FROM blocks") == [(len(LINES),)], all_are_there)


@attack("killing", "the old series or the new, never half")
def in_a_back_fills_switch(fight):
    def begin(server):
        server.wait_for_points("kept", "train:loss", len(LINES))
        reply = server.put("/api/v1/jobs/kept/definitions?backfill=true", json=DEFINITIONS)
        assert reply.status < 300, reply

    def afterwards(server):
        all_are_there(server)
        counts = [(server.series("kept", name) or {}).get("count", 0) for name in ("train:loss", "again")]
        assert counts in ([len(LINES), 0], [0, len(LINES)]), counts

    return kill_in_the_middle(fight, lambda server: with_lines(server, *SEALS), begin, lambda server: (server.series("kept", "again") or {}).get("count") == len(LINES), afterwards)


@attack("killing", "the limit that was taken holds; points stay, others' lines too")
def in_trimming(fight):
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

    def afterwards(server):
        wait_until(lambda: gone(server), what="the rest of the trimming")
        all_are_there(server)
        assert server.series("trimmed", "train:loss")["count"] == len(LINES)

    return kill_in_the_middle(fight, prepare, begin, gone, afterwards)


@attack("killing", "the job is there whole, or gone; others stay")
def in_a_deletion(fight):
    def prepare(server):
        with_lines(server, *SEALS)
        server.send("goes", LINES)
        assert server.post("/api/v1/jobs/goes/transitions", json={"SecondaryStatus": "Completed"}).status < 300

    def begin(server):
        wait_until(lambda: server.delete("/api/v1/jobs/goes?purge=true").status in (200, 204), what="a deletion that is taken")

    def gone(server):
        return server.get("/api/v1/jobs/goes").status == 404 and server.sql("SELECT count(*) FROM dead_jobs") == [(0,)]

    def afterwards(server):
        all_are_there(server)
        wait_until(lambda: gone(server), what="the rest of the deletion")

    return kill_in_the_middle(fight, prepare, begin, gone, afterwards)


@attack("killing", "the backup's rows, or the refusal of half a file")
def in_a_restore(fight):
    """Its own process is killed; the next one may replace what it left."""
    server = fight.server
    with_lines(server, *SEALS)
    copy = server.folder / "copy.db"
    words = [find_binary("sm-server"), "backup", str(copy), "--db", str(server.database)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    words[1] = "restore"
    words.insert(3, "--replace")
    server.stop()
    began = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    takes = time.monotonic() - began
    while fight.goes_on(8):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(fight.chance.random() * takes)
        process.kill()
        process.wait()
        if os.path.exists(server.database):
            server.start()
            all_are_there(server)
            server.stop()
            check(server)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.copy(copy, server.folder / "last.db")
    server.start()
    all_are_there(server)
    return f"{fight.tried - 1} kills over {1000 * takes:.0f} ms of it"
