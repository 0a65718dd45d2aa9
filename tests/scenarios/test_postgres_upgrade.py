"""
Two servers of one PostgreSQL schema are upgraded one after the other, under load, to a program with one migration more (sm-server-next, of
tests/CMakeLists.txt): nothing acknowledged is lost, and a program that would misread what is there is refused by name.
"""

import re
import signal
import time

import pytest

from load import Load
from pair import Pair, is_ready, note, take_over
from postgres import Cluster
from smserver import Server, find_binary

NEXT_VERSION = 9000


class NextServer(Server):
    def bin(self, name):
        return find_binary("sm-server-next" if name == "sm-server" else name)


@pytest.fixture
def cluster():
    with Cluster() as one:
        yield one


def version(server):
    return int(server.postgres.psql(f"SELECT convert_from(value, 'UTF8') FROM {server.schema}.settings WHERE key = 'schema_version'"))


def check_refused(server):
    """By its name, with both versions: what to do is plain."""
    assert server.wait() == 1
    server.process = None
    said = re.search(rf"schema '{server.schema}' of database '.*' has version {NEXT_VERSION}, this program knows up to (\d+): start a newer one", server.log_text())
    assert said and 0 < int(said.group(1)) < NEXT_VERSION, server.log_text()
    server.assert_clean()


def replaced(pair, old):
    """The newer program in the place of one that has ended, on its port."""
    new = NextServer(old.folder, postgres=old.postgres)
    new.port = old.port
    pair.servers[pair.servers.index(old)] = new
    pair.others[pair.others.index(old)] = new
    return new


def test_one_server_after_the_other(tmp_path, cluster):
    with Pair(tmp_path, cluster, count=3) as pair, Load(pair.servers) as load:
        first, second, third = pair.servers
        known = version(first)
        second.stop()
        newer = replaced(pair, second)
        pair.stand_by(newer)
        load.wait_for_more()
        assert version(first) == known and is_ready(first), "who waits changes nothing"

        third.signal(signal.SIGSTOP)  # an older one that waits, too, and would be as good
        load.measure()
        since = time.monotonic()
        first.signal(signal.SIGTERM)
        taken_s = take_over(newer, since)
        pair.wait_for_new_owner()
        assert first.wait() == 0 and version(newer) == NEXT_VERSION
        third.signal(signal.SIGCONT)
        load.wait_for_more()
        gap_s = round(load.longest_gap, 2)

        first.launch(f"127.0.0.1:{first.port}")
        check_refused(first)
        load.wait_for_more()

        newer.kill()  # what the older standby takes over then it cannot serve, and gives back
        check_refused(third)
        newer.start(f"127.0.0.1:{newer.port}")
        load.wait_for_more()

        last = replaced(pair, first)
        pair.stand_by(last)
        newer.kill()
        take_over(last, time.monotonic())
        load.wait_for_more()
        note("rolling upgrade", load, load.check(last), taken_s=taken_s, gap_s=gap_s)
        pair.check_clean()
