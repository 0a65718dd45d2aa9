"""Histograms and summaries: the mean of what was observed in each interval is the metric, and their parts have no role."""

import json
import math

import pytest

from otlp import metric, metrics
from smserver import Server, quote

DELTA, CUMULATIVE = 1, 2
T0 = 1_700_000_000_000_000_000
S = 1_000_000_000
MS = 1_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("distributions")).start()
    yield running
    running.close()


class Run:
    """Observations as a program makes them, and what is told of them."""

    def __init__(self):
        self.count, self.sum, self.means = 0, 0.0, []

    def observe(self, *values):
        self.count, self.sum = self.count + len(values), self.sum + sum(values)
        if values:
            self.means.append(sum(values) / len(values))
        return self.count, self.sum

    def restart(self):
        self.count, self.sum = 0, 0.0


def send(server, job, message, is_json=False, **more):
    body = json.dumps(message[1]).encode() if is_json else message[0]
    reply = server.post("/v1/metrics", body, content_type="application/json" if is_json else "application/x-protobuf", **more)
    assert reply.status == 200, reply


def values(server, job, name, count):
    server.wait_for_points(job, name, count)
    got = server.get(f"/api/v1/jobs/{job}/points?metric={quote(name)}&stream=algo-1&raw=true").body["series"]
    return [value for part in got for value in part["value"]]  # sealed, and what came since


def roles(server, job):
    return {row["metric"]: row["role"] for row in server.get(f"/api/v1/jobs/{job}/metrics").body["series"]}


def mains(server, job):
    return {row["role"]: row["metric"] for row in server.get(f"/api/v1/jobs/{job}/metrics").body["series"] if row.get("is_main")}


FORMS = pytest.mark.parametrize("is_json", [False, True], ids=["protobuf", "json"])


@FORMS
@pytest.mark.parametrize("kind", ["histogram", "exponentialHistogram", "summary"])
def test_totals_become_the_mean_of_each_interval(server, kind, is_json):
    job, run, points = f"totals-{kind}-{is_json}", Run(), []
    for i, observed in enumerate([(4.0, 5.0), (3.0, 3.5, 2.5), (), (2.0,)]):
        points.append((T0 + (i + 1) * 10 * S, run.observe(*observed), {}, T0))
    for point in points:  # each export is a request of its own
        send(server, job, metrics({"training.job": job}, metric(kind, "train_loss", [point], temporality=None if kind == "summary" else CUMULATIVE)), is_json)
    assert values(server, job, "train_loss", 3) == run.means == [4.5, 3.0, 2.0]
    assert values(server, job, "train_loss.count", 4) == [2, 5, 5, 6]
    assert values(server, job, "train_loss.sum", 4) == [9, 18, 18, 20]
    assert roles(server, job) == {"train_loss": "loss", "train_loss.sum": "other", "train_loss.count": "other"}
    assert mains(server, job) == {"loss": "train_loss"}


@FORMS
def test_intervals_are_their_own_means(server, is_json):
    job = f"delta-{is_json}"
    points = [(T0 + i * S, (2, 8.0 - 2 * i), {"step": 10 * i}, T0 + (i - 1) * S) for i in range(1, 4)] + [(T0 + 4 * S, (0, 0.0), {"step": 40}, T0 + 3 * S)]
    send(server, job, metrics({"training.job": job}, metric("histogram", "step_time", points, unit="s", temporality=DELTA)), is_json)
    server.wait_for_points(job, "step_time", 3)
    got = server.points(job, "step_time")["columns"]
    assert (got["x"], got["last"]) == ([10, 20, 30], [3.0, 2.0, 1.0])
    assert roles(server, job) == {"step_time": "step_time", "step_time.sum": "other", "step_time.count": "other"}


def totals(job, reading, at, start=None, name="loss"):
    point = (T0 + at * S, reading, {}) + ((start,) if start is not None else ())
    return metrics({"training.job": job}, metric("histogram", name, [point], temporality=CUMULATIVE))


def test_the_counting_begins_anew(server):
    """By a later start, or a lower count where nobody says a start; the first reading without one has nothing before it."""
    job, run = "anew", Run()
    send(server, job, totals(job, run.observe(4.0, 4.0), 10, T0))
    run.restart()
    send(server, job, totals(job, run.observe(3.0, 3.0, 3.0), 20, T0 + 15 * S))  # more than before: the start alone tells
    send(server, job, totals(job, run.observe(2.0), 30, T0 + 15 * S))
    assert values(server, job, "loss", 3) == run.means

    job, run = "fallen", Run()
    send(server, job, totals(job, run.observe(9.0, 9.0), 10))
    run.means = []
    send(server, job, totals(job, run.observe(4.0, 6.0), 20))
    run.restart()
    send(server, job, totals(job, run.observe(3.0), 30))
    assert values(server, job, "loss", 2) == run.means == [5.0, 3.0]


def test_a_collector_that_knows_no_start_says_its_own(server):
    """A start at the very time of the reading is none: the first reading is one to count from, and a collector's restart no job's."""
    job, run = "collector", Run()
    send(server, job, totals(job, run.observe(9.0), 10, T0 + 10 * S))
    run.means = []
    send(server, job, totals(job, run.observe(4.0, 6.0), 20, T0 + 10 * S))
    send(server, job, totals(job, run.observe(3.0), 30, T0 + 30 * S))
    send(server, job, totals(job, run.observe(2.0), 40, T0 + 30 * S))
    assert values(server, job, "loss", 3) == run.means == [5.0, 3.0, 2.0]


def test_what_is_late_or_no_number(server):
    job = "late"
    for at, reading in [(10, (2, 8.0)), (30, (6, 20.0)), (20, (4, 14.0)), (30, (6, 20.0)), (40, (7, math.nan)), (50, (8, math.nan))]:
        send(server, job, totals(job, reading, at, T0))
    send(server, job, metrics({"training.job": job}, metric("histogram", "bare", [(T0 + 60 * S, (3, None), {}, T0)], temporality=CUMULATIVE)))
    assert values(server, job, "bare.count", 1) == [3]
    assert values(server, job, "loss", 3) == [4.0, 3.0, "NaN"]  # what is behind a NaN in the sum is not known
    assert "bare" not in roles(server, job)


def test_each_label_and_each_stream_has_its_own(server):
    job = "labels"
    for at, readings in ((10, {"a": (1, 1.0), "b": (1, 5.0)}), (20, {"a": (2, 3.0), "b": (3, 19.0)})):
        points = [(T0 + at * S, reading, {"gpu": gpu}, T0) for gpu, reading in readings.items()]
        for host, scale in (("h1", 1), ("h2", 10)):
            scaled = [(ns, (count, total * scale), labels, start) for ns, (count, total), labels, start in points]
            send(server, job, metrics({"training.job": job, "host.name": host}, metric("histogram", "loss", scaled, temporality=CUMULATIVE)))
    for host, scale in (("h1", 1), ("h2", 10)):
        for gpu, means in (("a", [1.0, 2.0]), ("b", [5.0, 7.0])):
            server.wait_for_points(job, f'loss{{gpu="{gpu}"}}', 2, stream=host)
            got = server.points(job, f'loss{{gpu="{gpu}"}}', stream=host)["columns"]["last"]
            assert got == [scale * mean for mean in means]


def test_parts_raise_no_incidents(server):
    """A sum that grows by millions and a count that starts again are no spikes of a loss, and no slow steps."""
    job, run = "quiet", Run()
    for i in range(150):
        if i == 100:
            run.restart()
        reading = run.observe(*([2.0 + 0.01 * (i % 3)] * (5 if i % 50 else 5000)))
        slow = metric("histogram", "step_time", [(T0 + (i + 1) * S, (run.count, 0.5 * run.count), {}, T0)], temporality=CUMULATIVE)
        send(server, job, metrics({"training.job": job}, metric("histogram", "train_loss", [(T0 + (i + 1) * S, reading, {})], temporality=CUMULATIVE), slow))
    server.wait_for_points(job, "train_loss", 149)
    assert server.get(f"/api/v1/incidents?q={quote('name=quiet')}").body["incidents"] == []
    assert mains(server, job) == {"loss": "train_loss", "step_time": "step_time"}


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_a_restart_of_the_server_loses_and_doubles_no_interval(make_server, ending):
    server, job, run = make_server("--seal-age", "1s"), "restarted", Run()
    for i in range(6):
        send(server, job, totals(job, run.observe(9.0 - i, 7.0 - i), 10 * (i + 1)))
        server.post("/api/v1/points?job=restarted&stream=p", f"loss_sum {run.sum}\nloss_count {run.count}\n".encode(), content_type="text/plain; version=0.0.4")
        if i in (2, 4):
            server.wait_for_points(job, "loss", i)
            server.kill() if ending == "kill" else server.stop()
            server.start()
    assert values(server, job, "loss", 5)[:5] == run.means[1:]
    server.wait_for_points(job, "loss", 5, stream="p")
    assert server.points(job, "loss", stream="p")["columns"]["last"] == run.means[1:]


def test_a_back_fill_goes_on_from_the_same_reading(make_server):
    server, job, run = make_server("--seal-age", "1s"), "again", Run()
    server.post("/api/v1/logs?job=again&stream=algo-1", b"step 1 my=4\nstep 2 my=3\n")
    for i in range(3):
        send(server, job, totals(job, run.observe(9.0 - i), 10 * (i + 1)))
    server.wait_for_points(job, "loss", 2)
    server.stop()  # sealed
    server.start()
    definitions = [{"Name": "mine", "Regex": "step (?<step>\\d+) my=(\\d+)"}]
    assert server.request("PUT", "/api/v1/jobs/again/definitions?backfill=true", json={"definitions": definitions}).status in (200, 202)
    server.wait_for_points(job, "mine", 2)
    send(server, job, totals(job, run.observe(1.0, 2.0), 40))
    assert values(server, job, "loss", 3) == run.means[1:]


# ---- Prometheus' text ----

PROMETHEUS = "text/plain; version=0.0.4"


def push(server, job, text):
    reply = server.post(f"/api/v1/points?job={job}", text.encode(), content_type=PROMETHEUS)
    assert reply.status == 200 and not reply.body["rejected"], reply
    return reply.body


def exposition(run, at, labels="", is_typed=True, order=("sum", "count")):
    number = {"sum": run.sum, "count": run.count}
    lines = [f'train_loss_bucket{{le="{le}"}} {run.count} {at}' for le in ("2.5", "+Inf")]
    return "\n".join((["# HELP train_loss of it", "# TYPE train_loss histogram"] if is_typed else []) + lines
        + [f"train_loss_{part}{labels} {number[part]} {at}" for part in order] + [""])


@pytest.mark.parametrize("is_typed", [True, False], ids=["typed", "federated"])
@pytest.mark.parametrize("order", [("sum", "count"), ("count", "sum")], ids=["go", "python"])
def test_prometheus(server, is_typed, order):
    job, run = f"prom-{is_typed}-{order[0]}", Run()
    for i, observed in enumerate([(9.0,), (4.0, 5.0), (3.0, 3.5, 2.5), (), (2.0,)]):
        run.observe(*observed)
        assert push(server, job, exposition(run, 1_700_000_000_000 + i, is_typed=is_typed, order=order))["accepted"] == 4
    assert values(server, job, "train_loss", 3) == run.means[1:] == [4.5, 3.0, 2.0]
    assert values(server, job, "train_loss_count", 5) == [1, 3, 6, 6, 7]
    assert roles(server, job) == {"train_loss": "loss", "train_loss_sum": "other", "train_loss_count": "other",
        'train_loss_bucket{le="2.5"}': "other", 'train_loss_bucket{le="+Inf"}': "other"}
    assert mains(server, job) == {"loss": "train_loss"}


def test_prometheus_many_readings_in_one_body(server):
    """Of several ranks and times, a summary with its quantiles, and what is no part of any."""
    job, text = "prom-many", "# TYPE step_time summary\n"
    for i in range(4):
        for rank in range(2):
            count, total = 10 * i, (1.0 + rank) * 10 * i
            text += (f'step_time{{rank="{rank}",quantile="0.99"}} 7\nstep_time_sum{{rank="{rank}"}} {total} {1_700_000_000_000 + i}\n'
                f'step_time_count{{rank="{rank}"}} {count} {1_700_000_000_000 + i}\n')
    text += "# TYPE loss_sum gauge\nloss_sum 2.5\n# TYPE eval_loss_sum untyped\nlonely_loss_count 3\n"
    push(server, job, text)
    for rank in range(2):
        assert values(server, job, f'step_time{{rank="{rank}"}}', 3) == [1.0 + rank] * 3
    got = roles(server, job)
    assert got["loss_sum"] == "loss"  # a gauge of its own, its sender says
    assert got["lonely_loss_count"] == got['step_time{quantile="0.99",rank="0"}'] == got['step_time_sum{rank="1"}'] == "other"


def test_prometheus_created_tells_a_start(server):
    job, run = "prom-created", Run()
    body = lambda at, created: push(server, job, f"# TYPE loss histogram\nloss_count {run.count} {at}\nloss_sum {run.sum} {at}\n"
        f"# TYPE loss_created gauge\nloss_created {created} {at}\n")
    run.observe(4.0, 5.0)
    body(1_700_000_010_000, 1_700_000_000.5)
    run.restart()
    run.observe(1.0, 2.0, 3.0)
    body(1_700_000_020_000, 1_700_000_015.5)
    assert values(server, job, "loss", 2) == run.means == [4.5, 2.0]
    assert roles(server, job)["loss_created"] == "other"
