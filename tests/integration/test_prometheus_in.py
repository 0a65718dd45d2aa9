"""Prometheus in: remote write and pushes: to whom a series belongs, what is stored once, what is left out and said."""

import base64
import math
import struct
import time

import pytest

from smserver import Server, wait_until
from test_auth import make_token
from wire import field, remote_write, snappy

WRITE, PROTOBUF = "/prometheus/api/v1/write", "application/x-protobuf"
T0 = int(time.time() * 1000) - 3_600_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For tests whose series have names of their own."""
    one = Server(tmp_path_factory.mktemp("prometheus")).start()
    yield one
    one.close()


def write(server, *series, content_type=PROTOBUF, **options):
    return server.post(WRITE, snappy(remote_write(*series)), content_type=content_type, headers={"Content-Encoding": "snappy"}, **options)


def named(name, **labels):
    return {"__name__": name, **labels}


def test_whose_a_series_is(shared):
    """By a label that names a training, else the machine's; the scrape job is no training."""
    assert write(shared, (named("load1", job="node", instance="n1:9100"), [(T0, 1)]), (named("util", job="dcgm", instance="n1:9400", Hostname="n1", gpu="0"), [(T0, 50)]),
        (named("util", job="dcgm", instance="n1:9400", Hostname="n1", gpu="1", hpc_job="train-7"), [(T0, 60)]),
        (named("loss", instance="p:1", pod="bert-0"), [(T0, 2.5)]), (named("alone"), [(T0, 3)])).status == 204
    shared.wait_for_points("machines", 'load1{instance="n1:9100",job="node"}', 1, stream="n1/node")
    shared.wait_for_points("machines", 'util{Hostname="n1",gpu="0",instance="n1:9400",job="dcgm"}', 1, stream="n1/dcgm")
    shared.wait_for_points("machines", "alone", 1, stream="unknown")
    shared.wait_for_points("train-7", 'util{Hostname="n1",gpu="1",hpc_job="train-7",instance="n1:9400",job="dcgm"}', 1, stream="system/n1")
    shared.wait_for_points("bert-0", 'loss{instance="p:1",pod="bert-0"}', 1, stream="system/p")
    assert {"node", "dcgm"} & {job["TrainingJobName"] for job in shared.get("/api/v1/jobs").body["jobs"]} == set()


def test_samples_are_stored_once(server):
    """Sent again whole; in another body; out of order; after a kill."""
    one = named("up", instance="n1:9100", job="once")
    body = (one, [(T0, 1), (T0 + 1000, 0)])
    old = server.figure("old_samples_total")
    for _ in range(2):
        assert write(server, body).status == 204
    assert write(server, (one, [(T0 + 1000, 0), (T0 + 2000, 1)]), (one, [(T0 + 1500, 7)])).status == 204
    metric = 'up{instance="n1:9100",job="once"}'
    server.wait_for_points("machines", metric, 3, stream="n1/once")
    server.kill()
    server.restart()
    server.wait_for_extraction()
    assert write(server, (one, [(T0 + 2000, 1), (T0 + 3000, 1)])).status == 204
    server.wait_for_points("machines", metric, 4, stream="n1/once")
    points = server.points("machines", metric, stream="n1/once", raw="true")
    assert [value for value in points["series"][0]["value"]] == [1, 0, 1, 1], points
    assert old == 0 and server.figure("old_samples_total") >= 1


def test_not_a_number_and_the_end_of_a_series(shared):
    """A NaN is a value: of a loss that was finite it is an incident, of the rest none. The mark of an ended series is neither."""
    stale = field(1, 0.0)[:1] + struct.pack("<Q", 0x7FF0000000000002)
    for run, last in (("ended", [(T0 + 3, stale)]), ("not-a-number", [(T0 + 2, math.nan), (T0 + 3, stale)])):
        assert write(shared, (named("train_loss", instance="nan:2", hpc_job=run), [(T0, 2), (T0 + 1, 1), *last])).status == 204
    assert write(shared, (named("q", instance="nan:1", job="x"), [(T0, 1), (T0 + 1, math.nan), (T0 + 2, math.inf), (T0 + 3, stale)])).status == 204
    shared.wait_for_points("machines", 'q{instance="nan:1",job="x"}', 3, stream="nan/x")
    shared.wait_for_extraction()
    incidents_of = lambda job: [row["kind"] for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == job]
    wait_until(lambda: incidents_of("not-a-number") == ["non_finite"], what="the NaN of the loss")
    assert [incidents_of(job) for job in ("machines", "ended")] == [[], []]


def test_what_is_left_out_harms_itself_alone(shared):
    """Else Prometheus drops all of the request, for ever."""
    rejected = shared.figure("rejected_samples_total")
    long, many = "x" * 300, {f"l{i}": "v" for i in range(25)}
    histogram = field(1, field(1, field(1, "__name__") + field(2, "native")) + field(4, field(15, T0)))
    body = remote_write((named("fine", instance="left:1"), [(T0, 1)]), (named(long), [(T0, 1)]), (named("many", **many), [(T0, 1)]), ({"a": "b"}, [(T0, 1)]),
        (named("early"), [(-5, 1), (0, 1), (1 << 62, 1)]), (named("late"), [(int(time.time() * 1000) + 3_600_000, 1)])) + histogram
    reply = shared.post(WRITE, snappy(body), content_type=PROTOBUF)
    assert reply.status == 200 and "1 samples were stored, 8 were not" in reply.body, reply
    shared.wait_for_points("machines", 'fine{instance="left:1"}', 1, stream="left")
    assert shared.figure("rejected_samples_total") == rejected + 8


def test_24_labels_of_1024_bytes(shared):
    """At the limits, and one past them."""
    good = {f"l{i:02}": "v" for i in range(23)}
    text = sum(len(f'{name}="v",') for name in good)
    good["z"] = "w" * (1024 - text - len('{z=""}'))
    longer = {**good, "z": good["z"] + "w"}
    assert write(shared, (named("edge", **good), [(T0, 1)])).status == 204
    reply = write(shared, (named("edge", **longer), [(T0, 1)]))
    assert reply.status == 200 and "have more than 1024 bytes" in reply.body


UNREADABLE = [
    (PROTOBUF + ";proto=io.prometheus.write.v2.Request", b"", 415, "1.0"), ("text/plain", b"x", 415, "1.0"),
    (PROTOBUF, b"no snappy", 400, "snappy"), (PROTOBUF, snappy(b"\x0a\x05\x0a"), 400, "WriteRequest"),
    (PROTOBUF, snappy(field(1, field(2, field(1, 1.0) + b"\x10"))), 400, "Sample"), (PROTOBUF, snappy(bytes((1 << 24) + 1)), 413, "--max-push-bytes")]


def test_what_cannot_be_read(shared):
    for content_type, body, status, word in UNREADABLE:
        reply = shared.post(WRITE, body, content_type=content_type)
        assert reply.status == status and word in reply.raw.decode(), (content_type, body[:50], reply)


def test_limits_leave_the_others_in_peace(make_server):
    """A series, a stream, a job too many: counted, the rest stored, and Prometheus is not told to drop all."""
    server = make_server("--max-sampled-series", "2", "--max-streams", "3", "--max-jobs", "2")
    reply = write(server, *((named(f"m{i}", instance="n1:1"), [(T0, i)]) for i in range(5)))
    assert reply.status == 200 and "2 samples were stored, 3 were not" in reply.body, reply
    reply = write(server, *((named("m0", instance=f"n{i}:1"), [(T0 + 1, i)]) for i in range(1, 6)))
    assert reply.status == 200 and "3 samples were stored, 2 were not" in reply.body, reply
    reply = write(server, *((named("m0", hpc_job=f"j{i}"), [(T0, i)]) for i in range(3)), (named("m0", instance="n1:1"), [(T0 + 2, 5)]))
    assert reply.status == 200 and "2 samples were stored, 2 were not" in reply.body, reply
    server.wait_for_extraction()
    assert server.figure("refused_points_total") == 7
    assert server.series("machines", 'm0{instance="n1:1"}', stream="n1")["count"] == 3


def test_a_page_of_1800_series(make_server):
    """As many as node_exporter and a machine's GPUs have."""
    server = make_server()
    for at in range(2):
        assert write(server, *((named("m", n=str(i), instance="big:9100", job="node"), [(T0 + at, i)]) for i in range(1800))).status == 204
    server.wait_for_points("machines", 'm{instance="big:9100",job="node",n="1799"}', 2, stream="big/node")
    assert server.figure("refused_points_total") == 0


def test_teams(server):
    """A team's machines are its own; another's training takes nothing, the rest is stored."""
    admin, blue, red = make_token(server, "a", "admin"), *(make_token(server, team, "write", "--team", team) for team in ("blue", "red"))
    assert write(server, (named("m", instance="n:1"), [(T0, 1)]), (named("m", hpc_job="bj"), [(T0, 1)]), token=blue).status == 204
    reply = write(server, (named("m", instance="n:1"), [(T0, 2)]), (named("m", hpc_job="bj"), [(T0 + 1, 1)]), token=red)
    assert reply.status == 200 and "1 samples were stored, 1 were not" in reply.body, reply
    assert {job["TrainingJobName"] for job in server.get("/api/v1/jobs", token=admin).body["jobs"]} == {"machines/blue", "machines/red", "bj"}
    assert write(server, (named("m"), [(T0, 1)])).status == 401


# ---- pushes ----


def test_pushes(shared):
    """As the client libraries send them: the job of the path is what pushes, its labels are of each series."""
    text = '# TYPE loss gauge\nloss 2.5\nloss{rank="1"} 2.25\n'
    assert shared.put("/metrics/job/pushed/instance/n9/shard/a", text, content_type="text/plain").status == 204
    code = base64.urlsafe_b64encode("über/job".encode()).decode().rstrip("=")
    assert shared.post(f"/metrics/job@base64/{code}/path@base64/L3RtcA==/empty@base64/=", "m 1\n").status == 204
    shared.wait_for_points("pushed", 'loss{shard="a"}', 1, stream="n9")
    shared.wait_for_points("pushed", 'loss{rank="1",shard="a"}', 1, stream="n9")
    shared.wait_for_points("über/job", 'm{path="/tmp"}', 1)
    reply = shared.put("/metrics/job/pushed", "good 1\nbad x\n")
    assert reply.status == 200 and "1 samples were stored, 1 were not; line 2" in reply.body


BAD_PUSHES = [("job/j/odd", "odd"), ("job/j/job/k", "job"), ("job@base64/%25", "base64"), ("job/" + "n" * 256, "255"), ("job/j/instance@base64/%25/", "base64")]


def test_bad_pushes(shared):
    for path, word in BAD_PUSHES:
        reply = shared.put(f"/metrics/{path}", "m 1\n")
        assert reply.status == 400 and word in reply.raw.decode(), (path, reply)
