"""Idempotency-Key at the doors for lines and points: a body that is sent again is stored once, also over a kill."""

import gzip
import json

import pytest

LOGS, POINTS = "/api/v1/logs?job=j", "/api/v1/points?job=j"


def send(server, body, key, path=LOGS, media="text/plain", **headers):
    return server.post(path, body, content_type=media, headers={"Idempotency-Key": key, **headers})


def texts(server, stream="algo-1"):
    return [line["text"] for line in server.lines("j", stream)]


def test_the_same_key_is_the_same_body(server):
    body = "one\none\n"  # equal lines in one body are two
    first = send(server, body, "k1").body
    assert (first["accepted"], first.get("duplicate", 0)) == (2, 0)
    again = send(server, gzip.compress(body.encode()), "k1", **{"Content-Encoding": "gzip"}).body
    assert (again["accepted"], again["duplicate"]) == (0, 2)
    server.kill()
    server.start(f"127.0.0.1:{server.port}")
    assert send(server, body, "k1").body["duplicate"] == 2
    assert send(server, body, "k2").body["accepted"] == 2
    assert server.post(LOGS, body).body["accepted"] == 2  # without a key every body is new
    assert texts(server) == ["one"] * 6


def test_each_stream_of_a_body_knows_the_key(server):
    rows = [{"line": "a", "stream": "s1"}, {"line": "b", "stream": "s2"}]
    body = "".join(json.dumps(row) + "\n" for row in rows)
    for _ in range(2):
        assert send(server, body, "k", media="application/x-ndjson").status == 200
    more = body + json.dumps({"line": "c", "stream": "s3"}) + "\n"
    assert send(server, more, "k", media="application/x-ndjson").body["accepted"] == 1
    assert [texts(server, stream) for stream in ("s1", "s2", "s3")] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("media, body", [("text/csv", "step,m\n1,2\n1,2\n"), ("text/plain", "m 2 1700000000000\nm 2 1700000000000\n"),
    ("application/json", '{"points": [{"metric": "m", "step": 1, "value": 2}, {"metric": "m", "step": 1, "value": 2}]}')])
def test_points(server, media, body):
    for _ in range(2):
        assert send(server, body, "k", POINTS, media).status == 200
    assert server.wait_for_points("j", "m", 2)["count"] == 2
    assert send(server, body, "other", POINTS, media).body["accepted"] == 2
    assert server.wait_for_points("j", "m", 4)["count"] == 4


def test_a_key_is_of_its_door(server):
    assert send(server, "one\n", "batch-1").body["accepted"] == 1
    for duplicate in (0, 1):  # the points of the same batch
        reply = send(server, "step,m\n1,2\n", "batch-1", POINTS, "text/csv").body
        assert (reply["accepted"], reply.get("duplicate", 0)) == (1 - duplicate, duplicate)
    assert server.wait_for_points("j", "m", 1)["count"] == 1 and texts(server) == ["one"]


def test_a_body_with_a_key_is_one_slice_however_large(make_server):
    server = make_server("--slice-bytes", "4KiB", "--max-push-bytes", "64KiB")
    body = "".join(f"line {n:05}\n" for n in range(5957)).encode()  # 65527 bytes, sixteen slices
    body += b"x" * (65536 - len(body) - 1) + b"\n"
    for _ in range(2):
        assert send(server, body, "k").status == 200
    assert len(texts(server)) == 5958
    reply = send(server, body + b"\n", "k2")
    assert reply.status == 413 and "a body with an Idempotency-Key is larger than 65536 bytes (--max-push-bytes)" in reply.body["detail"]
    assert len(texts(server)) == 5958


def test_refusals(server):
    assert send(server, "x\n", "k" * 255).status == 200
    reply = send(server, "x\n", "k" * 256)
    assert reply.status == 400 and "an Idempotency-Key has at most 255 bytes, this one 256" in reply.body["detail"]
    reply = send(server, "x\n", "k", f"{LOGS}&stream=s&offset=0")
    assert reply.status == 400 and reply.body["field"] == "offset" and "exclude each other" in reply.body["detail"]
