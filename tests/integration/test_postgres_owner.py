"""Who has a schema of PostgreSQL: one server at a time, another one that waits, and what is refused before it begins."""

import contextlib
import datetime
import http.client
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

from howlong import IS_LONG
from openid import Browser, LyingProvider, SignInServer, stated
from pgproxy import Proxy
from postgres import Cluster
from smserver import PATIENCE_S, Server, sanitizer_environment, wait_until

MORE_THAN_A_READ_MAY_TAKE_S = 6


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as one:
        yield one


@pytest.fixture
def server(tmp_path, cluster):
    one = Server(tmp_path, postgres=cluster)
    yield one
    one.close()


@contextlib.contextmanager
def standby_of(first, *arguments):
    """The same command on the same key and schema, which waits for its turn."""
    second = Server(first.folder, *arguments, postgres=first.postgres)
    second.launch()
    try:
        second.port = int(second.wait_for_log(r"event=standby port=(\d+) .*belongs to another server").group(1))
        yield second
        second.close()
    finally:
        if second.process:
            second.kill()


def lease_end(server):
    """Until when the lease is the owner's, unless it is renewed; in seconds, by the database's clock, which is ours."""
    return int(server.postgres.psql(f"SELECT until_ms FROM {server.schema}.lease")) / 1000


def wait_for_take_over(second):
    """When it had the lease; it serves then."""
    at = second.wait_for_log(r"ts=(\S+) .*event=took_over").group(1)
    assert int(second.wait_for_log(r"event=listening\b.*\bport=(\d+)").group(1)) == second.port
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


def test_a_planned_stop_hands_over_at_once(server):
    server.start()
    server.send("j", ["one", "two"])
    with standby_of(server) as second:
        end = lease_end(server)
        server.stop()
        assert wait_for_take_over(second) < end, "the lease was given back before its end"
        assert [row["text"] for row in second.lines("j")] == ["one", "two"]
        second.send("j", "three")


def test_a_standby_takes_over_from_a_server_that_was_killed(server):
    server.start()
    server.send("j", ["one", "two"])
    with standby_of(server) as second:
        server.kill()
        end = lease_end(server)
        assert wait_for_take_over(second) < end, "it saw that the session was gone"
        assert [row["text"] for row in second.lines("j")] == ["one", "two"]


PAGE = {"Accept": "text/html,application/xhtml+xml"}


def test_a_standby_says_so_to_whoever_asks(server):
    server.start()
    server.send("j", "one")
    with standby_of(server) as second:
        assert second.get("/healthz").body == "ok\n"
        for path, headers in (("/", {}), ("/jobs/j", PAGE)):
            status, told, body = second.get(path, headers=headers)
            assert (status, told["Content-Type"], told["Retry-After"]) == (503, "text/html; charset=utf-8", "2")
            assert "<h1>Taking over</h1>" in body and 'http-equiv="refresh"' in body and "<script" not in body
            assert "Content-Security-Policy" in told
        refused = [second.get("/readyz"), second.get("/readyz", headers=PAGE), second.get("/api/v1/jobs"), second.get("/nothing"),
            second.post("/api/v1/logs?job=j&stream=algo-1", "never\n"), second.post("/", "{}", headers={"X-Amz-Target": "Logs_20140328.PutLogEvents"}),
            second.post("/healthz"), second.put("/api/v1/retention", json={"log_bytes": 1})]
        for status, told, body in refused:
            assert (status, told["Retry-After"], body["status"]) == (503, "1", 503)
            assert "waits until another server has ended" in body["detail"]
        assert second.get("/", headers={"Host": "evil.example"}).status == 421
        server.stop()
        wait_for_take_over(second)
        assert [row["text"] for row in second.lines("j")] == ["one"]


def test_connections_are_taken_all_the_while(server):
    """Those that are open before serve after, and no new one is refused."""
    server.start()
    with standby_of(server) as second:
        kept = http.client.HTTPConnection("127.0.0.1", second.port, timeout=PATIENCE_S)

        def status():
            kept.request("GET", "/readyz")
            reply = kept.getresponse()
            reply.read()
            return reply.status, kept.sock.getsockname()[1]

        before, mine = status()
        assert before == 503
        server.signal(signal.SIGTERM)
        seen = []
        wait_until(lambda: seen.append(second.get("/readyz").status) or seen[-1] == 200, what="the take-over")
        assert set(seen) <= {503, 200}
        assert status() == (200, mine), "the same connection"
        kept.close()
        server.stop()


def test_a_port_that_is_taken_is_named_before_the_wait(server):
    server.start()
    said = refusal(server, *server.database_options(), "--listen", f"127.0.0.1:{server.port}")
    assert f"cannot listen on '127.0.0.1:{server.port}'" in said, said


def test_a_standby_says_when_it_could_not_take_over(tmp_path):
    """Else nobody knows that there is none: it answers as one that could."""
    with Cluster() as own:
        first = Server(tmp_path, postgres=own)
        with contextlib.closing(first), standby_of(first.start()) as second:
            own.stop()
            second.wait_for_log("level=warning .*event=standby .*why=.*")
            own.start()
            second.wait_for_log("event=took_over|event=standby .*belongs to another server")


def test_a_standby_ends_when_it_is_told_to(server):
    server.start()
    with standby_of(server) as second:
        second.stop()
    server.send("j", "one")


def test_a_server_that_slept_writes_nothing_once_another_has_taken_over(server):
    server.start()
    server.send("j", "one")
    with standby_of(server) as second:
        server.signal(signal.SIGSTOP)
        wait_for_take_over(second)
        second.send("j", "two")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        connection.request("POST", "/api/v1/logs?job=j&stream=algo-1", body=b"never\n", headers={"Content-Type": "text/plain"})
        server.signal(signal.SIGCONT)
        with contextlib.suppress(OSError, http.client.HTTPException):  # it may be gone before it answers
            assert connection.getresponse().status == 503
        assert server.wait() == 1
        assert "taken over by another server" in server.log_text()
        server.assert_clean()
        server.process = None
        assert [row["text"] for row in second.lines("j")] == ["one", "two"]
        made = tool(second, "token", "create", "t", "--scope", "admin", *second.database_options())
        assert made.returncode == 0 and second.get("/api/v1/jobs", token=made.stdout.strip()).status == 200, "its end left our socket alone"


def test_a_stop_while_the_database_hangs_comes_to_its_end(tmp_path, cluster):
    """Its calls have limits of their own; where these do not end it, it ends as by a crash (test_faults.py). The next server begins once the
    database is there again."""
    server = Server(tmp_path, "--stop-timeout", "500ms", postgres=cluster).start()
    try:
        server.send("j", "one")
        with cluster.hanging():
            server.signal(signal.SIGTERM)
            assert server.wait() == ("event=stop_forced" in server.log_text())
        server.assert_clean()
        server.start()
        assert [row["text"] for row in server.lines("j")] == ["one"]
    finally:
        server.close()


def test_a_standby_that_was_told_to_reload_does_so_once_it_has_begun(server):
    server.start()
    config = server.folder / "conf"
    config.write_text("rate-requests = 500\n")
    with standby_of(server, "--config", str(config)) as second:
        config.write_text("rate-requests = 700\n")
        second.signal(signal.SIGHUP)
        server.stop()
        wait_for_take_over(second)
        second.wait_for_log("event=option_changed name=rate-requests value=\"700\"")


# ---- the key of both machines ----


def test_who_has_not_the_key_of_the_database_is_no_standby(server):
    server.start()
    key = server.folder / "other.key"
    options = [*server.database_options()[:-1], str(key)]
    said = refusal(server, *options)
    assert f"'{key}' is not there" in said and "copy" in said, said
    assert not key.exists()
    key.write_bytes(b"x" * 32)
    key.chmod(0o600)
    said = refusal(server, *options)
    assert f"'{key}' is not that of this database" in said and "copy" in said, said
    server.stop()
    assert "is not that of this database" in refusal(server, *options), "nor once it could have it"
    assert tool(server, "token", "create", "t", "--scope", "admin", *from_elsewhere(server)).returncode == 0


def test_a_key_that_is_lost_can_be_given_up(server):
    server.start()
    server.stop()
    key = server.folder / "smfleet.db.key"
    lost = key.read_bytes()
    key.unlink()
    assert "is not there" in refusal(server, *server.database_options())
    server.postgres.psql(f"DELETE FROM {server.schema}.settings WHERE key = 'seal_key_check'")
    server.restart(keep_port=False)
    assert key.read_bytes() != lost
    server.restart()


def test_the_key_is_looked_for_again_after_the_wait(server):
    server.start()
    settings = f"{server.schema}.settings"
    told = server.postgres.psql(f"SELECT encode(value, 'hex') FROM {settings} WHERE key = 'seal_key_check'").strip()
    server.postgres.psql(f"DELETE FROM {settings} WHERE key = 'seal_key_check'")  # as two that begin an empty database at once see it
    second = Server(server.folder, postgres=server.postgres)
    key = server.folder / "other.key"
    options = [*server.database_options()[:-1], str(key)]
    second.database_options = lambda: options
    second.launch()
    second.wait_for_log("event=standby")
    server.postgres.psql(f"INSERT INTO {settings} (key, value) VALUES ('seal_key_check', decode('{told}', 'hex'))")
    server.stop()
    assert second.wait() == 1
    assert f"'{key}' is not there" in second.log_text()
    second.assert_clean()
    assert not key.exists()
    server.start()


# ---- tools beside a server ----


def tool(server, *arguments, environment=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SMFLEET_")}
    return subprocess.run([server.bin("sm-server"), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=PATIENCE_S, cwd=server.folder, env=sanitizer_environment({**clean, **(environment or {})}))


def from_elsewhere(server):
    """As on another machine, which has the key, but no socket to ask by."""
    copied = server.folder / "other.key"
    shutil.copy(f"{server.database}.key", copied)
    return [*server.database_options()[:-1], str(copied)]


def test_tokens_are_made_by_the_server_or_without_one(server):
    server.start()
    create = ("token", "create")
    made = tool(server, *create, "first", "--scope", "admin", *server.database_options())
    assert made.returncode == 0, made.stderr
    assert server.get("/api/v1/jobs", token=made.stdout.strip()).status == 200
    again = tool(server, *create, "first", *server.database_options())
    assert again.returncode == 4 and "there is a token 'first' already" in again.stderr, again
    server.stop()
    later = tool(server, *create, "second", "--scope", "admin", *server.database_options())
    assert later.returncode == 0, later.stderr
    server.start()
    assert server.get("/api/v1/jobs", token=later.stdout.strip()).status == 200
    refused = tool(server, *create, "third", *from_elsewhere(server))
    assert refused.returncode == 1 and "belongs to another server" in refused.stderr, refused.stderr


def test_two_schemas_with_one_key_are_asked_each_by_its_own_socket(server):
    other = Server(server.folder, "--schema", f"{server.schema[-58:]}_other", postgres=server.postgres)
    both = (server, other)
    try:
        for one in both:
            one.start()
        tokens = [tool(one, "token", "create", "t", "--scope", "admin", *one.database_options(), *one.arguments) for one in both]
        assert [made.returncode for made in tokens] == [0, 0], tokens
        seen = [[one.get("/api/v1/jobs", token=made.stdout.strip()).status for made in tokens] for one in both]
        assert seen == [[200, 401], [401, 200]]
        other.stop()
        made = tool(server, "token", "create", "later", "--scope", "admin", *server.database_options())
        assert made.returncode == 0, made.stderr
    finally:
        other.stop()


@pytest.mark.parametrize("command, instead", [(["backup", "copy"], "pg_dump"), (["restore", "copy"], "pg_restore")])
def test_tools_of_a_file_say_what_to_use_instead(server, command, instead):
    done = tool(server, *command, *server.database_options())
    assert done.returncode == 1 and instead in done.stderr and "not on PostgreSQL" in done.stderr, done.stderr
    assert sorted(server.folder.iterdir()) == []


def test_a_schema_is_made_and_planned_by_migrate(server):
    migrate = ("migrate", *server.database_options())
    planned = tool(server, *migrate, "--plan")
    assert planned.returncode == 0 and ": version 0, " in planned.stdout and "0047_base.sql: " in planned.stdout, planned
    unsized = [re.sub(r"[0-9.]+ MB", "MB", one.stdout) for one in (planned, tool(server, *migrate, "--plan"))]
    assert unsized[0] == unsized[1]  # nothing was made; the size is of all that the cluster holds
    made = tool(server, *migrate)
    assert made.returncode == 0 and made.stdout.endswith(": migrated\n"), made
    again = tool(server, *migrate)
    assert again.returncode == 0 and again.stdout.endswith("Nothing is to be done.\n"), again
    server.start().send("j", "step: 1 loss: 1.5")


def test_check_finds_what_is_damaged(server, cluster):
    missing = tool(server, "check", *server.database_options())
    assert missing.returncode == 1 and f"there is no schema '{server.schema}'" in missing.stderr, missing
    server.start().send("j", [f"step: {n} loss: 1.5" for n in range(1000)])
    server.wait_for_points("j", "train:loss", 1000)
    server.restart()  # which seals them
    whole = tool(server, "check", *server.database_options())
    assert whole.returncode == 0 and whole.stdout.endswith(": 0 problems\n"), whole
    cluster.psql(f"SET search_path TO {server.schema}; DROP INDEX jobs_by_created; UPDATE blocks SET data = substr(data, 1, 20); UPDATE chunks SET data = '';")
    found = tool(server, "check", *server.database_options())
    assert found.returncode == 1, found
    for words in ("lacks the 'index jobs_by_created'", "block of job 'j', stream 'algo-1', at 0: ", "chunk of job 'j', series 'train:loss' of stream 'algo-1', at 0: "):
        assert words in found.stdout, (words, found.stdout)
    quick = tool(server, "check", "--quick", *server.database_options())
    assert quick.returncode == 1 and "chunk of job" not in quick.stdout, quick


def test_check_tells_what_it_finds_among_many_streams(server, cluster):
    """To name the job of the first it asks while the others are still to come: they are not all kept meanwhile."""
    server.start().send("j", "step: 1 loss: 1.5")
    server.stop()
    cluster.psql(f"""SET search_path TO {server.schema}; UPDATE streams SET sealed_lines = sealed_lines + 5;
        INSERT INTO streams SELECT (jsonb_populate_record(s, jsonb_build_object('stream_id', n, 'name', 'x' || n, 'sealed_lines', 0))).*
        FROM streams AS s, generate_series(2, 60000) AS n""")
    found = tool(server, "check", *server.database_options())
    assert "stream of job 'j', stream 'algo-1', " in found.stdout and found.stdout.endswith(": 1 problem\n"), found


def test_check_takes_the_time_that_large_tables_need(server, cluster):
    server.start().send("j", "step: 1 loss: 1.5")
    server.stop()
    cluster.psql(f"""SET search_path TO {server.schema}; ALTER TABLE streams RENAME TO real_streams;
        CREATE VIEW streams AS SELECT s.* FROM real_streams AS s, pg_sleep({MORE_THAN_A_READ_MAY_TAKE_S})""")
    found = tool(server, "check", *server.database_options())
    assert found.stdout.endswith(": 1 problem\n") and "table real_streams" in found.stdout, found  # which it is not known by


def doctor(server, *options):
    done = tool(server, "doctor", *(options or server.database_options()))
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in done.stdout.splitlines())
    return done, facts, sorted(name for name, words in facts.items() if "WRONG: " in words)


def test_doctor_says_what_the_database_is_like(server, cluster):
    done, facts, wrong = doctor(server)
    assert facts["schema"] == f"{server.schema} (not there yet)" and "owner" not in facts, done
    assert (done.returncode, wrong) == (1, ["fsync"])  # of a database of tests alone
    server.start()
    done, facts, wrong = doctor(server)
    assert re.fullmatch(rf"{server.schema}, version \d+", facts["schema"]) and re.search(r", process \d+$", facts["owner"]), done
    assert facts["connection"] == "a socket of this machine" and facts["full_page_writes"] == "on" and wrong == ["fsync"], done
    assert re.fullmatch(r"[\d.]+ ms \(p50\), [\d.]+ ms \(p98\)", facts["durable commit"].split("  ")[0]), done
    cluster.psql("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN")
    poor = cluster.url.replace("sm@", "poor@")
    done, facts, wrong = doctor(server, "--db", poor, "--schema", "nobodys")
    assert wrong == ["fsync", "role"] and "CREATE SCHEMA nobodys AUTHORIZATION poor" in facts["role"], done
    secret = doctor(server, "--db", cluster.url.replace("sm@", "sm:hunter2@"))[0]
    assert secret.returncode == 1 and "hunter2" not in secret.stdout + secret.stderr and "password" in secret.stderr, secret


def test_a_role_that_may_not_change_tables_is_enough(server, cluster):
    """Its name is one that SQL would not take as it stands."""
    cluster.psql('CREATE ROLE "run-ner" LOGIN')
    granting = ("migrate", *server.database_options(), "--runtime-role", "run-ner")
    made = tool(server, *granting)
    assert made.returncode == 0 and made.stdout.endswith(": role 'run-ner' may run a server\n"), made
    options = [one.replace("sm@", "run-ner@") for one in server.database_options()]
    own_options, server.database_options = server.database_options(), lambda: options
    done, facts, wrong = doctor(server)
    assert facts["grants"] == "all that a server needs" and wrong == ["fsync"], done
    for _ in range(2):
        server.start().send("j", "step: 1 loss: 1.5")
        server.kill()
    server.start()
    server.wait_for_points("j", "train:loss", 2)
    with pytest.raises(RuntimeError, match="permission denied"):
        cluster.psql(f'SET ROLE "run-ner"; CREATE TABLE {server.schema}.x (n bigint);')
    # A table that a later migration makes, by the same owner:
    cluster.psql(f"CREATE TABLE {server.schema}.later (n bigint)")
    cluster.psql(f'SET ROLE "run-ner"; INSERT INTO {server.schema}.later VALUES (1); DELETE FROM {server.schema}.later;')
    again = tool(server, *granting)  # beside the server, which goes on
    assert again.returncode == 0 and "Nothing is to be done.\n" in again.stdout, again
    refused = tool(server, "migrate", *options, "--runtime-role", "run-ner")  # who may do nothing of the sort
    assert refused.returncode == 1 and "run this as its owner, 'sm'" in refused.stderr, refused
    assert tool(server, "doctor", *own_options).returncode == 1  # for fsync


def test_who_is_given_nothing_is_told_what_is_missing(server, cluster):
    nobody = tool(server, "migrate", *server.database_options(), "--runtime-role", "nobody; DROP")
    assert nobody.returncode == 1 and "has no role 'nobody; DROP'" in nobody.stderr, nobody
    cluster.psql("CREATE ROLE guest LOGIN")
    options = [one.replace("sm@", "guest@") for one in server.database_options()]
    done, facts, wrong = doctor(server, *options)
    assert facts["grants"].startswith("lacks USAGE of the schema  WRONG: as the role that owns the tables: sm-server migrate --runtime-role guest"), done
    assert wrong == ["fsync", "grants"] and "not there yet" not in done.stdout, done
    cluster.psql(f"GRANT USAGE ON SCHEMA {server.schema} TO guest")
    done, facts, wrong = doctor(server, *options)
    assert re.match(r"lacks DELETE of \w+, \w+, \w+ and \d+ more; INSERT of .*; SELECT of .*; UPDATE of .*WRONG", facts["grants"]), done
    cluster.psql(f"""GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA {server.schema} TO guest;
        REVOKE UPDATE ON {server.schema}.lease FROM guest""")
    done, facts, wrong = doctor(server, *options)
    assert facts["grants"].startswith("lacks UPDATE of lease  WRONG") and wrong == ["fsync", "grants"], done
    cluster.psql(f"GRANT UPDATE ON {server.schema}.lease TO guest")
    done, facts, wrong = doctor(server, *options)
    assert facts["grants"] == "all that a server needs" and facts["schema"].startswith(f"{server.schema}, version "), done


def test_a_role_that_may_not_truncate_deletes_and_is_told_of_it(server, cluster):
    server.start()
    server.stop()
    parts = ", ".join(f"{server.schema}.journal_{slot}" for slot in range(4))
    cluster.psql(f"""DROP ROLE IF EXISTS deleter; CREATE ROLE deleter LOGIN; GRANT USAGE ON SCHEMA {server.schema} TO deleter;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {server.schema} TO deleter;""")
    options = [one.replace("sm@", "deleter@") for one in server.database_options()]
    server.database_options = lambda: options
    server.start().send("j", "step: 1 loss: 1.5")
    server.wait_for_log("event=journal_not_truncated")
    assert "journal_0" in doctor(server)[1]["grants"]
    server.kill()
    cluster.psql(f"GRANT TRUNCATE ON {parts} TO deleter")
    assert doctor(server)[1]["grants"] == "all that a server needs"
    server.start()
    assert [row["text"] for row in server.lines("j")] == ["step: 1 loss: 1.5"]
    server.stop()
    cluster.psql("DROP OWNED BY deleter; DROP ROLE deleter")


# ---- what is refused at the start ----


def refusal(server, *options, environment=None):
    done = tool(server, "--listen", "127.0.0.1:0", *options, environment=environment)
    assert done.returncode in (1, 2), done
    return done.stderr


def test_a_password_is_neither_taken_nor_repeated(server, cluster):
    key = ("--secret-key-file", "key")
    said = refusal(server, "--db", "postgresql://sm:hunter2@127.0.0.1:1/postgres", *key)
    assert "PGPASSFILE" in said and "hunter2" not in said
    assert "hunter2" not in refusal(server, "--db", "postgresql://sm:hunter2@[127.0.0.1/postgres", *key)
    # One of the environment is used, and told to nobody.
    said = refusal(server, "--db", "postgresql://sm@127.0.0.1:1/somewhere?sslmode=disable", *key, environment={"PGPASSWORD": "hunter2"})
    assert "host=127.0.0.1 port=1" in said and "dbname=somewhere" in said and "user=sm" in said, said
    assert "hunter2" not in said and "sslmode" not in said and "postgresql://" not in said


def test_the_key_must_be_stated(server, cluster):
    assert "--secret-key-file" in refusal(server, "--db", cluster.url)


@pytest.mark.parametrize("name", ["", "Big", "pg_mine", "9lives", "a b", "x" * 64])
def test_a_schema_has_a_plain_name(server, cluster, name):
    assert "a-z, 0-9 and _" in refusal(server, "--db", cluster.url, "--schema", name, "--secret-key-file", "key")


@pytest.mark.parametrize("db", ["postgres:training", "postgresql:/host/training", "postgresql:", "host=/tmp dbname=x password=hunter2",
    "password=hunter2 dbname=x", "dbname=x", "service=x"])
def test_an_address_that_is_none_makes_no_file(server, db):
    said = refusal(server, "--db", db, "--secret-key-file", "key")
    assert "postgresql://HOST/DATABASE" in said and "hunter2" not in said, said
    done = tool(server, "token", "create", "t", "--db", db)
    assert done.returncode == 2 and "postgresql://HOST/DATABASE" in done.stderr, done.stderr
    assert sorted(server.folder.iterdir()) == []


def test_a_file_may_be_called_almost_as_an_address(server):
    folder = server.folder / "host=a"
    folder.mkdir()
    done = tool(server, "token", "create", "t", "--scope", "admin", "--db", str(folder / "postgres.db"))
    assert done.returncode == 0 and (folder / "postgres.db").exists(), done.stderr


def test_an_older_schema_is_changed_by_its_owner_alone(server, cluster):
    server.start()
    settings = f"{server.schema}.settings"
    newest = cluster.psql(f"SELECT convert_from(value, 'UTF8') FROM {settings} WHERE key = 'schema_version'").strip()
    cluster.psql(f"UPDATE {settings} SET value = convert_to('46', 'UTF8') WHERE key = 'schema_version'")
    refused = tool(server, "token", "create", "t", "--scope", "admin", *from_elsewhere(server))
    assert refused.returncode == 1 and "belongs to another server" in refused.stderr, refused.stderr
    second = Server(server.folder, postgres=cluster)
    second.launch()
    second.wait_for_log("event=standby")
    server.send("j", "one")
    server.stop()
    # Now it is its own; the tables are there already, which shows that it tried.
    assert second.wait() == 1
    assert "migration '0047_base.sql'" in second.log_text()
    second.assert_clean()
    assert "migration '0047_base.sql'" in refusal(server, *server.database_options()), "without a wait as well"
    cluster.psql(f"UPDATE {settings} SET value = convert_to('{newest}', 'UTF8') WHERE key = 'schema_version'")
    server.start()
    assert [row["text"] for row in server.lines("j")] == ["one"]


def test_no_limit_of_all_text_where_deleting_frees_nothing(server, cluster):
    said = refusal(server, *server.database_options(), "--log-bytes", "1GiB")
    assert "--log-bytes does not work on PostgreSQL" in said, said
    config = server.folder / "conf"
    config.write_text("log-bytes = 0\nrate-requests = 500\n")
    server.start("127.0.0.1:0", "--config", str(config))
    config.write_text("rate-requests = 700\nlog-bytes = 1GiB\n")
    server.signal(signal.SIGHUP)
    server.wait_for_log("event=reload_failed .*--log-bytes does not work on PostgreSQL")
    reply = server.post("/api/v1/admin/reload")
    assert reply.status == 422 and reply.body["field"] == "log-bytes", reply
    assert "option_changed" not in server.log_text()
    reply = server.put("/api/v1/retention", json={"log_bytes": 1, "max_age_days": 9})
    assert reply.status == 422 and "PostgreSQL" in reply.body["detail"], reply
    assert "max_age_days" not in str(server.get("/api/v1/retention").body), "nothing of it was taken"
    assert server.put("/api/v1/retention", json={"log_bytes": 0, "max_age_days": 9}).status == 200
    server.stop()
    cluster.psql(f"UPDATE {server.schema}.settings SET value = convert_to('1', 'UTF8') WHERE key = 'log_bytes'")
    server.start()
    server.wait_for_log("event=log_bytes_ignored remembered=1 ")
    assert server.get("/api/v1/retention").body["log_bytes"] == 0


def test_a_newer_schema_is_refused_and_one_that_only_grew_is_not(server, cluster):
    server.start()
    server.stop()
    version = f"UPDATE {server.schema}.settings SET value = convert_to('%d', 'UTF8') WHERE key = '%s';"
    cluster.psql(version % (9999, "schema_version"))
    server.start()
    server.stop()
    cluster.psql(version % (9999, "min_reader"))
    assert "version 9999" in refusal(server, *server.database_options())


def test_two_that_start_at_once_make_one_schema(server):
    other = Server(server.folder, postgres=server.postgres)
    both = (server, other)
    for one in both:
        one.launch()
    try:
        wait_until(lambda: sorted(("event=standby" in one.log_text(), "event=listening" in one.log_text()) for one in both) ==
            [(False, True), (True, False)], what="an owner and a standby")
    finally:
        for one in both:
            one.stop()


def test_a_pooler_in_between_is_refused(server, cluster):
    def other_process(kind, body):
        return struct.pack("!I", 4242) + body[4:] if kind == b"K" else body
    with Proxy(cluster, other_process) as proxy:
        assert "pooler" in refusal(server, "--db", proxy.url, "--secret-key-file", "key")
    with Proxy(cluster, lambda kind, body: body) as proxy:
        server.start("127.0.0.1:0", "--db", proxy.url)
        server.send("j", "through a proxy that changes nothing")
        server.stop()


def test_each_connection_of_a_start_may_be_lost_once(server, cluster):
    """Either the start is given up, and says why, or all that works in a server does so once the database is there again."""
    server.start()
    server.stop()
    options = server.database_options()
    for lost in range(1, 100, 1 if IS_LONG else 3):
        connections = 0

        def lose_one(kind, body, lost=lost):
            nonlocal connections
            connections += kind == b"R"
            if kind == b"R" and connections == lost:
                raise OSError("lost")
            return body
        with Proxy(cluster, lose_one) as proxy:
            server.launch("127.0.0.1:0", "--db", proxy.url, "--workers", "1", "--seal-age", "100ms")
            wait_until(lambda: server.process.poll() is not None or "event=listening" in server.log_text(), what="the start")
            if server.process.poll() is not None:
                assert server.wait() == 1 and "cannot connect to the database" in server.log_text(), server.log_text()
                server.process = None
                continue
            server.port = int(server.wait_for_log(r"event=listening\b.*\bport=(\d+)").group(1))
            job = f"j{lost}"
            live = server.live()
            server.send(job, ["step: 1 loss: 1.5", "step: 2 loss: 1.25"])
            live.next("points", where=lambda event: job in str(event))
            server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed"})
            wait_until(lambda: server.figure("sealed_lines_total") >= 2, what="the sealer, which is the maintenance's")
            was_last = connections < lost
            server.stop()
        if was_last:
            break
    assert lost > 5 and server.database_options() == options, "all of its connections"


def test_a_server_that_is_too_old_is_refused(server, cluster):
    def older(kind, body):
        return b"server_version\x0013.9\x00" if kind == b"S" and body.startswith(b"server_version\x00") else body
    with Proxy(cluster, older) as proxy:
        assert "older than PostgreSQL 14" in refusal(server, "--db", proxy.url, "--secret-key-file", "key")


def test_people_stay_signed_in_where_a_standby_takes_over_and_signed_out(tmp_path, cluster):
    """A session is of the database: whoever takes over knows who is signed in, and who has signed out."""
    liar = LyingProvider(tmp_path)
    first = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")], postgres=cluster).start()
    stays, goes, everywhere = Browser(), Browser(), Browser()
    for browser, person in ((stays, "ann"), (goes, "bob"), (everywhere, "bob")):
        liar.claims = {"email": f"{person}@example.org"}
        assert liar.sign_in(browser, first).status == 303
    copies = [browser.copy() for browser in (stays, goes, everywhere)]
    assert goes.ask(first.public_url + "/api/v1/session?everywhere=true", method="DELETE").status == 204
    with standby_of(first, *first.arguments) as second:
        first.kill()
        wait_for_take_over(second)
        names = [second.get("/api/v1/session", headers={"Cookie": f"smfleet_session={copy.cookies['smfleet_session']}"}).body.get("name") for copy in copies]
        assert names == ["oidc/basic/ann@example.org", None, None]
    liar.close()
