"""Memory runs out in the midst of a request: each allocation that it makes fails in turn. It is answered, or refused as a whole, and nothing is the worse for it."""

import collections
import http.client
import json
import re

from attack import attack
from faults import FaultyServer
from killing import check
from test_team_reads import AWS, BODIES, CANARY, JOB, METRIC, QUERIES, STREAM, make_world, questions

AWS_JSON, MOST = "application/x-amz-json-1.1", 600
# As much as it takes to ask each request some hundred times.
OPTIONS = ("--rate-cpu-ms", "0", "--max-rules", "10000", "--max-views", "10000", "--max-notes", "100000", "--max-attachments", "100000", "--rate-requests", "0")
# model/jobs/shape.c says what is wrong with a document, and has no way to say that it could not look: its place is a text that needs memory.
KNOWN = re.compile(rb"is a key of more than|failed to satisfy constraint")
NAMESPACE = "/aws/sagemaker/TrainingJobs"


def writes(number):
    """(method, path, body, media type) of what is sent; each time it is something new."""
    job = f"/api/v1/jobs/{JOB}"
    point = {"series": [{"metric": METRIC, "step": [number], "value": [1.5]}]}
    yield "POST", "/api/v1/jobs/own/notes", {"text": f"note {number}", "step": number}, None
    yield "POST", "/api/v1/jobs", {"TrainingJobName": f"made-{number}", "HyperParameters": {"lr": "0.1"}, "Tags": [{"Key": "a", "Value": "b"}]}, None
    yield "PATCH", job, {"notes": f"{number}", "labels": ["x"], "tags": {"a": f"{number}"}}, None
    yield "PUT", f"{job}/definitions", {"definitions": [{"Name": "again", "Regex": f"value{number}=([0-9.]+)"}]}, None
    yield "POST", f"{job}/evaluations", {"scores": {"acc": number / 1000}, "step": number}, None
    yield "PUT", f"{job}/attachments/{number}.txt", f"text {number}", "text/plain"
    yield "POST", f"{job}/pin", {"pinned": bool(number % 2)}, None
    yield "POST", "/api/v1/logs?job=text&stream=s", f"step: {number} loss: 1.5\n", "text/plain"
    yield "POST", "/api/v1/logs?job=rows", "".join(json.dumps({"stream": f"s{n}", "line": f"{number}"}) + "\n" for n in range(3)), "application/x-ndjson"
    yield "POST", "/api/v1/points?job=sent", point, None
    yield "POST", "/api/v1/points?job=sent", f"metric,step,value\nm,{number},1.5\n", "text/csv"
    yield "POST", "/api/v1/import", json.dumps({"job": {"TrainingJobName": f"imported-{number}"}}) + "\n", "application/x-ndjson"
    yield "POST", "/api/v1/rules", {"name": f"rule {number}", "query": "a"}, None
    yield "POST", "/api/v1/webhooks", {"url": f"https://example.com/{number}", "kinds": []}, None
    yield "POST", "/api/v1/views", {"name": f"view {number}", "query": "a"}, None
    yield "PUT", "/api/v1/retention", {"log_bytes": (1 << 40) + number}, None
    yield "POST", "/loki/api/v1/push", {"streams": [{"stream": {"job": "loki"}, "values": [[str(1_700_000_000_000_000_000 + number), f"line {number}"]]}]}, None
    yield "PUT", "/metrics/job/pushed", f"a_metric {number}\n", "text/plain"
    yield "POST", "/api/2.0/mlflow/experiments/create", {"name": f"experiment {number}"}, None
    yield "POST", "/api/bulk_log", {"kwargs": {"logs": [{"project": CANARY, "run": "r", "run_id": "r9", "metrics": {"m": 1.5}, "step": number, "log_id": f"l{number}",
        "timestamp": "2026-01-01T00:00:00+00:00", "config": {}}]}}, None


def requests(server):
    """Functions of a number: what to ask."""
    found = [lambda _, method=method, path=path: (method, path, None, None) for method, path, _ in questions(server)]
    found += [lambda _, path=path: ("GET", path, None, None) for path in QUERIES]
    found += [lambda _, path=path, body=body: ("POST", path, body, None) for path, body in BODIES]
    found += [lambda _, target=f"{service}.{operation}", body=body: ("POST", "/", body, target) for service, operations in AWS.items() for operation, body in operations.items()]
    count = sum(1 for _ in writes(0))
    found += [lambda number, place=place: list(writes(number))[place] for place in range(count)]
    found += [lambda number: ("POST", "/", {"logGroupName": NAMESPACE, "logStreamName": f"{JOB}/{STREAM}",
        "logEvents": [{"timestamp": 1_700_000_000_000 + number, "message": f"event {number}"}]}, "Logs_20140328.PutLogEvents")]
    return found


def ask(server, method, path, body, how):
    headers = {"X-Amz-Target": how} if how and "." in how and "/" not in how else {}
    media = AWS_JSON if headers else how
    path = path.replace(" ", "%20").replace('"', "%22").replace("{", "%7B").replace("}", "%7D")
    options = {"json": body} if isinstance(body, dict) else {"body": body}
    try:
        return server.request(method, path, content_type=media, headers=headers, **options)
    except json.JSONDecodeError as cut:
        raise AssertionError(f"{method} {path}: {cut.doc}") from cut
    except (ConnectionError, http.client.HTTPException):
        try:
            assert server.get("/healthz").status == 200
        except OSError as gone:
            raise AssertionError(f"the server ended: {method} {path}\n{server.log_text()[-2000:]}") from gone
        return None


class Sweep:
    def __init__(self, server):
        self.server, self.number, self.failures, self.replies, self.whole = server, 0, 0, collections.Counter(), 0
        self.odd = collections.Counter()

    def one(self, request, n, expected):
        """Whether its n-th allocation failed; it has fewer, else."""
        self.number += 1
        self.server.memory.arm(n)
        asked = request(self.number)
        reply = ask(self.server, *asked)
        self.server.memory.set(fail_at=0)
        if not self.server.memory.get("failed"):
            return False
        self.failures += 1
        self.replies[reply.status if reply else "closed"] += 1
        if reply and reply.status not in (500, 503, expected) and not KNOWN.search(reply.raw):
            self.odd[asked[0], asked[1].partition("?")[0], reply.status, reply.raw[:160]] += 1
        return True

    def whole_request(self, request):
        self.number += 1
        asked = request(self.number)
        before = ask(self.server, *asked)
        assert before is not None and before.status < 500, (asked, before)
        n = 1
        while n <= MOST and self.one(request, n, before.status):
            n += 1
        self.number += 1
        after = ask(self.server, *request(self.number))
        assert after is not None and after.status == before.status, (asked, before, after)
        self.whole += 1

    def check_lines(self):
        """Those that were sent, each once at most: a refused one may be there, a doubled one may not."""
        texts = [line["text"] for line in self.server.lines("text", "s")]
        assert len(texts) == len(set(texts)), "a line is there twice"


@attack("memory", "an answer or a refusal, and the same request works behind it", *OPTIONS, kind=FaultyServer)
def each_allocation_of_a_request(fight):
    server = fight.server
    make_world(server)
    sweep, asked = Sweep(server), requests(server)
    fight.chance.shuffle(asked)
    server.send("text", ["first"], stream="s")
    for request in asked:
        if not fight.goes_on(12):
            break
        sweep.whole_request(request)
    sweep.check_lines()
    assert not sweep.odd, f"said of a request that is right: {sweep.odd}"
    server.token = None
    server.stop()
    check(server)
    server.start()
    replies = ", ".join(f"{count} x {status}" for status, count in sweep.replies.most_common())
    return f"{sweep.whole} of {len(asked)} requests, {sweep.failures} failed allocations: {replies}"
