"""From a NaN in a posted line to the webhook's request at a receiver on the same machine; and behind an endpoint that hangs."""

import http.server
import statistics
import threading
import time

from smserver import PATIENCE_S, Server
from table import Line, Row

NANS, QUICK_NANS, LINES = 200, 50, 50
TARGET_MS = 100


class Receiver:
    """Notes when each request came; one that is told to hang answers when it is closed."""

    def __init__(self, hangs=False):
        self.times, self.arrived, self.is_closed = [], threading.Condition(), threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                now = time.perf_counter()
                self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.arrived:
                    receiver.times.append(now)
                    receiver.arrived.notify_all()
                if hangs:
                    receiver.is_closed.wait()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def wait_for(self, count):
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.times) >= count, PATIENCE_S), f"{len(self.times)} of {count} messages came"
            return self.times[count - 1]

    def close(self):
        self.is_closed.set()
        self.server.shutdown()
        self.server.server_close()


def post_nans(server, prefix, receiver, count):
    """Milliseconds from each request's first byte to its message."""
    took = []
    for i in range(count):
        job = f"{prefix}-{i}"
        server.send(job, [f"step: {n} loss: {3 + n % 7 / 100}" for n in range(LINES)])
        server.wait_for_points(job, "train:loss", LINES)
        start = time.perf_counter()
        server.send(job, [f"step: {LINES} loss: nan"])
        took.append(1000 * (receiver.wait_for(len(took) + 1) - start))
    return {"median_ms": statistics.median(took), "p99_ms": sorted(took)[int(len(took) * 0.99)], "max_ms": max(took)}


def measure_one(folder, count, hangs):
    folder.mkdir()
    receiver, hanging, server = Receiver(), Receiver(hangs=True), Server(folder)
    server.start()
    try:
        for url in [hanging.url] * hangs + [receiver.url]:
            assert server.post("/api/v1/webhooks", json={"url": url, "minimum_severity": "critical", "per_minute": 0}).status == 201
        return post_nans(server, "alert", receiver, count)
    finally:
        server.stop()
        hanging.close()
        receiver.close()


def measure_alert(bench):
    bench.say("from a NaN to the webhook")
    count = QUICK_NANS if bench.is_quick else NANS
    return {"alone": measure_one(bench.folder / "alone", count, False), "beside": measure_one(bench.folder / "beside", count, True)}


def report_alert(found, bench):
    names = {"alone": "NaN to webhook", "beside": "NaN to webhook, beside an endpoint that hangs"}
    return [Line(names[name], f"p50 {one['median_ms']:.1f} ms, p99 {one['p99_ms']:.1f} ms", "", "", f"p50 <= {TARGET_MS} ms",
        one["median_ms"] <= TARGET_MS) for name, one in found.items()]


ROWS = [Row("alert", measure_alert, report_alert)]
