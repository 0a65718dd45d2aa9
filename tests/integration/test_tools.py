"""The tools around the file: check, backup, restore, migrate, doctor, beside a running server and without one."""

import contextlib
import os
import random
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import threading

import pytest

from engine import of_a_file
from smserver import ROOT, Server, find_binary, sanitizer_environment, wait_until

pytestmark = of_a_file("beside which the tools work")

DEFINITION = {"Name": "loss", "Regex": r"step (?<step>\d+) loss=(?<value>\S+)"}


def run(server, *words, expect=0):
    done = subprocess.run([find_binary("sm-server"), *words, "--db", str(server.database)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=sanitizer_environment({"PATH": "/usr/bin:/bin"}), timeout=120, check=False)
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == expect, text
    return text


def lines(rng, count, first=0):
    return [f"step {first + i} loss={rng.random():.6f} {rng.randbytes(40).hex()}" for i in range(count)]


@pytest.fixture
def filled(make_server):
    server = make_server("--seal-age", "100ms")
    server.post("/api/v1/jobs", json={"TrainingJobName": "gpt", "AlgorithmSpecification": {"MetricDefinitions": [DEFINITION]}})
    server.send("gpt", lines(random.Random(1), 6000))
    server.wait_for_points("gpt", "loss", 6000)
    return server


def wait_until_sealed(server, count):
    def has_sealed():
        return f"smfleet_sealed_lines_total {count}" in server.get("/metrics").body
    wait_until(has_sealed, what=f"{count} lines to be sealed")


def test_a_good_database_has_no_problems_beside_a_server_and_without(filled):
    wait_until_sealed(filled, 6000)
    assert ": 0 problems (a server is running" in run(filled, "check")
    filled.stop()
    assert run(filled, "check").endswith(": 0 problems\n")
    assert run(filled, "check", "--quick").endswith(": 0 problems\n")


@pytest.mark.parametrize("table, blob, part, says", [("blocks", "data", 0, "block of job 'gpt', stream 'algo-1', at 0"),
    ("chunks", "data", 0, "chunk of job 'gpt', series"), ("pyramid_rows", "data", 0, "pyramid of job 'gpt'"),
    ("log_filters", "filter", 0.5, "block of job 'gpt', stream 'algo-1', at 0: has a search filter that is not of its text")])
def test_a_flipped_byte_is_found_and_named(filled, table, blob, part, says):
    wait_until_sealed(filled, 6000)

    def has_rows():
        with sqlite3.connect(f"file:{filled.database}?mode=ro", uri=True) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    wait_until(has_rows, what=f"rows in {table}")
    filled.stop()
    with sqlite3.connect(filled.database) as database:
        rowid, data = database.execute(f"SELECT rowid, {blob} FROM {table} ORDER BY rowid LIMIT 1").fetchone()
        at = int(len(data) * part)
        damaged = data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:]
        database.execute(f"UPDATE {table} SET {blob} = ? WHERE rowid = ?", (damaged, rowid))
    database.close()
    text = run(filled, "check", expect=1)
    assert says in text and "1 problem" in text


def test_a_search_filter_that_was_removed_is_made_anew(filled):
    wait_until_sealed(filled, 6000)
    filled.stop()
    with sqlite3.connect(filled.database) as database:
        assert database.execute("DELETE FROM log_filters").rowcount >= 1
    database.close()
    filled.start()
    wait_until(lambda: filled.sql("SELECT count(*) FROM blocks AS b WHERE NOT EXISTS (SELECT 1 FROM log_filters AS f WHERE f.job_id = b.job_id"
        " AND f.stream_id = b.stream_id AND f.first_line = b.first_line)") == [(0,)], what="a filter of each block")
    filled.stop()
    assert run(filled, "check").endswith(": 0 problems\n")


def test_lines_that_are_missing_are_found(filled):
    wait_until_sealed(filled, 6000)
    filled.stop()
    with sqlite3.connect(filled.database) as database:
        database.execute("DELETE FROM blocks")
    database.close()
    text = run(filled, "check", expect=1)
    assert "says that 6000 lines are sealed; they end at 0" in text and "belongs to no block" in text


def halve(database, table, job_id, order):
    """The first half of the job's rows, as a sweep takes them."""
    rows = [row for (row,) in database.execute(f"SELECT rowid FROM {table} WHERE job_id = ? ORDER BY {order}", (job_id,))]
    assert len(rows) >= 2, (table, rows)
    database.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(row,) for row in rows[:len(rows) // 2]])


@pytest.mark.parametrize("what", ["job", "series"])
def test_what_is_half_swept_is_no_damage(filled, what):
    """A deletion that a kill interrupted; the same cut without one is damage, and the next start goes on with it."""
    filled.send("gpt", lines(random.Random(3), 10000, 6000))
    wait_until_sealed(filled, 16000)
    stored = os.urandom(3 << 20)
    assert filled.put("/api/v1/jobs/gpt/attachments/a.bin", stored).status < 300
    wait_until(lambda: filled.sql("SELECT count(*) FROM chunks")[0][0] >= 4, what="chunks")
    filled.kill()
    with contextlib.closing(sqlite3.connect(filled.database)) as database, database:
        ((job_id, series_id),) = database.execute("SELECT job_id, series_id FROM chunks GROUP BY 1, 2")
        halve(database, "chunks", job_id, "first_ordinal")
    assert "begins at point" in run(filled, "check", expect=1)
    with contextlib.closing(sqlite3.connect(filled.database)) as database, database:
        if what == "job":
            halve(database, "blocks", job_id, "first_line")
            halve(database, "attachment_parts", job_id, "part")
            database.execute("DELETE FROM log_filters WHERE job_id = ?", (job_id,))
            database.execute("DELETE FROM jobs WHERE job_id = ?", (job_id,))
            database.execute("INSERT INTO dead_jobs VALUES (?)", (job_id,))
        else:
            database.execute("DELETE FROM series WHERE job_id = ? AND series_id = ?", (job_id, series_id))
            database.execute("INSERT INTO dead_series VALUES (?, ?, ?, 0)", (job_id, series_id, series_id))
    assert run(filled, "check").endswith(": 0 problems\n")
    filled.start()
    wait_until(lambda: filled.sql("SELECT count(*) FROM chunks WHERE job_id = ? AND series_id = ?", job_id, series_id) == [(0,)], what="the rest of the sweep")


def test_a_backup_that_is_put_back_without_its_key_says_so(make_server, tmp_path):
    server, copy = make_server(), tmp_path / "copy.db"
    hook = {"url": "https://example.com/x", "secret": "whsec_c2VjcmV0IHNlY3JldA=="}
    assert server.post("/api/v1/webhooks", json=hook).status == 201
    run(server, "backup", str(copy))
    server.stop()
    folder = tmp_path / "restored"
    folder.mkdir()
    other = Server(folder)
    told = run(other, "restore", str(copy))
    assert f"warning: the key file '{other.database}.key' is not there" in told and "restored" in told
    try:
        other.start()
        told = other.wait_for_log(r"event=key_opens_not.*").group(0)
        assert f'key="{other.database}.key" webhooks=1' in told, told
        other.stop()
        shutil.copy(f"{server.database}.key", f"{other.database}.key")
        assert "warning" not in run(other, "restore", str(copy), "--replace")
        other.log.clear()
        other.start()
        assert "key_opens_not" not in other.log_text()
        other.stop()
    finally:
        other.close()


def test_a_backup_under_load_is_whole_and_comes_back(filled, tmp_path):
    copy, is_over, sent = tmp_path / "copy.db", threading.Event(), []

    def load():
        rng = random.Random(2)
        while not is_over.is_set():
            filled.send("busy", lines(rng, 200, len(sent) * 200))
            sent.append(1)
    sender = threading.Thread(target=load)
    sender.start()
    try:
        wait_until(lambda: len(sent) > 5, what="some load")
        assert run(filled, "backup", str(copy)).strip() == str(copy)
        before = len(sent)
        wait_until(lambda: len(sent) > before + 2, what="ingest to go on")
    finally:
        is_over.set()
        sender.join()
    assert copy.stat().st_mode & 0o777 == 0o600 and not list(tmp_path.glob("*.partial*"))
    want = [row["text"] for row in filled.lines("gpt")]
    folder = tmp_path / "restored"
    folder.mkdir()
    other = Server(folder)
    assert "restored" in run(other, "restore", str(copy))
    other.start()
    try:
        assert [row["text"] for row in other.lines("gpt")] == want
        busy = [row["text"] for row in other.lines("busy")]
        assert busy == [row["text"] for row in filled.lines("busy")][:len(busy)] and len(busy) % 200 == 0
    finally:
        other.close()


def test_a_backup_without_a_server_and_dated_ones(filled, tmp_path):
    filled.stop()
    copy = tmp_path / "copy.db"
    run(filled, "backup", str(copy))
    with sqlite3.connect(copy) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    every = subprocess.Popen([find_binary("sm-server"), "backup", str(tmp_path / "dated"), "--every", "1s", "--keep", "2", "--db",
        str(filled.database)], stdout=subprocess.PIPE, env=sanitizer_environment({"PATH": "/usr/bin:/bin"}))
    try:
        made = set()
        while len(made) < 4:  # two of one second, on a busy machine, are one file
            line = every.stdout.readline().decode().strip()
            assert line, "it ended"
            made.add(line)
        wait_until(lambda: len(list(tmp_path.glob("dated-*"))) == 2, what="the old ones to go")
    finally:
        every.kill()
        every.wait()
        every.stdout.close()


WRITES_AND_DIES = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("CREATE TABLE of_the_older_copy AS SELECT * FROM blocks")
database.commit()
os._exit(0)
"""


@pytest.mark.parametrize("is_running", [True, False], ids=["of a server", "without one"])
def test_what_lies_beside_an_older_copy_is_not_read_into_the_newer(filled, tmp_path, is_running):
    """Whoever looked into it, or worked on it and was killed, left a log of its name."""
    copy = tmp_path / "copy.db"
    run(filled, "backup", str(copy))
    subprocess.run([sys.executable, "-c", WRITES_AND_DIES, copy], check=True)
    assert copy.with_name("copy.db-wal").stat().st_size > 0
    filled.send("gpt", lines(random.Random(2), 6000, 6000))
    if not is_running:
        filled.stop()
    run(filled, "backup", str(copy))
    assert [path.name for path in tmp_path.glob("copy.db*")] == ["copy.db"]
    with contextlib.closing(sqlite3.connect(copy)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'of_the_older_copy'").fetchone() == (0,)


def test_a_copy_of_a_damaged_database_is_not_kept(filled, tmp_path):
    wait_until_sealed(filled, 6000)
    filled.stop()
    with sqlite3.connect(filled.database) as database:
        database.execute("UPDATE blocks SET data = x'ff' WHERE rowid = (SELECT min(rowid) FROM blocks)")
    database.close()
    copy = tmp_path / "copies" / "copy.db"
    copy.parent.mkdir()
    assert "the copy was not kept" in run(filled, "backup", str(copy), expect=1)
    filled.start()
    assert "the copy was not kept" in run(filled, "backup", str(copy), expect=4)
    assert list(copy.parent.iterdir()) == []


def test_a_restore_refuses_a_live_a_present_and_a_damaged_database(filled, tmp_path):
    copy = tmp_path / "copy.db"
    run(filled, "backup", str(copy))
    assert "in use by another server" in run(filled, "restore", str(copy), "--replace", expect=4)
    filled.stop()
    assert "exists already" in run(filled, "restore", str(copy), expect=4)
    run(filled, "restore", str(copy), "--replace")
    assert filled.database.with_name("smfleet.db.before-restore").exists()
    damaged = tmp_path / "damaged.db"
    shutil.copy(copy, damaged)
    with open(damaged, "r+b") as file:
        file.seek(8192 * 3)
        file.write(b"\xff" * 4096)
    assert "was not restored" in run(filled, "restore", str(damaged), "--replace", expect=1)
    filled.start()
    assert filled.get("/api/v1/jobs/gpt").status == 200


def test_what_a_restore_set_aside_is_there_after_the_next_one(filled, tmp_path):
    """As where a service manager began a server between the two names: the new database is empty, and the old one the only one there is."""
    copy, aside = tmp_path / "copy.db", filled.database.with_name("smfleet.db.before-restore")
    run(filled, "backup", str(copy))
    filled.stop()
    run(filled, "restore", str(copy), "--replace")
    first = aside.read_bytes()
    for number in (2, 3):
        run(filled, "restore", str(copy), "--replace")
        assert aside.read_bytes() == first and aside.with_name(f"{aside.name}-{number}").exists()


def test_a_backup_that_cannot_be_written_says_why_and_leaves_nothing(filled, tmp_path):
    text = run(filled, "backup", str(tmp_path / "nowhere" / "copy.db"), expect=4)
    assert "nowhere" in text
    assert filled.get("/api/v1/jobs/gpt").status == 200
    assert not list(tmp_path.glob("**/*.partial*"))


def as_version(path, version):
    """What an older program would have left of the same: its tables, and of each row what they have room for."""
    newer = path.with_name("newer.db")
    path.rename(newer)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL")
        for file in sorted((ROOT / "migrations/sqlite").glob("*.sql")):
            if int(file.name[:4]) <= version:
                database.executescript(file.read_text())
        database.execute("ATTACH ? AS newer", (str(newer),))
        database.execute("BEGIN")
        for (table,) in database.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
            old, new = ({row[1] for row in database.execute(f"PRAGMA {schema}.table_info({table})")} for schema in ("main", "newer"))
            assert old <= new, (table, old - new)
            names = ", ".join(sorted(old))
            known = "WHERE name IN (SELECT name FROM main.counters)" if table == "counters" else ""
            database.execute(f"REPLACE INTO main.{table} ({names}) SELECT {names} FROM newer.{table} {known}")
        database.execute("UPDATE main.settings SET value = CAST('1' AS BLOB) WHERE key = 'min_reader'")
        database.execute("COMMIT")
        database.execute(f"PRAGMA user_version={version}")
    newer.unlink()


def test_migrate_says_what_an_upgrade_will_do_and_does_it(filled):
    filled.stop()
    assert "Nothing is to be done." in run(filled, "migrate", "--plan")
    as_version(filled.database, 1)
    plan = run(filled, "migrate", "--plan")
    assert "version 1" in plan and "0002_pyramids.sql: What charts read" in plan and "0004_retention.sql" in plan
    assert ": 0 problems" in run(filled, "check")
    assert "migrated" in run(filled, "migrate")
    with sqlite3.connect(f"{filled.database}.before-0007") as copy: # for older programs, which the new one shuts out
        assert copy.execute("SELECT count(*) FROM jobs").fetchone()[0] >= 1
    copy.close()
    filled.start()
    assert len(filled.lines("gpt")) == 6000
    wait_until(lambda: filled.points("gpt", "loss", buckets=10)["total_points"] == 6000, what="charts as before")


@pytest.mark.parametrize("leave, trace", [
    (lambda db: (db.parent / f".{db.name}-litestream").mkdir(), "its folder"),
    (lambda db: sqlite3.connect(db).executescript("CREATE TABLE _litestream_lock (id INTEGER)"), "its tables"),
])
def test_doctor_warns_of_litestream(filled, leave, trace):
    """Measured: its checkpoints lock the file, and commits of the server that has it fail."""
    assert "litestream" not in run(filled, "doctor")
    leave(pathlib.Path(filled.database))
    text = run(filled, "doctor", expect=1)
    assert f"litestream      WRONG: {trace}" in text and "backup --every" in text


def test_doctor_tells_what_the_machine_is_like(filled):
    text = run(filled, "doctor")
    for word in ("durable write", "disk", "file system     local", "open files", "clock"):
        assert word in text
    wait_until(lambda: re.search(r"machine durable_write_ms=\d+\.\d+ worst_ms=\d+\.\d+ free_bytes=\d+ file_system=local open_files=\d+",
        filled.log_text()), what="the same in one line at the start")
