"""Lives of trainings that go back without a pause: their attempts by an arithmetic of the test's own, at several doors and clocks."""

import json
import random
import time

import pytest

from smserver import Server

NOW = int(time.time()) // 60 * 60_000 - 4 * 3600_000
EVERY = {"lr": 1, "loss": 1, "grad_norm": 3}  # logged at each so many-th step; lr is told before the loss, which leads


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A job a life."""
    server = Server(tmp_path_factory.mktemp("lives")).start()
    yield server
    server.close()


class Life:
    """runs: the steps of each attempt. rows: (attempt, step, ms), as they were made, `rate` a unit of the clock."""

    def __init__(self, seed, unit_ms, rate, stride=1):
        dice = random.Random(seed)
        self.stride = stride
        self.runs = [list(range(dice.choice([0, 1]) * stride, dice.randint(60, 120) * stride, stride))]
        count = dice.randint(1, 2)
        for n in range(1, count + 1):
            top = self.runs[-1][-1] // stride
            low = max(4, top - rate - dice.randint(8, 30))  # a unit of the clock and five points behind it, before all of the old ones are made
            first = dice.randint(4, low) * stride
            self.runs.append(list(range(first, (top + dice.randint(2 if n == count else -2, 60)) * stride, stride)))
        made = [(attempt, step) for attempt, run in enumerate(self.runs, 1) for step in run]
        offset = dice.randrange(rate)
        self.rows = [(attempt, step, NOW + (n + offset) // rate * unit_ms) for n, (attempt, step) in enumerate(made)]

    @staticmethod
    def value(metric, attempt, step):
        return {"loss": 9 - step / 1000, "lr": 1 / (step + 1), "grad_norm": 1 + step % 7}[metric] + attempt / 64

    def has(self, metric, step):
        return step // self.stride % EVERY[metric] == 0

    def of(self, metric, attempt):
        return [step for step in self.runs[attempt - 1] if self.has(metric, step)]

    def live(self, metric):
        """Of each step what no later attempt has begun at or before."""
        starts = [run[0] for run in self.runs]
        rows = {}
        for attempt, run in enumerate(self.runs, 1):
            for step in run:
                if self.has(metric, step) and not any(start <= step for start in starts[attempt:]):
                    rows.setdefault(step, []).append(self.value(metric, attempt, step))
        assert all(len(values) == 1 for values in rows.values())
        return {step: values[0] for step, values in sorted(rows.items())}

    def parts(self, count):
        size = -(-len(self.rows) // count)
        return [self.rows[at:at + size] for at in range(0, len(self.rows), size)]


def send_columns(server, job, life, rows, stream):
    series = {metric: {"metric": metric, "step": [], "ts_ms": [], "value": []} for metric in EVERY}
    for attempt, step, ms in rows:
        for metric in EVERY:
            if life.has(metric, step):
                for key, entry in (("step", step), ("ts_ms", ms), ("value", life.value(metric, attempt, step))):
                    series[metric][key].append(entry)
    reply = server.post(f"/api/v1/points?job={job}&stream={stream}", json={"series": [one for one in series.values() if one["step"]]})
    assert reply.status == 200, reply


def send_records(server, job, life, rows, stream):
    body = "".join(json.dumps({"metric": metric, "step": step, "ts_ms": ms, "value": life.value(metric, attempt, step)}) + "\n"
        for attempt, step, ms in rows for metric in EVERY if life.has(metric, step))
    assert server.post(f"/api/v1/points?job={job}&stream={stream}", body, content_type="application/x-ndjson").status == 200


def stamp(ms, clock):
    shown = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ms // 1000))
    return {"none": "", "second": f"{shown} ", "ms": f"{shown},{ms % 1000:03} "}[clock]


def send_lines(server, job, life, rows, stream, clock):
    lines = [f"{stamp(ms, clock)}step {step} | " + " | ".join(f"{metric} {life.value(metric, attempt, step):.6f}" for metric in EVERY if life.has(metric, step)) for attempt, step, ms in rows]
    assert server.post(f"/api/v1/logs?job={job}&stream={stream}", "".join(line + "\n" for line in lines)).status == 200


def check(server, job, life, stream, prefix=""):
    server.wait_for_extraction()
    starts = server.get(f"/api/v1/jobs/{job}").body["attempts"]
    assert starts == len(life.runs), (starts, [(run[0], run[-1]) for run in life.runs])
    for metric in EVERY:
        for attempt in range(1, len(life.runs) + 1):
            got = server.points(job, prefix + metric, stream=stream, attempts=attempt, buckets=2000)["columns"]["x"]
            assert got == life.of(metric, attempt), (metric, attempt)
        got = server.points(job, prefix + metric, stream=stream, buckets=2000)["columns"]
        expected = life.live(metric)
        assert got["x"] == list(expected), metric
        assert got["last"] == pytest.approx(list(expected.values()), abs=1e-5), metric
        assert server.series(job, prefix + metric, stream)["count"] == len(expected), metric


CLOCKS = {"fine": (250, 1), "ms": (1, 1), "fast": (1, 8), "seconds": (1000, 1), "busy-seconds": (1000, 12)}


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("door", [send_columns, send_records], ids=["columns", "records"])
@pytest.mark.parametrize("parts", [1, 7])
def test_points(shared, clock, door, parts):
    for seed in range(8):
        life = Life(f"{clock} {seed}", *CLOCKS[clock], stride=[1, 20][seed % 2])
        job = f"points-{clock}-{door.__name__}-{parts}-{seed}"
        for rows in life.parts(parts):
            door(shared, job, life, rows, "algo-1")
        check(shared, job, life, "algo-1")


@pytest.mark.parametrize("clock", ["none", "second", "ms"])
@pytest.mark.parametrize("parts", [1, 7])
def test_lines(shared, clock, parts):
    for seed in range(8):
        life = Life(f"{clock} {seed}", *{"none": (1, 1), "second": (1000, 12), "ms": (1, 1)}[clock], stride=[1, 20][seed % 2])
        job = f"lines-{clock}-{parts}-{seed}"
        for rows in life.parts(parts):
            send_lines(shared, job, life, rows, "algo-1", clock)
        check(shared, job, life, "algo-1", "train:")
