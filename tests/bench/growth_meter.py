"""What something costs the server in processor time, beside whatever else the machine does; and how that grows with the data."""

import http.client
import math
import pathlib
import statistics
import time
from typing import Any, Callable, NamedTuple

import harness
from smserver import wait_until

ROUNDS, IDLE_S, PATIENCE_S, QUIET_S, QUIET_LOOKS, QUIET_MS, QUIETS = 5, 4.5, 300, 2.1, 120, 20, 3  # maintenance has rounds of two seconds


class Work(NamedTuple):
    """
    What somebody asks. `ask(client, context, i)` asks it once, for the i-th time, and returns for how many units (None: 1). `grows` is how its
    cost may grow with what is stored: 0 for what asks of one thing only, 1 where all of the things are what is asked for.
    """
    name: str
    ask: Callable[["Client", Any, int], int | None]
    grows: int = 0
    times: int = 20  # a round
    is_write: bool = False  # its cost is counted until it is extracted and published
    why: str = ""  # why it may grow


def thread_cpu(pid):
    """Milliseconds that each kind of thread used so far, by the scheduler's clock, which is finer than ticks."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name, spent = (task / "comm").read_text().strip(), int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        found[name] = found.get(name, 0) + spent / 1e6
    return found


def spent_since(pid, before):
    return {name: spent - before.get(name, 0) for name, spent in thread_cpu(pid).items()}


class Client:
    """One connection that stays open: what it costs to open one would hide small growth."""

    def __init__(self, server):
        self.server, self.connection = server, http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)

    def ask(self, method, path, body=None, content_type="text/plain"):
        headers = {"Content-Type": content_type} if body is not None else {}
        self.connection.request(method, path, body=body.encode() if isinstance(body, str) else body, headers=headers)
        reply = self.connection.getresponse()
        text = reply.read()
        assert reply.status in (200, 201, 202, 204), (method, path, reply.status, text[:400])
        return text

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body, content_type="application/json"):
        return self.ask("POST", path, body, content_type)

    def close(self):
        self.connection.close()


def settle(server):
    wait_until(lambda: harness.is_caught_up(server), PATIENCE_S, "extraction")


def settle_down(server):
    """What was made is worked off: summaries, rankings, goodput. Three quiet looks, or some minutes."""
    settle(server)
    pid, quiet = server.process.pid, 0
    for _ in range(QUIET_LOOKS):
        begin = sum(thread_cpu(pid).values())
        time.sleep(QUIET_S)
        spent = (sum(thread_cpu(pid).values()) - begin) / QUIET_S
        quiet = quiet + 1 if spent < QUIET_MS else 0
        if quiet == QUIETS:
            return


def measure_idle(server):
    """Milliseconds a second of a server that is asked for nothing, by thread: the middle of three looks."""
    pid, looks = server.process.pid, []
    for _ in range(3):
        before, begin = thread_cpu(pid), time.monotonic()
        time.sleep(IDLE_S)
        took = time.monotonic() - begin
        looks.append({name: spent / took for name, spent in spent_since(pid, before).items()})
    return sorted(looks, key=lambda look: sum(look.values()))[1]


def measure_work(server, client, work, context, idle, first):
    """Milliseconds a unit, and those of each thread; what the server would have spent unasked is taken off."""
    pid, rounds, at = server.process.pid, [], first
    work.ask(client, context, at)  # what is read into memory once is told by works of its own
    for _ in range(ROUNDS):
        units, before, begin = 0, thread_cpu(pid), time.monotonic()
        for _ in range(work.times):
            at += 1
            units += work.ask(client, context, at) or 1
        if work.is_write:
            settle(server)
            time.sleep(0.06)  # the publisher's tick
        took = time.monotonic() - begin
        rounds.append({name: (spent - idle.get(name, 0) * took) / units for name, spent in spent_since(pid, before).items()})
    middle = sorted(rounds, key=lambda one: sum(one.values()))[ROUNDS // 2]
    return {"ms": max(sum(middle.values()), 1e-4), "threads": middle}


def exponent_of(sizes, costs):
    """Of cost = a * size^b, by least squares of the logarithms: b."""
    if len(sizes) < 2:
        return math.nan
    xs, ys = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    x, y = statistics.mean(xs), statistics.mean(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)
