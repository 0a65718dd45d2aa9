"""
Three servers on one PostgreSQL database, 32 writers, and one fault after another, drawn by a seed (SM_SEED), for a minute; for half an hour with
tests/run --all. In the end what was acknowledged is there, once. The seed is in the row of build/logs/postgres-faults.txt.
"""

import contextlib
import os
import random
import signal
import time

from load import Load
from pair import IS_LONG, is_ready, note
from postgres import Cluster
from smserver import PATIENCE_S, Server, wait_until
from tcpproxy import Network

CHAOS_S = int(os.environ.get("SM_CHAOS_S", "1800" if IS_LONG else "60"))
SERVERS, WRITERS = 3, 32
PACE_S = 0.2
ENDINGS = ("was taken over by another server", "holds what was said to have failed")


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
        """The one that serves now, whom most faults are for."""
        def find():
            for server in self.servers:
                with contextlib.suppress(OSError):
                    if is_ready(server):
                        return server
        return wait_until(find, what="a server that serves")

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
        is_why = code == 1 and any(ending in server.log_text() for ending in ENDINGS)
        assert is_why or (is_told and code == 0), f"ended with {code}:\n{server.log_text()}"

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
