"""sm-server move: a database file into PostgreSQL and back, where everything is as it was; and what is not moved."""

import json
import os
import subprocess
from urllib.parse import quote

import pytest
from engine import of_a_file
from postgres import Cluster
from smserver import PATIENCE_S, Server, sanitizer_environment, wait_until
from test_carry import NOW_MS, ODD, fill, settle, settled_export
from test_postgres import differences, without_now
from test_webhook import add_webhook, check_signature

pytestmark = of_a_file("from which and to which is moved")

ASKED = ["/api/v1/jobs?sort=name", "/api/v1/incidents?all=true&limit=1000", "/api/v1/webhooks", "/api/v1/rules", "/api/v1/tokens", "/api/v1/views",
    "/api/v1/nodes", "/api/v1/audit", "/api/v1/jobs/restarted/points?metric=loss", "/api/v1/jobs/runs-on/logs?limit=1000",
    "/api/v1/jobs/restarted/goodput"]
MARKED = "holds a part of a move from"


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as one:
        yield one


@pytest.fixture
def make(tmp_path):
    """make("a", cluster) is a server of its own, on a file where no cluster is stated."""
    made = []

    def one(name, on=None):
        folder = tmp_path / name
        folder.mkdir()
        made.append(Server(folder, "--insecure", "--goodput-every", "200ms", postgres=on))
        return made[-1]

    yield one
    for server in made:
        server.close()


def place(server):
    return server.postgres.url if server.postgres else str(server.database)


def command(source, target):
    postgres = source if source.postgres else target
    return [source.bin("sm-server"), "move", place(source), place(target), *postgres.database_options()[2:]]


def environment():
    return sanitizer_environment({name: value for name, value in os.environ.items() if not name.startswith("SMFLEET_")})


def run(server, arguments):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd=server.folder,
        env=environment())


def move(source, target):
    done = run(source, command(source, target))
    assert done.returncode == 0 and "all compared with" in done.stdout, done
    return done.stdout


def check(server):
    return run(server, [server.bin("sm-server"), "check", *server.database_options()])


def answers(server):
    server.wait_for_extraction()
    return {path: (reply.status, without_now(reply.body, server)) for path in ASKED for reply in [server.get(path)]}


def settled_answers(server):
    """What is worked out some moments after the lines is there, too: what each job's time came to, and what it cost."""
    wait_until(lambda: all("nodes" in job for job in server.get("/api/v1/jobs?sort=name").body["jobs"]), what="what each job came to")
    seen = []
    wait_until(lambda: seen.append(answers(server)) or (len(seen) > 1 and seen[-1] == seen[-2]), what="answers that stay")
    return seen[-1]


def wait_for_same(server, asked):
    seen = []
    try:
        wait_until(lambda: seen.append(answers(server)) or seen[-1] == asked, what="the same answers")
    except AssertionError:
        assert list(differences(seen[-1], asked)) == []
        raise


def fill_all(server, receiver):
    """Jobs of each kind, and what is of no job."""
    fill(server)
    settle(server)
    assert server.patch(f"/api/v1/jobs/{quote(ODD, safe='')}", json={"by_hand": {"end_ms": NOW_MS + 90_000}}).status == 200
    assert server.post("/api/v1/rules", json={"name": "spikes", "kinds": ["loss_spike"]}).status == 201
    assert server.post("/api/v1/views", json={"name": "mine", "query": "status:failed", "sort": "", "columns": []}).status == 200
    assert server.put("/api/v1/retention", json={"team": "vision", "max_age_days": 3650}).status == 200
    add_webhook(server, receiver)
    made = server.post("/api/v1/tokens", json={"name": "root", "scope": "admin"})
    assert made.status == 201, made
    server.token = made.body["token"]
    return server.token


def test_all_is_there_and_back_again(make, cluster, receiver):
    first, there, back = make("first"), make("there", cluster), make("back")
    token = fill_all(first.start(), receiver)
    first.restart()
    exported, asked = settled_export(first), settled_answers(first)
    assert {path: status for path, (status, _) in asked.items() if status != 200} == {}
    first.stop()
    for source, target in ((first, there), (there, back)):
        move(source, target)
        target.token = token
        target.start()
        assert settled_export(target) == exported
        wait_for_same(target, asked)
        assert target.get("/api/v1/retention").body["teams"] == [{"max_age_days": 3650, "team": "vision"}]
        target.stop()
    assert check(back).returncode == 0, check(back)
    back.start()  # secrets are still what they were, and ids go on where they were
    heard = len(receiver.calls)
    back.send("spiky", [f"step: {n} loss: {3 + (n * 7919 % 100) / 1000:.3f}" for n in range(300)])
    back.send("spiky", [f"step: {n} loss: 9.0" for n in range(300, 306)])
    calls = receiver.wait_for(heard + 1)
    check_signature(*calls[-1][:2])
    assert json.loads(calls[-1][1])["data"]["job"] == "spiky"
    back.stop()


def begun(cluster, schema):
    """A session that keeps a move from going on behind the first job, until it ends."""
    cluster.psql(f"""CREATE FUNCTION {schema}.hold() RETURNS trigger LANGUAGE plpgsql AS
        $f$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $f$;
        CREATE TRIGGER hold BEFORE INSERT ON {schema}.jobs FOR EACH ROW EXECUTE FUNCTION {schema}.hold();""")
    session = subprocess.Popen([cluster.binaries / "psql", "-h", cluster.folder, "-U", "sm", "-d", "postgres", "-X", "-q", "-A", "-t"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, cwd="/")
    session.stdin.write("SELECT pg_advisory_lock(7);\n\\echo held\n")
    session.stdin.flush()
    while session.stdout.readline().strip() != "held":
        assert session.poll() is None
    return session


def test_a_move_that_was_killed_goes_on(make, cluster):
    first, there, other = make("first"), make("there", cluster), make("other")
    for server in (first, other):
        fill(server.start())
        settle(server)
    exported = settled_export(first)
    first.stop()
    other.stop()
    made = run(there, [there.bin("sm-server"), "migrate", *there.database_options()])
    assert made.returncode == 0 and "migrated" in made.stdout, made
    session = begun(cluster, there.schema)
    moving = subprocess.Popen(command(first, there), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
    wait_until(lambda: cluster.psql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'").strip(), what="the first job")
    assert int(cluster.psql(f"SELECT count(*) FROM {there.schema}.attributes")) > 0
    moving.kill()
    moving.communicate()
    session.communicate("SELECT pg_advisory_unlock(7);\n")
    cluster.psql(f"DROP TRIGGER hold ON {there.schema}.jobs")

    def is_told(arguments, words):
        """Once the lease of what was killed has run out."""
        done = []
        wait_until(lambda: done.append(run(there, arguments)) or "another server has" not in done[-1].stderr and "belongs to" not in done[-1].stderr,
            what="the end of the lease")
        return words in done[-1].stderr and done[-1].returncode
    serve = [there.bin("sm-server"), "--listen", "127.0.0.1:0", *there.database_options()]
    assert is_told(serve, MARKED) == 1
    assert is_told(command(other, there), MARKED) == 4
    assert int(cluster.psql(f"SELECT count(*) FROM {there.schema}.streams")) == 0  # which come behind the jobs
    cluster.psql(f"UPDATE {there.schema}.attributes SET folded = folded || '~'")
    assert is_told(command(first, there), "row 1 of table 'attributes' is not the same in both") == 4
    cluster.psql(f"UPDATE {there.schema}.attributes SET folded = left(folded, -1)")
    move(first, there)
    assert settled_export(there.start()) == exported


def test_what_is_there_is_not_written_over(make, cluster):
    first, there, empty = make("first"), make("there", cluster), make("empty")
    for server in (first, there):
        server.start().send("j", "step: 1 loss: 1.5")
        server.stop()
    refused = run(first, command(first, there))
    assert refused.returncode == 4 and "the target is in use: table '" in refused.stderr, refused
    key = empty.folder / "smfleet.db.key"  # of a PostgreSQL database that is still empty, and of another one
    key.write_bytes(32 * b"k")
    key.chmod(0o600)
    other = run(first, [*command(first, there)[:-3], "sm_empty", *command(first, there)[-2:-1], str(key)])
    assert other.returncode == 4 and "with which secrets are sealed" in other.stderr, other
    missing = run(empty, command(empty, there))
    assert missing.returncode == 1 and "there is no database" in missing.stderr and not empty.database.exists(), missing
    assert run(first, [first.bin("sm-server"), "move", str(first.database), str(empty.database)]).returncode == 2


def test_nobody_uses_either_of_them(make, cluster):
    first, there = make("first"), make("there", cluster)
    first.start().send("j", "step: 1 loss: 1.5")
    used = run(first, command(first, there))
    assert used.returncode == 4 and "in use by" in used.stderr, used
    first.stop()
    there.start()
    used = run(first, command(first, there))
    assert used.returncode == 4 and "belongs to another server" in used.stderr, used


def test_no_text_is_deleted_for_a_limit_that_was_none(make, cluster):
    """PostgreSQL keeps no limit of a database's size. Back in a file neither one from before holds, nor half of what is free there."""
    first, there, new = make("first"), make("there", cluster), make("new", cluster)
    first.start().send("j", "step: 1 loss: 1.5")
    assert first.put("/api/v1/retention", json={"log_bytes": 1_000_000}).status == 200
    first.stop()
    move(first, there)
    for name, source in (("back", there), ("from-new", new)):
        source.start().send("k", "step: 1 loss: 1.5")
        assert source.get("/api/v1/retention").body["log_bytes"] == 0
        source.stop()
        target = make(name)
        move(source, target)
        assert target.start().get("/api/v1/retention").body["log_bytes"] == 0
        target.restart()
        assert target.get("/api/v1/retention").body["log_bytes"] == 0


def test_what_is_no_address_is_no_file_either(make, cluster):
    """A password may be in it, and would be a file's name."""
    there = make("there", cluster)
    there.start().send("j", "step: 1 loss: 1.5")
    there.stop()
    for wrong in ("host=db.example.org dbname=training password=hunter2", "postgresql:/sm:hunter2@db/training"):
        for words in ((place(there), wrong), (wrong, place(there))):
            refused = run(there, [there.bin("sm-server"), "move", *words, *there.database_options()[2:]])
            assert refused.returncode == 2 and "postgresql://HOST/DATABASE" in refused.stderr, refused
            assert "hunter2" not in refused.stdout + refused.stderr, refused
    assert not [name for name in os.listdir(there.folder) if "hunter2" in name]
