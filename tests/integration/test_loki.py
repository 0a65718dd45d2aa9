"""Loki's push, as Promtail, Alloy, Vector and Fluent Bit send it: both forms, labels, times, the runtime's prefix, mistakes."""

import concurrent.futures
import gzip
import itertools
import json
import random
import re

import pytest

from smserver import wait_until
from wire import field, loki_json, loki_push, snappy, varint

PUSH, PROTOBUF, JSON = "/loki/api/v1/push", "application/x-protobuf", "application/json"
T0 = 1_700_000_000_000_000_000
MS = 1_000_000


def push(server, *streams, **options):
    return server.post(PUSH, snappy(loki_push(*streams)), content_type=PROTOBUF, **options)


def push_json(server, *streams, **options):
    return server.post(PUSH, json=loki_json(*streams), **options)


SENDERS = pytest.mark.parametrize("send", [push, push_json], ids=["protobuf", "json"])


def texts(server, job, stream="algo-1"):
    return [line["text"] for line in server.lines(job, stream)]


def streams(server, job):
    return {one["stream"]: one.get("host") for one in server.get(f"/api/v1/jobs/{job}/streams").body["streams"]}


def counter(server, name):
    return int(re.search(rf"^smfleet_{name} (\d+)$", server.get("/metrics").body, re.M).group(1))


@SENDERS
def test_lines_with_their_times(emptied_server, send):
    emptied_server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss: ([0-9.]+)"}]}})
    reply = send(emptied_server, ({"job": "j", "host": "n1"}, [(T0, "step 1 loss: 2.5"), (T0 + 7 * MS, 'a "b" \\ \t\u00e9'), (T0 + 7 * MS, "")]))
    assert (reply.status, reply.raw) == (204, b"")
    assert [(line["ts_ms"], line["text"]) for line in emptied_server.lines("j", "n1")] == [
        (T0 // MS, "step 1 loss: 2.5"), (T0 // MS + 7, 'a "b" \\ \t\u00e9'), (T0 // MS + 7, "")]
    assert streams(emptied_server, "j") == {"n1": "n1"}
    emptied_server.wait_for_points("j", "loss", 1, stream="n1")


@SENDERS
def test_structured_metadata_stays_in_its_line(emptied_server, send):
    """As OTLP's attributes do: behind the text, or, of several lines, below it; readable and matched."""
    emptied_server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "loss", "Regex": "extra_loss=([0-9.]+)"}]}})
    stack = "Traceback (most recent call last):\nRuntimeError: NCCL error"
    entries = [(T0, "step 500", {"extra_loss": "2.5", "note": "two \u00e9 words", "ids": "[1,2]"}), (T0 + MS, "plain", {}),
        (T0 + 2 * MS, "it failed\n", {"exception_type": "RuntimeError", "stack": stack}), (T0 + 3 * MS, "", {"alone": 'a"b'})]
    assert send(emptied_server, ({"job": "j"}, entries)).status == 204
    assert [(line["ts_ms"] - T0 // MS, line["text"]) for line in emptied_server.lines("j", "algo-1")] == [
        (0, 'step 500 extra_loss=2.5 note="two \u00e9 words" ids=[1,2]'), (1, "plain"),
        (2, "it failed exception_type=RuntimeError"), *[(2, line) for line in stack.split("\n")], (3, 'alone="a\\"b"')]
    emptied_server.wait_for_points("j", "loss", 1)
    series, = emptied_server.get("/api/v1/jobs/j/points?metric=loss&raw=true").body["series"]
    assert (series["step"], series["value"]) == ([500], [2.5])
    assert send(emptied_server, ({"job": "j"}, entries)).status == 204  # again: it is there
    emptied_server.wait_for_extraction()
    assert len(emptied_server.lines("j", "algo-1")) == 6


def test_ready(server):
    reply = server.get("/ready")
    assert reply.status == 200 and reply.body == "ready\n"


MAPPED = [
    ({"job": "a"}, "a", "algo-1", ""),
    ({"job": "a", "stream": "s", "node": "n"}, "a", "s", "n"),
    ({"job": "a", "stream": "stdout", "instance": "i"}, "a", "i", "i"),
    ({"jobset_sigs_k8s_io_jobset_name": "set", "jobset_sigs_k8s_io_replicatedjob_name": "workers", "jobset_sigs_k8s_io_job_index": "0",
        "batch_kubernetes_io_job_completion_index": "3", "job": "ns/app", "node_name": "n7"}, "set", "workers-0-3", "n7"),
    ({"training_kubeflow_org_job_name": "tune", "training_kubeflow_org_replica_type": "worker",
        "training_kubeflow_org_replica_index": "2", "pod": "tune-worker-2", "node": "n2"}, "tune", "worker-2", "n2"),
    ({"kubernetes_labels_batch_kubernetes_io_job_name": "plain", "kubernetes_labels_batch_kubernetes_io_job_completion_index": "4",
        "kubernetes_host": "n3"}, "plain", "algo-5", "n3"),
    ({"app_kubernetes_io_instance": "app", "pod": "app-x1"}, "app", "app-x1", ""),
    ({"pod": "lonely", "node": "n4"}, "lonely", "lonely", "n4"),
    # as Fluent Bit's kubernetes filter, Vector and the OTel Collector's k8sattributes write them
    ({"kubernetes_labels_jobset.sigs.k8s.io/jobset-name": "fb", "kubernetes_host": "n5", "kubernetes_pod_name": "fb-w-0-0-x"}, "fb",
        "fb-w-0-0-x", "n5"),
    ({"k8s.pod.label.jobset.sigs.k8s.io/jobset-name": "otel", "k8s.node.name": "n6", "k8s.pod.name": "otel-0"}, "otel", "otel-0", "n6"),
    ({"service_name": "unknown_service", "pod": "p"}, "p", "p", ""),
    ({"app": "trainer", "node": "n7"}, "trainer", "n7", "n7"),  # where nothing better is there
    ({"service": "sweep", "application": "tuner"}, "tuner", "algo-1", ""),
    ({"app": "trainer", "pod": "trainer-0"}, "trainer-0", "trainer-0", ""),
]


@SENDERS
@pytest.mark.parametrize("labels, job, stream, host", MAPPED)
def test_labels(emptied_server, send, labels, job, stream, host):
    assert send(emptied_server, (labels, [(T0, "x")])).status == 204
    assert streams(emptied_server, job) == {stream: host} or (not host and list(streams(emptied_server, job)) == [stream])


def test_labels_are_configurable(make_server):
    server = make_server("--job-labels", "experiment,job", "--stream-labels", "rank", "--host-labels", "machine")
    assert push(server, ({"job": "a", "Experiment": "e", "rank": "r3", "machine": "m", "host": "h"}, [(T0, "x")])).status == 204
    assert streams(server, "e") == {"r3": "m"}


def test_a_list_of_labels_is_never_empty(make_server):
    server = make_server("--job-labels", ",", start=False)
    with pytest.raises(AssertionError, match="--job-labels takes 1 to 32 names"):
        server.start()
    server.wait()
    server.process = None


@SENDERS
@pytest.mark.parametrize("label", ["namespace", "kubernetes_namespace_name", "k8s.namespace.name", "pod_namespace"])
def test_the_namespace_is_the_team_of_a_job_that_is_made(emptied_server, send, label):
    emptied_server.post("/api/v1/jobs", json={"TrainingJobName": "there"})
    labels = {label.replace(".", "_"): "nlp"}
    assert send(emptied_server, ({**labels, "job": "new"}, [(T0, "x")]), ({**labels, "job": "there"}, [(T0, "x")])).status == 204
    assert send(emptied_server, ({**labels, label.replace(".", "_"): "x" * 64, "job": "long"}, [(T0, "x")])).status == 204
    teams = {name: emptied_server.get(f"/api/v1/jobs/{name}").body.get("team") for name in ("new", "there", "long")}
    assert teams == {"new": "nlp", "there": None, "long": None}


def test_a_tokens_team_wins_over_the_namespace(server):
    admin = server.post("/api/v1/tokens", json={"name": "a", "scope": "admin"}).body["token"]
    tokens = {team: server.post("/api/v1/tokens", json={"name": team, "scope": "write", "team": team}, token=admin).body["token"]
        for team in ("vision", "nlp")}
    mine = {"job": "mine", "namespace": "nlp"}
    assert push(server, (mine, [(T0, "x")]), token=tokens["vision"]).status == 204
    server.token = admin
    assert server.get("/api/v1/jobs/mine").body["team"] == "vision"
    # a label is no permission, and no lack of one: only the token counts for a job that is there
    reply = push(server, (mine, [(T0, "y")]), token=tokens["nlp"])
    assert reply.status == 403 and "another team" in reply.body
    assert push(server, (mine, [(T0, "z")]), token=admin).status == 204
    assert texts(server, "mine") == ["x", "z"]


def test_no_team_by_labels(make_server):
    server = make_server("--team-labels", "")
    assert push(server, ({"job": "j", "namespace": "nlp"}, [(T0, "x")])).status == 204
    assert server.get("/api/v1/jobs/j").body.get("team") is None


@SENDERS
def test_without_a_job_is_counted_and_the_rest_is_taken(server, send):
    reply = send(server, ({"x": "y"}, [(T0, "lost"), (T0, "lost")]), ({"job": "j"}, [(T0, "kept")]))
    assert reply.status == 204 and texts(server, "j") == ["kept"]
    assert counter(server, "no_job_lines_total") == 2
    assert server.get("/api/v1/info").body["ingest"]["no_job_lines"] == 2


@SENDERS
def test_nothing_could_be_stored(server, send):
    reply = send(server, ({"x": "y"}, [(T0, "lost")]))
    assert reply.status == 400 and reply.headers["Content-Type"].startswith("text/plain")
    assert reply.body == "1 entries were not stored: no label names the job (--job-labels)\n"
    reply = send(server, ({"job": "x" * 300}, [(T0, "lost")]))
    assert reply.status == 400 and "job has 300 bytes, more than 255" in reply.body
    assert counter(server, "no_job_lines_total") == 1


@SENDERS
def test_the_runtimes_prefix(emptied_server, send):
    prefix = "2023-11-14T22:13:2{}.123456789Z {} {} {}"
    lines = [prefix.format(0, "stdout", "F", "whole"), prefix.format(1, "stdout", "P", "one "), prefix.format(2, "stdout", "P", "two "),
        prefix.format(3, "stdout", "F", "three"), prefix.format(4, "stderr", "P:x", "open"), prefix.format(5, "stdout", "F", ""),
        "2023-11-14T22:13:20.1Z stdout X not a prefix", prefix.format(6, "stderr", "P", "at the end")]
    assert send(emptied_server, ({"job": "j"}, [(T0, line) for line in lines])).status == 204
    assert [(line["text"], line["ts_ms"]) for line in emptied_server.lines("j")] == [("whole", 1_700_000_000_123),
        ("one two three", 1_700_000_001_123), ("open", 1_700_000_004_123), ("", 1_700_000_005_123),
        ("2023-11-14T22:13:20.1Z stdout X not a prefix", T0 // MS), ("at the end", 1_700_000_006_123)]


@SENDERS
def test_times_that_are_none(server, send):
    assert send(server, ({"job": "j"}, [(0, "1970"), (1, "too"), (9_223_372_036 * 10**9, "2262")])).status == 204
    now = server.get("/api/v1/info").body["started_ms"]
    assert all(abs(line["ts_ms"] - now) < 600_000 for line in server.lines("j"))
    assert counter(server, "bad_times_total") == 3


def test_encodings(emptied_server):
    body = json.dumps(loki_json(({"job": "j"}, [(T0, "gzip")]))).encode()
    assert emptied_server.post(PUSH, gzip.compress(body), content_type=JSON, headers={"Content-Encoding": "gzip"}).status == 204
    body = json.dumps(loki_json(({"job": "j"}, [(T0, "snappy")]))).encode()
    assert emptied_server.post(PUSH, snappy(body), content_type=JSON, headers={"Content-Encoding": "snappy"}).status == 204
    assert push(emptied_server, ({"job": "j"}, [(T0, "protobuf")]), headers={"Content-Encoding": "snappy"}).status == 204
    assert texts(emptied_server, "j") == ["gzip", "snappy", "protobuf"]


@SENDERS
def test_what_is_sent_again_is_stored_once(server, send):
    both = [({"job": "j", "host": "a"}, [(T0, "same"), (T0, "same")]), ({"job": "j", "host": "b"}, [(T0, "same")])]
    assert send(server, *both).status == 204
    assert send(server, *both).status == 204
    assert send(server, both[1]).status == 204
    server.restart()
    assert send(server, *both).status == 204
    assert texts(server, "j", "a") == ["same", "same"] and texts(server, "j", "b") == ["same"]
    assert counter(server, "duplicate_chunks_total") == 2 and counter(server, "duplicate_lines_total") == 3
    assert server.get("/api/v1/info").body["ingest"]["duplicate_chunks"] == 2
    assert send(server, ({"job": "j", "host": "b"}, [(T0 + 1, "same")])).status == 204
    assert send(server, ({"job": "j", "host": "b", "more": "x"}, [(T0, "same")])).status == 204
    assert texts(server, "j", "b") == ["same"] * 3


def test_what_is_sent_again_after_a_kill_is_stored_once(server):
    for i in range(5):
        bodies = [({"job": "j", "host": "a"}, [(T0 + i, f"{i} {n}") for n in range(100)])]
        assert push(server, *bodies).status == 204
        server.kill()
        server.start()
        assert push(server, *bodies).status == 204
    assert texts(server, "j", "a") == [f"{i} {n}" for i in range(5) for n in range(100)]


def test_a_deleted_job_is_not_remembered(server):
    assert push(server, ({"job": "j"}, [(T0, "x")])).status == 204
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert server.delete("/api/v1/jobs/j").status in (200, 204)
    assert push(server, ({"job": "j"}, [(T0, "x")])).status == 204
    assert texts(server, "j") == ["x"]


def test_json_in_any_order_and_with_more(emptied_server):
    body = ('{"x":[{"y":{}}], "streams": [ {"values":[["1700000000000000000","first",{"m\\u00e9ta":"da\\u0074a","n":[5, 6],"no":null}]],"stream":{"job":"j"}},'
        '{"stream":{"job":"j"}}, {"stream":{"job":"j"},"values":[[1700000000000000000,"tw\\u00f6",{},"more",[1,{"a":[]}]]]} ] }\n')
    assert emptied_server.post(PUSH, body, content_type=JSON).status == 204
    assert texts(emptied_server, "j") == ["first m\u00e9ta=data n=[5, 6]", "twö"]


@SENDERS
def test_a_stream_without_entries_makes_no_job(emptied_server, send):
    assert send(emptied_server, ({"job": "empty"}, [])).status == 204
    assert send(emptied_server, ({"job": "empty"}, []), ({"job": "j"}, [(T0, "x")])).status == 204
    assert [job["TrainingJobName"] for job in emptied_server.get("/api/v1/jobs").body["jobs"]] == ["j"]


def test_lines_of_several_lines(make_server):
    server = make_server("--max-line-bytes", "64KiB")
    assert push(server, ({"job": "j"}, [(T0, "one\ntwo\n"), (T0, "x" * (65536 + 9))])).status == 204
    assert texts(server, "j") == ["one", "two", "x" * 65536]


BOMB = field(1, field(1, '{job="j"}'))
MISTAKES = [
    (b"", PROTOBUF, "no snappy block: it is empty"),
    (b"\xff" * 20, PROTOBUF, "no snappy block: its first bytes are no length"),
    (varint(1 << 24) + b"\0" * 8, PROTOBUF, "too short for the length that it states"),
    (snappy(b"hello")[:-2], PROTOBUF, "no snappy block: it is damaged"),
    (snappy(b"\x0a\xff\xff\xff\xff\x0f"), PROTOBUF, "byte 1: no field of the protobuf message PushRequest"),
    (snappy(field(1, b"\x0a\x7fx")), PROTOBUF, "byte 3: no field of the protobuf message Stream"),
    (snappy(BOMB + field(1, field(1, '{job="j"}') + field(2, b"\x12\x7f"))), PROTOBUF, "protobuf message Entry"),
    (snappy(field(1, field(1, "{job=j}"))), PROTOBUF, 'expected {name="value", …} at byte'),
    (b"", JSON, "line 1, column 1: expected '{'"),
    (b"[]", JSON, "line 1, column 1: expected '{'"),
    (b"{}", JSON, 'the object has no "streams"'),
    (b'{"streams":[{"stream":{"job":"j"},\n"values":[["x","y"]]}]}', JSON, "line 2, column 12: expected nanoseconds"),
    (b'{"streams":[{"stream":{"job":"j"},"values":[["-1","y"]]}]}', JSON, "expected nanoseconds"),
    (b'{"streams":[{"stream":{"job":"j"},"values":[["1"]]}]}', JSON, "expected a line behind its time"),
    (b'{"streams":[{"stream":{"job":1}}]}', JSON, "expected a text in quotes"),
    (b'{"streams":[{"stream":{"job":"j"},"values":[["1","y', JSON, "expected the end of a text"),
    (b'{"streams":[]}x', JSON, "column 15: expected nothing behind the document"),
    (b'{"a":' + b"[" * 100_000, JSON, "expected no deeper nesting than 64"),
]


@pytest.mark.parametrize("body, media, text", MISTAKES)
def test_mistakes(shared_server, body, media, text):
    reply = shared_server.post(PUSH, body, content_type=media)
    assert reply.status == 400 and text in reply.body, reply
    assert reply.headers["Content-Type"].startswith("text/plain")
    assert shared_server.get("/api/v1/info").body["jobs"] == 0


def test_other_media(emptied_server):
    reply = emptied_server.post(PUSH, "x", content_type="text/plain")
    assert reply.status == 415 and "application/x-protobuf" in reply.body["detail"]


def test_a_million_labels(server):
    labels = {f"l{i}": "v" for i in range(1_000_000)} | {"job": "j"}
    assert push_json(server, (labels, [(T0, "x")])).status in (204, 413)
    assert push(server, (labels, [(T0, "x")])).status == 204
    assert "x" in texts(server, "j")


def test_streams_without_end(emptied_server):
    reply = push(emptied_server, *(({"job": "j", "host": f"h{i}"}, [(T0, "x")]) for i in range(4097)))
    assert reply.status == 413 and "more than 4096 streams in one body" in reply.body
    assert emptied_server.get("/api/v1/info").body["jobs"] == 0


@pytest.mark.parametrize("more, status", [(0, 204), (1, 413)])
def test_the_largest_body(make_server, more, status):
    server = make_server("--max-push-bytes", "1024")
    body = json.dumps(loki_json(({"job": "j"}, [(T0, "y")])))
    reply = server.post(PUSH, body.ljust(1024 + more), content_type=JSON)
    assert reply.status == status, reply
    assert status == 204 or "--max-push-bytes" in reply.body["detail"]
    plain = loki_push(({"job": "j"}, [(T0, "z")]))
    plain += field(9, bytes(1024 - len(plain) - 3 + more))
    assert len(plain) == 1024 + more
    # the last 64 bytes are a copy of the one before them: the block is shorter than its content
    packed = varint(len(plain)) + bytes([61 << 2]) + (len(plain) - 65).to_bytes(2, "little") + plain[:-64] + bytes([63 << 2 | 2, 1, 0])
    reply = server.post(PUSH, packed, content_type=PROTOBUF)
    assert reply.status == status, reply
    assert status == 204 or "--max-push-bytes" in reply.body


def test_a_body_that_grows_beyond_the_limit(make_server):
    server = make_server("--max-push-bytes", "1024")
    # copies of 64 bytes from one byte back: 22 bytes a byte, as long as the block allows
    plain_bytes = 1 << 14
    block = varint(plain_bytes) + b"\x00x" + (bytes([63 << 2 | 2]) + b"\x01\x00") * ((plain_bytes - 1) // 64)
    reply = server.post(PUSH, block, content_type=PROTOBUF)
    assert reply.status == 413 and "--max-push-bytes" in reply.body


def test_a_token_that_may_write(make_server):
    server = make_server()
    token = server.post("/api/v1/tokens", json={"name": "shipper", "scope": "write", "team": "red"}).body["token"]
    assert push(server, ({"job": "j"}, [(T0, "x")])).status == 401
    assert push(server, ({"job": "j"}, [(T0, "x")]), token=token).status == 204


def test_busy_is_429(make_server):
    server = make_server("--journal-bytes", "1MiB", "--seal-bytes", "1GiB", "--seal-age", "1h")
    times = itertools.count(T0)

    def body():
        chance = random.Random(next(times))
        return snappy(loki_push(({"job": "j"}, [(next(times), chance.randbytes(100).hex()) for _ in range(5000)])))

    def is_refused():  # all at once: the journal empties about as fast as one sender fills it
        with concurrent.futures.ThreadPoolExecutor(8) as senders:
            replies = list(senders.map(lambda one: server.post(PUSH, one, content_type=PROTOBUF), [body() for _ in range(8)]))
        return next((reply for reply in replies if reply.status != 204), None)
    reply = wait_until(is_refused, what="a refusal")
    assert reply.status == 429 and int(reply.headers["Retry-After"]) >= 1 and "--journal-bytes" in reply.body


@pytest.mark.parametrize("lines, status", [(1024 + 1000, 204), (1024 + 1001, 413)])
def test_a_body_makes_no_more_lines_than_its_size_allows(make_server, lines, status):
    """A line of one byte is as much memory as one of fifty: sixteen megabytes of newlines were a gigabyte."""
    server = make_server("--max-push-bytes", "12000")
    reply = push_json(server, ({"job": "j"}, [(T0, "\n" * lines)]))
    assert reply.status == status, reply
    assert status == 204 or b"2024 lines (--max-push-bytes)" in reply.raw


@pytest.mark.parametrize("lines, rejected", [(1024 + 100, 0), (1024 + 101, 1)])
def test_a_text_of_ndjson_makes_no_more_lines_than_a_line_may_have_bytes(make_server, lines, rejected):
    server = make_server("--max-line-bytes", "1200")
    reply = server.post("/api/v1/logs?job=j", json.dumps({"line": "\n" * lines}) + "\n",
                        content_type="application/x-ndjson")
    assert (reply.body["rejected"], reply.body["accepted"]) == (rejected, 0 if rejected else lines)


@pytest.mark.parametrize("last, is_cut", [(56, False), (57, True)])
def test_a_line_joined_of_parts_is_cut_and_marked_once(make_server, last, is_cut):
    server = make_server("--max-line-bytes", "256")
    prefix = "2026-10-06T00:17:09.669794202Z stdout"
    parts = [f"{prefix} P {'x' * 100}", f"{prefix} P {'x' * 100}", f"{prefix} P {'x' * last}", f"{prefix} F "]
    if is_cut:
        parts.insert(3, f"{prefix} P {'x' * 10}")
    assert push(server, ({"job": "j"}, [(T0 + i, text) for i, text in enumerate(parts)])).status == 204
    line, = server.lines("j")
    assert (len(line["text"]), bool(line.get("cut"))) == (256, is_cut)
    assert counter(server, "cut_lines_total") == is_cut
