"""Points that are sent as such: columns and objects, acknowledged when they are on disk."""

import http.client
import json
import random
import threading
import time

from harness import is_caught_up
from smserver import Server, wait_until
from table import Line, Row

CONNECTIONS, STEPS, METRICS = 4, 2500, ("loss", "learning_rate", "grad_norm", "tokens_per_s")
COLUMNS_PER_S, OBJECTS_RATIO, BUSY_S, T0 = 5_000_000, 0.15, 0.1, 1_700_000_000_000


def make_body(kind):
    chance = random.Random(1)
    value = lambda: round(chance.gauss(2, 1), 5)  # noqa: E731
    if kind == "columns":
        document = {"series": [{"metric": metric, "step": list(range(STEPS)), "ts_ms": [T0 + 250 * i for i in range(STEPS)],
            "value": [value() for _ in range(STEPS)]} for metric in METRICS]}
    else:
        document = {"points": [{"metric": metric, "step": i, "ts_ms": T0 + 250 * i, "value": value()} for i in range(STEPS)
            for metric in METRICS]}
    return json.dumps(document, separators=(",", ":")).encode()


class Sender(threading.Thread):
    """The same body again and again: it costs nothing to make, so that a client in Python is fast enough."""

    def __init__(self, port, number, body, until):
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.path, self.body, self.until = f"/api/v1/points?job=points-{number}", body, until
        self.requests = self.refused = self.failed = 0

    def run(self):
        while time.monotonic() < self.until:
            self.connection.request("POST", self.path, self.body, {"Content-Type": "application/json"})
            response = self.connection.getresponse()
            response.read()
            self.requests += response.status == 200
            self.refused += response.status == 429
            self.failed += response.status not in (200, 429)
            if response.status == 429:
                time.sleep(BUSY_S)
        self.connection.close()


def measure(kind):
    def run(bench):
        bench.say(f"points, {kind}: {bench.seconds:g} s")
        server, body = Server(bench.folder).start(), make_body(kind)
        start = time.monotonic()
        senders = [Sender(server.port, i, body, start + bench.seconds) for i in range(CONNECTIONS)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        wall_s = time.monotonic() - start
        wait_until(lambda: is_caught_up(server), 60, "extraction")
        requests = sum(sender.requests for sender in senders)
        figures = {"points_per_s": requests * STEPS * len(METRICS) / wall_s, "bytes_per_s": requests * len(body) / wall_s,
            "requests": requests, "refused": sum(sender.refused for sender in senders),
            "failed": sum(sender.failed for sender in senders), "lag_s": time.monotonic() - start - wall_s}
        server.stop()
        return figures
    return run


def report(kind):
    def lines(load, bench):
        target = COLUMNS_PER_S if kind == "columns" else COLUMNS_PER_S * OBJECTS_RATIO
        return [Line(f"points in, {kind}: durable", f"{load['points_per_s'] / 1e6:.2f} M points/s", "", "", f">= {target / 1e6:g} M/s",
            load["points_per_s"] >= target and not load["failed"])]
    return lines


def details(kind):
    return lambda load, bench: [f"points in, {kind}: {load['requests']} requests, {load['bytes_per_s'] / 1e6:.0f} MB/s of JSON; "
        f"{load['refused']} times 429, {load['failed']} failed; consumed {load['lag_s']:.2f} s after the end"]


ROWS = [Row(f"points-in-{kind}", measure(kind), report(kind), details(kind)) for kind in ("columns", "objects")]
