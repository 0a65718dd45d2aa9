"""
Two runs that cost much, imported from the files that they left: Megatron-LM's log, in which the learning rate jumps back to its peak at step
1510, and a trainer of one's own with two restarts, of which the second took an older checkpoint, and a third at the very step that was
printed last. Each figure is worked out here from the files' own numbers.
"""

import datetime
import json
import math
import random
import statistics

import pytest

from smserver import wait_until

BEGUN_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
PEAK, LEAST, WARMUP, LAST, BATCH, LENGTH, BROKEN, STEP_S, PRINTED = 3e-4, 3e-5, 200, 4000, 256, 4096, 1510, 8, 2000
SETTINGS = {"lr": PEAK, "min_lr": LEAST, "lr_decay_style": "cosine", "lr_warmup_iters": WARMUP, "lr_decay_iters": LAST, "train_iters": LAST,
    "global_batch_size": BATCH, "seq_length": LENGTH, "clip_grad": 1.0}


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def declared(step):
    """Megatron-LM's OptimizerParamScheduler.get_lr"""
    if step < WARMUP:
        return PEAK * step / WARMUP
    return LEAST + (PEAK - LEAST) * (math.cos(math.pi * (step - WARMUP) / (LAST - WARMUP)) + 1) / 2


def megatron_log(norms):
    yield "------------------------ arguments ------------------------"
    for key, value in SETTINGS.items():
        yield f"  {key + ' ':.<48} {value}"
    yield "-------------------- end of arguments ---------------------"
    for step, norm in norms.items():
        rate = declared(step) if step < BROKEN else PEAK
        yield (f" [{stamp(BEGUN_S + step * STEP_S)}] iteration {step:8d}/{LAST:8d} | consumed samples: {step * BATCH:12d} | elapsed time per iteration (ms): 8000.0 "
               f"| learning rate: {rate:.6E} | global batch size: {BATCH:5d} | lm loss: {1.9 + 8 / (1 + step / 150):.6E} | loss scale: 1.0 | grad norm: {norm:.3f} |")


def test_a_schedule_that_breaks_in_a_log_of_megatron(server, ship, tmp_path):
    chance = random.Random(7)
    norms = {step: round(abs(chance.gauss(0.7, 0.3)), 3) for step in range(10, PRINTED + 1, 10)}
    path = tmp_path / "megatron.log"
    path.write_text("\n".join(megatron_log(norms)) + "\n")
    done = ship.run("--job", "megatron", "--stream", "algo-1", "--import", str(path))
    assert done.returncode == 0, done
    server.wait_for_points("megatron", "train:lr", len(norms))
    found = wait_until(lambda: (one := server.get("/api/v1/jobs/megatron/schedule").body)["declared"] and one, what="the settings that the log prints")
    first = found["first_difference"]
    assert (first["step"], first["observed"], first["declared"]) == (BROKEN, PEAK, pytest.approx(declared(BROKEN), rel=1e-12))
    assert (found["clip"], found["clipped_share"]) == (1, pytest.approx(sum(norm > 1 for norm in norms.values()) / len(norms)))
    tokens = server.get("/api/v1/jobs/megatron/tokens").body
    assert (tokens["budget"], tokens["consumed"]) == (LAST * BATCH * LENGTH, PRINTED * BATCH * LENGTH)
    assert tokens["per_day"] == pytest.approx(BATCH * LENGTH / STEP_S * 86400)


class Own:
    """What a trainer of one's own prints: a checkpoint each hundredth step, whose path alone says which it is."""

    def __init__(self):
        self.lines, self.at_s, self.chance, self.losses = [], BEGUN_S, random.Random(3), []

    def train(self, first, last, weights_behind=0):
        losses = {}
        for step in range(first, last + 1):
            self.at_s += 20
            losses[step] = round(2 + 5 / (1 + (step - weights_behind) / 60) + self.chance.gauss(0, 0.015), 4)
            self.lines.append(f"{stamp(self.at_s)} INFO step: {step} loss: {losses[step]:.4f} lr: 2.000000e-04 consumed_tokens: {step * 500000}")
            if step % 100 == 0:
                self.lines.append(f"{stamp(self.at_s)} INFO Saved checkpoint to /fsx/own/checkpoint-{step}")
        self.losses.append(losses)

    def resume(self, checkpoint):
        self.at_s += 420
        self.lines.append(f"{stamp(self.at_s)} INFO Resuming from checkpoint /fsx/own/checkpoint-{checkpoint}")


def spreads(before, after, first):
    """docs/continuity.md, "did a restart go on from where it was?" """
    shared = sorted(before.keys() & after.keys())[:50]
    window = [before[step] for step in sorted(before) if step < first][-50:] + [before[step] for step in sorted(before) if step >= first][:50]
    changes = [later - earlier for earlier, later in zip(window, window[1:])]
    middle = statistics.median(changes)
    spread = max(1.4826 * statistics.median(abs(change - middle) for change in changes) / math.sqrt(2), 1e-4 * statistics.median(window))
    return len(shared), abs(statistics.median(after[step] - before[step] for step in shared)) / spread


def test_restarts_that_went_on_and_one_that_did_not(server, ship, tmp_path):
    own = Own()
    own.train(1, 430)
    own.resume(400)
    own.train(401, 660)
    own.resume(600)
    own.train(601, 780, weights_behind=300)
    own.resume(700)
    own.train(780, 900, weights_behind=300)  # at the last step: what lies between was made elsewhere
    path = tmp_path / "own.log"
    path.write_text("\n".join(own.lines) + "\n")
    done = ship.run("--job", "own", "--stream", "algo-1", "--import", str(path))
    assert done.returncode == 0, done
    saved = [step for losses in own.losses for step in losses if step % 100 == 0]
    wait_until(lambda: len(server.get("/api/v1/jobs/own/checkpoints").body["checkpoints"]) == len(saved), what="the checkpoints")
    rows = server.get("/api/v1/jobs/own/continuity").body["restarts"]
    told = {}
    by_hand = []
    for losses in own.losses:
        first = min(losses)
        by_hand.append((first, *spreads(told, losses, first)) if told else None)
        told = {step: loss for step, loss in told.items() if step < first} | losses
    assert [(row["first_step"], row["overlap_steps"]) for row in rows] == [(first, count) for first, count, _ in by_hand[1:]]
    for row, (_, _, far) in zip(rows, by_hand[1:]):
        assert row["loss_spreads"] == pytest.approx(far, rel=1e-9)
    assert [(row["verdict"], row["cause"], row["checkpoint_step"], row["lr_equal"], row["data_equal"]) for row in rows] == [
        ("continued", None, 400, True, True), ("differs", "older checkpoint", 600, True, True), ("continued", None, 700, True, True)]


def hung_log(hung_at, hang_s):
    """Ten steps a minute apart, a checkpoint whose line is printed when it is done, 90 s later, and behind that of step `hung_at` nothing."""
    at_s = BEGUN_S
    yield f"[{stamp(at_s)}] start"
    for step in range(1, 61):
        at_s += 60
        yield f"[{stamp(at_s)}] iteration {step:8d}/{LAST:8d} | elapsed time per iteration (ms): 60000.0 | lm loss: {2 + 8 / step:.6E} |"
        if step % 10 == 0:
            at_s += 90
            yield f"[{stamp(at_s)}]   successfully saved checkpoint from iteration {step:7d} to /fsx/ckpt/hung"
        at_s += hang_s if step == hung_at else 0


def test_a_hang_behind_a_checkpoint_is_lost(server):
    """Forty minutes of 64 nodes behind a save that was done: they were billed as the save's, and as no loss."""
    server.post("/api/v1/jobs", json={"TrainingJobName": "hung", "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 64}})
    server.put("/api/v1/prices", json={"currency": "USD", "prices": [{"instance": "ml.p5.48xlarge", "per_hour": 90}]})
    server.send("hung", list(hung_log(30, 2400)))
    ended_s = BEGUN_S + 60 * 60 + 6 * 90 + 2400
    server.post("/api/v1/jobs/hung/transitions", json={"SecondaryStatus": "Completed", "time_ms": ended_s * 1000})
    found = wait_until(lambda: (one := server.get("/api/v1/jobs/hung/goodput").body)["buckets"]["productive"]["seconds"] == 60 * 60 and one, what="the steps")
    told = {bucket: row["seconds"] for bucket, row in found["buckets"].items() if row["seconds"]}
    assert told == {"productive": 60 * 60, "checkpoint": 6 * 90, "stalled": 2400}
    assert found["cost"]["lost"] == pytest.approx(2400 * 64 * 90 / 3600)


def linear(step, peak, warmup, last):
    """transformers.get_linear_schedule_with_warmup"""
    return peak * step / warmup if step < warmup else peak * (last - step) / (last - warmup)


def trainer_log(last, every, says_step):
    """transformers.Trainer with --disable_tqdm, whose lines say the epoch alone, and with bars"""
    yield f"[{stamp(BEGUN_S)}] ***** Running training *****"
    yield f"  Total optimization steps = {last:,}"
    for step in range(every, last + 1, every):
        if says_step:
            yield f"{step * 100 // last:3d}%|###       | {step}/{last} [{step // 6:02d}:{step % 6}0<2:45:10, 10.01s/it]"
        yield f"{{'loss': {2 + 5 / (1 + step / 60):.4f}, 'grad_norm': 0.5, 'learning_rate': {linear(step, 2e-5, 30, last)!r}, 'epoch': {step / last:.2f}}}"


def test_steps_that_a_log_does_not_say_are_laid_beside_nothing(server):
    """Counted 0, 1, 2 … they are none of the schedule's: of a run by its book there was a difference at step 0, and a tenth of its tokens."""
    settings = {"learning_rate": "2e-5", "lr_scheduler_type": "linear", "warmup_steps": "30", "logging_steps": "10", "max_steps": "1000",
        "global_batch_size": "512", "seq_length": "4096"}
    for job, says_step in (("counted", False), ("said", True)):
        server.post("/api/v1/jobs", json.dumps({"TrainingJobName": job, "HyperParameters": settings}))
        server.send(job, list(trainer_log(1000, 10, says_step)))
        server.wait_for_points(job, "train:lr", 100)
    schedule, tokens, document = ({job: server.get(f"/api/v1/jobs/{job}{of}").body for job in ("counted", "said")} for of in ("/schedule", "/tokens", ""))
    assert [(one["first_difference"], one["steps_counted"]) for one in schedule.values()] == [(None, True), (None, False)]
    assert [{point["declared"] is None for point in one["observed"]} for one in schedule.values()] == [{True}, {False}]
    assert (tokens["counted"]["consumed"], tokens["counted"]["per_day"], tokens["counted"]["eta_ms"]) == (None, None, None)
    assert tokens["said"]["consumed"] == tokens["said"]["budget"] == tokens["counted"]["budget"] == 1000 * 512 * 4096
    assert "eta_ms" not in document["counted"]
