"""Trackers' clients: 200 of them at once, and the same requests into this server, into MLflow's own and into Trackio's, in one run.

The peers are left out where they are not installed: tests/clients/mlflow-server.txt and trackio.txt say how.
"""

import http.client
import json
import os
import selectors
import socket
import statistics
import subprocess
import time

from harness import ROOT, is_caught_up
from rows_log_batch import log_batch, make_run, make_values
from smserver import Server, wait_until
from table import Line, Row

PROCESSES, VALUES_A_SECOND, P99_MS = 200, 10, 50.0
CONNECTIONS, BODIES, PEER_S, QUICK_PEER_S, TIMES = 8, 200, 20, 5, 50
ENTRIES, START_S, T0 = 100, 60, 1_790_000_000_000
MLFLOW, TRACKIO = ROOT / ".cache/mlflow-server", ROOT / ".cache/trackio"
TRACKIO_TOKEN = "of-the-bench"


# ---- one thread that is many clients ----

class Client:
    """One connection, one request at a time, each with a body of its own."""

    def __init__(self, port, number, make_request):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number, self.make_request = number, make_request
        self.sent, self.got, self.due = 0, b"", 0.0

    def ask(self):
        """False: there is nothing left to send."""
        request, self.got = self.make_request(self.number, self.sent), b""
        if request:
            self.socket.sendall(request)
            self.sent += 1
        return bool(request)

    def read(self):
        """The status of the reply once all of it is here, else None."""
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError(f"the server closed connection {self.number} behind request {self.sent}")
        self.got += part
        head, is_whole, body = self.got.partition(b"\r\n\r\n")
        if not is_whole:
            return None
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        return int(head.split(b" ", 2)[1]) if len(body) >= length else None


def drive(port, make_request, connections, seconds, rate=None):
    """Requests for `seconds`, `rate` a second on each connection, or one upon the other. A request that waits for the one before it
    has waited: its time counts from when it was due. Latencies in ms, requests that were not answered with 200, seconds."""
    clients, waiting, chosen = [Client(port, i, make_request) for i in range(connections)], set(), selectors.DefaultSelector()
    start, latencies, failed = time.monotonic(), [], 0
    for client in clients:
        chosen.register(client.socket, selectors.EVENT_READ, client)
        client.due = start + (client.number / connections / rate if rate else 0)
    idle = sorted(clients, key=lambda client: client.due, reverse=True)
    while True:
        now = time.monotonic()
        while idle and idle[-1].due <= now:
            client = idle.pop()
            if client.due < start + seconds and client.ask():
                waiting.add(client)
        if not idle and not waiting:
            break
        answered = []
        for key, _ in chosen.select(max(0.0, idle[-1].due - time.monotonic()) if idle else None):
            status, now = key.data.read(), time.monotonic()
            if status is not None:
                latencies.append((now - key.data.due) * 1000)
                failed += status != 200
                key.data.due = key.data.due + 1 / rate if rate else now
                waiting.discard(key.data)
                answered.append(key.data)
        if answered:
            idle = sorted(idle + answered, key=lambda client: client.due, reverse=True)
    wall_s = time.monotonic() - start
    for client in clients:
        client.socket.close()
    return {"latencies": latencies, "failed": failed, "wall_s": wall_s}


def request(path, document, headers=""):
    body = document if isinstance(document, bytes) else json.dumps(document, separators=(",", ":")).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}"
        f"Content-Length: {len(body)}\r\n\r\n").encode() + body


# ---- what the clients send ----

def one_value(runs):
    return lambda number, sent: request("/api/2.0/mlflow/runs/log-metric", {"run_id": runs[number], "key": f"metric_{sent % VALUES_A_SECOND}",
        "value": 4 / (sent + 1), "timestamp": T0 + 100 * sent, "step": sent // VALUES_A_SECOND})


def thousand_values(runs):
    """Made before they are sent, as all bodies of many values: making one takes this program longer than the server takes to store it."""
    values = make_values(1)[0]
    bodies = [[request("/api/2.0/mlflow/runs/log-batch", log_batch(run_id, len(values[0]) * sent, values)) for sent in range(BODIES)]
        for run_id in runs]
    return lambda number, sent: bodies[number][sent] if sent < BODIES else None


def bulk_log(number, sent, count):
    """The loss falls over all requests: one that began anew with each would be a spike a request, and measure incidents."""
    logs = [{"project": "bench", "run": f"run-{number}", "run_id": f"id-{count}-{number}", "step": sent * count + i,
        "log_id": f"{count}-{number}-{sent}-{i}", "metrics": {"loss": 2 + 4 / (1 + (sent * count + i) / 1000), "lr": 1e-4, "grad_norm": 1.5, "tokens_per_s": 1e5 + i}}
        for i in range(count)]
    return request("/api/bulk_log", {"args": [], "kwargs": {"logs": logs, "hf_token": None}}, f"X-Trackio-Write-Token: {TRACKIO_TOKEN}\r\n")


def one_entry(_):
    """Trackio's client sends what its training logged since its last request; each entry is one log({four values})."""
    return lambda number, sent: bulk_log(number, sent, 1)


def many_entries(_):
    bodies = [[bulk_log(number, sent, ENTRIES) for sent in range(BODIES)] for number in range(CONNECTIONS)]
    return lambda number, sent: bodies[number][sent] if sent < BODIES else None


SHAPES = {  # name: (whose, values a request, its maker)
    "log-metric, one value": ("MLflow", 1, one_value),
    "log-batch, 1000 values": ("MLflow", 1000, thousand_values),
    "bulk_log, 1 entry of 4 values": ("Trackio", 4, one_entry),
    f"bulk_log, {ENTRIES} entries of 4": ("Trackio", 4 * ENTRIES, many_entries),
}


# ---- the peers ----

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def is_there(port, path):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False


class Peer:
    """Another tracker's own server, as its documentation starts it."""

    def __init__(self, folder, whose):
        self.port, where = free_port(), MLFLOW if whose == "MLflow" else TRACKIO
        environment = {**os.environ, "PYTHONPATH": str(where), "BROWSER": "true", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"),
            "TRACKIO_DIR": str(folder / "trackio"), "TRACKIO_WRITE_TOKEN": TRACKIO_TOKEN, "GRADIO_SERVER_PORT": str(self.port)}
        mlflow = ["-m", "mlflow", "server", "--port", str(self.port), "--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
        command = mlflow if whose == "MLflow" else ["-m", "trackio.cli", "show", "--host", "127.0.0.1"]
        with open(folder / f"{whose}.log", "wb") as log:
            self.process = subprocess.Popen(["/usr/bin/python3", *command], cwd=folder, env=environment, stdout=log, stderr=log,
                start_new_session=True)
        wait_until(lambda: is_there(self.port, "/health" if whose == "MLflow" else "/version"), START_S, f"{whose}'s server")

    def make_run(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        body = json.dumps({"experiment_id": "0", "run_name": name, "start_time": T0})
        connection.request("POST", "/api/2.0/mlflow/runs/create", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        said = reply.read()
        assert reply.status == 200, said
        return json.loads(said)["run"]["info"]["run_id"]

    def stop(self):
        os.killpg(self.process.pid, 15)
        self.process.wait()


# ---- the rows ----

def measure_processes(bench):
    """One value a request: what a training sends that calls log_metric() for each, the hardest case."""
    seconds = min(bench.seconds, 60)
    bench.say(f"{PROCESSES} processes, {VALUES_A_SECOND} values a second each: {seconds:g} s")
    server = Server(bench.folder).start()
    runs = [make_run(server, f"process-{i}") for i in range(PROCESSES)]
    found = drive(server.port, one_value(runs), PROCESSES, seconds, VALUES_A_SECOND)
    wait_until(lambda: is_caught_up(server), 120, "extraction")
    stored = sum(row["count"] for i in range(PROCESSES) for row in server.get(f"/api/v1/jobs/Default%2Fprocess-{i}/metrics").body["series"]
        if row["metric"].startswith("metric_"))
    server.stop()
    latencies = sorted(found.pop("latencies"))
    cuts = statistics.quantiles(latencies, n=1000)
    return {**found, "values": len(latencies), "missing": len(latencies) - stored, "p50_ms": cuts[499], "p99_ms": cuts[989],
        "p999_ms": cuts[998], "max_ms": latencies[-1]}


def report_processes(figures, bench):
    is_whole = not figures["failed"] and not figures["missing"]
    return [Line(f"{PROCESSES} processes, {VALUES_A_SECOND} log_metric a second each: p99", f"{figures['p99_ms']:.1f} ms", "", "",
        f"<= {P99_MS:g} ms", figures["p99_ms"] <= P99_MS and is_whole)]


def details_processes(figures, bench):
    return [f"{PROCESSES} processes: {figures['values']} values in {figures['wall_s']:.1f} s, p50 {figures['p50_ms']:.1f}, p99 {figures['p99_ms']:.1f}, "
        f"p99.9 {figures['p999_ms']:.1f}, at most {figures['max_ms']:.1f} ms; {figures['failed']} failed, {figures['missing']} missing"]


def measure_rate(server, shape, seconds):
    """Values a second that are acknowledged, by 8 connections that each send one request upon the other."""
    whose, values, make = SHAPES[shape]
    connect = server.make_run if isinstance(server, Peer) else lambda name: make_run(server, name)
    runs = [connect(f"{values}-{i}") for i in range(CONNECTIONS)] if whose == "MLflow" else []
    found = drive(server.port, make(runs), CONNECTIONS, seconds)
    return {"values_per_s": (len(found["latencies"]) - found["failed"]) * values / found["wall_s"], "failed": found["failed"]}


def measure_peers(bench):
    """The peer, then this server, shape by shape, each alone on the machine."""
    seconds, figures = QUICK_PEER_S if bench.is_quick else PEER_S, {}
    for whose, where in (("MLflow", MLFLOW), ("Trackio", TRACKIO)):
        if not where.is_dir():
            bench.say(f"{whose}'s own server is left out: no {where.relative_to(ROOT)}")
            continue
        for kind in ("theirs", "ours"):
            folder = bench.folder / f"{whose}-{kind}"
            folder.mkdir()
            server = Peer(folder, whose) if kind == "theirs" else Server(folder).start()
            for shape in (name for name, (of, _, _) in SHAPES.items() if of == whose):
                bench.say(f"{shape}, {kind}: {seconds} s")
                figures.setdefault(shape, {})[kind] = measure_rate(server, shape, seconds)
            server.stop()
    return figures


def report_peers(figures, bench):
    lines = []
    for shape, found in figures.items():
        ours, theirs = (found[kind]["values_per_s"] for kind in ("ours", "theirs"))
        lines.append(Line(shape, f"{ours:,.0f} values/s", f"{SHAPES[shape][0]}'s server {theirs:,.0f}", f"{ours / theirs:.1f}", f">= {TIMES}",
            ours / theirs >= TIMES and not found["ours"]["failed"]))
    return lines


def details_peers(figures, bench):
    return [f"{shape}: {found['ours']['failed']} of ours, {found['theirs']['failed']} of theirs failed" for shape, found in figures.items()
        if any(one["failed"] for one in found.values())]


ROWS = [Row("tracker-processes", measure_processes, report_processes, details_processes),
    Row("tracker-servers", measure_peers, report_peers, details_peers)]
