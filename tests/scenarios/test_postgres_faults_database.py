"""
The database of two servers goes, or the way to it, under load: after each fault all that was acknowledged is there once, and in between writers
hear 503 with Retry-After. What happened is a row of build/logs/postgres-faults.txt.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import pytest

from load import Load
from howlong import IS_LONG, long
from pair import Pair, is_ready, note, take_over
from postgres import Cluster
from smserver import PATIENCE_S, Server, sanitizer_environment, wait_until
from tcpproxy import Network

CUTS = 30
AWAY_S = 60 if IS_LONG else 12  # longer than the lease in any case
BACK_S = 10  # 2 s and less on a machine that is not busy; in the row
GROWN_MB = 64
LOST_S = 20
DISK_BYTES = 160 << 20


@pytest.fixture
def cluster():
    with Cluster() as one:
        yield one


def wait_for(seconds, since):
    wait_until(lambda: time.monotonic() >= since + seconds, timeout=seconds + PATIENCE_S, what=f"{seconds} s")


def start_again(cluster):
    """The shared memory of one that was killed is in use until the last of its processes has ended."""
    def does():
        with contextlib.suppress(RuntimeError):
            cluster.start()
            return True
    wait_until(does, what="the database's start")


# ---- PostgreSQL itself ----


def test_a_database_that_is_killed(tmp_path, cluster):
    """Its servers go on, the same one as before."""
    with Pair(tmp_path, cluster) as pair, Load(pair.servers) as load:
        for _ in range(3):
            load.wait_for_more()
            cluster.kill()
            load.wait_for_refusals()
            start_again(cluster)
            load.wait_for_more()
        assert "event=took_over" not in pair.others[0].log_text(), "the owner came back in time"
        note("database killed 3 times", load, load.check(pair.owner))
        pair.check_clean()


def without_quarantine(folder, postgres):
    """A sanitizer keeps 256 MiB of what was freed, which here would hide what the server keeps."""
    options = sanitizer_environment()["ASAN_OPTIONS"] + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
    return Server(folder, postgres=postgres, environment={"ASAN_OPTIONS": options})


def resident_bytes(server):
    pages = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_database_that_is_away_for_longer_than_the_lease(tmp_path, cluster):
    """No server is started anew, none keeps what it refuses, and the owner serves soon after."""
    with Pair(tmp_path, cluster, make=without_quarantine) as pair, Load(pair.servers) as load:
        processes = [server.process.pid for server in pair.servers]
        load.wait_for_more(20)
        before = [resident_bytes(server) for server in pair.servers]
        since = time.monotonic()
        cluster.stop("immediate")
        load.wait_for_refusals()
        wait_for(AWAY_S, since)
        assert [server.get("/healthz").status for server in pair.servers] == [200, 200]
        assert [is_ready(server) for server in pair.servers] == [False, False]
        grown_mb = [(resident_bytes(server) - had) >> 20 for server, had in zip(pair.servers, before)]
        start_again(cluster)
        served_s = take_over(pair.owner, time.monotonic())
        load.wait_for_more()
        assert served_s < BACK_S and max(grown_mb) < GROWN_MB, (served_s, grown_mb)
        assert [(server.process.pid, server.process.poll()) for server in pair.servers] == [(pid, None) for pid in processes]
        assert "event=took_over" not in pair.others[0].log_text(), "its owner was given time to come back"
        note(f"database away for {AWAY_S} s", load, load.check(pair.owner), served_s=served_s, grown_mb=grown_mb)
        pair.check_clean()


@contextlib.contextmanager
def replicated(wait="on"):
    """A primary whose commits wait for its streaming standby."""
    with Cluster(settings=["max_wal_senders=4", f"synchronous_commit={wait}"]) as primary, \
            Cluster(settings=["hot_standby=on", "cluster_name=second"], replica_of=primary) as replica:
        primary.psql("ALTER SYSTEM SET synchronous_standby_names = 'second'; SELECT pg_reload_conf()")
        wait_until(lambda: primary.psql("SELECT sync_state FROM pg_stat_replication").strip() == "sync", what="a synchronous standby")
        yield primary, replica


def test_a_promoted_standby(tmp_path):
    """The primary is killed for good, at any moment; the servers know both addresses."""
    with replicated() as (primary, replica):
        url = f"postgresql://sm@/postgres?host={primary.folder},{replica.folder}"
        with Pair(tmp_path, primary, urls=[url, url]) as pair, Load(pair.servers) as load:
            load.wait_for_more(20)
            since = time.monotonic()
            primary.kill()
            replica.promote()
            load.measure()
            load.wait_for_more()
            serving = [server for server in pair.servers if server.process.poll() is None and is_ready(server)]
            assert len(serving) == 1
            note("primary killed, synchronous standby promoted", load, load.check(serving[0]), back_s=round(time.monotonic() - since, 2),
                owner="same" if serving[0] is pair.owner else "other")
            pair.check_clean()


def hanging_commits(cluster):
    return int(cluster.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))


@long
def test_an_owner_that_is_gone_while_its_commit_waits_for_the_standby(tmp_path):
    """Nobody else can commit either, until the standby is back; then there is one owner, and nothing is lost or there twice."""
    with replicated() as (primary, replica), Pair(tmp_path, primary) as pair, Load(pair.servers) as load:
        load.wait_for_more()
        replica.kill()
        wait_until(lambda: hanging_commits(primary), what="a commit that waits for the standby")
        pair.owner.signal(signal.SIGSTOP)
        since = time.monotonic()
        wait_for(LOST_S, since)
        load.wait_for_refusals()
        start_again(replica)
        back = time.monotonic()
        load.wait_for_more()
        took_s = round(time.monotonic() - back, 2)
        pair.wait_for_new_owner()
        old = pair.others[0]
        old.signal(signal.SIGCONT)
        assert old.wait() == 1
        old.process = None
        load.wait_for_more()
        note(f"owner stopped in a COMMIT that waits, standby away for {LOST_S} s", load, load.check(pair.owner), back_s=took_s)
        pair.check_clean()


# ---- its disks ----


@contextlib.contextmanager
def small_disk():
    """A file system of its own; needs root."""
    with tempfile.TemporaryDirectory(prefix="sm-disk-") as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=777", "tmpfs", folder], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"a small file system needs the right to mount one: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """To the last byte. Returns the file to be removed."""
    path = os.path.join(folder, "ballast")
    with open(path, "wb", buffering=0) as ballast, contextlib.suppress(OSError):
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(size))
    return path


def test_a_data_disk_that_is_full(tmp_path):
    with small_disk() as disk, tempfile.TemporaryDirectory(prefix="sm-wal-") as wal:
        os.chmod(wal, 0o777)
        cluster = Cluster(folder=disk)
        cluster.wal = os.path.join(wal, "wal")
        with cluster, Pair(tmp_path, cluster) as pair, Load(pair.servers) as load:
            load.wait_for_more()
            ballast = fill(disk)
            load.wait_for_refusals()
            heard = load.problems()
            os.unlink(ballast)
            load.wait_for_more()
            assert is_ready(pair.owner) and "event=took_over" not in pair.others[0].log_text()
            note("data disk full", load, load.check(pair.owner), heard=heard)
            pair.check_clean()


def test_a_wal_disk_that_is_full(tmp_path):
    """PostgreSQL ends itself there (PANIC), and comes back when somebody starts it on a disk with room."""
    with small_disk() as disk:
        cluster = Cluster()
        cluster.wal = os.path.join(disk, "wal")
        with cluster, Pair(tmp_path, cluster) as pair, Load(pair.servers) as load:
            load.wait_for_more()
            ballast = fill(disk)
            cluster.psql_until_it_fails("SELECT pg_switch_wal()")
            load.wait_for_refusals()
            os.unlink(ballast)
            with contextlib.suppress(RuntimeError):
                cluster.stop("immediate")
            start_again(cluster)
            load.wait_for_more()
            serving = [server for server in pair.servers if server.process.poll() is None and is_ready(server)]
            assert len(serving) == 1
            note("WAL disk full (PANIC)", load, load.check(serving[0]), panic="PANIC" in (cluster.folder / "log").read_text())
            pair.check_clean()


# ---- the way to it ----


def test_a_network_that_cuts_connections(tmp_path, cluster):
    chance = random.Random(7)
    with Network(cluster) as net, Pair(tmp_path, cluster, urls=[net.url, cluster.url]) as pair, Load(pair.servers) as load:
        for _ in range(CUTS):
            load.wait_for_more(chance.randrange(1, 4))
            net.cut()
        load.wait_for_more()
        serving = [server for server in pair.servers if server.process.poll() is None and is_ready(server)]
        note(f"connections cut {CUTS} times", load, load.check(serving[0]), owner="same" if serving[0] is pair.owner else "other")
        pair.check_clean()


def test_a_network_that_delays(tmp_path, cluster):
    with Network(cluster) as net, Pair(tmp_path, cluster, urls=[net.url, cluster.url]) as pair, Load(pair.servers) as load:
        net.delay_s = 0.3
        load.wait_for_more(3)
        assert is_ready(pair.owner) and "event=took_over" not in pair.others[0].log_text()
        net.delay_s = 0.0
        load.wait_for_more()
        note("0.3 s each way", load, load.check(pair.owner))
        pair.check_clean()


@long
def test_a_network_that_loses_everything(tmp_path, cluster):
    """The owner is cut off without a word, and hears of the take-over when it is back."""
    with Network(cluster) as net, Pair(tmp_path, cluster, urls=[net.url, cluster.url]) as pair, Load(pair.servers) as load:
        old = pair.owner
        since = time.monotonic()
        net.lose()
        taken_s = take_over(pair.others[0], since)
        assert old.get("/healthz").status == 200
        assert not is_ready(old), "a balancer sends nobody there"
        pair.wait_for_new_owner()
        load.wait_for_more()
        wait_for(LOST_S, since)
        net.mend()
        assert old.wait() == 1
        old.process = None
        load.wait_for_more()
        note(f"owner cut off for {LOST_S} s", load, load.check(pair.owner), taken_s=taken_s)
        pair.check_clean()
