"""OTLP over HTTP, as the OTel Collector, Fluent Bit, Vector and SDKs send it: logs and metrics, both forms, what is rejected."""

import gzip
import json
import random

import pytest

from otlp import logs, metric, metrics
from smserver import wait_until
from wire import field, snappy, varint

LOGS, METRICS, PROTOBUF, JSON = "/v1/logs", "/v1/metrics", "application/x-protobuf", "application/json"
T0 = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture
def server(emptied_server):
    return emptied_server


class Form:
    def __init__(self, is_json):
        self.is_json, self.media = is_json, JSON if is_json else PROTOBUF

    def send(self, server, path, message, **options):
        body = json.dumps(message[1]).encode() if self.is_json else message[0]
        reply = server.post(path, body, content_type=self.media, **options)
        assert reply.headers["Content-Type"] == self.media, reply
        return reply

    def check(self, reply, counted, count, text):
        assert reply.status == 200, reply
        if not count and not text:
            assert reply.raw == (b"{}" if self.is_json else b"")
        elif self.is_json:
            assert reply.body == {"partialSuccess": {counted: str(count), "errorMessage": text}}
        else:
            assert reply.raw == field(1, (field(1, count) if count else b"") + field(2, text))


@pytest.fixture(params=[False, True], ids=["protobuf", "json"])
def form(request):
    return Form(request.param)


def lines(server, job, stream):
    return [(line["ts_ms"], line["text"]) for line in server.lines(job, stream)]


def test_logs(server, form):
    reply = form.send(server, LOGS, logs({"service.name": "svc", "training.job": "j", "host.name": "h", "service.instance.id": "i"},
        [(T0, "first"), (0, 'q"\u00e9', T0 + MS), (T0 + 2 * MS, 5), (T0 + 2 * MS, True), (T0 + 3 * MS, "2023-11-14T22:13:20.5Z stdout F peeled")]))
    form.check(reply, "rejectedLogRecords", 0, "")
    assert lines(server, "j", "h") == [(T0 // MS, "first"), (T0 // MS + 1, 'q"\u00e9'), (T0 // MS + 2, "5"), (T0 // MS + 2, "true"),
        (T0 // MS + 500, "peeled")]
    assert server.get("/api/v1/jobs/j/streams").body["streams"][0]["host"] == "h"


def test_service_names(server, form):
    form.check(form.send(server, LOGS, logs({"service.name": "svc", "service.instance.id": "i"}, [(T0, "x")])), "", 0, "")
    assert lines(server, "svc", "i") == [(T0 // MS, "x")]


def test_kubernetes_attributes(server, form):
    resource = {"service.name": "unknown_service:python", "k8s.pod.name": "p-0", "k8s.node.name": "n",
        "k8s.pod.label.jobset.sigs.k8s.io/jobset-name": "set", "k8s.pod.label.batch.kubernetes.io/job-completion-index": "1"}
    form.check(form.send(server, LOGS, logs(resource, [(T0, "x")])), "", 0, "")
    assert lines(server, "set", "algo-2") == [(T0 // MS, "x")]


STACK = "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\nRuntimeError: NCCL error"


def test_all_that_a_record_says_stays_in_its_line(server, form):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": [
        {"Name": "extra:loss", "Regex": "extra_loss=([0-9.]+)"}, {"Name": "kept:loss", "Regex": '"kept_loss":([0-9.]+)'}]}})
    assert reply.status == 201
    records = [
        (T0, "it failed", None, {"severity": (17, "ERROR"), "attributes": {"exception.type": "RuntimeError", "exception.stacktrace": STACK}}),
        (T0 + MS, "step 500", None, {"attributes": {"extra_loss": 2.5, "ok": True, "note": "two words", "ids": [1, 2], "log.file.name": "a.log"}}),
        (T0 + 2 * MS, {"step": 510, "kept_loss": 2.25, "who": {"rank": 3}}),
        (T0 + 3 * MS, "careful", None, {"severity": (13, "")}),
        (T0 + 4 * MS, None, None, {"attributes": {"alone": "x"}}),
    ]
    form.check(form.send(server, LOGS, logs({"training.job": "j", "host.name": "h"}, records)), "", 0, "")
    assert [text for _, text in lines(server, "j", "h")] == [
        "it failed severity=ERROR exception.type=RuntimeError", *STACK.split("\n"),
        'step 500 extra_loss=2.5 ok=true note="two words" ids=[1,2]',
        '{"step":510,"kept_loss":2.25,"who":{"rank":3}}',
        "careful severity=WARN",
        "alone=x",
    ]
    for metric_name, step, value in (("extra:loss", 500, 2.5), ("kept:loss", 510, 2.25)):
        server.wait_for_points("j", metric_name, 1, stream="h")
        series, = server.get(f"/api/v1/jobs/j/points?metric={metric_name}&raw=true").body["series"]
        assert (series["step"], series["value"]) == ([step], [value])


UUID = "627cc493-f310-47de-96bd-71410b7dec09"


def test_a_random_instance_names_no_stream(server, form):
    for at, (resource, stream) in enumerate((({"host.name": "h"}, "h"), ({"rank": 3}, "3"), ({"process.rank": "4"}, "4"), ({}, UUID))):
        form.check(form.send(server, LOGS, logs({"service.instance.id": UUID, "training.job": f"j{at}", **resource}, [(T0, "x")])), "", 0, "")
        assert lines(server, f"j{at}", stream) == [(T0 // MS, "x")]
        figures = metrics({"service.instance.id": UUID, "training.job": f"j{at}", **resource}, metric("gauge", "loss", [(T0, 2.5, {})]))
        form.check(form.send(server, METRICS, figures), "", 0, "")
        assert server.wait_for_points(f"j{at}", "loss", 1, stream=stream)["last"] == 2.5


def test_values_that_are_no_texts(server, form):
    form.check(form.send(server, LOGS, logs({"training.job": "j"}, [(T0, {"a": [1, 2.5, "x"], "b": {"c": False}})])), "", 0, "")
    assert lines(server, "j", "algo-1") == [(T0 // MS, '{"a":[1,2.5,"x"],"b":{"c":false}}')]


def test_partial_success(make_server, form):
    server = make_server()  # it counts
    reply = form.send(server, LOGS, logs({"training.job": "j"}, [(T0, "kept"), (T0, None)]))
    form.check(reply, "rejectedLogRecords", 1, "a log record has no body")
    reply = form.send(server, LOGS, logs({"x": "y"}, [(T0, "lost"), (T0, "lost")]))
    form.check(reply, "rejectedLogRecords", 2, "no label names the job (--job-labels)")
    assert lines(server, "j", "algo-1") == [(T0 // MS, "kept")]
    assert server.get("/api/v1/info").body["ingest"]["no_job_lines"] == 2


def test_times_that_are_none(server, form):
    reply = form.send(server, LOGS, logs({"training.job": "j"}, [(1, "1970"), (9_223_372_036 * 10**9, "2262"), (0, "none")]))
    form.check(reply, "rejectedLogRecords", 0, "1 ns is no time between 1990 and 2200: the time of arrival counts; "
        "9223372036000000000 ns is no time between 1990 and 2200: the time of arrival counts")
    assert len(lines(server, "j", "algo-1")) == 3
    reply = form.send(server, METRICS, metrics({"training.job": "j"}, metric("gauge", "m", [(1, 1.0, {}), (T0, 2.0, {})])))
    form.check(reply, "rejectedDataPoints", 1, "1 ns is no time between 1990 and 2200")
    server.wait_for_points("j", "m", 1)


def test_metrics(server, form):
    reply = form.send(server, METRICS, metrics({"training.job": "j", "host.name": "h"},
        metric("gauge", "loss", [(T0 + i * MS, 2.5 - i, {"step": 10 + i}) for i in range(3)] + [(T0, float("nan"), {"step": 13})]),
        metric("sum", "tokens", [(T0, 7, {"gpu": "3", "host name": 'a"b'})], unit="tok")))
    form.check(reply, "rejectedDataPoints", 0, "")
    server.wait_for_points("j", "loss", 4, stream="h")
    got = server.points("j", "loss", stream="h")["columns"]
    assert got["x"] == [10, 11, 12, 13] and got["last"][:3] == [2.5, 1.5, 0.5] and got["last"][3] in ("NaN", None)
    row = server.wait_for_points("j", 'tokens{gpu="3",host_name="a\\"b"}', 1, stream="h")
    assert row["last"] == 7 and row["unit"] == "tok"


HISTOGRAMS = "of histograms and summaries the mean of each interval is stored, with NAME.count and NAME.sum"


def test_histograms_are_sum_and_count(server, form):
    reply = form.send(server, METRICS, metrics({"training.job": "j"}, metric("histogram", "wait", [(T0, (4, 2.5), {"gpu": "0"})])))
    form.check(reply, "rejectedDataPoints", 0, HISTOGRAMS)
    assert server.wait_for_points("j", 'wait.sum{gpu="0"}', 1)["last"] == 2.5
    assert server.wait_for_points("j", 'wait.count{gpu="0"}', 1)["last"] == 4


@pytest.mark.parametrize("start_ns", [T0 - 100_000, T0 - 1_100_000], ids=["in-one-millisecond", "before-it"])
def test_a_first_reading_is_the_mean_since_its_start(server, form, start_ns):
    t0 = T0 + 900_000  # both lie in the same millisecond
    start = start_ns + 900_000
    for ns, total in ((t0, (2, 0.5)), (t0 + 200, (3, 3.5)), (t0 + 10 * MS, (4, 4.5))):
        form.send(server, METRICS, metrics({"training.job": "j"}, metric("histogram", "wait", [(ns, total, {}, start)], temporality=2)))
    server.wait_for_points("j", "wait.count", 3)
    means = [value for series in server.points("j", "wait", raw="true")["series"] for value in series["value"]]
    assert means == [0.25, 3.0, 1.0]


def test_a_start_that_is_the_reading_s_own_time_is_none(server, form):
    for ns, total in ((T0, (2, 0.5)), (T0 + 10 * MS, (4, 4.5))):
        form.send(server, METRICS, metrics({"training.job": "j"}, metric("histogram", "wait", [(ns, total, {}, T0)], temporality=2)))
    server.wait_for_points("j", "wait.count", 2)
    assert server.points("j", "wait", raw="true")["series"][0]["value"] == [2.0]


def test_points_that_are_rejected(server, form):
    many = {f"l{i}": "v" for i in range(25)}
    reply = form.send(server, METRICS, metrics({"training.job": "j"}, metric("gauge", "m", [(T0, 1.0, many), (T0, 2.0, {})]),
        metric("gauge", "", [(T0, 1.0, {})])))
    assert reply.status == 200 and b"more than 24 labels" in reply.raw and b"metric is empty" in reply.raw
    assert server.wait_for_points("j", "m", 1)["count"] == 1


def test_what_is_sent_again_is_stored_once(make_server, form):
    server = make_server()  # it counts
    for _ in range(2):
        form.check(form.send(server, LOGS, logs({"training.job": "j"}, [(T0, "x"), (T0, "x")])), "", 0, "")
        form.check(form.send(server, METRICS, metrics({"training.job": "j"}, metric("gauge", "m", [(T0, 1.0, {}), (T0, 1.0, {})]))), "", 0, "")
    assert lines(server, "j", "algo-1") == [(T0 // MS, "x")] * 2
    assert server.wait_for_points("j", "m", 2)["count"] == 2
    assert server.get("/api/v1/info").body["ingest"]["duplicate_chunks"] == 2


def test_encodings(server):
    binary, text = logs({"training.job": "j"}, [(T0, "x")])
    for body, media in ((binary, PROTOBUF), (json.dumps(text).encode(), JSON)):
        for pack, name in ((gzip.compress, "gzip"), (snappy, "snappy")):
            assert server.post(LOGS, pack(body), content_type=media, headers={"Content-Encoding": name}).status == 200
    assert server.post(LOGS, b"", content_type=PROTOBUF).status == 200
    assert server.post(METRICS, b"{}", content_type=JSON).status == 200
    assert server.post(LOGS, b"x", content_type="text/plain").status == 415


def nested(depth):
    value = field(1, "x")
    for _ in range(depth):
        value = field(5, field(1, value))
    return field(1, field(1, field(1, field(1, "training.job") + field(2, field(1, "j")))) + field(2, field(2, field(5, value))))


MISTAKES = [
    (LOGS, b"\x0a\x7f", PROTOBUF, "byte 1: no field of the protobuf message ExportLogsServiceRequest"),
    (LOGS, field(1, field(2, field(2, b"\x09\0"))), PROTOBUF, "no field of the protobuf message LogRecord"),
    (LOGS, field(1, field(1, field(1, field(1, "a") + field(2, b"\x0a\x05x")))), PROTOBUF, "protobuf message AnyValue"),
    (LOGS, nested(17), PROTOBUF, "nested deeper than 16"),
    (LOGS, nested(5000), PROTOBUF, "nested deeper than 16"),
    (METRICS, field(1, field(2, field(2, field(5, b"\x0a\x09")))), PROTOBUF, "protobuf message Metric"),
    (LOGS, b"", JSON, "line 1, column 1: expected '{'"),
    (LOGS, b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[\n{"timeUnixNano":"x"}]}]}]}', JSON, "line 2, column 17: expected nanoseconds"),
    (LOGS, b'{"resourceLogs":' + b"[" * 100_000, JSON, "expected '{'"),
    (METRICS, b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{"asDouble":"x"}]}}]}]}]}', JSON, "expected a number"),
    (METRICS, b'{"a":' + b"[" * 100_000, JSON, "no deeper nesting than 64"),
]


@pytest.mark.parametrize("path, body, media, text", MISTAKES)
def test_mistakes(shared_server, path, body, media, text):
    reply = shared_server.post(path, body, content_type=media)
    assert reply.status == 400 and reply.headers["Content-Type"] == media
    if media == JSON:
        assert reply.body["code"] == 3 and text in reply.body["message"], reply
    else:
        assert reply.raw.startswith(field(1, 3) + varint(2 << 3 | 2)) and text.encode() in reply.raw, reply
    assert shared_server.get("/api/v1/info").body["jobs"] == 0


def test_values_nested_as_deep_as_they_may(server):
    assert server.post(LOGS, nested(16), content_type=PROTOBUF).status == 200
    assert lines(server, "j", "algo-1")[0][1] == "[" * 16 + '"x"' + "]" * 16


def test_a_million_attributes(server, form):
    resource = {f"a{i}": "v" for i in range(300_000)} | {"training.job": "j"}
    assert form.send(server, LOGS, logs(resource, [(T0, "x")])).status in (200, 413)
    assert server.get("/readyz").status == 200


def test_busy_is_429(make_server, form):
    server = make_server("--journal-bytes", "1MiB", "--seal-bytes", "1GiB", "--seal-age", "1h")
    chance = random.Random(1)

    def is_refused():
        reply = form.send(server, LOGS, logs({"training.job": "j"}, [(T0, chance.randbytes(400).hex()) for _ in range(2000)]))
        return reply if reply.status != 200 else None
    reply = wait_until(is_refused, what="a refusal")
    assert reply.status == 429 and int(reply.headers["Retry-After"]) >= 1 and b"--journal-bytes" in reply.raw
