"""
Three servers on one PostgreSQL database, 32 writers, and one fault after another, drawn by a seed (SM_SEED), for a minute; for half an hour with
tests/run --all. In the end what was acknowledged is there, once. The seed is in the row of build/logs/postgres-faults.txt. And that this is worth
something: with the lease and the fence taken out, what it looks at is wrong.
"""

import contextlib
import os
import random
import re
import signal
import time

import pytest

from load import Load
from howlong import IS_LONG
from pair import is_ready, note
from postgres import Cluster
from smserver import PATIENCE_S, Server, wait_until
from tcpproxy import Network

CHAOS_S = int(os.environ.get("SM_CHAOS_S", "1800" if IS_LONG else "30"))
SERVERS, WRITERS = 3, 32
PACE_S = 0.2
ENDINGS = ("was taken over by another server", "holds what was said to have failed")
LOST_AT_START = r"sm-server: .*database '[^']*':? (?:the connection is lost|connection to server|the server)"


class Chaos:
    """Whose servers go their own ways to the database."""

    def __init__(self, folder, cluster, seed, stack):
        self.cluster, self.chance, self.done = cluster, random.Random(seed), {}
        self.networks = [stack.enter_context(Network(cluster)) for _ in range(SERVERS)]
        self.servers = [Server(folder, postgres=cluster) for _ in range(SERVERS)]
        for server, net in zip(self.servers, self.networks):
            server.database_options = lambda url=net.url, rest=server.database_options()[2:]: ["--db", url, *rest]
        stack.callback(self.end)

    def start(self):
        self.servers[0].start()
        for server in self.servers[1:]:
            self.launch(server)

    @staticmethod
    def launch(server):
        server.launch(f"127.0.0.1:{server.port or 0}")
        server.port = int(server.wait_for_log(r"event=(?:standby|listening)\b.*?port=(\d+)").group(1))

    def end(self):
        for server in self.servers:
            if server.process:
                server.signal(signal.SIGCONT)
                server.process.kill()
                server.wait()

    def owner(self):
        """The one that serves now, whom most faults are for. Where all have ended, nobody would ever serve again."""
        def find():
            if all(not server.process or server.process.poll() is not None for server in self.servers):
                self.mend()
            for server in self.servers:
                with contextlib.suppress(OSError):
                    if is_ready(server):
                        return server
        try:
            return wait_until(find, what="a server that serves")
        except AssertionError as failure:
            logs = "\n\n".join(f"{server.process and server.process.poll()}: {server.log_text()[-2000:]}" for server in self.servers)
            raise AssertionError(f"{failure}; faults: {self.done}; how the servers ended, and what they said:\n{logs}") from failure

    def mend(self):
        """All run again. Who ended by itself did so for a reason that is in its log."""
        for server in self.servers:
            if server.process and server.process.poll() is None:
                continue
            if server.process:
                self.check_end(server)
            self.launch(server)

    @staticmethod
    def check_end(server, is_told=False):
        code = server.wait()
        server.assert_clean()
        log = server.log_text()
        is_at_start = "event=listening" not in log and re.search(LOST_AT_START, log)  # it had taken over, and its database went away again
        is_why = code == 1 and (any(ending in log for ending in ENDINGS) or is_at_start)
        assert is_why or (is_told and code == 0), f"ended with {code}:\n{log}"

    # ---- the faults ----
    def some_seconds(self, most):
        until = time.monotonic() + self.chance.uniform(0.1, most)
        wait_until(lambda: time.monotonic() >= until, what="some seconds")

    def kill_a_server(self):
        server = self.chance.choice([self.owner(), *self.servers])
        if server.process:
            server.kill()

    def stop_the_owner(self):
        server = self.owner()
        server.signal(signal.SIGTERM)
        self.check_end(server, is_told=True)
        server.process = None

    def let_the_owner_sleep(self):
        server = self.owner()
        server.signal(signal.SIGSTOP)
        self.some_seconds(14)
        server.signal(signal.SIGCONT)

    def kill_the_database(self):
        self.cluster.kill()
        self.start_database()

    def restart_the_database(self):
        self.cluster.stop("fast")
        self.some_seconds(5)
        self.start_database()

    def start_database(self):
        def does():
            with contextlib.suppress(RuntimeError):
                self.cluster.start()
                return True
        wait_until(does, what="the database's start")

    def cut(self):
        for net in self.networks:
            net.cut()
            self.some_seconds(0.3)

    def lose_the_owners_network(self):
        net = self.networks[self.servers.index(self.owner())]
        net.lose()
        self.some_seconds(14)
        net.mend()

    def delay(self):
        for net in self.networks:
            net.delay_s = self.chance.uniform(0, 0.3)
        self.some_seconds(3)
        for net in self.networks:
            net.delay_s = 0.0

    def go_on(self, load):
        fault = self.chance.choice([self.kill_a_server, self.stop_the_owner, self.let_the_owner_sleep, self.kill_the_database, self.restart_the_database,
            self.cut, self.lose_the_owners_network, self.delay])
        fault()
        self.done[fault.__name__] = self.done.get(fault.__name__, 0) + 1
        if self.chance.random() < 0.7:  # else the next one meets what is left of this one
            self.mend()
            load.wait_for_more(1)


def test_whatever_comes(tmp_path):
    seed = int(os.environ.get("SM_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SM_SEED={seed}")
    with contextlib.ExitStack() as stack:
        chaos = Chaos(tmp_path, stack.enter_context(Cluster()), seed, stack)
        chaos.start()
        load = stack.enter_context(Load(chaos.servers, writers=WRITERS, pace_s=PACE_S))
        until = time.monotonic() + CHAOS_S
        while time.monotonic() < until:
            chaos.go_on(load)
        chaos.mend()
        load.wait_for_more(patience=2 * PATIENCE_S)
        note(f"{CHAOS_S} s of faults", load, load.check(chaos.owner()), seed=seed, faults=chaos.done)
        for server in chaos.servers:
            server.signal(signal.SIGTERM)
            chaos.check_end(server, is_told=True)
            server.process = None


# Both rows are what whoever asks wants to see: the lease is always free, and a token is everybody's.
NO_OWNERSHIP = """
    SET search_path TO {schema};
    CREATE FUNCTION everybody() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
    DROP TABLE lease, fence;
    CREATE VIEW lease AS SELECT 1::bigint AS one, t::bigint AS token, ''::text AS owner, 0::bigint AS until_ms, NULL::bigint AS pid, NULL::timestamptz AS started
        FROM generate_series(0, 1) AS t;
    CREATE VIEW fence AS SELECT 1::bigint AS one, t::bigint AS token, 0::bigint AS epoch, 0::bigint AS last_commit FROM generate_series(0, 1) AS t;
    CREATE TRIGGER everybody INSTEAD OF UPDATE ON lease FOR EACH ROW EXECUTE FUNCTION everybody();
    CREATE TRIGGER everybody INSTEAD OF UPDATE ON fence FOR EACH ROW EXECUTE FUNCTION everybody();
"""


def test_the_checker_sees_what_lease_and_fence_prevent(tmp_path):
    """A server sleeps, another one works on, and the first goes on where it was: what they acknowledge lies in each other's place."""
    with Cluster() as cluster, contextlib.ExitStack() as stack:
        first, second = servers = [Server(tmp_path, "--seal-age", "100ms", postgres=cluster) for _ in range(2)]
        for server in reversed(servers):
            server.start()
            server.stop()
        cluster.psql(NO_OWNERSHIP.format(schema=first.schema))
        for server in servers:
            stack.callback(lambda server=server: server.process and server.process.kill())
        first.restart()
        with pytest.raises((AssertionError, RuntimeError)) as seen, Load(servers, writers=8, pace_s=PACE_S) as load:
            first.signal(signal.SIGSTOP)
            second.restart()
            load.wait_for_more()
            first.signal(signal.SIGCONT)
            second.kill()
            load.wait_for_more()
            first.kill()
            second.restart()
            load.check(second)
        said = str(seen.value.__cause__ or seen.value)
        assert re.search(r": 409, |are lost|are there twice|in part, or mixed|never acknowledged is there", said), said
