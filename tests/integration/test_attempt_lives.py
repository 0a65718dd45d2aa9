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


def check_live(server, job, life, metric, **stream):
    got = server.points(job, metric, buckets=2000, **stream)["columns"]
    expected = life.live(metric.removeprefix("train:"))
    assert got["x"] == list(expected), metric
    assert got["last"] == pytest.approx(list(expected.values()), abs=1e-5), metric


def check(server, job, life, prefix="", **stream):
    """stream: one, or folded over all."""
    server.wait_for_extraction()
    attempts = server.get(f"/api/v1/jobs/{job}").body["attempts"]
    assert attempts == len(life.runs), (attempts, [(run[0], run[-1]) for run in life.runs])
    for metric in EVERY:
        for attempt in range(1, len(life.runs) + 1):
            got = server.points(job, prefix + metric, attempts=attempt, buckets=2000, **stream)["columns"]["x"]
            assert got == life.of(metric, attempt), (metric, attempt)
        check_live(server, job, life, prefix + metric, **stream)
        for name in stream.values():
            assert server.series(job, prefix + metric, name)["count"] == len(life.live(metric)), metric


# One step a quarter of a second; one a millisecond; eight of them; one a second; twelve.
CLOCKS = {"fine": (250, 1), "ms": (1, 1), "fast": (1, 8), "seconds": (1000, 1), "busy-seconds": (1000, 12)}


def lives(clock, count=8):
    return [Life(f"{clock} {seed}", *CLOCKS[clock], stride=[1, 20][seed % 2]) for seed in range(count)]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("door", [send_columns, send_records], ids=["columns", "records"])
@pytest.mark.parametrize("parts", [1, 7])
def test_points(shared, clock, door, parts):
    for n, life in enumerate(lives(clock)):
        job = f"points-{clock}-{door.__name__}-{parts}-{n}"
        for rows in life.parts(parts):
            door(shared, job, life, rows, "algo-1")
        check(shared, job, life, stream="algo-1")


@pytest.mark.parametrize("clock", CLOCKS)
def test_points_of_several_streams(shared, clock):
    """Each tells its own order; a chart of all is folded over them."""
    for n, life in enumerate(lives(clock, 4)):
        job = f"streams-{clock}-{n}"
        for rows in life.parts(5):
            for rank in range(3):
                send_columns(shared, job, life, rows, f"rank-{rank}")
        for rank in range(3):
            check(shared, job, life, stream=f"rank-{rank}")
        check(shared, job, life)


@pytest.mark.parametrize("clock", CLOCKS)
def test_points_that_are_sent_again(shared, clock):
    """They bear the time of the newest step, too: they open nothing, and take nothing of the curve."""
    for n, life in enumerate(lives(clock)):
        job = f"again-{clock}-{n}"
        for rows in life.parts(7):
            for _ in range(2):
                send_columns(shared, job, life, rows, "algo-1")
        shared.wait_for_extraction()
        assert shared.get(f"/api/v1/jobs/{job}").body["attempts"] == len(life.runs), (clock, n)
        for metric in EVERY:
            check_live(shared, job, life, metric, stream="algo-1")


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_server_that_ends_amid_a_restart_changes_nothing(make_server, end):
    server = make_server()
    jobs = {f"{clock}-{n}": life for clock in CLOCKS for n, life in enumerate(lives(clock, 4))}
    for part in range(6):
        for job, life in jobs.items():
            send_columns(server, job, life, life.parts(6)[part], "algo-1")
        server.wait_for_extraction()
        if end == "kill":
            server.kill()
        server.restart()
    for job, life in jobs.items():
        check(server, job, life, stream="algo-1")


@pytest.mark.parametrize("clock", ["none", "second", "ms"])
@pytest.mark.parametrize("parts", [1, 7])
def test_lines(shared, clock, parts):
    """none: all of a body have the time at which it came."""
    for n, life in enumerate(lives({"none": "ms", "second": "busy-seconds", "ms": "ms"}[clock])):
        job = f"lines-{clock}-{parts}-{n}"
        for rows in life.parts(parts):
            for stream in ("algo-1", "algo-2"):
                send_lines(shared, job, life, rows, stream, clock)
        for stream in ("algo-1", "algo-2"):
            check(shared, job, life, "train:", stream=stream)
        check(shared, job, life, "train:")
