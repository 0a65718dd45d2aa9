"""Whole jobs out of one server and into another: what comes out again is the same, byte for byte."""

import json
import re

import pytest

from smserver import quote, wait_until

ODD = "team/π 🚀 مرحبا"
EXPORT, IMPORT = "/api/v1/export", "/api/v1/import"
NOW_MS = 1_767_225_600_000


def export(server, query=""):
    reply = server.get(EXPORT + (f"?q={quote(query)}" if query else ""))
    assert reply.status == 200, reply
    assert reply.headers["Content-Type"] == "application/x-ndjson"
    return reply.raw


def take(server, data, expected=200, **options):
    reply = server.post(IMPORT, data, content_type="application/x-ndjson", **options)
    assert reply.status == expected, reply
    return reply.body


def records(data, kind=None):
    rows = [json.loads(line) for line in data.splitlines()]
    return [row for row in rows if kind is None or row["record"] == kind]


def make_document_job(server):
    """All that a document says, with text that no pattern of SageMaker's allows in a name."""
    document = {"TrainingJobName": ODD, "RoleArn": "arn:aws:iam::123456789012:role/a", "HyperParameters": {"lr": "1e-4", "naïve": "é", "🚀": "x" * 2500},
        "Tags": [{"Key": "team", "Value": "nlp"}, {"Key": "é", "Value": "مرحبا"}], "Unknown": {"kept": [1, 2.5, None, True]},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1},
        "AlgorithmSpecification": {"TrainingInputMode": "File", "MetricDefinitions": [
            {"Name": "loss", "Regex": r"step (?<step>-?\d+) loss[=:] ?(?<value>\S+)"}, {"Name": "odd:näme", "Regex": r"odd=(\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    assert server.patch(f"/api/v1/jobs/{quote(ODD)}", json={"notes": "a note\nof two lines", "labels": ["gold", "é"]}).status == 200
    server.send(ODD, [f"step {i} loss={1 + 1 / (i + 1):.6f}" for i in range(1500)])
    body = "step 1500 loss=nan\r\nstep 1501 loss=inf\nstep 1502 loss=-inf\n\n\r\nstep 1503 loss=-0.0\n 10%\r 50%\r100%\n" + "odd=1e400\nodd=0x10\n"
    raw = body.encode() + b"\xff\xfe not utf-8 \x00 \x1b[31mred\x1b[0m\n" + "é 🚀 مرحبا e\u0301\n".encode() + b"no newline at the end"
    assert server.post(f"/api/v1/logs?job={quote(ODD)}&stream={quote('algo/2 é')}&host=node-7&offset=0&source=file-1", raw).status == 200
    long = b"x" * 5000 + b"\nnext\n"
    assert server.post(f"/api/v1/logs?job={quote(ODD)}&stream=long", long).status == 200
    points = [{"metric": "sent{gpu=\"3\"}", "step": 2**53 - 9 + i, "ts_ms": NOW_MS + i, "value": value} for i, value in enumerate((0.1, 1e-320, 5e-324, -0.0))]
    reply = server.post(f"/api/v1/points?job={quote(ODD)}&stream=algo-1", json={"points": [*points, {"metric": "sent", "step": 9, "ts_ms": NOW_MS, "value": "NaN"}]})
    assert reply.status == 200, reply
    for status, ms in (("Training", NOW_MS), ("Interrupted", NOW_MS + 5000), ("Training", NOW_MS + 9000), ("Failed", NOW_MS + 60000)):
        reply = server.post(f"/api/v1/jobs/{quote(ODD)}/transitions", json={"SecondaryStatus": status, "time_ms": ms, "StatusMessage": "m é",
            **({"FailureReason": "AlgorithmError: CUDA out of memory"} if status == "Failed" else {})})
        assert reply.status < 300, reply
    assert server.post(f"/api/v1/jobs/{quote(ODD)}/pin", json={"pinned": True}).status == 200


def make_restarted_job(server):
    """Goes back to an earlier step: the points of the first attempt are superseded, and stay."""
    definitions = [{"Name": "loss", "Regex": r"step: (?<step>\d+) loss: (?<value>\S+)"}]
    for job in ("restarted", "runs-on"):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": definitions}}).status == 201
    lines = [json.dumps({"line": f"step: {i} loss: {3 - i / 1000:.5f}", "ts": NOW_MS + i * 1000}) for i in [*range(0, 300), *range(200, 400)]]
    reply = server.post("/api/v1/logs?job=restarted&stream=algo-1", "\n".join(lines), content_type="application/x-ndjson")
    assert reply.status == 200, reply
    spikes = [json.dumps({"line": f"step: {400 + i} loss: {90.0 if i % 50 == 49 else 2.0 + i % 7 / 100}", "ts": NOW_MS + (600 + i) * 1000}) for i in range(200)]
    assert server.post("/api/v1/logs?job=restarted&stream=algo-1", "\n".join(spikes), content_type="application/x-ndjson").status == 200


def fill(server):
    make_document_job(server)
    make_restarted_job(server)
    server.send("runs-on", ["lr: 0.1", "max_steps: 1000", *[f"step: {i} loss: {2 - i / 100}" for i in range(50)]])
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "document only"}).status == 201


def settle(server):
    """What follows from the lines is there, too, as far as it comes by itself."""
    server.wait_for_points(ODD, "loss", 1500)
    server.wait_for_points("restarted", "loss", 1)
    server.wait_for_points("runs-on", "loss", 50)


def settled_export(server):
    """Two exports in a row that are equal: statuses and settings that lines imply are written a moment after the lines."""
    seen = []
    wait_until(lambda: seen.append(export(server)) or (len(seen) > 1 and seen[-1] == seen[-2]), what="an export that stays")
    return seen[-1]


@pytest.fixture
def filled(make_server):
    server = make_server("--max-line-bytes", "4096", "--seal-age", "1h")
    fill(server)
    settle(server)
    return server


def test_a_second_export_is_the_first_byte_for_byte(filled, make_server):
    first = settled_export(filled)
    empty = make_server()
    assert take(empty, first) == {"imported": 4, "skipped": 0, "exist_already": []}
    assert export(empty) == first
    empty.restart()
    assert export(empty) == first

    filled.restart()
    assert settled_export(filled) == first
    for job in ("restarted", ODD):
        for path in ("", "/metrics", "/streams", "/definitions", "/points?metric=loss&raw=true", "/points?metric=loss&attempts=all&buckets=50"):
            one, other = (server.get(f"/api/v1/jobs/{quote(job)}{path}") for server in (filled, empty))
            assert one.status == other.status == 200 and strip(one) == strip(other), path
    for stream in ("algo-1", "algo/2 é", "long"):
        path = f"/api/v1/jobs/{quote(ODD)}/logs/raw?stream={quote(stream)}"
        assert filled.get(path).raw == empty.get(path).raw


def strip(reply):
    """Without numbers that count commits, and what is told of a server rather than of its job."""
    return re.sub(r'"(seq|as_of_seq|silent_ms|ResourceRetained\w*)":"?[\d]+"?,?', "", reply.raw.decode())
