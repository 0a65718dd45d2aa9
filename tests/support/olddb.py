"""Databases as older versions left them: made by the migrations up to one, empty or with the rows that a server wrote."""

import contextlib
import os
import sqlite3

from smserver import ROOT


@contextlib.contextmanager
def older_database(path, version):
    """A new one, for the rows of that version."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.executescript("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        for file in sorted((ROOT / "migrations/sqlite").glob("*.sql")):
            if int(file.name[:4]) <= version:
                database.executescript(f"BEGIN; {file.read_text()}; PRAGMA user_version = {int(file.name[:4])}; COMMIT")
        yield database
    finally:
        database.close()


@contextlib.contextmanager
def as_version(server, version):
    """Stops the server; its database becomes one of that version, with its rows as far as that one has their columns. Start it again behind this: as it
    was it is `newer`."""
    server.stop()
    older = server.database.with_suffix(".older")
    with older_database(older, version) as database:
        database.execute("ATTACH ? AS newer", (str(server.database),))
        tables = {name for (name,) in database.execute("SELECT name FROM newer.sqlite_master WHERE type = 'table'")}
        for (table,) in database.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            database.execute(f"DELETE FROM main.{table}")
            if table in tables:
                had = {row[1] for row in database.execute(f"PRAGMA newer.table_info({table})")}
                both = ", ".join(row[1] for row in database.execute(f"PRAGMA main.table_info({table})") if row[1] in had)
                database.execute(f"INSERT INTO main.{table} ({both}) SELECT {both} FROM newer.{table}")
        yield database
    os.replace(older, server.database)
    for suffix in ("-wal", "-shm"):
        server.database.with_name(server.database.name + suffix).unlink(missing_ok=True)
