"""Statements that are put together while the program runs, as those of a search are, are taken by PostgreSQL, too. No checker of the
sources sees them: the store's unit tests and a server say what they have prepared (tests/support/prepared.c)."""

import pathlib
import re
import subprocess
import sys
from urllib.parse import urlencode

import pytest
from smserver import Server, find_binary, sanitizer_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/checks"))
import schemas  # noqa: E402
import sql  # noqa: E402

# They ask C of a row, in SQLite alone so far: what stands around them is asked all the same. A pointer is bound as nothing is.
PREDICATES = "".join(f"CREATE FUNCTION {name}(text, {kind}) RETURNS boolean LANGUAGE sql AS 'SELECT true';\n"
    for name, kind in [("job_matches", "text"), ("job_one", "text"), ("job_log", "bigint")])

NAMES = ["month", "day", "node", "team", "owner", "status", "secondary", "name", "instance", "failure", "pool", "attempts",
    "WarmPoolStatus.ReusedByJob", "tag.x", "hp.lr"]
QUANTITIES = ["duration", "billable", "node_hours", "nodes", "cost", "lost_cost", "lost_steps", "goodput", "attempts", "loss.final", "loss.last",
    "metric.x.best", "metric.x.count", "metric.x.mean", "hp.lr", "ResourceConfig.InstanceCount"]
ORDERS = ["name", "status", "created", "modified", "started", "ended", "team", "duration", "billable", "TrainingTimeInSeconds", "pool",
    "WarmPoolStatus.Status", "WarmPoolStatus.ResourceRetainedBillableTimeInSeconds", "WarmPoolStatus.ReusedByJob", "attempts", "goodput", "cost",
    "silent", "hp.lr", "instance", "loss", "loss.best", "metric.x.final", "metric.x.count"]


def statements(file):
    """Each once; of those that differ in how long a list is, one."""
    texts = (one for one in file.read_text().split("\0") if one.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")))
    return sorted({re.sub(r"(, \?){3,}", ", ?, ?", one) for one in texts})


@pytest.fixture(scope="module")
def cluster():
    with sql.Cluster() as one:
        one.psql(schemas.postgres_script())
        one.psql(PREDICATES)
        yield one


def assert_taken(cluster, texts):
    wrong = sql.prepare_on_postgres(cluster, sql.spell(texts))
    assert [(fault, text) for fault, text in zip(wrong, texts) if fault] == []


def test_conditions_of_a_search_are_taken(cluster, tmp_path):
    file = tmp_path / "prepared"
    subprocess.run([find_binary("tests/unit_store"), "search"], cwd=ROOT / "tests/unit/store", check=True, stdout=subprocess.DEVNULL,
        env={**sanitizer_environment(), "SM_PREPARED": str(file)})
    texts = [one for one in statements(file) if "FROM jobs AS j" in one]
    assert len(texts) > 100
    assert_taken(cluster, texts)


def test_groups_and_orders_are_taken(cluster, tmp_path):
    file = tmp_path / "prepared"
    server = Server(tmp_path, environment={"SM_PREPARED": str(file)})
    server.bin = lambda name: find_binary("sm-server-faults" if name == "sm-server" else name)
    server.start()
    for query in [{"by": name, "of": "count"} for name in NAMES] + [{"by": "month", "of": f"sum:{name}"} for name in QUANTITIES]:
        reply = server.get("/api/v1/aggregate?" + urlencode(query))
        assert reply.status == 200, (query, reply)
    for name in ORDERS:
        for sign in ("", "-"):  # what asks for attempts is in no column in memory, so all of it is SQL
            reply = server.get("/api/v1/jobs?" + urlencode({"sort": sign + name, "q": "attempts > 0"}))
            assert reply.status == 200, (name, reply)
    server.stop()
    texts = statements(file)
    assert len([one for one in texts if "FROM jobs AS j" in one]) > len(NAMES) + len(QUANTITIES) + len(ORDERS)
    assert_taken(cluster, [one for one in texts if "sqlite_schema" not in one])
