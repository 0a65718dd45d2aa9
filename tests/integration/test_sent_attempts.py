"""Points that were sent as such: which of them begin an attempt, at whatever door; and what reads the attempts."""

import json
import math
import time

import pytest

import mlflowclient
import wandbclient
from smserver import Server, quote, wait_until

NOW = int(time.time()) // 60 * 60_000 - 4 * 3600_000
STEP_MS = 10_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A job a test."""
    server = Server(tmp_path_factory.mktemp("sent_attempts")).start()
    yield server
    server.close()


class Columns:
    def __init__(self, server, job):
        self.server, self.job, self.name = server, job, job

    def send(self, rows):
        """Of (step, ms, {metric: value})."""
        series = {}
        for step, ms, values in rows:
            for metric, value in values.items():
                one = series.setdefault(metric, {"metric": metric, "step": [], "ts_ms": [], "value": []})
                for key, entry in (("step", step), ("ts_ms", ms), ("value", value)):
                    one[key].append(entry)
        assert self.server.post(f"/api/v1/points?job={self.job}", json={"series": list(series.values())}).status == 200


class Lines(Columns):
    def send(self, rows):
        body = "".join(json.dumps({"metric": metric, "step": step, "ts_ms": ms, "value": value}) + "\n" for step, ms, values in rows for metric, value in values.items())
        assert self.server.post(f"/api/v1/points?job={self.job}", body, content_type="application/x-ndjson").status == 200


class Mlflow:
    def __init__(self, server, job):
        self.server = server
        self.run = mlflowclient.make_run(server, run_name=job, start_time=NOW)
        self.name = f"Default/{job}"

    def is_now(self, status):
        assert mlflowclient.call(self.server, "runs/update", {"run_id": self.run, "status": status})[0] == 200

    def send(self, rows):
        metrics = [{"key": metric, "value": value, "step": step, "timestamp": ms} for step, ms, values in rows for metric, value in values.items()]
        status, body = mlflowclient.call(self.server, "runs/log-batch", {"run_id": self.run, "metrics": metrics})
        assert status == 200, body


class Wandb:
    def __init__(self, server, job):
        self.server, self.job, self.name, self.sent = server, job, f"p/{job}", 0
        wandbclient.make_run(server, job)

    def send(self, rows):
        lines = [{"_step": step, "_timestamp": ms / 1000, **values} for step, ms, values in rows]
        assert wandbclient.post(self.server, self.job, {"wandb-history.jsonl": (self.sent, lines)}).status == 200
        self.sent += len(lines)


class Trackio:
    def __init__(self, server, job):
        self.server, self.job, self.name, self.sent = server, job, f"p/{job}", 0

    def send(self, rows):
        entries = [{"project": "p", "run": self.job, "run_id": None, "metrics": values, "step": step,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03}000+00:00", "log_id": f"{self.job}-{self.sent + n}", "config": None}
            for n, (step, ms, values) in enumerate(rows)]
        self.sent += len(rows)
        reply = self.server.post("/api/bulk_log", json={"args": [], "kwargs": {"logs": entries, "hf_token": None}})
        assert reply.status == 200 and not (reply.body or {}).get("error"), reply


DOORS = [Columns, Lines, Mlflow, Wandb, Trackio]


def rows(first, last, at_ms, step_ms=STEP_MS, add=0.0):
    """An rate, which is first in each body, and the loss, which leads."""
    return [(step, at_ms + (step - first) * step_ms, {"lr": 1 / (step + 1), "loss": 10 - step / 100 + add}) for step in range(first, last + 1)]


def attempt_count(server, name):
    server.wait_for_extraction()
    return server.get(f"/api/v1/jobs/{quote(name)}").body["attempts"]


def steps_of(server, name, metric, attempts):
    columns = server.points(name, metric, attempts=attempts, buckets=1000)["columns"]
    return columns["x"]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__.lower())
def test_a_restart_is_an_attempt(shared, door):
    run = door(shared, f"restart-{door.__name__.lower()}")
    run.send(rows(0, 100, NOW))
    run.send(rows(50, 53, NOW + 130 * STEP_MS, add=1))
    assert attempt_count(shared, run.name) == 1, "it may be a sender that is behind"
    run.send(rows(54, 120, NOW + 134 * STEP_MS, add=1))
    assert attempt_count(shared, run.name) == 2
    for metric in ("loss", "lr"):  # also of what stands before the loss, and came before it was sure
        assert steps_of(shared, run.name, metric, 1) == list(range(101)), metric
        assert steps_of(shared, run.name, metric, 2) == list(range(50, 121)), metric
    live = shared.points(run.name, "loss", buckets=1000)["columns"]
    assert dict(zip(live["x"], live["last"])) == {step: pytest.approx(10 - step / 100 + (step >= 50)) for step in range(121)}
    assert shared.series(run.name, "loss")["count"] == 121


def test_a_run_of_mlflow_that_had_ended_and_goes_on_begins_an_attempt(shared):
    """From its checkpoint: its first step is enough, so that no detector takes the loss there for a jump."""
    began_ms = int(time.time() * 1000) - 300_000  # two steps a second in the last five minutes: it is not silent
    run = Mlflow(shared, "goes-on")
    send = lambda first, last, at_s: run.send(rows(first, last, began_ms + at_s * 1000, step_ms=500))
    send(0, 199, 0)
    run.is_now("RUNNING")  # as a second process says that logs to it
    send(150, 151, 110)
    assert attempt_count(shared, run.name) == 1
    run.is_now("FAILED")
    run.is_now("RUNNING")
    send(100, 100, 150)
    assert attempt_count(shared, run.name) == 2
    send(101, 139, 151)
    run.is_now("FINISHED")
    run.is_now("RUNNING")  # where it was
    send(140, 150, 200)
    assert attempt_count(shared, run.name) == 2
    assert steps_of(shared, run.name, "loss", 2) == list(range(100, 151))
    assert shared.series(run.name, "loss")["count"] == 151
    spikes = [row for row in shared.get("/api/v1/incidents?all=true").body["incidents"] if row["job"] == run.name and row["kind"] == "loss_spike" and row["opened_step"] < 150]
    assert not spikes


def test_a_run_of_mlflow_that_is_trained_again_from_its_first_step(make_server):
    """Its clients send step 0 for "none", too: of a series that said others it is step 0, as in MLflow's own files."""
    server = make_server("--seal-age", "100ms")
    run = Mlflow(server, "again")
    run.send(rows(0, 29, NOW))
    run.send([(0, NOW + n, {"counted": 5.0 + n}) for n in range(3)])
    assert attempt_count(server, run.name) == 1
    server.restart()  # what the series said is known behind it
    run.is_now("FINISHED")
    run.is_now("RUNNING")
    run.send([(0, NOW + 50 * STEP_MS, {"loss": 8.0})])  # alone: a last word without a step
    assert attempt_count(server, run.name) == 1
    run.send(rows(1, 29, NOW + 51 * STEP_MS, add=1))
    run.send([(0, NOW + 90 * STEP_MS, {"counted": 8.0})])
    assert attempt_count(server, run.name) == 2
    assert [row[0] for row in mlflowclient.history(server, run.run, "loss")] == [*range(30), *range(30)]
    assert [row[0] for row in mlflowclient.history(server, run.run, "counted")] == [0, 1, 2, 3]
    assert steps_of(server, run.name, "loss", 2) == list(range(30))
    wait_until(lambda: server.series(run.name, "loss")["count"] == 30, what="the summary without what is superseded")
    metrics = mlflowclient.call(server, f"runs/get?run_id={run.run}")[1]["run"]["data"]["metrics"]
    assert {row["key"]: (row["step"], row["value"]) for row in metrics}["loss"] == (29, pytest.approx(10 - 29 / 100 + 1))


def test_what_reads_attempts_sees_it(make_server):
    server = make_server("--goodput-every", "100ms")
    run = Columns(server, "j")
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    run.send(rows(0, 100, NOW))
    run.send(rows(50, 200, NOW + 400 * STEP_MS))
    assert attempt_count(server, "j") == 2
    wait_until(lambda: server.get("/api/v1/jobs/j/goodput").body["breaks"], what="the restart in the goodput")
    (lost,) = server.get("/api/v1/jobs/j/goodput").body["breaks"]
    assert (lost["step"], lost["from_step"], lost["lost_steps"]) == (100, 49, 51)
    (restart,) = server.get("/api/v1/jobs/j/continuity").body["restarts"]
    assert (restart["attempt"], restart["first_step"], restart["overlap_steps"], restart["lr_equal"]) == (2, 50, 50, True)
    server.restart()
    assert attempt_count(server, "j") == 2
    run.send(rows(150, 260, NOW + 1000 * STEP_MS))  # another one, by a state that was stored
    assert attempt_count(server, "j") == 3
    assert steps_of(server, "j", "loss", 3) == list(range(150, 261))


def test_a_kill_amid_a_restart_changes_nothing(make_server):
    server = make_server()
    run = Columns(server, "j")
    run.send(rows(0, 100, NOW))
    server.wait_for_extraction()
    run.send(rows(50, 52, NOW + 130 * STEP_MS))
    server.kill()
    server.restart()
    run.send(rows(53, 120, NOW + 133 * STEP_MS))
    assert attempt_count(server, "j") == 2
    assert steps_of(server, "j", "loss", 2) == list(range(50, 121))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__.lower())
def test_what_is_none(shared, door):
    name = door.__name__.lower()
    late = door(shared, f"late-{name}")
    late.send(rows(0, 40, NOW))
    late.send(rows(61, 100, NOW + 61 * STEP_MS))
    late.send(rows(41, 60, NOW + 41 * STEP_MS))  # another connection
    late.send([(step, NOW + 101 * STEP_MS, {"eval/loss": 1.0}) for step in range(0, 100, 10)])
    late.send(rows(101, 120, NOW + 101 * STEP_MS))
    assert attempt_count(shared, late.name) == 1
    epochs = door(shared, f"epochs-{name}")
    for epoch in range(4):
        epochs.send(rows(0, 99, NOW + epoch * 200 * STEP_MS))
    assert attempt_count(shared, epochs.name) == 1
    ranks = door(shared, f"ranks-{name}")
    for first in range(30, 200, 10):
        ranks.send(rows(first, first + 9, NOW + first * STEP_MS))
        ranks.send(rows(first - 20, first - 11, NOW + (first + 11) * STEP_MS + 1))
    assert attempt_count(shared, ranks.name) == 1


def test_points_without_a_time_say_nothing_of_restarts(shared):
    def send(first, last):
        assert shared.post("/api/v1/points?job=untimed", json={"series": [{"metric": "loss", "step": list(range(first, last)), "value": [1.0] * (last - first)}]}).status == 200
    send(0, 100)
    send(50, 150)
    assert attempt_count(shared, "untimed") == 1


# ---- points beside a log ----


def bars(epochs, label, batches=40):
    """What Lightning draws by default: a line an epoch, and no loss on it."""
    drawn = lambda epoch: (f"{label.format(epoch)}: {batch * 100 // batches:3}%|####      | {batch}/{batches} [00:01<00:01, 15.{batch % 10}0it/s, v_num=d8a2]" for batch in range(1, batches + 1))
    return "\n".join("\r".join(drawn(epoch)) for epoch in range(epochs)) + "\n"


@pytest.mark.parametrize("label", ["Epoch {}", "Training"])
@pytest.mark.parametrize("epochs", [2, 4])
def test_a_bar_that_begins_anew_hides_no_points(make_server, label, epochs):
    server = make_server("--goodput-every", "100ms")
    steps = list(range(9, 40 * epochs, 10))
    for job, told in (("beside", True), ("alone", False)):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job}).status == 201
        if told:
            Columns(server, job).send([(step, NOW + step * 100, {"train_loss": 1 / (step + 1)}) for step in steps])
        assert server.post(f"/api/v1/logs?job={job}", bars(epochs, label)).status == 200
        server.wait_for_points(job, "train:steps_per_second", 40 * epochs)
        assert attempt_count(server, job) == 1
        assert steps_of(server, job, "train:steps_per_second", "live") == list(range(1, 40 * epochs + 1))
        assert server.get(f"/api/v1/jobs/{job}/goodput").body["breaks"] == []
    assert steps_of(server, "beside", "train_loss", "live") == steps


def test_points_that_go_on_are_not_hidden_by_a_counter_that_falls(server):
    """No line says an epoch or a total: lines alone would be a restart."""
    def tell(*steps):
        Columns(server, "j").send([(step, int(time.time() * 1000), {"train_loss": 1 / (step + 1)}) for step in steps])
        server.wait_for_extraction()

    def draw(first, last):
        assert server.post("/api/v1/logs?job=j", "".join(f"step {step} tokens_per_second: 5{step}\n" for step in range(first, last + 1))).status == 200
        server.wait_for_extraction()
    tell(0)
    draw(1, 38)
    tell(20, 39)
    draw(3, 20)
    assert attempt_count(server, "j") == 2, "the lines alone"
    tell(60)
    assert attempt_count(server, "j") == 1
    assert steps_of(server, "j", "train_loss", "live") == [0, 20, 39, 60]
    draw(21, 38)
    tell(79)
    draw(3, 38)
    tell(119)
    server.restart()
    assert attempt_count(server, "j") == 1
    assert steps_of(server, "j", "train_loss", "live") == [0, 20, 39, 60, 79, 119]


@pytest.mark.parametrize("first", ["call", "line"])
@pytest.mark.parametrize("offset", [0, -1])
def test_a_restart_begins_with_what_the_tracker_told_just_before_the_line(make_server, first, offset):
    """A run that was killed, and goes on without a word: its call, and then the line of the same step."""
    server = make_server("--goodput-every", "100ms")
    run = Mlflow(server, "j")

    def make(step, ms):
        body = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}Z step {step}/100 | loss {3 - step / 100:.4f}\n"
        parts = [lambda: run.send([(step + offset, ms, {"loss": 3 - step / 100, "lr": 0.1})]),
            lambda: server.post(f"/api/v1/logs?job={quote(run.name)}&stream=algo-1", body)]
        for part in parts if first == "call" else reversed(parts):
            part()
            server.wait_for_extraction()
    for step in range(1, 21):
        make(step, NOW + step * STEP_MS)
    for step in range(11, 16):
        make(step, NOW + (step + 30) * STEP_MS)
    assert attempt_count(server, run.name) == 2
    server.restart()
    for step in range(16, 31):
        make(step, NOW + (step + 30) * STEP_MS)
    assert attempt_count(server, run.name) == 2
    for metric in ("loss", "lr"):
        assert steps_of(server, run.name, metric, 2) == list(range(11 + offset, 31 + offset)), metric
        assert steps_of(server, run.name, metric, "live") == list(range(1 + offset, 31 + offset)), metric
    wait_until(lambda: server.get(f"/api/v1/jobs/{quote(run.name)}/goodput").body["breaks"], what="the restart in the goodput")
    (lost,) = server.get(f"/api/v1/jobs/{quote(run.name)}/goodput").body["breaks"]
    assert (lost["step"], lost["from_step"], lost["lost_steps"]) == (20 + offset, 10 + offset, 10)


def test_a_counter_that_falls_elsewhere_takes_no_points_of_who_is_behind(server):
    run = Columns(server, "j")
    run.send(rows(0, 100, NOW))
    run.send(rows(60, 60, NOW + 101 * STEP_MS + 1))  # another process
    body = lambda first, last, ms: "".join(f"{(ms + (step - first) * 1000) // 1000} step {step} tokens_per_second: 5{step}\n" for step in range(first, last + 1))
    assert server.post("/api/v1/logs?job=j", body(1, 38, NOW) + body(3, 20, NOW + 103 * STEP_MS)).status == 200
    server.wait_for_extraction()
    assert attempt_count(server, "j") == 2
    assert steps_of(server, "j", "loss", 2) == []


# ---- what detectors say of it ----


def falling(first, last, at_ms, odd=None):
    """A loss that falls as one does, so that a checkpoint's is above that of the last steps; `odd` are values that are not."""
    loss = lambda step: round(3 * math.exp(-step / 120) + 1 + 0.01 * (step * 7919 % 13) / 13, 6)
    return [(step, at_ms + (step - first) * 500, {"lr": 1e-4, "loss": (odd or {}).get(step, loss(step))}) for step in range(first, last + 1)]


def spikes(server, name):
    server.wait_for_extraction()
    found = server.get("/api/v1/incidents?all=true").body["incidents"]
    return [(row["kind"], row["opened_step"]) for row in found if row["job"] == name and row["kind"] in ("loss_spike", "divergence", "loss_drop")]


def wait_for_spike(server, name, first, end):
    wait_until(lambda: any(first <= step < end for _, step in spikes(server, name)), what="the spike")


@pytest.mark.parametrize("first", [1, 2, 30], ids=lambda count: f"{count}-at-first")
@pytest.mark.parametrize("door", [Columns, Lines, Mlflow, Trackio], ids=lambda door: door.__name__.lower())
def test_a_loss_that_goes_back_to_its_checkpoint_is_no_spike(shared, door, first):
    """Nobody said that it is a restart: that is known some points later."""
    run = door(shared, f"back-{door.__name__.lower()}-{first}")
    now = int(time.time() * 1000) - 600_000
    run.send(falling(0, 249, now))
    again = falling(200, 420, now + 200_000, odd={step: 9.0 for step in range(380, 385)})
    run.send(again[:first])
    assert spikes(shared, run.name) == []
    run.send(again[first:150])
    assert spikes(shared, run.name) == [] and attempt_count(shared, run.name) == 2
    run.send(again[150:])
    wait_for_spike(shared, run.name, 380, 385)
    assert all(380 <= step < 385 for _, step in spikes(shared, run.name)), "one that is true, and none before"


def test_what_a_process_that_is_behind_tells_is_looked_at_all_the_same(shared):
    run = Columns(shared, "behind")
    now = int(time.time() * 1000) - 600_000
    run.send(falling(0, 299, now))
    run.send(falling(280, 292, now + 200_000, odd={step: 9.0 for step in range(283, 292)}))
    assert spikes(shared, "behind") == [], "it may be a restart"
    run.send(falling(300, 301, now + 220_000))
    assert attempt_count(shared, "behind") == 1
    wait_for_spike(shared, "behind", 283, 292)


def test_a_value_that_is_no_number_does_not_wait(shared):
    run = Columns(shared, "none")
    now = int(time.time() * 1000) - 600_000
    run.send(falling(0, 249, now))
    run.send(falling(200, 203, now + 200_000, odd={203: "NaN"}))
    found = lambda: [row["opened_step"] for row in shared.get("/api/v1/incidents?all=true").body["incidents"] if row["job"] == "none" and row["kind"] == "non_finite"]
    wait_until(found, what="the NaN")
    assert found() == [203] and spikes(shared, "none") == []


def test_what_waits_is_looked_at_behind_a_restart_of_the_server(make_server):
    server = make_server()
    run = Columns(server, "j")
    now = int(time.time() * 1000) - 600_000
    run.send(falling(0, 249, now))
    again = falling(200, 420, now + 200_000, odd={step: 9.0 for step in range(260, 265)})
    run.send(again[:30])
    assert spikes(server, "j") == []
    server.kill()
    server.restart()
    assert spikes(server, "j") == []
    run.send(again[30:])
    assert attempt_count(server, "j") == 2
    wait_for_spike(server, "j", 260, 265)
    assert all(260 <= step < 265 for _, step in spikes(server, "j"))
