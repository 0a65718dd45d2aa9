"""
Learning rates of runs in half precision, by the files that they left, and printed at each step: one by its book, whose loss scale left steps out at its
beginning and in the middle, one whose rate was 8 % too high for ten steps, one whose rate was twice as high from there on, and one that is off by
less than can be seen. A step that is left out keeps a falling rate where it was; none raises it.
"""

import datetime

import pytest

from smserver import wait_until

BEGUN_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
PEAK, WARMUP, LAST, STEP_S, OFF_FROM, OFF_TO, READ_TO = 6e-4, 20, 420, 30, 220, 229, 320
SETTINGS = {"lr": PEAK, "min_lr": 0.0, "lr_decay_style": "linear", "lr_warmup_iters": WARMUP, "lr_decay_iters": LAST, "train_iters": LAST, "fp16": True}


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def declared(step):
    """Megatron-LM's OptimizerParamScheduler.get_lr"""
    if step < WARMUP:
        return PEAK * step / WARMUP
    return PEAK * (LAST - step) / (LAST - WARMUP)


def log(rate):
    yield "------------------------ arguments ------------------------"
    for key, value in SETTINGS.items():
        yield f"  {key + ' ':.<48} {value}"
    yield "-------------------- end of arguments ---------------------"
    for step in range(1, READ_TO + 1):
        yield (f" [{stamp(BEGUN_S + step * STEP_S)}] iteration {step:8d}/{LAST:8d} | consumed samples: {step * 64:12d} | elapsed time per iteration (ms): 30000.0 "
               f"| learning rate: {rate(step):.6E} | global batch size:    64 | lm loss: {1.9 + 8 / (1 + step / 150):.6E} | loss scale: 65536.0 | grad norm: 0.500 |")


def left_out(step):
    """Eight at the beginning, and three more behind step 250."""
    return min(step, 8) + max(0, min(step - 250, 3))


RATES = {
    "by its book": lambda step: declared(step - left_out(step)),
    "for ten steps": lambda step: declared(step) * (1.08 if OFF_FROM <= step <= OFF_TO else 1),
    "from there on": lambda step: declared(step - left_out(step)) * (2 if step >= OFF_FROM else 1),
    "by less than is seen": lambda step: declared(step) * (1.009 if step >= OFF_FROM else 1),
}


@pytest.mark.parametrize("kind", RATES)
def test_a_rate_in_half_precision(server, ship, tmp_path, kind):
    path = tmp_path / "megatron.log"
    path.write_text("\n".join(log(RATES[kind])) + "\n")
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "fp16"}).status == 201
    done = ship.run("--job", "fp16", "--stream", "algo-1", "--import", str(path))
    assert done.returncode == 0, done
    server.wait_for_points("fp16", "train:lr", READ_TO)
    found = wait_until(lambda: (one := server.get("/api/v1/jobs/fp16/schedule").body)["declared"] and one, what="the settings that the log prints")
    assert (found["declared"]["schedule"], found["declared"]["from"]["skipped_steps"]) == ("linear", "fp16")
    first = found["first_difference"]
    if kind in ("by its book", "by less than is seen"):
        assert first is None
    else:
        assert first["step"] == OFF_FROM and first["observed"] == pytest.approx(RATES[kind](OFF_FROM), rel=1e-6)
        assert first["declared"] == pytest.approx(declared(OFF_FROM), rel=1e-12)


def test_a_rate_that_drifts_is_told_while_the_job_runs(server):
    """Six prints that are too high, of the first two kinds: only one of the jobs has an incident."""
    for job, kind in (("drifts", "for ten steps"), ("kept", "by its book")):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job}).status == 201
        server.send(job, [line for line in log(RATES[kind]) if "iteration" not in line or int(line.split("iteration")[1].split("/")[0]) <= OFF_FROM + 5])
    row, = wait_until(lambda: server.get("/api/v1/incidents?kind=rate_drifts").body["incidents"], what="the incident")
    assert (row["job"], row["state"], row["opened_step"]) == ("drifts", "open", OFF_FROM)
    assert (row["evidence"]["value"], row["evidence"]["expected"]) == (pytest.approx(declared(OFF_FROM) * 1.08, rel=1e-6), pytest.approx(declared(OFF_FROM)))
