"""
Servers that own a PostgreSQL schema, or wait for it, go and come under load: after each fault all that was acknowledged is there once, and in
between writers hear 503 with Retry-After. What happened is a row of build/logs/postgres-faults.txt.
"""

import contextlib
import datetime
import signal
import time

import pytest

from faults import FaultyServer
from load import Load
from howlong import IS_LONG, long
from pair import Pair, is_ready, lease_taken_s, note, take_over
from postgres import Cluster
from smserver import wait_until

KILLS = 30 if IS_LONG else 3
LEASE_S = 10
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as one:
        yield one


@pytest.fixture
def folder(tmp_path):
    """One a test: the schema has its name."""
    return tmp_path


# ---- the owner goes ----


def test_a_planned_stop(folder, cluster):
    with Pair(folder, cluster) as pair, Load(pair.servers) as load:
        load.measure()
        since, told = time.monotonic(), time.time()
        pair.owner.signal(signal.SIGTERM)
        taken_s = take_over(pair.others[0], since)
        assert lease_taken_s(pair.others[0], told) < LEASE_S, "it was given back"
        pair.wait_for_new_owner()
        load.wait_for_more()
        assert pair.others[0].wait() == 0
        pair.others[0].process = None
        note("planned stop", load, load.check(pair.owner), taken_s=taken_s, gap_s=round(load.longest_gap, 2))
        pair.check_clean()


def test_a_kill_each_time_the_other_has_taken_over(folder, cluster):
    """At whatever moment that is."""
    times = []
    with Pair(folder, cluster) as pair, Load(pair.servers) as load:
        for _ in range(KILLS):
            load.wait_for_more()
            since, killed = time.monotonic(), time.time()
            pair.owner.kill()
            times.append(take_over(pair.others[0], since))
            assert lease_taken_s(pair.others[0], killed) < LEASE_S, "it saw that the session was gone"
            pair.wait_for_new_owner()
            pair.stand_by(pair.others[0])
        load.wait_for_more()
        note(f"killed {KILLS} times", load, load.check(pair.owner), taken_s=times)
        pair.check_clean()


@contextlib.contextmanager
def held_fence(server):
    """The row that each commit writes is another session's: the owner's COMMIT is on its way, and stands."""
    psql = server.postgres.session()
    psql.run(f"BEGIN; SELECT 1 FROM {server.schema}.fence FOR UPDATE;")
    try:
        wait_until(lambda: waiting_commits(server) != "0", what="a commit that waits")
        yield
    finally:
        psql.close()


def waiting_commits(server):
    return server.postgres.psql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%UPDATE fence%' AND wait_event_type = 'Lock'").strip()


def test_a_kill_in_the_middle_of_a_commit(folder, cluster):
    with Pair(folder, cluster) as pair, Load(pair.servers) as load:
        with held_fence(pair.owner):
            since = time.monotonic()
            pair.owner.kill()
        taken_s = take_over(pair.others[0], since)
        pair.wait_for_new_owner()
        load.wait_for_more()
        note("killed in a commit", load, load.check(pair.owner), taken_s=taken_s)
        pair.check_clean()


@long
def test_an_owner_that_sleeps_in_the_middle_of_a_commit(folder, cluster):
    """Its session holds the fence's row: who takes over ends it."""
    with Pair(folder, cluster) as pair, Load(pair.servers) as load:
        old = pair.owner
        with held_fence(old):
            old.signal(signal.SIGSTOP)
        since = time.monotonic()
        taken_s = take_over(pair.others[0], since)
        pair.wait_for_new_owner()
        load.wait_for_more()
        until = since + 20
        wait_until(lambda: time.monotonic() >= until, what="20 s")
        old.signal(signal.SIGCONT)
        assert old.wait() == 1
        assert "taken over by another server" in old.log_text()
        old.process = None
        load.wait_for_more()
        note("SIGSTOP 20 s in a commit, CONT", load, load.check(pair.owner), taken_s=taken_s)
        pair.check_clean()


def test_standbys_that_race(folder, cluster):
    with Pair(folder, cluster, count=4) as pair, Load(pair.servers) as load:
        for _ in range(3):
            pair.owner.kill()
            pair.wait_for_new_owner()
            load.wait_for_more()
            assert [is_ready(server) for server in pair.servers if server.process] .count(True) == 1
            gone = next(server for server in pair.servers if not server.process)
            pair.stand_by(gone)
        note("three standbys race, three times", load, load.check(pair.owner))
        pair.check_clean()


@pytest.mark.parametrize("shift_ms", [HOUR_MS, -HOUR_MS])
def test_a_clock_that_is_off_by_an_hour(folder, cluster, shift_ms):
    """Only the database's counts: the shifted one neither takes what is not its, nor loses what is."""
    pair = Pair(folder, cluster)
    shifted = FaultyServer(folder, postgres=cluster)
    shifted.disk.set(clock_ms=shift_ms)
    pair.servers[1] = pair.others[0] = shifted
    with pair, Load(pair.servers) as load:
        load.wait_for_more(100)
        assert "event=took_over" not in shifted.log_text()
        pair.owner.kill()
        pair.wait_for_new_owner()
        pair.stand_by(pair.others[0])
        load.wait_for_more(100)
        assert is_ready(shifted) and abs(time.time() - said_at(shifted)) > HOUR_MS / 1000 - 600, "its clock is off"
        assert "event=took_over" not in pair.others[0].log_text()
        pair.owner.kill()
        pair.wait_for_new_owner()
        load.wait_for_more()
        note(f"clock off by {shift_ms} ms", load, load.check(pair.owner))
        pair.check_clean()


def said_at(server):
    """When it began to serve, by its own clock."""
    at = server.wait_for_log(r"ts=(\S+) .*event=listening").group(1)
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
