"""Every door takes every encoding of a body: what is stored is the same."""

import gzip
import json
import subprocess
import zlib

import pytest

import otlp
from wire import loki_json, loki_push, snappy

T0, MS, COUNT = 1_700_000_000_000_000_000, 1_000_000, 50
TEXTS = [f"step {n} loss={1 / (n + 1):.6f}" for n in range(COUNT)]
ENTRIES = [(T0 + n * MS, text) for n, text in enumerate(TEXTS)]
VALUES = [(T0 + n * MS, float(n), {"step": n}) for n in range(COUNT)]
RESOURCE = {"training.job": "j"}
PROTOBUF, JSON, NDJSON = "application/x-protobuf", "application/json", "application/x-ndjson"

PACKERS = {
    "identity": lambda body: body,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": lambda body: subprocess.run(["zstd", "-q", "-c"], input=body, stdout=subprocess.PIPE, check=True).stdout,
    "snappy": snappy,
}


def ndjson(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def columns():
    return {"series": [{"metric": "m", "step": list(range(COUNT)), "ts_ms": [T0 // MS + n for n in range(COUNT)],
        "value": [float(n) for n in range(COUNT)]}]}


LOGS, POINTS = "/api/v1/logs?job=j", "/api/v1/points?job=j"
DOORS = {  # path, media type, body, whether its lines or its points count
    "text": (LOGS, "text/plain", "".join(f"{text}\n" for text in TEXTS).encode(), "lines"),
    "ndjson": (LOGS, NDJSON, ndjson({"line": text} for text in TEXTS), "lines"),
    "points columns": (POINTS, JSON, json.dumps(columns()).encode(), "points"),
    "points ndjson": (POINTS, NDJSON, ndjson({"metric": "m", "step": n, "value": n} for n in range(COUNT)), "points"),
    "points csv": (POINTS, "text/csv", b"step,m\n" + b"".join(b"%d,%d\n" % (n, n) for n in range(COUNT)), "points"),
    "prometheus": (POINTS, "text/plain", b"".join(b"m %d %d\n" % (n, T0 // MS + n) for n in range(COUNT)), "points"),
    "loki json": ("/loki/api/v1/push", JSON, json.dumps(loki_json(({"job": "j"}, ENTRIES))).encode(), "lines"),
    "loki protobuf": ("/loki/api/v1/push", PROTOBUF, snappy(loki_push(({"job": "j"}, ENTRIES))), "lines"),
    "otlp logs json": ("/v1/logs", JSON, json.dumps(otlp.logs(RESOURCE, ENTRIES)[1]).encode(), "lines"),
    "otlp logs protobuf": ("/v1/logs", PROTOBUF, otlp.logs(RESOURCE, ENTRIES)[0], "lines"),
    "otlp metrics json": ("/v1/metrics", JSON, json.dumps(otlp.metrics(RESOURCE, otlp.metric("gauge", "m", VALUES))[1]).encode(), "points"),
    "otlp metrics protobuf": ("/v1/metrics", PROTOBUF, otlp.metrics(RESOURCE, otlp.metric("gauge", "m", VALUES))[0], "points"),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_encoding_at_every_door(server, door):
    path, media, body, kind = DOORS[door]
    for name, pack in PACKERS.items():
        job = name
        stated = {"Content-Encoding": name} if name != "identity" else {}
        # the job is in the path, or in the body in a form that may be written anew: of the same length, for lengths are in it
        if door == "loki protobuf":
            packed = snappy(loki_push(({"job": job}, ENTRIES)))
            packed = packed if name == "snappy" else pack(packed)  # it is a snappy block whether the header says so or not
        elif path.startswith("/v1/") and media == PROTOBUF:
            make = otlp.logs({"training.job": job}, ENTRIES) if kind == "lines" else otlp.metrics({"training.job": job}, otlp.metric("gauge", "m", VALUES))
            packed = pack(make[0])
        else:
            packed = pack(body.replace(b'"job": "j"', f'"job": "{job}"'.encode()).replace(b'"stringValue": "j"', f'"stringValue": "{job}"'.encode()))
        reply = server.post(path.replace("job=j", f"job={job}"), packed, content_type=media, headers=stated)
        assert reply.status in (200, 204), (name, reply)
        if kind == "lines":
            assert [line["text"] for line in server.lines(job)] == TEXTS, name
        else:
            assert server.wait_for_points(job, "m", COUNT)["count"] == COUNT, name


@pytest.mark.parametrize("path, media", [(LOGS, "text/plain"), (LOGS, NDJSON), (POINTS, "text/csv")])
def test_snappy_that_is_none_and_snappy_that_is_too_much(make_server, path, media):
    server = make_server("--max-push-bytes", "64KiB")
    said = {"Content-Encoding": "snappy"}
    reply = server.post(path, snappy(b"x" * 100)[:-3], content_type=media, headers=said)
    assert reply.status == 400 and "no snappy block: it is damaged" in reply.body["detail"]
    # packed it has a head of three bytes and three more before its one literal: this fits as both, one byte more does not
    most = 65536 - 6
    full = {"text/plain": b"x" * (most - 1) + b"\n", NDJSON: b'{"line": "' + b"x" * (most - 13) + b'"}\n',
        "text/csv": (b"step,m\n" + b"1,1\n" * 20000)[:most - 1] + b"\n"}[media]
    assert len(full) == most and len(snappy(full)) == 65536
    assert server.post(path, snappy(full), content_type=media, headers=said).status == 200
    reply = server.post(path, snappy(full + b"\n"), content_type=media, headers=said)
    assert reply.status == 413 and "packed by snappy is larger than 65536 bytes (--max-push-bytes)" in reply.body["detail"]
    reply = server.post(path, b"x", content_type=media, headers={"Content-Encoding": "br"})
    assert reply.status == 415 and "known are gzip, deflate, zstd, snappy" in reply.body["detail"]


def test_an_offset_counts_unpacked_bytes(server):
    for begin in (0, 30):
        body = "".join(f"{text}\n" for text in TEXTS[begin:]).encode()
        offset = len("".join(f"{text}\n" for text in TEXTS[:begin]))
        reply = server.post(f"/api/v1/logs?job=j&stream=algo-1&offset={offset}", snappy(body), headers={"Content-Encoding": "snappy"})
        assert reply.status == 200 and reply.body["next_offset"] == len("".join(f"{text}\n" for text in TEXTS)), reply
    assert [line["text"] for line in server.lines("j")] == TEXTS
