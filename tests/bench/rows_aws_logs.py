"""PutLogEvents against plain text: the same lines of 120 bytes, as many in a batch as AWS allows, in one run."""

import http.client
import json
import random
import time

from harness import GB, JOBS, MB, create_jobs, is_caught_up, process_cpu
from rows_doors import Sender
from smserver import Server, wait_until
from table import Line, Row

LINE_BYTES, LINES_A_BODY, QUICK_BODIES, BODIES, ROUNDS, RATIO = 120, 1048576 // (120 + 26), 32, 96, 3, 0.5
GROUP, TYPE = "/aws/sagemaker/TrainingJobs", "application/x-amz-json-1.1"


class AwsSender(Sender):
    def send(self, body, operation="PutLogEvents"):
        self.connection.request("POST", "/", body, {"Content-Type": TYPE, "X-Amz-Target": f"Logs_20140328.{operation}"})
        response = self.connection.getresponse()
        text = response.read()
        return 0 if b"rejectedLogEventsInfo" in text else response.status


def make_lines(chance, first_step):
    lines = []
    for i in range(LINES_A_BODY):
        start = f"step {first_step + i // 4} loss={chance.gauss(2, .1):.6f} " if i % 4 == 0 else f"[rank{chance.randrange(64)}]: fetched "
        lines.append((start + f"{chance.getrandbits(400):0100x}")[:LINE_BYTES])
    return lines


def plain(job, lines, now_ms):
    return "".join(line + "\n" for line in lines).encode()


def events(job, lines, now_ms):
    rows = [{"timestamp": now_ms + i // 100, "message": line} for i, line in enumerate(lines)]
    return json.dumps({"logGroupName": GROUP, "logStreamName": f"{job}/s", "logEvents": rows}, separators=(",", ":")).encode()


def send_all(server, name, number, texts):
    prefix, now_ms = f"{name}-{number}", int(time.time() * 1000)
    create_jobs(server, prefix, JOBS)
    senders = []
    for i in range(JOBS):
        job, mine = f"{prefix}-{i}", texts[i::JOBS]
        if name == "plain":
            senders.append(Sender(server.port, f"/api/v1/logs?job={job}&stream=s", "text/plain", [plain(job, lines, now_ms) for lines in mine]))
            continue
        senders.append(AwsSender(server.port, "/", TYPE, [events(job, lines, now_ms + at) for at, lines in enumerate(mine)]))
        made = json.dumps({"logGroupName": GROUP, "logStreamName": f"{job}/s"}).encode()
        assert senders[-1].send(made, "CreateLogStream") == 200
    before, start = process_cpu(server.process.pid), time.monotonic()
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    wall_s = time.monotonic() - start
    wait_until(lambda: is_caught_up(server), 120, "extraction")
    return {"wall_s": wall_s, "cpu_s": process_cpu(server.process.pid) - before, "failed": sum(sender.failed for sender in senders)}


def search_ms(server, ask):
    """The best of several: what a search costs through a door, client and connection included."""
    best, connection = float("inf"), http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for _ in range(20):
        start = time.monotonic()
        connection.request(*ask)
        reply = connection.getresponse()
        body = reply.read()
        assert reply.status == 200, body
        best = min(best, time.monotonic() - start)
    connection.close()
    return best * 1000


def measure_search(server, word):
    """The same word, which few blocks hold, in the same job by both doors."""
    job = f"aws-0-{0}"
    rest = ("GET", f"/api/v1/jobs/{job}/logs/search?q={word}&order=oldest&limit=1000&histogram=false")
    body = json.dumps({"logGroupName": GROUP, "logStreamNamePrefix": f"{job}/", "filterPattern": word, "limit": 1000})
    aws = ("POST", "/", body, {"Content-Type": TYPE, "X-Amz-Target": "Logs_20140328.FilterLogEvents"})
    return {"rest_ms": search_ms(server, rest), "aws_ms": search_ms(server, aws)}


def measure(bench):
    chance, step, texts = random.Random(1), 0, []
    for _ in range(QUICK_BODIES if bench.is_quick else BODIES):
        texts.append(make_lines(chance, step))
        step += LINES_A_BODY
    word = texts[0][5].split()[-1][-20:]
    figures = {"bytes": sum(len(line) + 1 for lines in texts for line in lines), "lines": sum(map(len, texts))}
    server = Server(bench.folder).start()
    for number in range(ROUNDS):
        for name in ("plain", "aws"):
            bench.say(f"aws-logs: {name}, round {number + 1} of {ROUNDS}, {figures['bytes'] / MB:.0f} MB")
            once = send_all(server, name, number, texts)
            best = figures.setdefault(name, once)
            figures[name] = {key: min(best[key], once[key]) if key != "failed" else best[key] + once[key] for key in once}
    figures |= measure_search(server, word)
    server.stop()
    return figures


def report(figures, bench):
    once, text = figures["aws"], figures["plain"]
    ratio, more_ms = text["wall_s"] / once["wall_s"], figures["aws_ms"] - figures["rest_ms"]
    return [Line("lines by PutLogEvents", f"{figures['bytes'] / once['wall_s'] / MB:.0f} MB/s", f"plain {figures['bytes'] / text['wall_s'] / MB:.0f} MB/s",
        f"{ratio:.2f}", f">= {RATIO}", ratio >= RATIO and not once["failed"]),
        Line("a search by FilterLogEvents", f"{figures['aws_ms']:.1f} ms", f"REST {figures['rest_ms']:.1f} ms", f"{more_ms:+.1f} ms", "<= 2 ms more",
            more_ms <= 2)]


def details(figures, bench):
    return [f"{name}: {figures[name]['cpu_s'] / figures['bytes'] * GB:.2f} CPU seconds of the server a GB of text" for name in ("plain", "aws")]


ROWS = [Row("aws-logs", measure, report, details)]
