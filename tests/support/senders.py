"""Senders at every door for tests/integration/test_doors_table.py, each as its real client behaves: what is not acknowledged
is sent again. Standard library only."""

import csv
import http.client
import http.server
import io
import json
import os
import pathlib
import signal
import socket
import threading
import time
import urllib.parse

import otlp
from smserver import PATIENCE_S, wait_until
from wire import loki_json, loki_push, remote_write, snappy

T0, MS = 1_700_000_000_000_000_000, 1_000_000
STARTED_MS = int(time.time() * 1000) - 3600_000  # AWS takes no old events
PROTOBUF, JSON = "application/x-protobuf", "application/json"
PROMQL = "/prometheus/api/v1"
pause = threading.Event()


class Chunk:
    """Lines first … first+count-1; their times go with their numbers."""

    def __init__(self, first, count):
        self.numbers = range(first, first + count)

    def lines(self):
        return [f"step {n} loss={1 / (n + 1):.9f}" for n in self.numbers]

    def entries(self):
        return [(T0 + n * 1000 * MS, line) for n, line in zip(self.numbers, self.lines())]


def chunks(count, lines=25):
    return [Chunk(n * lines, lines) for n in range(count)]


# ---- doors that take requests ----

class Lines:
    """Plain text and NDJSON: bytes are counted, so a sender that knows nothing begins anew, and overlap is dropped."""

    def __init__(self, name, media, encode):
        self.name, self.media, self.encode = name, media, encode

    def request(self, job, chunk, offsets):
        body = self.encode(chunk)
        return f"/api/v1/logs?job={job}&stream=algo-1&offset={offsets.get(chunk, 0)}", self.media, body, {}

    def offsets(self, all_chunks):
        """Where each begins in the stream as sent, in the order of sending: lines and newlines, whatever the form of the body."""
        at, offsets = 0, {}
        for chunk in all_chunks:
            offsets[chunk] = at
            at += sum(len(line) + 1 for line in chunk.lines())
        return offsets


class Pushed:
    """Loki and OTLP: the same body again is known by what it holds."""

    def __init__(self, name, path, media, encode):
        self.name, self.path, self.media, self.encode = name, path, media, encode

    def request(self, job, chunk, _):
        return self.path, self.media, self.encode(job, chunk), {}

    def offsets(self, _):
        return {}


class Points:
    """Points: a body says by its Idempotency-Key that it is the same."""

    def __init__(self, name, media, encode):
        self.name, self.media, self.encode = name, media, encode

    def request(self, job, chunk, _):
        return f"/api/v1/points?job={job}", self.media, self.encode(chunk), {"Idempotency-Key": f"{job} {chunk.numbers[0]}"}

    def offsets(self, _):
        return {}


class RemoteWrite:
    """Prometheus: a series' samples go in order, those that were sent before are known by their time. Each chunk has its own series, so late ones may come."""

    name, job = "remote write", "remote-write"

    def request(self, job, chunk, _):
        series = {"__name__": "m", "hpc_job": job, "chunk": str(chunk.numbers[0])}
        return f"{PROMQL}/write", PROTOBUF, snappy(remote_write((series, [(T0 // MS + n * 1000, n + 0.5) for n in chunk.numbers]))), {}

    def offsets(self, _):
        return {}


class Pushgateway(Points):
    """The job is in the path."""

    def request(self, job, chunk, offsets):
        _, *rest = super().request(job, chunk, offsets)
        return f"/metrics/job/{job}", *rest


class CloudWatchLogs:
    """PutLogEvents: a stream is made when it is missed; the same events again are known by what they are."""

    name = "CloudWatch Logs"

    def request(self, job, chunk, _):
        events = [{"timestamp": STARTED_MS + ns // MS - T0 // MS, "message": line} for ns, line in chunk.entries()]
        return self.post("PutLogEvents", job, logEvents=events)

    def make(self, job):
        return self.post("CreateLogStream", job)

    def post(self, operation, job, **members):
        body = {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": f"{job}/algo-1", **members}
        return "/", "application/x-amz-json-1.1", json.dumps(body).encode(), {"X-Amz-Target": f"Logs_20140328.{operation}"}

    def offsets(self, _):
        return {}


class MLflow:
    """log-batch: the run is made before it; the same body again is known by what it holds."""

    name, job = "MLflow", "Default%2Fdoor"

    def __init__(self):
        self.run_id = "none"

    def begin(self, sender):
        """A client that comes again has its run's id."""
        if sender.ask("/api/2.0/mlflow/runs/set-tag", JSON, json.dumps({"run_id": self.run_id, "key": "k", "value": "v"}), {})[0] == 404:
            status, said = sender.ask("/api/2.0/mlflow/runs/create", JSON, json.dumps({"experiment_id": "0", "run_name": "door"}), {})
            assert status == 200, said
            self.run_id = json.loads(said)["run"]["info"]["run_id"]

    def request(self, job, chunk, _):
        metrics = [{"key": "m", "value": n + 0.5, "step": n, "timestamp": T0 // MS + n * 1000} for n in chunk.numbers]
        return "/api/2.0/mlflow/runs/log-batch", JSON, json.dumps({"run_id": self.run_id, "metrics": metrics}).encode(), {}

    def offsets(self, _):
        return {}


class WandB:
    """file_stream: lines of the history by their number; the run is made before it, which changes nothing when it comes again."""

    name, job = "W&B", "doors%2Fwandb"

    def begin(self, sender):
        run = {"project": "doors", "name": "wandb"}
        status, said = sender.ask("/graphql", JSON, json.dumps({"operationName": "UpsertBucket", "variables": run}), {})
        assert status == 200 and b"errors" not in said, said

    def request(self, job, chunk, offsets):
        rows = [json.dumps({"_step": n, "_timestamp": T0 // MS // 1000 + n, "m": n + 0.5}) for n in chunk.numbers]
        body = {"files": {"wandb-history.jsonl": {"offset": offsets.get(chunk, 0), "content": rows}}}
        return "/files/any/doors/wandb/file_stream", JSON, json.dumps(body).encode(), {}

    def offsets(self, all_chunks):
        at, offsets = 0, {}
        for chunk in all_chunks:
            offsets[chunk] = at
            at += len(chunk.numbers)
        return offsets


class Trackio:
    """bulk_log: an entry a point, known by its log_id."""

    name, job = "Trackio", "doors%2Ftrackio"

    def request(self, job, chunk, _):
        logs = [{"project": "doors", "run": "trackio", "run_id": "a1", "step": n, "metrics": {"m": n + 0.5}, "log_id": f"id-{n}"} for n in chunk.numbers]
        return "/api/bulk_log", JSON, json.dumps({"args": [], "kwargs": {"logs": logs, "hf_token": None}}).encode(), {}

    def offsets(self, _):
        return {}


def text(chunk):
    return "".join(f"{line}\n" for line in chunk.lines()).encode()


def ndjson(chunk):
    return "".join(json.dumps({"ts": ns // MS, "line": line}) + "\n" for ns, line in chunk.entries()).encode()


def resource(job):
    return {"training.job": job}


DOORS = [
    Lines("POST /logs text", "text/plain", text),
    Lines("POST /logs NDJSON", "application/x-ndjson", ndjson),
    Lines("POST /logs JSON array", JSON, lambda chunk: json.dumps([{"ts": ns // MS, "line": line} for ns, line in chunk.entries()]).encode()),
    Pushed("Loki JSON", "/loki/api/v1/push", JSON, lambda job, chunk: json.dumps(loki_json(({"job": job}, chunk.entries()))).encode()),
    Pushed("Loki protobuf", "/loki/api/v1/push", PROTOBUF, lambda job, chunk: snappy(loki_push(({"job": job}, chunk.entries())))),
    Pushed("OTLP JSON", "/v1/logs", JSON, lambda job, chunk: json.dumps(otlp.logs(resource(job), chunk.entries())[1]).encode()),
    Pushed("OTLP at Loki's place", "/otlp/v1/logs", JSON, lambda job, chunk: json.dumps(otlp.logs(resource(job), chunk.entries())[1]).encode()),
    Pushed("OTLP protobuf", "/v1/logs", PROTOBUF, lambda job, chunk: otlp.logs(resource(job), chunk.entries())[0]),
    CloudWatchLogs(),
    Points("points CSV", "text/csv", lambda chunk: ("step,m\n" + "".join(f"{n},{n}.5\n" for n in chunk.numbers)).encode()),
    Points("points JSON array", JSON, lambda chunk: json.dumps([{"metric": "m", "step": n, "value": n + 0.5} for n in chunk.numbers]).encode()),
    Points("Prometheus text", "text/plain", lambda chunk: "".join(
        f"m {n}.5 {T0 // MS + n * 1000}\n" for n in chunk.numbers).encode()),
    RemoteWrite(),
    Pushgateway("Pushgateway", "text/plain", lambda chunk: "".join(f"m {n}.5 {T0 // MS + n * 1000}\n" for n in chunk.numbers).encode()),
    MLflow(),
    WandB(),
    Trackio(),
]


class Sender:
    """Sends one chunk after another to one job, each until it is acknowledged. A new one knows nothing of an old one."""

    def __init__(self, door, port, job, all_chunks):
        self.door, self.port, self.job = door, port, job
        self.offsets = door.offsets(all_chunks)
        self.acknowledged, self.retries = 0, 0
        self.failure = None
        if hasattr(door, "begin"):
            door.begin(self)

    def exchange(self, chunk):
        status, said = self.ask(*self.door.request(self.job, chunk, self.offsets))
        if b"ResourceNotFoundException" not in said:
            return status, said
        self.ask(*self.door.make(self.job))
        return self.ask(*self.door.request(self.job, chunk, self.offsets))

    def ask(self, path, media, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("POST", path, body, {"Content-Type": media, **headers})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def send(self, chunk):
        while True:
            try:
                status, said = self.exchange(chunk)
            except (OSError, http.client.HTTPException):
                status, said = 503, b""
            if status in (200, 204):
                self.acknowledged += 1
                return
            assert status in (429, 503), (self.door.name, status, said)
            self.retries += 1
            pause.wait(0.02)

    def send_all(self, some):
        try:
            for chunk in some:
                self.send(chunk)
        except Exception as failure:  # told by the thread that waits
            self.failure = failure
            raise

    def cut_off(self, chunk):
        """Dies in the middle of a body."""
        path, media, body, headers = self.door.request(self.job, chunk, self.offsets)
        with socket.create_connection(("127.0.0.1", self.port)) as there:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
            there.sendall((head + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n").encode() + body[:len(body) // 2])


def stored_numbers(server, job):
    """The number in each stored line or point, in the order of each stream."""
    if job == RemoteWrite.job:  # each chunk is a series of its own; PromQL would have each time once, even if it were stored twice
        query = {"query": f'm{{training="{job}"}}[1d]', "time": T0 // 10**9 + 80_000}
        found = server.get(f"{PROMQL}/query?" + urllib.parse.urlencode(query)).body["data"]["result"]
        names = [urllib.parse.quote(f'm{{chunk="{series["metric"]["chunk"]}",hpc_job="{job}"}}') for series in found]
        replies = [server.get(f"/api/v1/jobs/{job}/points?metric={name}&raw=true&format=csv") for name in names]
        return sorted(int(float(row["value"])) for reply in replies for row in csv.DictReader(io.StringIO(reply.body)))
    reply = server.get(f"/api/v1/jobs/{job}/points?metric=m&raw=true&format=csv")
    if reply.status == 200:
        return [int(float(row["value"])) for row in csv.DictReader(io.StringIO(reply.body))]
    reply = server.get(f"/api/v1/jobs/{job}/streams")
    streams = [row["stream"] for row in reply.body["streams"]] if reply.status == 200 else []
    return [int(line["text"].split()[1]) for stream in streams for line in server.lines(job, stream)]


# ---- sm-ship ----

def has_begun(pid):
    """A process that has begun only just would die of SIGTERM. It blocks that with SIGUSR1, and is seen to: what it waits for is not."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    blocked = next(line for line in status.splitlines() if line.startswith("SigBlk:"))
    return int(blocked.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1


class Shipper:
    """sm-ship beside a trainer that writes chunks one by one: into a file that is followed, or as a command."""

    def __init__(self, ship, port, job, is_command):
        self.ship, self.job, self.is_command = ship, job, is_command
        self.name = "sm-ship command" if is_command else "sm-ship file"
        self.folder = ship.folder / job
        self.folder.mkdir()
        self.file, self.over = self.folder / "train.log", self.folder / "over"
        self.file.touch()
        self.process, self.said, self.retries = None, "", 0
        self.environment = {"SMFLEET_SERVER": f"http://127.0.0.1:{port}", "SMFLEET_SPOOL": str(self.folder / "spool")}

    def start(self, *more):
        # the trainer prints what is appended to the file; it outlives sm-ship, and ends when it is told
        trainer = f"exec 3<{self.file}; while :; do if [ -e {self.over} ]; then cat <&3; exit 0; fi; cat <&3; sleep 0.02; done"
        words = ["--", "sh", "-c", trainer] if self.is_command else ["--follow", str(self.file)]
        self.process = self.ship.start("--job", self.job, *more, *words, **self.environment)
        for stream, keep in ((self.process.stdout, False), (self.process.stderr, True)):
            threading.Thread(target=self.drain, args=(stream, keep), daemon=True).start()

    def drain(self, stream, keep):
        for line in stream:
            self.said += line.decode() if keep else ""

    def write(self, some):
        for chunk in some:
            with self.file.open("ab") as file:
                file.write(text(chunk))
            pause.wait(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def go_on(self):
        """After a kill: a file is followed again; what a command printed lies in the spool until it is sent."""
        if not self.is_command:
            self.start()
            return
        self.over.touch()
        left = wait_until(lambda: list((self.folder / "spool").glob("*.out")), what="the spool of the killed sm-ship")[0]
        wait_until(lambda: left.stat().st_size >= self.file.stat().st_size, what="the command to end without sm-ship")
        wait_until(self.has_sent_rest, what="sm-ship --send-rest to send what the command printed")

    def has_sent_rest(self):
        """What a command still has open stays."""
        done = self.ship.run("--send-rest", **self.environment)
        assert done.returncode == 0, done.stderr
        return not list((self.folder / "spool").glob("*.out"))

    def finish(self):
        self.over.touch()
        if not self.is_command:
            wait_until(lambda: has_begun(self.process.pid), what="sm-ship to have begun")
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S + float(os.environ.get("SM_OUTAGE_S", "0"))) == 0, self.said


# ---- in between ----

class Doubler(http.server.BaseHTTPRequestHandler):
    """Sends every body on twice: a client whose first answer was lost."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        has_lines = any(part in self.path for part in ("/logs", "/points", "/push", "/log-batch", "/write", "/metrics/job/", "/bulk_log")) or "PutLogEvents" in self.headers.get("X-Amz-Target", "")
        for _ in range(2 if self.command == "POST" and has_lines else 1):
            connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=PATIENCE_S)
            connection.request(self.command, self.path, body, {name: value for name, value in self.headers.items() if name != "Connection"})
            reply = connection.getresponse()
            said = reply.read()
            connection.close()
        self.send_response(reply.status)
        for name in ("Content-Type", "Retry-After"):
            if reply.headers.get(name):
                self.send_header(name, reply.headers[name])
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PATCH = do_PUT = relay


class Doubling:
    def __init__(self, port):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Doubler)
        self.http.daemon_threads, self.http.behind = True, port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.port = self.http.server_port

    def close(self):
        self.http.shutdown()
        self.http.server_close()
