"""The program's own migrations: from nothing, and from each older version, both databases come to the same tables, keys and indexes."""

import pathlib
import sqlite3
import subprocess
import sys

import pytest
from engine import of_a_file
from howlong import IS_LONG
from postgres import Cluster
from smserver import find_binary, sanitizer_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/checks"))
import schemas  # noqa: E402

pytestmark = of_a_file("of older versions")

FILES = sorted((ROOT / "migrations/sqlite").glob("*.sql"))
POSTGRES = sorted((ROOT / "migrations/postgres").glob("*.sql"))


def migrate(*options):
    done = subprocess.run([find_binary("sm-server"), "migrate", "--no-backup", *options], capture_output=True, text=True, check=False,
        env=sanitizer_environment({}))
    assert done.returncode == 0, done
    return done.stdout


def described(path):
    database = sqlite3.connect(path)
    try:
        found = schemas.describe_sqlite(database)
    finally:
        database.close()
    return {**found, "rows": {name: sorted(rows) for name, rows in found["rows"].items()}}


def older(path, count):
    """As the program of that time left it: empty, with the first `count` migrations."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA page_size = 8192")
    database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for file in FILES[:count]:
        database.executescript(file.read_text())
    database.execute(f"PRAGMA user_version = {count}")
    database.close()


@pytest.fixture(scope="module")
def newest(tmp_path_factory):
    path = tmp_path_factory.mktemp("new") / "new.db"
    migrate("--db", str(path))
    return described(path)


def test_numbers_are_without_a_gap():
    assert [int(file.name[:4]) for file in FILES] == list(range(1, len(FILES) + 1))


def some_of(counts):
    """The first one goes through all steps, the last one through what is new; the others go through some of the same ones, in the nightly run."""
    return counts if IS_LONG else sorted({*counts[:2], *counts[2::8], *counts[-2:]})


@pytest.mark.parametrize("count", some_of(range(1, len(FILES))))
def test_each_older_file_comes_to_the_same(tmp_path, newest, count):
    path = tmp_path / "old.db"
    older(path, count)
    assert f": version {count}, " in migrate("--db", str(path))
    assert described(path) == newest


def postgres_of(cluster):
    """Without what is of PostgreSQL alone: the two tables of the lease, and where it keeps its version."""
    found = schemas.describe_postgres(cluster)
    for name in ("lease", "fence"):
        del found["tables"][name], found["rows"][name]
    found["rows"]["settings"] = [row for row in found["rows"]["settings"] if row[0] != "schema_version"]
    return found


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as one:
        one.psql(f"ALTER ROLE sm SET search_path TO {schemas.SCHEMA}")
        yield one


def older_schema(cluster, count):
    """As the program of that time left it: the first `count` migrations, and the two tables of the lease, which have always been so."""
    cluster.psql(f"CREATE SCHEMA {schemas.SCHEMA}; SET search_path TO {schemas.SCHEMA};\n" + "\n".join(file.read_text() for file in POSTGRES[:count]) +
        f"\nINSERT INTO settings (key, value) VALUES ('schema_version', convert_to('{int(POSTGRES[count - 1].name[:4])}', 'UTF8'));" +
        "".join(f"\nCREATE TABLE {name} (LIKE made.{name} INCLUDING ALL); INSERT INTO {name} SELECT * FROM made.{name};" for name in ("lease", "fence")))


@pytest.mark.parametrize("count", some_of(range(len(POSTGRES))))
def test_postgresql_comes_to_the_same(newest, cluster, count):
    migrate("--db", cluster.url, "--schema", "made")
    if count:
        older_schema(cluster, count)
    version = int(POSTGRES[count - 1].name[:4]) if count else 0
    assert f": version {version}, " in migrate("--db", cluster.url, "--schema", schemas.SCHEMA)
    assert schemas.compare(newest, postgres_of(cluster)) == []
    cluster.psql(f"DROP SCHEMA {schemas.SCHEMA} CASCADE")
