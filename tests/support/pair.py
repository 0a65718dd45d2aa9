"""Two servers of one PostgreSQL schema or more, one of which serves, and what is written down of a fault."""

import contextlib
import datetime
import signal
import time

from smserver import PATIENCE_S, ROOT, Server, wait_until

TABLE = ROOT / "build/logs/postgres-faults.txt"


def note(fault, load, counts, **more):
    row = {"fault": fault, **counts, "replies": load.statuses(), **more}
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("a") as table:
        table.write("  ".join(f"{name}={value}" for name, value in row.items()) + "\n")


class Pair:
    """Servers of one schema. The owner is the one that serves, the others stand by."""

    def __init__(self, folder, cluster, count=2, urls=None, make=Server):
        self.servers = [make(folder, postgres=cluster) for _ in range(count)]
        for server, url in zip(self.servers, urls or []):
            server.database_options = lambda url=url, rest=server.database_options()[2:]: ["--db", url, *rest]
        self.owner, *self.others = self.servers

    def __enter__(self):
        try:
            self.owner.start()
            for other in self.others:
                self.stand_by(other)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in reversed(self.servers):
            if server.process:
                server.signal(signal.SIGCONT)
                server.process.kill()
                server.wait()

    @staticmethod
    def stand_by(server):
        server.launch(f"127.0.0.1:{server.port or 0}")
        server.port = int(server.wait_for_log(r"event=standby port=(\d+)").group(1))

    def wait_for_new_owner(self, patience=PATIENCE_S):
        """Who of the others serves now; the old owner is one of the others then."""
        taken = wait_until(lambda: [server for server in self.others if "event=listening" in server.log_text()], timeout=patience, what="a new owner")
        assert len(taken) == 1
        self.others.remove(taken[0])
        self.others.append(self.owner)
        self.owner = taken[0]
        return self.owner

    def check_clean(self):
        for server in self.servers:
            server.assert_clean()


def is_ready(server):
    return server.get("/readyz").status == 200


def serves(server):
    """A search and a post, which must both be answered."""
    found = server.get("/api/v1/jobs?q=name~load", timeout=1)
    return found.status == 200 and server.post("/api/v1/logs?job=probe&stream=s", "x\n", timeout=1).status == 200


def lease_taken_s(server, since):
    """Seconds from that time of the clock until the lease was its own: how long it then takes to serve, a busy machine says."""
    said = server.wait_for_log(r"^ts=(\S+) .*event=took_over\b").group(1)
    return datetime.datetime.fromisoformat(said).timestamp() - since


def take_over(server, since):
    """Seconds until it serves, and how long that took the first time it was asked."""
    def does():
        with contextlib.suppress(OSError):
            return serves(server)
    wait_until(does, what="the first search and the first post")
    return round(time.monotonic() - since, 2)
