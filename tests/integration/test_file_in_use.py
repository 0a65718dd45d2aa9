"""Whose the database file is: locked under each of its names, free after a kill; the check of what a kill or damage leaves."""

import concurrent.futures
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import time

import pytest

from engine import of_a_file
from howlong import IS_LONG
from smserver import Server, find_binary, sanitizer_environment, wait_until

pytestmark = of_a_file("who has it")

HEADER_BYTES = 100
# Nothing reads these: the schema's change counter, and which SQLite wrote last.
WITHOUT_MEANING = {*range(40, 44), *range(96, 100)}


def run(database, *words):
    done = subprocess.run([find_binary("sm-server"), *words, "--db", str(database)], capture_output=True, timeout=120, check=False,
        env=sanitizer_environment({"PATH": "/usr/bin:/bin"}))
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def content(path):
    """Every row as SQLite reads it, and what says how it reads them; None: it cannot."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            shape = [database.execute(f"PRAGMA {name}").fetchone()
                for name in ("page_size", "encoding", "user_version", "auto_vacuum", "journal_mode", "integrity_check", "application_id")]
            return shape, [database.execute(f"SELECT * FROM \"{name}\"").fetchall()
                for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()]
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A database with a few lines, of a server that was stopped."""
    server = Server(tmp_path_factory.mktemp("stopped")).start()
    server.send("j", [f"step: {n} loss: 1.{n:03}" for n in range(200)])
    server.wait_for_points("j", "train:loss", 200)
    server.stop()
    assert run(server.database, "check") == (0, f"{server.database}: 0 problems\n")
    return server.database


def test_a_killed_server_is_not_taken_for_a_running_one(server):
    server.send("j", [f"step: {n} loss: 1.5" for n in range(100)])
    server.wait_for_points("j", "train:loss", 100)
    server.kill()
    assert server.database.with_name("smfleet.db.sock").exists() # nobody was there to remove it
    code, text = run(server.database, "check")
    assert (code, text) == (0, f"{server.database}: 0 problems\n"), text
    server.start()
    code, text = run(server.database, "check")
    assert code == 0 and "0 problems (a server is running" in text


def opened_by(pid):
    with contextlib.suppress(FileNotFoundError):
        return [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    return []


def test_a_start_waits_for_who_has_the_file_for_a_moment(server):
    """sqlite3's shell, a copy tool: the last one that closes a database moves its log into it, and lets nobody in meanwhile."""
    server.send("j", "a line")
    server.kill()
    with contextlib.closing(sqlite3.connect(server.database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        server.launch()
        wait_until(lambda: server.process.poll() is not None or opened_by(server.process.pid).count(str(server.database)) > 1, what="SQLite to open the file")
        until = time.monotonic() + 0.5
        wait_until(lambda: server.process.poll() is not None or time.monotonic() > until, what="a server that gave up, or waits")
        other.execute("COMMIT")
    server.wait_for_log("event=listening")
    assert [line["text"] for line in server.lines("j")] == ["a line"]


def test_structure_is_looked_at_beside_a_running_server(make_server):
    server = make_server("--seal-age", "100ms")
    server.send("j", [f"step: {n} loss: 1.5" for n in range(100)])
    server.stop()
    with contextlib.closing(sqlite3.connect(server.database)) as database:
        root, = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'views'").fetchone()
    server.start()
    with open(server.database, "r+b") as file: # its number of cells: nothing but the structure knows of it
        file.seek((root - 1) * 8192 + 3)
        file.write(b"\x00\x07")
    code, text = run(server.database, "check")
    assert code == 1 and f"page {root}" in text.lower(), text


def damaged(source, folder, seed):
    """A copy with one byte changed: of the file's header, else of the head of one of its pages. (path, offset)"""
    rng = random.Random(seed)
    path = folder / f"{seed}.db"
    shutil.copyfile(source, path)
    pages = path.stat().st_size // 8192
    at = seed * 5 % HEADER_BYTES if seed < 40 else rng.randrange(1, pages) * 8192 + rng.randrange(0, 8)
    with open(path, "r+b") as file:
        file.seek(at)
        old, = file.read(1)
        file.seek(at)
        file.write(bytes([old ^ (1 << rng.randrange(8))]))
    return path, at


def test_no_damaged_header_passes_for_a_good_one(stopped, tmp_path):
    good, passed = content(stopped), []
    for seed in range(0, 60, 1 if IS_LONG else 4):
        path, at = damaged(stopped, tmp_path, seed)
        code, text = run(path, "check")
        assert code in (0, 1), text
        if code == 0 and at not in WITHOUT_MEANING:
            passed.append((seed, at, content(path) == good))
        if at in WITHOUT_MEANING:
            assert content(path) == good
        path.unlink()
    assert not [one for one in passed if one[1] < HEADER_BYTES or not one[2]], passed


def test_an_empty_file_and_a_foreign_one_are_no_good_databases(tmp_path):
    empty, foreign = tmp_path / "empty.db", tmp_path / "foreign.db"
    empty.touch()
    code, text = run(empty, "check")
    assert code == 1 and "empty (0 bytes)" in text and "1 problem" in text
    assert not empty.stat().st_size
    with contextlib.closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE settings (key, value)")
        database.commit()
    code, text = run(foreign, "check")
    assert code == 1 and "no database of smfleet" in text
    code, text = run(tmp_path / "other.db", "restore", str(empty))
    assert code == 1 and "was not restored" in text and not (tmp_path / "other.db").exists()


def test_a_version_that_is_not_that_of_the_tables_is_a_problem(stopped, tmp_path):
    for change in (-2, 1, 1 << 20):  # migration 0044 changed no table: those of 43 are the same
        path = tmp_path / "other.db"
        shutil.copyfile(stopped, path)
        with contextlib.closing(sqlite3.connect(path)) as database:
            version, = database.execute("PRAGMA user_version").fetchone()
            database.execute(f"PRAGMA user_version={version + change}")
        code, text = run(path, "check")
        assert code == 1 and f"says that it is of version {version + change}" in text, text


def names_of(server):
    """The database's other names: by a hard link, by a symbolic one, by one to its folder."""
    hard, soft, folder = server.folder / "hard.db", server.folder / "soft.db", server.folder.with_name(server.folder.name + "-link")
    os.link(server.database, hard)
    soft.symlink_to(server.database)
    folder.symlink_to(server.folder)
    return {"hard": hard, "soft": soft, "folder": folder / "smfleet.db", "itself": server.database}


def refuses_second(make_server, path):
    second = make_server(start=False)
    second.database = path
    try:
        second.start()
    except AssertionError as failure:
        second.wait()
        second.process = None
        return str(failure)
    raise AssertionError(f"a second server runs on '{path}'")


@pytest.mark.parametrize("name", ["hard", "soft", "folder", "itself"])
def test_a_second_server_is_refused_under_each_name_and_without_the_lock_file(server, make_server, name):
    path = names_of(server)[name]
    pid = f"process {server.process.pid})"
    server.send("j", "before")
    assert f"in use by another server ({pid}" in refuses_second(make_server, path)
    for lock in server.folder.glob("*.lock"):
        lock.unlink()
    assert f"in use by another server ({pid}" in refuses_second(make_server, path)
    server.send("j", "after") # and both attempts have taken nothing from the first
    assert f"in use by another server ({pid}" in refuses_second(make_server, path)
    server.stop()
    other = make_server(start=False)
    other.database = path
    other.start()
    assert [line["text"] for line in other.lines("j")] == ["before", "after"]


def test_who_holds_the_writers_lock_for_a_moment_is_waited_for(server):
    """A reader that meets the log's header half written does, and a program that looks into the file."""
    server.send("j", "before")
    with contextlib.closing(sqlite3.connect(server.database, isolation_level=None)) as other, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        sending = pool.submit(server.send, "j", "meanwhile")
        assert not concurrent.futures.wait([sending], 0.3).done
        other.execute("ROLLBACK")
        sending.result()
    assert [line["text"] for line in server.lines("j")] == ["before", "meanwhile"]
    assert not [line for line in server.log if "commit_failed" in line]


def test_the_tools_meet_the_same_lock(server, tmp_path):
    names = names_of(server)
    server.send("j", "a line")
    copy = tmp_path / "copy.db"
    assert run(server.database, "backup", str(copy))[0] == 0
    for name in ("soft", "folder"): # the server is found, and answers
        code, token = run(names[name], "token", "create", f"of-{name}", "--scope", "admin")
        assert code == 0, token
        server.token = token.strip()
        assert run(names[name], "backup", str(tmp_path / f"{name}-copy.db"))[0] == 0
    for lock in server.folder.glob("*.lock"):
        lock.unlink()
    for words in (("token", "create", "x", "--scope", "read"), ("backup", str(tmp_path / "b.db")), ("restore", str(copy), "--replace")):
        code, text = run(names["hard"], *words)
        assert code in (1, 4) and "in use by another server" in text, (words, text)
    code, text = run(names["hard"], "check")
    assert code == 1 and "under another name" in text
    code, text = run(names["itself"], "restore", str(copy), "--replace")
    assert code == 4 and "in use by another server" in text
    code, text = run(server.database, "backup", str(server.database))
    assert code == 4 and "is the database itself" in text
    server.send("j", "another line")
    assert len(server.lines("j")) == 2


@pytest.mark.parametrize("is_running", [True, False], ids=["of a server", "without one"])
def test_no_copy_is_put_in_the_place_of_a_running_servers_database(make_server, tmp_path, is_running):
    """Its server would write on into a file without a name."""
    source, folder = make_server(), tmp_path / "other"
    folder.mkdir()
    other = Server(folder).start()
    try:
        source.send("j", "of the source")
        if not is_running:
            source.stop()
        other.send("j", "of the other")
        link = tmp_path / "link.db"
        link.symlink_to(other.database)
        for name in (other.database, link):
            code, text = run(source.database, "backup", str(name))
            assert code != 0 and f"'{name}' is the database of a running server (process {other.process.pid})" in text, text
        assert not other.database.with_name(f"{other.database.name}.partial").exists()
        other.kill()
        other.start()
        assert [line["text"] for line in other.lines("j")] == ["of the other"]
        other.stop()
        assert run(source.database, "backup", str(other.database))[0] == 0 # nobody has it: an older copy
    finally:
        other.close()
