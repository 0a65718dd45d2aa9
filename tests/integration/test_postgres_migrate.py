"""A migration of a PostgreSQL schema that takes its time, and an owner that sleeps in it."""

import contextlib
import random
import signal

import pytest

from howlong import long
from postgres import Cluster
from smserver import PATIENCE_S, Server, wait_until

MORE_THAN_A_LOCK_MAY_TAKE_S = 65
LEASE_S = 10


@pytest.fixture
def cluster():
    with Cluster() as one:
        yield one


@contextlib.contextmanager
def slow_tables(cluster, seconds):
    """The next table that is made takes so long; those after it do not."""
    cluster.psql("CREATE SEQUENCE made; CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('public.made') = 1 THEN PERFORM pg_sleep({seconds}); END IF; END $$;"
        " CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slow()")
    yield
    cluster.psql("DROP EVENT TRIGGER slow; DROP FUNCTION slow; DROP SEQUENCE made")


def sleepers(cluster):
    return int(cluster.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))


@long
def test_a_migration_may_take_longer_than_a_minute(tmp_path, cluster):
    server = Server(tmp_path, postgres=cluster)
    with slow_tables(cluster, MORE_THAN_A_LOCK_MAY_TAKE_S):
        server.launch()
        server.wait_for_log("event=listening", timeout=MORE_THAN_A_LOCK_MAY_TAKE_S + PATIENCE_S)
    server.stop()


def older_schema(server):
    server.postgres.psql(f"UPDATE {server.schema}.settings SET value = convert_to('46', 'UTF8') WHERE key = 'schema_version'")


def journal_of_before(server):
    """As version 48 had it: a row a record, all in one table."""
    server.postgres.psql(f"""BEGIN; SET LOCAL search_path TO {server.schema};
        ALTER TABLE journal RENAME TO ring; ALTER INDEX journal_pkey RENAME TO ring_pkey;
        CREATE TABLE journal (seq bigint NOT NULL, record bytea NOT NULL, PRIMARY KEY (seq));
        INSERT INTO journal SELECT seq, string_agg(record, ''::bytea ORDER BY part) FROM ring GROUP BY seq;
        DROP TABLE ring; DROP TABLE tracked_files; DROP TABLE notes; DROP TABLE evaluations; DROP TABLE evaluation_marks; DROP TABLE gpu_traces; DROP TABLE trashed_jobs; DROP TABLE attachments; DROP TABLE attachment_parts; DROP TABLE people_sessions; DROP TABLE workspaces;
        ALTER TABLE tracked_runs DROP COLUMN log_alone_ms, DROP COLUMN log_alone_until_ms, DROP COLUMN log_is_shared, DROP COLUMN log_lent_ms, DROP COLUMN log_lent_until_ms, DROP COLUMN log_lent_runs;
        ALTER TABLE node_faults DROP COLUMN cleared; DROP INDEX node_faults_by_line;
        ALTER TABLE webhooks DROP COLUMN report_at, DROP COLUMN report_tz, DROP COLUMN report_due_ms;
        ALTER TABLE goodput DROP COLUMN went_on_from, DROP COLUMN went_on_step_ms, DROP COLUMN went_on_work_ms, DROP COLUMN went_on_silent_ms;
        DROP INDEX goodput_by_other_currency; DELETE FROM fleet_totals WHERE name = 'unpriced_jobs';
        ALTER TABLE signature_hits DROP COLUMN host, DROP COLUMN is_of_nobody;
        ALTER TABLE incidents DROP COLUMN known_ms; ALTER TABLE jobs DROP COLUMN started_known_ms, DROP COLUMN ended_known_ms;
        CREATE INDEX jobs_in_short ON jobs (job_id, created_ms, started_ms, ended_ms, modified_ms, status, secondary, team, name, failure_reason);
        DELETE FROM counters WHERE name IN ('journal', 'note', 'attachment');
        UPDATE settings SET value = convert_to('48', 'UTF8') WHERE key = 'schema_version'; COMMIT;""")


def test_what_a_journal_of_before_holds_is_kept(tmp_path, cluster):
    """Records of one byte up to some that are in several parts now."""
    chance = random.Random(19)
    texts = [chance.randbytes(length).hex() for length in (1, 500, *[30_000] * 40)]
    server = Server(tmp_path, postgres=cluster).start()
    for text in texts[:2]:
        server.send("j", text)
    server.send("j", texts[2:])
    server.kill()
    journal_of_before(server)

    def number(what):
        return int(cluster.psql(f"SELECT {what} FROM {server.schema}.journal"))

    before = number("count(*)"), number("sum(length(record))")
    assert number("max(length(record))") > 524288, "a record that is two parts now"
    server.start()
    assert [row["text"] for row in server.lines("j")] == texts
    server.kill()
    assert number("count(DISTINCT seq)") <= before[0] + 1 and number("max(length(record))") <= 524288
    server.start()
    assert [row["text"] for row in server.lines("j")] == texts
    server.stop()


def test_an_owner_that_sleeps_in_a_migration_is_taken_over_from(tmp_path, cluster):
    """Its session is ended with its lease: who comes next need not wait for its locks. The tables are there already, so both fail in the end."""
    first, second = (Server(tmp_path, postgres=cluster) for _ in range(2))
    first.start()
    first.stop()
    older_schema(first)
    with slow_tables(cluster, 2 * PATIENCE_S):
        first.launch()
        wait_until(lambda: sleepers(cluster) == 1, what="the migration")
        second.launch()
        second.wait_for_log(r"event=standby .*belongs to another server")
        first.signal(signal.SIGSTOP)
        assert second.wait(timeout=PATIENCE_S) == 1
        assert "migration '0047_base.sql'" in second.log_text()
        assert sleepers(cluster) == 0
        first.signal(signal.SIGCONT)
        assert first.wait() == 1
        for one in (first, second):
            one.assert_clean()


def test_a_standby_comes_to_a_schema_that_is_being_migrated(tmp_path, cluster):
    """It waits for the lease, not for the locks of the migration."""
    first, second = (Server(tmp_path, postgres=cluster) for _ in range(2))
    first.start()
    first.stop()
    older_schema(first)
    with slow_tables(cluster, 2 * PATIENCE_S):
        first.launch()
        wait_until(lambda: sleepers(cluster) == 1, what="the migration")
        second.launch()
        second.port = int(second.wait_for_log(r"event=standby port=(\d+)", timeout=LEASE_S).group(1))
        assert second.get("/readyz").status == 503
        second.stop()
        first.process.kill()
        first.wait()
