"""The tools around the file: check, backup, restore, migrate, doctor, beside a running server and without one."""

import random
import re
import shutil
import sqlite3
import subprocess
import threading

import pytest

from smserver import Server, find_binary, sanitizer_environment, wait_until

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


@pytest.mark.parametrize("table, blob, says", [("blocks", "data", "block of job 'gpt', stream 1, at 0"),
    ("chunks", "data", "chunk of job 'gpt', series"), ("pyramid_rows", "data", "pyramid of job 'gpt'")])
def test_a_flipped_byte_is_found_and_named(filled, table, blob, says):
    wait_until_sealed(filled, 6000)

    def has_rows():
        with sqlite3.connect(f"file:{filled.database}?mode=ro", uri=True) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    wait_until(has_rows, what=f"rows in {table}")
    filled.stop()
    with sqlite3.connect(filled.database) as database:
        rowid, data = database.execute(f"SELECT rowid, {blob} FROM {table} ORDER BY rowid LIMIT 1").fetchone()
        damaged = bytes([data[0] ^ 0xff]) + data[1:]
        database.execute(f"UPDATE {table} SET {blob} = ? WHERE rowid = ?", (damaged, rowid))
    database.close()
    text = run(filled, "check", expect=1)
    assert says in text and "1 problem" in text


def test_lines_that_are_missing_are_found(filled):
    wait_until_sealed(filled, 6000)
    filled.stop()
    with sqlite3.connect(filled.database) as database:
        database.execute("DELETE FROM blocks")
    database.close()
    text = run(filled, "check", expect=1)
    assert "says that 6000 lines are sealed; they end at 0" in text and "belongs to no block" in text


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
        made = [every.stdout.readline().decode().strip() for _ in range(4)]
        assert len(set(made)) == 4
        wait_until(lambda: len(list(tmp_path.glob("dated-*"))) == 2, what="the old ones to go")
    finally:
        every.kill()
        every.wait()
        every.stdout.close()


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


def test_a_backup_that_cannot_be_written_says_why_and_leaves_nothing(filled, tmp_path):
    text = run(filled, "backup", str(tmp_path / "nowhere" / "copy.db"), expect=4)
    assert "nowhere" in text
    assert filled.get("/api/v1/jobs/gpt").status == 200
    assert not list(tmp_path.glob("**/*.partial*"))


def test_migrate_says_what_an_upgrade_will_do_and_does_it(filled):
    filled.stop()
    assert "Nothing is to be done." in run(filled, "migrate", "--plan")
    with sqlite3.connect(filled.database) as database: # as the first version left it
        newer = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in newer[newer.index("tokens") + 1:]:  # what later migrations made
            database.execute(f"DROP TABLE {table}")
        database.execute("ALTER TABLE transitions DROP COLUMN source")
        database.execute("ALTER TABLE job_counts DROP COLUMN last_heard_ms")
        database.execute("ALTER TABLE job_counts DROP COLUMN attempts")
        database.execute("DROP INDEX deliveries_settled")
        database.execute("DROP INDEX series_by_name")
        database.execute("DROP INDEX incidents_by_step")
        database.execute("DROP INDEX streams_by_host")
        database.execute("ALTER TABLE incidents DROP COLUMN facts")
        for name in ("incidents_by_key", "incidents_by_cause", "incidents_first", "incidents_by_fold", "incidents_muted", "deliveries_next", "deliveries_by_time"):
            database.execute(f"DROP INDEX {name}")
        for table, names in (("incidents", "rule_id cause_id fold_id muted_until_ms"), ("webhooks", "events heartbeat_ms beat_ms per_minute")):
            for name in names.split():
                database.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
        database.execute("CREATE UNIQUE INDEX incidents_by_key ON incidents (job_id, series_id, kind, opened_ordinal)")
        database.execute("DELETE FROM counters WHERE name = 'rule'")
        database.execute("CREATE INDEX deliveries_due ON deliveries (next_ms, delivery_id) WHERE state = 0")
        database.execute("CREATE UNIQUE INDEX series_by_name ON series (job_id, stream_id, metric, labels)")
        database.execute("UPDATE settings SET value = CAST('1' AS BLOB) WHERE key = 'min_reader'")
        database.execute("PRAGMA user_version=1")
    database.close()
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


def test_doctor_tells_what_the_machine_is_like(filled):
    text = run(filled, "doctor")
    for word in ("durable write", "disk", "file system     local", "open files", "clock"):
        assert word in text
    wait_until(lambda: re.search(r"machine durable_write_ms=\d+\.\d+ worst_ms=\d+\.\d+ free_bytes=\d+ file_system=local open_files=\d+",
        filled.log_text()), what="the same in one line at the start")
