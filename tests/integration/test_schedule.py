"""The declared learning rate beside the printed one: trainers' formulas are written down here once more, from their sources."""

import math

import pytest

from howlong import IS_LONG, long
from smserver import wait_until
from test_chart_svg import send_points
from test_hosts import incidents
from test_life import MINUTE_MS, T0, line

PEAK = 6e-4


@pytest.fixture
def server(emptied_server):
    return emptied_server


def linear(step, warmup, total):
    """transformers.get_linear_schedule_with_warmup"""
    if step < warmup:
        return PEAK * step / max(1, warmup)
    return PEAK * max(0.0, (total - step) / max(1, total - warmup))


def cosine(step, warmup, total, least=0.0):
    """transformers.get_cosine_schedule_with_warmup; with `least`, Megatron's and nanoGPT's"""
    if step < warmup:
        return PEAK * step / max(1, warmup)
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return least + (PEAK - least) * 0.5 * (1.0 + math.cos(math.pi * progress))


def inverse_sqrt(step, warmup):
    """transformers.get_inverse_sqrt_schedule; its timescale is the warm-up"""
    if step < warmup:
        return PEAK * step / warmup
    shift = warmup - warmup
    return PEAK / math.sqrt((step + shift) / warmup)


def wsd(step, warmup, total, decay, least=0.0):
    """Megatron's WSD with a linear decay"""
    if step < warmup:
        return PEAK * step / warmup
    if step <= total - decay:
        return PEAK
    return least + (PEAK - least) * (total - step) / decay


def transformers_wsd(step, warmup, total, decay, ratio, decay_type="cosine"):
    """transformers' get_wsd_schedule without num_stable_steps: factors of the peak"""
    def scaled(factor):
        return PEAK * (factor * (1.0 - ratio) + ratio)
    if step < warmup:
        return scaled(step / warmup)
    if step < total - decay:
        return PEAK
    done = min(1.0, (step - (total - decay)) / decay)
    return scaled(1.0 - done if decay_type == "linear" else 0.5 * (1.0 + math.cos(math.pi * done)))


KINDS = {
    "transformers linear": ({"learning_rate": PEAK, "lr_scheduler_type": "linear", "warmup_steps": 20, "max_steps": 200},
        "linear", lambda n: linear(n, 20, 200)),
    "transformers cosine, by a ratio": ({"learning_rate": PEAK, "lr_scheduler_type": "SchedulerType.COSINE", "warmup_steps": 0, "warmup_ratio": 0.1, "max_steps": 200},
        "cosine", lambda n: cosine(n, 20, 200)),
    "transformers constant": ({"learning_rate": PEAK, "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 20, "max_steps": 200},
        "constant", lambda n: PEAK * min(1, n / 20)),
    "transformers inverse_sqrt": ({"learning_rate": PEAK, "lr_scheduler_type": "inverse_sqrt", "warmup_steps": 20, "max_steps": 200},
        "inverse square root", lambda n: inverse_sqrt(n, 20)),
    "megatron cosine": ({"lr": PEAK, "min_lr": 6e-5, "lr_decay_style": "cosine", "lr_warmup_iters": 20, "lr_decay_iters": 180, "train_iters": 200},
        "cosine", lambda n: cosine(n, 20, 180, 6e-5)),
    "megatron, spelt as on its command line": ({"--lr": PEAK, "--min-lr": 6e-5, "lr-decay-style": "cosine", "lr-warmup-iters": 20, "--lr-decay-iters": 180, "train-iters": 200},
        "cosine", lambda n: cosine(n, 20, 180, 6e-5)),
    "megatron WSD": ({"lr": PEAK, "min_lr": 6e-5, "lr_decay_style": "WSD", "lr_warmup_iters": 20, "lr_wsd_decay_iters": 50, "lr_wsd_decay_style": "linear", "train_iters": 200},
        "warm-up, stable, decay", lambda n: wsd(n, 20, 200, 50, 6e-5)),
    "megatron, all of what it prints": ({"lr": PEAK, "min_lr": 6e-5, "lr_decay_style": "cosine", "lr_warmup_iters": 20, "lr_decay_iters": None, "train_iters": 200},
        "cosine", lambda n: cosine(n, 20, 200, 6e-5)),
    "megatron from a rate that is not 0": ({"lr": PEAK, "lr_warmup_init": 1e-4, "lr_decay_style": "constant", "lr_warmup_iters": 20, "lr_warmup_samples": 0,
        "lr_decay_samples": None, "train_iters": 200}, "constant", lambda n: 1e-4 + (PEAK - 1e-4) * n / 20 if n < 20 else PEAK),
    "transformers, keywords as MLflow has them": ({"learning_rate": PEAK, "lr_scheduler_type": "cosine_with_min_lr", "warmup_steps": 20, "max_steps": 200,
        "lr_scheduler_kwargs": "{'min_lr_rate': 0.1}"}, "cosine", lambda n: cosine(n, 20, 200, 6e-5)),
    "transformers, a least rate among keywords": ({"learning_rate": PEAK, "lr_scheduler_type": "cosine_with_min_lr", "warmup_steps": 20, "max_steps": 200,
        "lr_scheduler_kwargs": '{"min_lr": 3e-05}'}, "cosine", lambda n: cosine(n, 20, 200, 3e-5)),
    "transformers WSD by keywords": ({"learning_rate": PEAK, "lr_scheduler_type": "warmup_stable_decay", "warmup_steps": 20, "max_steps": 200,
        "lr_scheduler_kwargs": "{'num_decay_steps': 50, 'min_lr_ratio': 0.1, 'decay_type': 'linear'}"},
        "warm-up, stable, decay", lambda n: transformers_wsd(n, 20, 200, 50, 0.1, "linear")),
    "transformers WSD that names no form of its decay": ({"learning_rate": PEAK, "lr_scheduler_type": "SchedulerType.WARMUP_STABLE_DECAY", "warmup_steps": 20,
        "max_steps": 200, "lr_scheduler_kwargs": '{"num_decay_steps": 50}'}, "warm-up, stable, cosine decay", lambda n: transformers_wsd(n, 20, 200, 50, 0)),
    "transformers WSD with a cosine and a least rate": ({"learning_rate": PEAK, "lr_scheduler_type": "warmup_stable_decay", "warmup_steps": 20, "max_steps": 200,
        "lr_scheduler_kwargs": {"num_decay_steps": 50, "min_lr_ratio": 0.1, "decay_type": "cosine"}},
        "warm-up, stable, cosine decay", lambda n: transformers_wsd(n, 20, 200, 50, 0.1)),
    "transformers 5, a share of steps": ({"learning_rate": PEAK, "lr_scheduler_type": "linear", "warmup_steps": 0.1, "max_steps": 200,
        "lr_scheduler_kwargs": "{}"}, "linear", lambda n: linear(n, 20, 200)),
    "DeepSpeed's own scheduler": ({"scheduler.type": "WarmupDecayLR", "scheduler.params.warmup_min_lr": 1e-5, "scheduler.params.warmup_max_lr": PEAK,
        "scheduler.params.warmup_num_steps": 20, "scheduler.params.warmup_type": "linear", "scheduler.params.total_num_steps": 200},
        "linear", lambda n: 1e-5 + (PEAK - 1e-5) * min(n / 20, (200 - n) / 180)),
    "nanoGPT": ({"learning_rate": PEAK, "min_lr": 6e-5, "decay_lr": "True", "warmup_iters": 20, "lr_decay_iters": 200, "max_iters": 200},
        "cosine", lambda n: cosine(n, 20, 200, 6e-5)),
    "torchtitan": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_ratio": 0.25, "lr_scheduler.decay_type": "linear",
        "lr_scheduler.min_lr_factor": 0.1, "training.max_steps": 200}, "warm-up, stable, decay", lambda n: wsd(n, 20, 200, 50, 6e-5)),
    "torchtitan, as it calls its steps since 2025": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_ratio": 0.25,
        "lr_scheduler.decay_type": "linear", "lr_scheduler.min_lr_factor": 0.1, "training.steps": 200}, "warm-up, stable, decay", lambda n: wsd(n, 20, 200, 50, 6e-5)),
    "torchtitan without a share": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_ratio": None,
        "lr_scheduler.decay_type": "linear", "training.max_steps": 200}, "linear", lambda n: linear(n, 20, 200)),
}


def titan_wsd(step, warmup, total, share, form="linear"):
    """torchtitan's linear_warmup_stable_decay since 2025, of the step before, as it counts from 0; a decay without room is shortened"""
    step -= 1
    decay = min(round(total * share), total - warmup)
    stable = total + 1 - warmup - decay
    if step < warmup:
        return PEAK * (step + 1) / warmup
    if step < warmup + stable:
        return PEAK
    progress = (step + 1 - warmup - stable) / decay
    return PEAK * (1 - progress if form == "linear" else 0.5 * (1 + math.cos(math.pi * progress)))


def titan(step, warmup, total, least=0.0):
    """torchtitan's linear_warmup_stable_decay without a decay_ratio: a factor of the peak"""
    if step < warmup:
        return PEAK * (step + 1) / (warmup + 1)
    done = (step + 1 - warmup) / (total - warmup + 1)
    return PEAK * (least + (1 - least) * (1 - done))


def nemo(step, warmup, total, held, least, anneal):
    """NeMo's WarmupAnnealHoldPolicy: without held steps its warm-up begins above 0"""
    if step <= warmup:
        return PEAK * step / warmup if held else PEAK * (step + 1) / (warmup + 1)
    done = min(1.0, (step - warmup) / (total - held - warmup))
    return least + (PEAK - least) * anneal(done)


def half_cosine(done):
    return 0.5 * (1.0 + math.cos(math.pi * done))


# what they do where the settings name no schedule, or name it in a way of their own: (schedule, warm-up, end, least rate)
OWN_KINDS = {
    "transformers' constant, which has no warm-up": ({"learning_rate": PEAK, "lr_scheduler_type": "constant", "warmup_ratio": 0.03, "max_steps": 10000},
        ("constant", 0, 10000, 0), lambda n: PEAK),
    "the same as TrainingArguments print it, by steps": ({"learning_rate": PEAK, "lr_scheduler_type": "SchedulerType.CONSTANT", "warmup_steps": 300, "max_steps": 10000},
        ("constant", 0, 10000, 0), lambda n: PEAK),
    "nanoGPT without a decay": ({"learning_rate": PEAK, "min_lr": 6e-5, "decay_lr": "False", "warmup_iters": 2000, "lr_decay_iters": 600000, "max_iters": 200},
        ("constant", 0, 600000, 6e-5), lambda n: PEAK),
    "torchtitan's default, a line": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "training.steps": 200},
        ("linear", 20, 200, 0), lambda n: titan(n, 20, 200)),
    "torchtitan's default warm-up of 200": ({"optimizer.lr": PEAK, "lr_scheduler.min_lr_factor": 0.1, "training.steps": 1000},
        ("linear", 200, 1000, PEAK * 0.1), lambda n: titan(n, 200, 1000, 0.1)),
    "torchtitan's lr_min, a share of the peak": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.lr_min": 0.1, "training.steps": 200},
        ("linear", 20, 200, PEAK * 0.1), lambda n: titan(n, 20, 200, 0.1)),
    "torchtitan's decay that has no room": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 50, "lr_scheduler.decay_ratio": 1.0, "training.steps": 200},
        ("warm-up, stable, decay", 50, 200, 0), lambda n: titan_wsd(n, 50, 200, 1.0)),
    "torchtitan's share of 0, no decay": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_ratio": 0.0, "training.steps": 200},
        ("constant", 20, 200, 0), lambda n: titan_wsd(n, 20, 200, 0)),
    "torchtitan's share, rounded as Python does": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_ratio": 0.05, "training.steps": 170},
        ("warm-up, stable, decay", 20, 170, 0), lambda n: titan_wsd(n, 20, 170, 0.05) if n <= 170 else 0),
    "torchtitan's cosine at the end": ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_ratio": 0.5, "lr_scheduler.decay_type": "cosine",
        "training.steps": 200}, ("warm-up, stable, cosine decay", 20, 200, 0), lambda n: titan_wsd(n, 20, 200, 0.5, "cosine")),
    "Megatron's inverse square root, which ends": ({"lr": PEAK, "min_lr": 6e-5, "lr_decay_style": "inverse-square-root", "lr_warmup_iters": 20, "lr_decay_iters": 150,
        "train_iters": 200}, ("inverse square root", 20, 150, 6e-5), lambda n: PEAK * n / 20 if n <= 20 else 6e-5 if n > 150 else PEAK * math.sqrt(20 / n)),
    "axolotl's share of the peak": ({"learning_rate": PEAK, "warmup_steps": 20, "max_steps": 200, "lr_scheduler": "cosine", "cosine_min_lr_ratio": 0.1},
        ("cosine", 20, 200, PEAK * 0.1), lambda n: cosine(n, 20, 200, PEAK * 0.1)),
    "one that a loss scale leaves steps out of": ({"learning_rate": PEAK, "lr_scheduler_type": "linear", "warmup_steps": 20, "max_steps": 200, "fp16": "True"},
        ("linear", 20, 200, 0), lambda n: linear(max(0, n - 3), 20, 200)),
    "NeMo's cosine": ({"model.optim.lr": PEAK, "model.optim.sched.name": "CosineAnnealing", "model.optim.sched.warmup_steps": 20,
        "model.optim.sched.min_lr": 6e-5, "trainer.max_steps": 200}, ("cosine", 20, 200, 6e-5), lambda n: nemo(n, 20, 200, 0, 6e-5, half_cosine)),
    "NeMo's cosine that ends early": ({"model.optim.lr": PEAK, "model.optim.sched.name": "CosineAnnealing", "model.optim.sched.warmup_steps": 20,
        "model.optim.sched.constant_steps": 60, "model.optim.sched.min_lr": 6e-5, "trainer.max_steps": 200},
        ("cosine", 20, 140, 6e-5), lambda n: nemo(n, 20, 200, 60, 6e-5, half_cosine)),
    "NeMo's constant": ({"optim.lr": PEAK, "optim.sched.name": "WarmupPolicy", "optim.sched.warmup_steps": 20, "trainer.max_steps": 200},
        ("constant", 20, 200, 0), lambda n: nemo(n, 20, 200, 0, 0, lambda done: 1)),
    "NeMo's line, by a ratio": ({"optim.lr": PEAK, "optim.sched.name": "WarmupAnnealing", "optim.sched.warmup_ratio": 0.1, "trainer.max_steps": 200},
        ("linear", 20, 200, 0), lambda n: nemo(n, 20, 200, 0, 0, lambda done: 1 - done)),
}


def run(server, settings, rate, steps=range(1, 201), more=lambda n: ""):
    document = {"TrainingJobName": "j", "HyperParameters": {key: str(value) for key, value in settings.items()}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | lr: {rate(n):.10e}{more(n)}") for n in steps])
    server.wait_for_extraction()
    reply = server.get("/api/v1/jobs/j/schedule")
    assert reply.status == 200, reply
    return reply.body


@pytest.mark.parametrize("kind", KINDS)
def test_each_schedule_is_known_and_kept(server, kind):
    settings, name, rate = KINDS[kind]
    found = run(server, settings, rate)
    declared = found["declared"]
    assert (declared["schedule"], declared["peak"], declared["warmup_steps"]) == (name, PEAK, 20)
    assert found["first_difference"] is None
    assert [point["step"] for point in found["observed"]] == [*range(1, 201, 3), 200]  # of 200 each third, and the last
    for point in found["observed"]:
        assert point["observed"] == pytest.approx(rate(point["step"]), rel=1e-9)
        assert point["declared"] == pytest.approx(rate(point["step"]), rel=1e-9), point


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_what_is_done_where_no_schedule_is_named_is_known_and_kept(server, kind):
    settings, (name, warmup, end, least), rate = OWN_KINDS[kind]
    found = run(server, settings, rate)
    declared = found["declared"]
    assert (declared["schedule"], declared["peak"], declared["warmup_steps"], declared["total_steps"]) == (name, PEAK, warmup, end)
    assert declared["least"] == pytest.approx(least) and (found["first_difference"], found["not_understood"]) == (None, [])


@pytest.mark.parametrize("kind", KINDS)
def test_the_rate_of_the_step_before_or_behind_is_the_declared_one_too(server, kind):
    settings, _, rate = KINDS[kind]
    assert run(server, settings, lambda n: rate(n - 1))["first_difference"] is None


def test_a_warm_up_of_another_length(server):
    """200 steps instead of 20: step 2 has 1.2e-5 where 6e-5 is declared, and even step 1 declares 3e-5."""
    settings, _, rate = KINDS["megatron cosine"]
    found = run(server, settings, lambda n: PEAK * n / 200)
    first = found["first_difference"]
    assert first["step"] == 2
    assert (first["declared"], first["observed"]) == (pytest.approx(6e-5), pytest.approx(6e-6))


def test_a_drift_of_a_hundredth_and_what_is_less(server):
    """From step 101 on; in the middle of a cosine the next step changes the rate by another hundredth."""
    settings, _, rate = KINDS["transformers constant"]
    assert run(server, settings, lambda n: rate(n) * (1.009 if n > 100 else 1))["first_difference"] is None


def test_a_drift_beyond_a_hundredth(server):
    settings, _, rate = KINDS["transformers constant"]
    first = run(server, settings, lambda n: rate(n) * (1.011 if n > 100 else 1))["first_difference"]
    assert first == {"step": 101, "declared": pytest.approx(PEAK), "observed": pytest.approx(PEAK * 1.011)}


def test_seven_digits_count_though_they_are_zeros(server):
    """2.6e-4 is declared: 3.000000E-04 is 15 % more from its first print on, and 2.600000E-04 none."""
    for job, printed in (("off", 3e-4), ("kept", 2.6e-4)):
        document = {"TrainingJobName": job, "HyperParameters": {"lr": "2.6e-4", "lr_decay_style": "constant", "lr_warmup_iters": "0", "train_iters": "400"}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        server.send(job, [f" iteration {n:8d}/     400 | consumed samples: {n * 16:12d} | elapsed time per iteration (ms): 412.7 | learning rate: {printed:.6E} | "
                          f"global batch size:    16 | lm loss: 7.100000E+00 | loss scale: 1.0 | grad norm: 1.2 |" for n in range(1, 7)])
    server.wait_for_extraction()
    assert server.get("/api/v1/jobs/off/schedule").body["first_difference"] == {"step": 1, "declared": 2.6e-4, "observed": 3e-4}
    assert server.get("/api/v1/jobs/kept/schedule").body["first_difference"] is None
    row, = wait_until(lambda: incidents(server, "off", "rate_drifts"), what="the incident")
    assert row["opened_step"] == 1


def test_one_odd_print_is_no_difference(server):
    settings, _, rate = KINDS["transformers linear"]
    assert run(server, settings, lambda n: rate(n) * (2 if n == 100 else 1))["first_difference"] is None


def test_gradients_that_were_clipped(server):
    """Every fourth norm is above 1."""
    settings, _, rate = KINDS["megatron cosine"]
    found = run(server, {**settings, "clip_grad": 1.0}, rate, more=lambda n: f" | grad norm: {1.5 if n % 4 == 0 else 0.5}")
    assert (found["clipped_share"], found["clip"], found["clip_from"]) == (0.25, 1.0, "clip_grad")


def test_what_moves_beside_the_rate(server):
    """Two overflows halve the scale at steps 50 and 51, and 100 good steps later it doubles; the batch grows by
    32 at steps 41 and 81."""
    settings, _, rate = KINDS["megatron cosine"]
    scale = {n: 65536 if n < 50 else 32768 if n < 51 else 16384 if n < 151 else 32768 for n in range(1, 201)}
    run(server, {**settings, "rampup_batch_size": "32 32 2560"}, rate)
    send_points(server, "j", "train:loss_scale", list(scale.values()), list(scale))
    send_points(server, "j", "train/global_batch_size", [32 * (1 + (n > 40) + (n > 80)) for n in range(1, 201)], list(range(1, 201)))
    found = server.get("/api/v1/jobs/j/schedule").body
    assert found["loss_scale"] == {"metric": "train:loss_scale", "first": 65536, "last": 32768, "least": 16384, "most": 65536, "lowered": 2,
        "changes_total": 3, "changes": [{"step": 50, "value": 32768}, {"step": 51, "value": 16384}, {"step": 151, "value": 32768}]}
    batch = found["batch"]
    assert (batch["metric"], batch["first"], batch["last"], batch["lowered"], batch["changes"]) == (
        "train/global_batch_size", 32, 96, 0, [{"step": 41, "value": 64}, {"step": 81, "value": 96}])
    assert found["batch_ramp"] == {"setting": "rampup_batch_size", "value": "32 32 2560"}


def test_a_restart_counts_what_was_made_last(server):
    """Of 30 steps 21 to 30 are made again. Lost are a scale of 512 from step 25 on and two of the norms above 1; the restart begins with 16384, and halves at step 41."""
    def printed(n, scale, norm):
        return line(T0 + n * MINUTE_MS, f"step: {n} | loss: {3 - n / 100} | loss_scale: {scale} | grad_norm: {norm}")
    document = {"TrainingJobName": "j", "HyperParameters": {"max_grad_norm": "1.0"}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    server.send("j", [printed(n, 65536 if n < 25 else 512, 1.5 if n % 5 == 0 else 0.5) for n in range(1, 31)])
    server.send("j", [line(T0 + (10 + n) * MINUTE_MS, f"step: {n} | loss: {3 - n / 100} | loss_scale: {16384 if n < 41 else 8192} | grad_norm: {1.5 if n % 4 == 0 else 0.5}")
                      for n in range(21, 61)])
    server.wait_for_extraction()
    found = server.get("/api/v1/jobs/j/schedule").body
    assert found["clipped_share"] == (4 + 10) / 60
    scale = found["loss_scale"]
    assert (scale["first"], scale["last"], scale["least"], scale["lowered"]) == (65536, 8192, 8192, 1)
    assert scale["changes"] == [{"step": 21, "value": 16384}, {"step": 41, "value": 8192}]


def test_a_batch_that_megatron_prints(server):
    """16, and from step 4 on 32."""
    server.send("m", [f" iteration {n:8d}/     100 | consumed samples: {n * 16:12d} | elapsed time per iteration (ms): 412.7 | learning rate: 1.0E-04 | "
                      f"global batch size: {16 if n < 4 else 32:5d} | lm loss: 7.1E+00 | loss scale: 1.0 | grad norm: 1.2 |" for n in range(1, 7)])
    server.wait_for_points("m", "train:global_batch_size", 6)
    batch = server.get("/api/v1/jobs/m/schedule").body["batch"]
    assert (batch["metric"], batch["first"], batch["last"], batch["changes"]) == ("train:global_batch_size", 16, 32, [{"step": 4, "value": 32}])


def test_steps_of_a_bar_that_lags(server):
    """transformers' lines say no step. Of 400 steps the bar is drawn each 7 (or each 5) and behind each dict; a rate of 5 % more is told from step 200 on."""
    def lines(drawn, off):
        shown = []
        for n in range(1, 301):
            bar = f" {n // 4:3d}%|###       | {n}/400 [00:{n // 20:02d}<00:{(400 - n) // 20:02d}, 20.00it/s]"
            if n % drawn == 0:
                shown.append(line(T0 + n * 1000, bar))
            if n % 10 == 0:
                rate = linear(n, 0, 400) * (off if n >= 200 else 1)
                shown += [line(T0 + n * 1000, f"{{'loss': {3 - n * 0.002:.4f}, 'grad_norm': 1.1, 'learning_rate': {rate!r}, 'epoch': {n / 400:.2f}}}"),
                          line(T0 + n * 1000, bar)]
        return shown
    found = {}
    for job, drawn, off in (("lags", 7, 1), ("even", 5, 1), ("off", 5, 1.05)):
        document = {"TrainingJobName": job, "HyperParameters": {"learning_rate": str(PEAK), "lr_scheduler_type": "linear", "max_steps": "400"}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        server.send(job, lines(drawn, off))
        server.wait_for_points(job, "train:lr", 30)
        schedule = server.get(f"/api/v1/jobs/{job}/schedule").body
        found[job] = (schedule["declared"]["schedule"], schedule["steps_uncertain"], schedule["first_difference"] and schedule["first_difference"]["step"])
    assert found == {"lags": ("linear", True, None), "even": ("linear", False, None), "off": ("linear", False, 200)}
    row, = wait_until(lambda: incidents(server, "off", "rate_drifts"), what="the incident")
    assert row["opened_step"] == 200 and [incidents(server, job, "rate_drifts") for job in ("lags", "even")] == [[], []]


def test_what_nobody_declared_is_null(server):
    found = run(server, {"max_steps": 200}, lambda n: PEAK, more=lambda n: " | grad norm: 0.5")
    assert (found["declared"], found["first_difference"], found["clipped_share"], found["clip"]) == (None, None, None, None)
    assert found["observed"][0] == {"step": 1, "declared": None, "observed": PEAK}


@pytest.mark.parametrize("settings, not_understood", [
    ({"learning_rate": PEAK, "lr_scheduler_type": "cosine_with_restarts", "max_steps": 200}, ["lr_scheduler_type"]),
    ({"learning_rate": "a lot", "lr_scheduler_type": "cosine", "max_steps": 200}, ["learning_rate"]),
    ({"learning_rate": PEAK, "lr_scheduler_type": "cosine"}, []),
    ({"learning_rate": PEAK, "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 0.03}, []),
    *(({"learning_rate": PEAK, "lr_scheduler_type": "warmup_stable_decay", "max_steps": 200, "lr_scheduler_kwargs": text}, ["lr_scheduler_kwargs"])
      for text in ("{'num_decay_steps': 50, 'decay_type': '1-sqrt'}", "{'num_decay_steps': 50, 'num_stable_steps': 130}", "{'num_decay_steps': 50, 'num_cycles': 1}")),
    ({"learning_rate": PEAK, "lr_scheduler_type": "cosine", "warmup_steps": 300, "max_steps": 200}, []),
    ({"learning_rate": PEAK, "lr_scheduler_type": "cosine", "warmup_steps": "3 %", "max_steps": 200}, ["warmup_steps"]),
    ({"learning_rate": PEAK, "lr_scheduler_type": "cosine", "lr_warmup_tokens": "300M", "max_steps": 200}, ["lr_warmup_tokens"]),
    ({"lr": PEAK, "lr_decay_style": "cosine", "lr_warmup_samples": 5120, "train_iters": 200}, ["lr_warmup_samples"]),
    ({"lr": PEAK, "lr_decay_style": "cosine", "lr_decay_samples": 51200, "train_iters": 200}, ["lr_decay_samples"]),
    ({"lr": PEAK, "lr_decay_style": "WSD", "train_iters": 200}, ["lr_decay_style"]),
    ({"lr": PEAK, "lr_decay_style": "WSD", "lr_wsd_decay_iters": 50, "train_iters": 200}, ["lr_decay_style"]),
    ({"lr": PEAK, "lr_decay_style": "WSD", "lr_wsd_decay_iters": 50, "lr_wsd_decay_style": "exponential", "train_iters": 200}, ["lr_wsd_decay_style"]),
    ({"scheduler.type": "WarmupDecayLR", "scheduler.params.warmup_max_lr": PEAK, "scheduler.params.warmup_num_steps": 20, "total_num_steps": 200}, ["scheduler.type"]),
    *(({"learning_rate": PEAK, "lr_scheduler_type": "cosine", "max_steps": 200, "lr_scheduler_kwargs": text}, ["lr_scheduler_kwargs"])
      for text in ("{'odd': 1}", "min_lr=3e-5", "{'min_lr': some}")),
    ({"learning_rate": PEAK, "lr_scheduler_type": "cosine", "max_steps": 200, "lr_scheduler_kwargs": "{'num_cycles': 2}"}, ["lr_scheduler_kwargs"]),
    ({"optim.lr": PEAK, "optim.sched.name": "NoamAnnealing", "optim.sched.warmup_steps": 20, "trainer.max_steps": 200}, ["optim.sched.name"]),
    ({"optim.lr": PEAK, "optim.sched.warmup_steps": 20, "optim.sched.min_lr": 6e-5, "trainer.max_steps": 200}, ["optim.sched.warmup_steps", "optim.sched.min_lr"]),
    ({"optimizer.lr": PEAK, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_type": "sqrt", "training.steps": 200}, ["lr_scheduler.decay_type"]),
    ({"lr": PEAK, "lr_scheduler.warmup_steps": 20, "max_steps": 200}, ["lr_scheduler.warmup_steps"]),  # of whom?
    *(({"optimizer.lr": PEAK, "training.steps": 200, "lr_scheduler.warmup_steps": 20, key: "CosineAnnealingLR"}, ["lr_scheduler.warmup_steps", key])
      for key in ("lr_scheduler.class_name", "lr_scheduler.cls", "lr_scheduler.params.decay_type.of")),
    ({"optimizer.lr": PEAK, "training.steps": 200, "lr_scheduler.warmup_steps": 20, "lr_scheduler.decay_type": "linear", "lr_scheduler.lr_min": 0.1,
      "lr_scheduler.cls": "cosine"}, ["lr_scheduler.cls"]),
    ({"learning_rate": PEAK, "lr_scheduler_type": "linear", "max_steps": 200, "scheduler.type": "WarmupDecayLR", "scheduler.params.warmup_num_steps": "auto"},
     ["scheduler.type"]),  # DeepSpeed's, whose warm-up is a logarithm
    *(({"learning_rate": PEAK, "lr_scheduler": "cosine", "max_steps": 200, key: value}, [key])
      for key, value in (("cosine_constant_lr_ratio", 0.8), ("lr_quadratic_warmup", "true"))),
    ({"lr": PEAK, "scheduler_name": "constant_with_warmup", "t_warmup": "100ba"}, ["t_warmup"]),
    ({"lr": PEAK, "lr_decay_style": "cosine", "train_samples": 4000, "rampup_batch_size": "8 8 800", "train_iters": 200}, ["rampup_batch_size"]),
    ({"lr": PEAK, "lr_scheduler._target_": "nemo.lightning.pytorch.optim.CosineAnnealingScheduler", "max_steps": 200}, ["lr_scheduler._target_"]),
])
def test_what_is_not_followed_declares_nothing(server, settings, not_understood):
    found = run(server, settings, lambda n: PEAK)
    assert (found["declared"], found["first_difference"]) == (None, None)
    assert found["not_understood"] == not_understood


def test_what_each_figure_is_from(server):
    settings, _, rate = KINDS["megatron WSD"]
    found = run(server, {**settings, "lr_warmup_init": 0}, rate)
    assert found["declared"]["from"] == {"schedule": "lr_decay_style", "initial": "lr_warmup_init", "peak": "lr", "least": "min_lr",
                                         "warmup_steps": "lr_warmup_iters", "decay_steps": "lr_wsd_decay_iters", "total_steps": "train_iters"}
    assert found["not_understood"] == []


def test_a_number_of_steps_that_is_none_is_not_where_the_end_comes_from(server):
    """transformers prints max_steps of -1 where epochs count."""
    found = run(server, {"learning_rate": PEAK, "lr_scheduler_type": "constant", "max_steps": -1}, lambda n: PEAK)
    assert found["declared"]["from"] == {"schedule": "lr_scheduler_type", "peak": "learning_rate"}


def test_a_job_without_any_and_none(server):
    server.send("quiet", ["no number here"])
    server.wait_for_extraction()
    found = server.get("/api/v1/jobs/quiet/schedule").body
    assert (found["metric"], found["declared"], found["observed"]) == ("", None, [])
    assert server.get("/api/v1/jobs/none/schedule").status == 404


def test_a_drift_is_an_incident_until_the_declared_rate_is_back(server):
    """A warm-up to 6e-4 that ended, then 5 % more from step 31 on. Another job prints three such rates alone, and one prints one digit."""
    settings = {"learning_rate": PEAK, "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 20, "max_steps": 200}

    def send(job, steps, rate, form=".10e"):
        server.send(job, [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | lr: {rate(n):{form}}") for n in steps])

    def rate(n):
        return PEAK * min(n, 20) / 20
    for job in ("j", "three", "coarse"):
        document = {"TrainingJobName": job, "HyperParameters": {key: str(value) for key, value in settings.items()}}
        assert server.post("/api/v1/jobs", json=document).status == 201
    send("j", range(1, 41), lambda n: rate(n) * (1.05 if n > 30 else 1))
    send("three", range(1, 41), lambda n: rate(n) * (1.05 if 30 < n <= 33 else 1))
    send("coarse", range(1, 41), rate, ".0e")
    row, = wait_until(lambda: incidents(server, "j", "rate_drifts"), what="the incident")
    assert (row["state"], row["opened_step"], row["opened_ms"]) == ("open", 31, T0 + 31 * MINUTE_MS)
    assert (row["evidence"]["value"], row["evidence"]["expected"]) == (pytest.approx(PEAK * 1.05), pytest.approx(PEAK))
    assert (row["evidence"]["schedule"], row["evidence"]["peak_from"]) == ("constant", "learning_rate")
    if IS_LONG:  # the look behind the next one
        send("j", range(41, 45), rate)
        wait_until(lambda: incidents(server, "j", "rate_drifts")[0]["state"] != "open", what="its end")
    assert [incidents(server, job, "rate_drifts") for job in ("three", "coarse")] == [[], []]


@long
def test_rank_0_that_comes_later_is_read_from_its_beginning(server):
    """A rank beside it printed 60 declared rates before; rank 0's 30 first ones are 5 % more, and its last ten are declared."""
    document = {"TrainingJobName": "j", "HyperParameters": {"learning_rate": str(PEAK), "lr_scheduler_type": "constant", "max_steps": "200"}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | lr: {PEAK:.10e}") for n in range(1, 61)], stream="algo-2")
    assert server.post("/api/v1/jobs", json={**document, "TrainingJobName": "behind"}).status == 201
    server.send("behind", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | lr: {PEAK * 2:.10e}") for n in range(1, 11)])
    wait_until(lambda: incidents(server, "behind", "rate_drifts"), what="the first look, in which j was looked at, too")
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} | loss: 2.5 | lr: {PEAK * 1.05:.10e}") for n in range(1, 31)], stream="algo-1")
    row, = wait_until(lambda: incidents(server, "j", "rate_drifts"), what="the incident")
    assert row["opened_step"] == 1
