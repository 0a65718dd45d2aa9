"""Restarts of trainings some of whose metrics are on step axes of their own: what is superseded, by an arithmetic of the test's own, at several doors."""

import json
import random
import time

import pytest

from smserver import Server
from test_backfill import put, raw, wait_for_backfill

NOW = int(time.time()) // 60 * 60_000 - 4 * 3600_000
ROWS = "rows"  # only goes on
# At which steps each is logged, and as which step of its own; None: it shares the axis of the loss, which leads.
METRICS = {
    "lr": (lambda step: True, None),
    "loss": (lambda step: True, None),
    "grad_norm": (lambda step: step % 3 == 0, None),
    "eval/loss": (lambda step: step % 25 == 0, None),
    "eval/rare": (lambda step: step % 70 == 69, None),
    "tokens/loss": (lambda step: step % 10 == 0, lambda step: step * 1024),
    "tokens/eval": (lambda step: step % 90 == 89, lambda step: step * 1024),
    "samples/x": (lambda step: True, lambda step: step * 2),
    "epoch/acc": (lambda step: step % 10 == 9, lambda step: step // 10 + 1),
    "batches/x": (lambda step: step % 4 == 0, lambda step: step // 4),
}


class Life:
    """runs: the steps of each attempt. rows: (attempt, step, ms), as they were made."""

    def __init__(self, seed, unit_ms=250, rate=1):
        """`rate` steps a unit of the clock."""
        dice = random.Random(seed)
        self.runs = [list(range(dice.randint(120, 250)))]
        for _ in range(dice.randint(0, 3)):
            top = self.runs[-1][-1]
            first = dice.randint(max(31, top // 2), top - 30)
            self.runs.append(list(range(first, top + dice.randint(10, 80))))
        made = [(attempt, step) for attempt, run in enumerate(self.runs, 1) for step in run]
        self.rows = [(attempt, step, NOW + n // rate * unit_ms) for n, (attempt, step) in enumerate(made)]

    @staticmethod
    def value(metric, attempt, step):
        return 8 - step / 100 + attempt / 64 + len(metric)

    def points(self, metric):
        """(attempt, step on its axis, value, step of the training)"""
        if metric == ROWS:
            return [(attempt, n, self.value(metric, attempt, step), step) for n, (attempt, step, _) in enumerate(self.rows)]
        is_logged, own = METRICS[metric]
        return [(attempt, own(step) if own else step, self.value(metric, attempt, step), step) for attempt, step, _ in self.rows if is_logged(step)]

    def live(self, metric):
        """What no later attempt has begun at or before: on an axis of its own where it says its least step, on that of rows where the loss stood then."""
        points = self.points(metric)
        starts = {attempt: run[0] for attempt, run in enumerate(self.runs, 1)}
        if metric == ROWS:
            return [(at, own, value) for at, own, value, step in points if not any(starts[later] <= step for later in starts if later > at)]
        if METRICS[metric][1]:
            first = min(own for _, own, _, _ in points)
            least = {attempt: min((own for at, own, _, _ in points if at == attempt), default=None) for attempt in starts}
            starts = {attempt: step for attempt, step in least.items() if step is not None and step > first}
        return [(at, own, value) for at, own, value, _ in points if not any(starts[later] <= own for later in starts if later > at)]

    def parts(self, count):
        size = -(-len(self.rows) // count)
        return [list(enumerate(self.rows))[at:at + size] for at in range(0, len(self.rows), size)]


def entries(life, rows):
    for n, (attempt, step, ms) in rows:
        for metric, (is_logged, own) in METRICS.items():
            if is_logged(step):
                yield metric, own(step) if own else step, ms, life.value(metric, attempt, step)
        yield ROWS, n, ms, life.value(ROWS, attempt, step)


def send_columns(server, job, life, rows):
    series = {}
    for metric, step, ms, value in entries(life, rows):
        one = series.setdefault(metric, {"metric": metric, "step": [], "ts_ms": [], "value": []})
        for key, entry in (("step", step), ("ts_ms", ms), ("value", value)):
            one[key].append(entry)
    assert server.post(f"/api/v1/points?job={job}&stream=algo-1", json={"series": list(series.values())}).status == 200


def send_records(server, job, life, rows):
    body = "".join(json.dumps({"metric": metric, "step": step, "ts_ms": ms, "value": value}) + "\n" for metric, step, ms, value in entries(life, rows))
    assert server.post(f"/api/v1/points?job={job}&stream=algo-1", body, content_type="application/x-ndjson").status == 200


def check(server, job, life, metrics=(*METRICS, ROWS)):
    server.wait_for_extraction()
    assert server.get(f"/api/v1/jobs/{job}").body["attempts"] == len(life.runs), [(run[0], run[-1]) for run in life.runs]
    for metric in metrics:
        wanted = life.live(metric)
        if not life.points(metric):
            continue
        why = (metric, [(run[0], run[-1]) for run in life.runs])
        got = [point[0] for point in raw(server, job, metric)]
        assert sorted(got) == sorted(step for _, step, _ in wanted), why
        for axis in ("step", "time"):
            drawn = server.points(job, metric, buckets=2000, x=axis)
            assert sum(drawn["columns"]["count"]) == len(wanted), (axis, why)
        row = server.series(job, metric)
        values = [value for _, _, value in wanted]
        assert (row["count"], row["last"]) == (len(wanted), values[-1]), why
        assert (row["min"], row["max"]) == pytest.approx((min(values), max(values))), why


LIVES = [Life(f"life {seed}") for seed in range(12)]
# Eight steps a millisecond, twelve a second of a clock of whole ones.
FAST = [Life(f"fast {seed}", *[(1, 8), (1000, 12)][seed % 2]) for seed in range(12)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A job a life."""
    server = Server(tmp_path_factory.mktemp("axes")).start()
    yield server
    server.close()


@pytest.mark.parametrize("door", [send_columns, send_records], ids=["columns", "records"])
@pytest.mark.parametrize("parts", [1, 9])
def test_points(shared, door, parts):
    for n, life in enumerate(LIVES):
        job = f"points-{door.__name__}-{parts}-{n}"
        for rows in life.parts(parts):
            door(shared, job, life, rows)
        check(shared, job, life)


@pytest.mark.parametrize("parts", [1, 9])
def test_points_of_a_loop_without_a_pause(shared, parts):
    """An axis of steps alone tells which points of a time the restart began with: that of rows does not."""
    for n, life in enumerate(FAST):
        job = f"fast-{parts}-{n}"
        for rows in life.parts(parts):
            send_columns(shared, job, life, rows)
        check(shared, job, life, METRICS)


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_server_that_ends_amid_a_restart_changes_nothing(make_server, end):
    server = make_server()
    for part in range(6):
        for n, life in enumerate(LIVES):
            send_columns(server, f"j-{n}", life, life.parts(6)[part])
        server.wait_for_extraction()
        if end == "kill":
            server.kill()
        server.restart()
    for n, life in enumerate(LIVES):
        check(server, f"j-{n}", life, METRICS)


def test_a_back_fill_of_the_lines_beside_them_changes_nothing(server):
    """A start of the server seals what there is: those points are copied, and not told again."""
    for n, life in enumerate(LIVES[:6]):
        send_columns(server, f"j-{n}", life, life.parts(1)[0])
        lines = "".join(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ms // 1000))} speed={step}\n" for _, step, ms in life.rows)
        assert server.post(f"/api/v1/logs?job=j-{n}&stream=algo-1", lines).status == 200
    server.wait_for_extraction()
    server.restart()
    for n, life in enumerate(LIVES[:6]):
        put(server, f"j-{n}", {"definitions": [{"Name": "speed", "Regex": r"speed=(\d+)"}]}, "?backfill=true")
        wait_for_backfill(server, f"j-{n}")
        check(server, f"j-{n}", life, METRICS)


def test_a_restart_costs_what_it_changes_however_many_were_before(make_server):
    """An axis of its own beside the loss, a body an attempt: of a thousand attempts the last ones are not each settled with all before them."""
    server = make_server()
    cost, ms, top = [], NOW, 5
    for attempt in range(800):
        series = [{"metric": metric, "step": [(top - 5 + n) * of_one for n in range(10)], "ts_ms": [ms + 100 * n for n in range(10)], "value": [1.0] * 10}
                  for metric, of_one in (("loss", 1), ("tokens/loss", 1024))]
        if attempt in (100, 200, 700):
            server.wait_for_extraction()
            cost.append(server.processor_s())
        assert server.post("/api/v1/points?job=many&stream=algo-1", json={"series": series}).status == 200
        ms, top = ms + 1000, top + 5
    server.wait_for_extraction()
    cost.append(server.processor_s())
    assert server.get("/api/v1/jobs/many").body["attempts"] == 800
    early, late = cost[1] - cost[0], cost[3] - cost[2]
    assert late < 8 * early, f"{late / 100:.4f} s a body, at first {early / 100:.4f} s"
