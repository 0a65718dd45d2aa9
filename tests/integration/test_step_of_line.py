"""Definitions as SageMaker has them, Name and Regex alone: the step that stands on the line belongs to what they find."""

import pathlib
import re
from engine import of_a_file
import sqlite3

import pytest
from smserver import ROOT, quote, wait_until

# name, the definition's Regex, lines with %d for the step, the steps that are printed
FORMATS = [
    ("nanogpt", r"loss ([0-9.]+)", "iter %d: loss 2.5000, time 350.12ms, mfu 12.50%%", range(500, 900, 50)),
    ("megatron", r"lm loss: ([0-9.E+-]+)",
        " [2026-11-20 10:00:00] iteration %8d/   90000 | consumed samples: 128 | elapsed time per iteration (ms): 312.5 | learning rate: 1.5E-04"
        " | global batch size:   128 | lm loss: 2.512345E+00 | loss scale: 1.0 | grad norm: 1.25 | number of skipped iterations:   0 |", range(100, 180, 10)),
    ("torchtitan", r"loss:\s+([0-9.]+)", "step: %d  loss: 11.83506  grad_norm:  9.6669  memory: 48.87GiB(51.44%%)  tps: 4,376", range(20, 100, 10)),
    ("neuronx", r"step_loss : ([0-9.]+)", "LOG Fri Nov 20 10:00:00 2026 - (0, %d) step_loss : 2.5000 learning_rate : 1.00e-04 throughput : 12.5 grad_norm : 1.5", range(1, 9)),
    ("deepspeed", r"lr=\[([0-9.e-]+)", "[2026-11-20 10:00:00,967] [INFO] [logging.py:128:log_dist] [Rank 0] step=%d, skipped=0, lr=[5e-05, 5e-05], mom=[(0.9, 0.95)]", range(10, 90, 10)),
    ("sagemaker-tensorflow", r"loss = ([0-9.]+)", "INFO:tensorflow:loss = 2.5, step = %d (12.3 sec)", range(100, 900, 100)),
    ("catboost", r"learn: ([0-9.]+)", "%d:\tlearn: 0.5000000\ttest: 0.6000000\tbest: 0.6 (0)\ttotal: 5.42s\tremaining: 8m 56s", range(7, 15)),
    ("xgboost", r"train-rmse:([0-9.]+)", "[%d]\ttrain-rmse:0.50000\tvalidation-rmse:0.60000", range(3, 11)),
    ("maxtext", r"loss: ([0-9.]+)", "completed step: %d, seconds: 1.250, TFLOP/s/device: 100.000, Tokens/s/device: 1000.000, total_weights: 4096, loss: 2.500", range(40, 48)),
    ("modded-nanogpt", r"val_loss:([0-9.]+)", "step:%d/1770 val_loss:3.5000 train_time:123456ms step_avg:77.50ms", range(125, 1125, 125)),
    ("verl", r"actor/loss:([0-9.]+)", "step:%d - global_seqlen/min:100.0 - actor/loss:0.5 - actor/lr:1e-06", range(11, 19)),
    ("json", r'"loss": ([0-9.]+)', '{"step": %d, "loss": 2.5, "lr": 0.0001}', range(1000, 1800, 100)),
    ("key=value", r"loss=([0-9.]+)", "2026-11-20 10:00:00,123 INFO train global_step=%d loss=2.5 lr=1e-4", range(64, 128, 8)),
    ("words", r"Loss ([0-9.]+)", "[rank0]: Step #%d Loss 2.5", range(70, 78)),
    # the step stands on a line of its own, which no definition matches
    ("olmo", r"train/CrossEntropyLoss=([0-9.]+)", "[2026-11-20 10:00:00] INFO [olmo.train:979, rank=0] [step=%d/10000,epoch=0]\n    train/CrossEntropyLoss=2.500\n    train/Perplexity=12.18", range(10, 90, 10)),
    ("composer", r"loss/train/total: ([0-9.]+)", "[batch=%d/4800]:\n\t Train time/batch: 9\n\t Train loss/train/total: 2.5000", range(10, 90, 10)),
    # it comes behind the value
    ("hf-trainer-state", r'"loss": ([0-9.]+)', '  "log_history": [\n    {\n      "learning_rate": 5e-05,\n      "loss": 2.5,\n      "step": %d\n    },', range(500, 4500, 500)),
    # and in a column that the header names
    ("csv", r"^[0-9]+,([0-9.]+),", "%d,2.5,0.0001", range(5, 85, 10)),
]


def make_job(server, name, definitions):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": name, "AlgorithmSpecification": {"MetricDefinitions": definitions}})
    assert reply.status == 201, reply


def steps_of(server, job, metric="train:loss"):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/points?metric={quote(metric)}&raw=true")
    assert reply.status == 200, reply
    return [step for series in reply.body["series"] for step in series["step"]]


def health_of(server, job, metric="train:loss"):
    body = server.get(f"/api/v1/jobs/{quote(job)}/definitions").body
    return next(one for one in body["health"] if one["Name"] == metric)


def test_each_format_keeps_its_steps(server):
    for name, regex, text, steps in FORMATS:
        make_job(server, name, [{"Name": "train:loss", "Regex": regex}])
        head = ["step,loss,lr"] if name == "csv" else []
        server.send(name, head + "\n".join(text % step for step in steps).split("\n"))
    for name, _, _, steps in FORMATS:
        server.wait_for_points(name, "train:loss", len(steps))
    assert {name: steps_of(server, name) for name, *_ in FORMATS} == {name: list(steps) for name, _, _, steps in FORMATS}


def test_a_restart_is_seen_by_the_step_of_the_line(server):
    make_job(server, "again", [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}, {"Name": "acc", "Regex": "acc: ([0-9.]+)"}])
    first, second = list(range(0, 1000, 10)), list(range(700, 1300, 10))
    server.send("again", [f"[2026-11-20 10:{i // 60:02d}:{i % 60:02d}] iter {step} | loss: 2.5 | acc: 0.5" for i, step in enumerate(first + second)])
    # what the second attempt did again is superseded
    wait_until(lambda: steps_of(server, "again", "acc") == list(range(0, 700, 10)) + second, what="all points")
    assert steps_of(server, "again") == list(range(0, 700, 10)) + second
    job = server.get("/api/v1/jobs/again").body
    assert job["attempts"] == 2, job


def test_where_no_step_stands_it_is_said(server):
    make_job(server, "plain", [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}])
    server.send("plain", [f"loss: {3 - i / 100:.2f}" for i in range(50)])
    server.wait_for_points("plain", "train:loss", 50)
    assert steps_of(server, "plain") == list(range(50))
    health = health_of(server, "plain")
    assert (health["matched"], health["without_step"]) == (50, 50)

    make_job(server, "said", [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}])
    server.send("said", [f"step {i * 7} loss: 2.5" for i in range(50)])
    server.wait_for_points("said", "train:loss", 50)
    assert (health_of(server, "said")["matched"], health_of(server, "said")["without_step"]) == (50, 0)


def test_a_step_on_a_line_of_its_own_is_taken_by_a_definition(server):
    """As docs/metrics.md has it."""
    loss, step = {"Name": "train:loss", "Regex": "loss ([0-9.]+)"}, {"Name": "step", "Regex": r"Step (?<step>\d+)", "StepOnly": True}
    printed = range(10, 90, 10)
    for job, definitions, wanted in (("without", [loss], range(8)), ("with", [loss, step], printed)):
        make_job(server, job, definitions)
        server.send(job, [line for number in printed for line in (f"=== Step {number}/300 ===", "zeta 0.5", "loss 2.5")])
        server.wait_for_points(job, "train:loss", len(printed))
        assert steps_of(server, job) == list(wanted), job


def test_the_tester_shows_the_step_of_the_line(server):
    body = {"MetricDefinitions": [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}]}
    found = server.post("/api/v1/definitions/test", json={**body, "lines": ["iter 5000 | loss: 2.5", "iter 5010 | loss: 2.4"]}).body
    captures = [line["captures"][0] for line in found["lines"]]
    assert [capture["step"] for capture in captures] == [5000, 5010]
    assert [found["lines"][0]["text"][captures[0]["step_start"]:captures[0]["step_end"]]] == ["5000"]
    assert found["definitions"][0]["warnings"] == []
    found = server.post("/api/v1/definitions/test", json={**body, "lines": ["loss: 2.5", "loss: 2.4"]}).body
    assert [warning["code"] for warning in found["definitions"][0]["warnings"]] == ["no_step"]
    assert "step" not in found["lines"][0]["captures"][0]


def old_database(path, name):
    """A database of an older version: the migrations up to it, and its rows."""
    rows = (pathlib.Path(__file__).parents[1] / "support/old" / name).read_text()
    version = int(re.search(r"_(\d+)\.sql$", name)[1])
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA page_size=8192")
        for file in sorted((ROOT / "migrations/sqlite").glob("*.sql")):
            if int(file.name[:4]) <= version:
                database.executescript(file.read_text())
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
            database.execute(f"DELETE FROM {table}")
        database.executescript(rows)
        database.execute(f"PRAGMA user_version={version}")


OLD_STEPS = list(range(5000, 9000, 10))


def old_line(step):
    return f"[2026-11-20 10:{step // 600:02d}:{step // 10 % 60:02d}] iter {step} | loss: {3 - step / 10000:.4f} | grad: 0.50"


@of_a_file("of an older version")
def test_an_upgrade_in_the_middle_of_a_job_extracts_it_again(make_server):
    server = make_server(start=False)
    old_database(server.folder / "smfleet.db", "counted_steps_22.sql")
    server.start()

    def backfill():
        found = server.get("/api/v1/jobs/running/definitions").body["backfill"]
        return found if found and found["state"] == "done" else None
    assert wait_until(backfill, what="the back-fill of the running job")["lines"] == 400
    assert steps_of(server, "running") == OLD_STEPS == steps_of(server, "running", "train:grad_norm")
    # it goes on, and a count of 400 that is a step of 9000 now is neither a jump nor a restart
    server.send("running", [old_line(step) for step in range(9000, 9500, 10)])
    server.wait_for_points("running", "train:loss", 450)
    assert steps_of(server, "running") == list(range(5000, 9500, 10))
    job = server.get("/api/v1/jobs/running").body
    assert job["attempts"] == 1, job
    assert server.get("/api/v1/incidents").body["incidents"] == []
    assert server.get("/api/v1/jobs/running/definitions").body["generation"] == 2
    # what had its steps, and what has ended, stay as they are
    for name, steps in (("ended", list(range(400))), ("stepped", OLD_STEPS)):
        assert steps_of(server, name) == steps
        assert server.get(f"/api/v1/jobs/{name}/definitions").body["generation"] == 1
    # lines that come late to the ended job are counted on, not put at step 9000 behind a count of 399
    server.send("ended", [old_line(step) for step in range(9000, 9020, 10)])
    server.wait_for_points("ended", "train:loss", 402)
    assert steps_of(server, "ended") == list(range(402))
    server.restart()
    assert steps_of(server, "running") == list(range(5000, 9500, 10))
    assert server.get("/api/v1/jobs/running/definitions").body["generation"] == 2
