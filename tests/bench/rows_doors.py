"""Shippers' doors against plain text: the same lines by Loki's push and by OTLP, as protobuf and as JSON, in one run."""

import ctypes
import http.client
import json
import random
import threading
import time

from harness import GB, JOBS, MB, create_jobs, is_caught_up, process_cpu
from smserver import Server, wait_until
from table import Line, Row
from wire import field, fixed64, loki_json, loki_push

BODY_BYTES, QUICK_BODIES, BODIES, ROUNDS, BUSY_S = 1 << 20, 32, 96, 3, 0.05
T0, MS = 1_700_000_000_000_000_000, 1_000_000
PROTOBUF_RATIO, JSON_RATIO = 0.5, 0.25


def snappy(plain):
    """By the library that the server uses: real blocks, not literals."""
    library = ctypes.CDLL("libsnappy.so.1")
    room = ctypes.c_size_t(library.snappy_max_compressed_length(ctypes.c_size_t(len(plain))))
    out = ctypes.create_string_buffer(room.value)
    assert library.snappy_compress(plain, ctypes.c_size_t(len(plain)), out, ctypes.byref(room)) == 0
    return out.raw[:room.value]


def make_lines(chance, first_step):
    """About BODY_BYTES of text: one line in four is a training line."""
    lines, size, step = [], 0, first_step
    while size < BODY_BYTES:
        if len(lines) % 4 == 0:
            step += 1
            line = (f" [2026-01-01 00:00:00] iteration {step:8d}/  500000 | consumed samples: {step * 512:12d} | elapsed time per iteration (ms): "
                f"{chance.gauss(800, 9):.1f} | lm loss: {chance.gauss(2, .1):.6E} | grad norm: {chance.gauss(1, .1):.3f} |")
        else:
            line = f"[rank{chance.randrange(64)}]: {chance.choice(('loaded shard', 'fetched block', 'NCCL INFO ring'))} " + f"{chance.getrandbits(400):x}"
        lines.append((T0 + (step * 800 + len(lines)) * MS, line))
        size += len(line) + 1
    return lines, step


def otlp_resource(job, stream):
    return {"training.job": job, "host.name": stream}


def otlp(job, stream, lines):
    resource = b"".join(field(1, field(1, key) + field(2, field(1, value))) for key, value in otlp_resource(job, stream).items())
    records = b"".join(field(2, fixed64(1, ns) + field(2, 9) + field(5, field(1, line))) for ns, line in lines)
    return field(1, field(1, resource) + field(2, records))


def otlp_json(job, stream, lines):
    resource = [{"key": key, "value": {"stringValue": value}} for key, value in otlp_resource(job, stream).items()]
    records = [{"timeUnixNano": str(ns), "severityNumber": 9, "body": {"stringValue": line}} for ns, line in lines]
    return {"resourceLogs": [{"resource": {"attributes": resource}, "scopeLogs": [{"logRecords": records}]}]}


def encode(document):
    return json.dumps(document, separators=(",", ":")).encode()


PROTOBUF, JSON, LOKI, OTLP = "application/x-protobuf", "application/json", "/loki/api/v1/push", "/v1/logs"
DOORS = {  # path and type, and the body of (job, stream, lines)
    "plain": (None, "text/plain", lambda job, stream, lines: "".join(line + "\n" for _, line in lines).encode()),
    "loki": (LOKI, PROTOBUF, lambda job, stream, lines: snappy(loki_push(({"job": job, "stream": stream}, lines)))),
    "otlp": (OTLP, PROTOBUF, otlp),
    "loki-json": (LOKI, JSON, lambda job, stream, lines: encode(loki_json(({"job": job, "stream": stream}, lines)))),
    "otlp-json": (OTLP, JSON, lambda job, stream, lines: encode(otlp_json(job, stream, lines))),
}


class Sender(threading.Thread):
    """Bodies that are there already, one after the other; a 429 is sent again."""

    def __init__(self, port, path, media, bodies):
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.path, self.media, self.bodies, self.failed = path, media, bodies, 0

    def send(self, body):
        while True:
            self.connection.request("POST", self.path, body, {"Content-Type": self.media})
            response = self.connection.getresponse()
            response.read()
            if response.status != 429:
                return response.status
            time.sleep(BUSY_S)

    def run(self):
        for body in self.bodies:
            self.failed += self.send(body) not in (200, 204)
        self.connection.close()


def send_all(server, name, number, texts):
    """One load by one door, into jobs of its own: wall and CPU seconds until the last reply and the last point."""
    prefix, (path, media, make) = f"{name}-{number}", DOORS[name]
    create_jobs(server, prefix, JOBS)
    senders = [Sender(server.port, path or f"/api/v1/logs?job={prefix}-{i}&stream=s", media,
        [make(f"{prefix}-{i}", "s", lines) for lines in texts[i::JOBS]]) for i in range(JOBS)]
    before, start = process_cpu(server.process.pid), time.monotonic()
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    wall_s = time.monotonic() - start
    wait_until(lambda: is_caught_up(server), 120, "extraction")
    return {"wall_s": wall_s, "cpu_s": process_cpu(server.process.pid) - before, "failed": sum(sender.failed for sender in senders)}


def measure(bench):
    bodies = QUICK_BODIES if bench.is_quick else BODIES
    chance, step, texts = random.Random(1), 0, []
    for _ in range(bodies):
        lines, step = make_lines(chance, step)
        texts.append(lines)
    text_bytes = sum(len(line) + 1 for lines in texts for _, line in lines)
    server, figures = Server(bench.folder).start(), {"bytes": text_bytes, "lines": sum(map(len, texts))}
    for number in range(ROUNDS):  # in turn, so that what else the machine does meets all of them
        for name in DOORS:
            bench.say(f"doors: {name}, round {number + 1} of {ROUNDS}, {text_bytes / MB:.0f} MB")
            once = send_all(server, name, number, texts)
            best = figures.setdefault(name, once)
            figures[name] = {key: min(best[key], once[key]) if key != "failed" else best[key] + once[key] for key in once}
    stored = sum(row["lines"] for job in server.get("/api/v1/jobs?limit=100").body["jobs"]
        for row in server.get(f"/api/v1/jobs/{job['TrainingJobName']}/streams").body["streams"])
    figures["missing"] = ROUNDS * len(DOORS) * figures["lines"] - stored
    server.stop()
    return figures


def report(figures, bench):
    plain, lines = figures["plain"], []
    for name in DOORS:
        if name == "plain":
            continue
        once, target = figures[name], JSON_RATIO if name.endswith("json") else PROTOBUF_RATIO
        ratio = plain["wall_s"] / once["wall_s"]
        lines.append(Line(f"lines by {name}", f"{figures['bytes'] / once['wall_s'] / MB:.0f} MB/s", f"plain {figures['bytes'] / plain['wall_s'] / MB:.0f} MB/s",
            f"{ratio:.2f}", f">= {target}", ratio >= target and not once["failed"] and not figures["missing"]))
    return lines


def details(figures, bench):
    return [f"{name}: {figures[name]['cpu_s'] / figures['bytes'] * GB:.2f} CPU seconds of the server a GB of text, "
        f"{figures['plain']['cpu_s'] / figures[name]['cpu_s']:.2f} of plain's speed by them" for name in DOORS] + [
        f"doors: {figures['lines']} lines a load, {figures['missing']} not stored or stored twice"]


ROWS = [Row("doors", measure, report, details)]
