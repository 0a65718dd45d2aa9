"""Families of detect_families.py that were written from the outside: by what healthy and sick trainings print, without a look at the detectors.

Those of "quiet-" are noise of every kind that a healthy training has, also what attacks a robust median; nothing of them may be paged.
Part "outside": they were only run. The figures in docs/detection.md say for which of them a detector was changed afterwards.
"""

import math

from curve_shapes import LOSS, RATE, T0_MS, TIME, event, falling, steady, times, wandering

GRAD = "train:grad_norm"


def heavy(rng, degrees):
    """Student's t, by its definition."""
    return rng.gauss(0, 1) / math.sqrt(rng.gammavariate(degrees / 2, 2) / degrees)


# ---- rates ----

def quiet_rate_of_domains(rng):
    """Each stretch of documents has a speed of its own, of five; a stretch in ten is five times as long."""
    speeds, factors, mean = [1, *(rng.uniform(0.78, 0.98) for _ in range(4))], [], rng.choice([90, 210, 420])
    while len(factors) < 13000:
        factors += [rng.choice(speeds)] * max(5, round(rng.expovariate(1 / mean) * (5 if rng.random() < 0.1 else 1)))
    return {RATE: times(steady(rng, 13000, rng.uniform(0.007, 0.03), 41000), factors)}, []


def quiet_slow_cycle_of_time(rng):
    """A cooling's cycle, with a harmonic, over noise that hangs together; lines of twelve seconds."""
    period, height, left, values = rng.uniform(500, 9000), rng.uniform(0.015, 0.025), 0.0, []
    for i in range(13000):
        left = 0.6 * left + 0.8 * rng.gauss(0, 1)
        at = 2 * math.pi * i / period
        values.append(12.0 * (1 + height * (math.sin(at) + 0.3 * math.sin(2 * at + 1))) * (1 + 0.006 * left))
    return {TIME: values, "ts_ms": [T0_MS + 12000 * i for i in range(13000)]}, []


def quiet_fragmentation(rng):
    """Slower by and by, up to a twentieth; a checkpoint's restart of the allocator sets it back."""
    values, by = [], rng.uniform(0.02, 0.05)
    while len(values) < 12000:
        length = rng.randrange(600, 1800)
        values += [880 * (1 - by * i / length) * (1 + 0.008 * rng.gauss(0, 1)) for i in range(length)]
    return {RATE: values[:12000]}, []


def quiet_buckets(rng):
    """Batches of short, middle and long sequences in any order; how many of each there are changes slowly."""
    values, phase = [], rng.uniform(0, 6)
    for i in range(12000):
        share = 0.3 + 0.15 * math.sin(i / 1300 + phase)
        values.append(rng.choices([1, 0.8, 0.55], [1 - share, share * 0.7, share * 0.3])[0] * 260 * (1 + 0.02 * rng.gauss(0, 1)))
    return {RATE: values}, []


def quiet_heavy_time(rng):
    """Step times with tails, and a loader that now and then is empty for a dozen steps."""
    values = [0.43 * math.exp(0.05 * abs(heavy(rng, 3))) for _ in range(12000)]
    for at in rng.sample(range(300, 11900), 20):
        for i in range(at, at + rng.randrange(2, 16)):
            values[i] *= rng.uniform(1.5, 4)
    return {TIME: values}, []


def quiet_printed_rate(rng):
    """Printed with two digits: 3.1, 3.2, and for long stretches nothing else; it drifts by a tenth over thousands of steps."""
    drift = wandering(rng, 12000, rng.choice([800, 3000]))
    return {RATE: [round(3.2 * (1 + 0.012 * one + 0.006 * rng.gauss(0, 1)), 1) for one in drift]}, []


def noisy_slower(rng):
    """20 s a step, give or take 4, noise that hangs together; 17 % less from one step on. To be found within 450 points (150 were asked at
    first: one spread of noise that hangs together is not told as fast)."""
    at, left, values = rng.randrange(2800, 4500), 0.0, []
    for i in range(7000):
        left = 0.3 * left + 0.954 * rng.gauss(0, 1)
        values.append(max(3.0, 20 + 4 * left) / (0.83 if i >= at else 1))
    return {TIME: values}, [event("throughput_drop", TIME, at, at + 450, 0.17)]


def leak(rng):
    """A rate that declines by a quarter, evenly, within some hundred steps, and stays there."""
    at, length, by = rng.randrange(3000, 5000), rng.randrange(400, 1500), rng.uniform(0.2, 0.3)
    factors = [1 - by * min(1, max(0, (i - at) / length)) for i in range(9000)]
    return {RATE: times(steady(rng, 9000, rng.uniform(0.005, 0.02), 5200), factors)}, [event("throughput_drop", RATE, at, at + length, by)]


# ---- losses ----

def quiet_heavy_wander(rng):
    """A wander of 1.4 to 3.5 spreads, under noise with tails."""
    noise, height, tau = rng.uniform(0.004, 0.02), rng.uniform(1.4, 3.5), rng.uniform(120, 2500)
    factors = [(1 + height * noise * one) * (1 + noise * heavy(rng, 5)) for one in wandering(rng, 13000, tau)]
    return {LOSS: times(falling(rng, 13000, 0), factors)}, []


def quiet_mixture(rng):
    """Documents of one kind after another, each somewhat easier or harder, for some hundred steps."""
    noise, factors, mean = rng.uniform(0.006, 0.015), [], rng.choice([150, 500, 900])
    height = rng.uniform(0.5, 1.5) * noise
    while len(factors) < 12000:
        factors += [1 + height * rng.gauss(0, 1)] * max(1, round(rng.expovariate(1 / mean)))
    return {LOSS: times(falling(rng, 12000, noise), factors)}, []


def quiet_short_restarts(rng):
    """Warm restarts each 1.3 times as long as the one before; the loss is back up within some steps."""
    first, height, warm, noise = rng.randrange(350, 1400), rng.uniform(0.02, 0.055), rng.uniform(3, 25), rng.uniform(0.004, 0.02)
    values, since, length, gained = [], 0, first, 0.0
    for value in falling(rng, 13000, noise):
        wanted = height * (1 - math.cos(math.pi * since / length)) / 2
        gained += (wanted - gained) / (warm if since < 5 * warm else 1)
        values.append(value * (1 - gained))
        since += 1
        if since >= length:
            since, length = 0, round(1.3 * length)
    return {LOSS: values}, []


def quiet_batch_first(rng):
    """Each epoch's first line is one batch, the others means of 25; batches have tails."""
    lines, noise, values = rng.randrange(40, 450), rng.uniform(0.07, 0.18), []
    for i in range(13000):
        own = 1 if i % lines == 0 else 25
        mean = sum(math.exp(noise * rng.gauss(0, 1) - noise * noise / 2) for _ in range(own)) / own
        values.append((0.4 + 2.2 / (1 + i / 250) ** 0.6) * mean)
    return {LOSS: values, "every": 25}, []


def quiet_folds(rng):
    """Cross-validation: model after model in one stream, short ones, of a classifier that overfits."""
    values = []
    while len(values) < 9000:
        tau, noise = rng.uniform(40, 200), rng.uniform(0.01, 0.05)
        values += [(0.15 + 2.15 * math.exp(-i / tau)) * (1 + noise * rng.gauss(0, 1)) for i in range(rng.randrange(350, 1100))]
    return {LOSS: values[:9000]}, []


def quiet_steps_of_evaluations(rng):
    """Evaluations that stand still 21 to 30 times, or rise a little as the model overfits."""
    def one():
        level, noise, values = rng.uniform(0.3, 3), rng.uniform(0.0003, 0.008), []
        for _ in range(rng.randrange(2, 6)):
            slope = rng.choice([0, 0.0005, 0.002])
            length = rng.randrange(21, 31)
            values += [level * (1 + slope * i) * (1 + noise * rng.gauss(0, 1)) for i in range(length)]
            level *= rng.uniform(0.8, 1.03)
        return values
    return {f"{name}{k}": one() for k in range(20) for name in ("eval_loss/", "train:loss/")}, []


def quiet_diffusion(rng):
    """A loss that depends on the time step drawn: a spread of half its level, never far from it."""
    spread, tau = rng.uniform(0.25, 0.6), rng.uniform(100, 1500)
    return {LOSS: [(0.05 + 0.4 * math.exp(-i / tau)) * rng.lognormvariate(0, spread) for i in range(12000)]}, []


def quiet_two_digits(rng):
    """A loss printed with two or three digits that is nearly at its floor: 0.03, 0.02, and a 0.04 now and then."""
    digits, level, noise = rng.choice([2, 3]), rng.uniform(0.01, 0.06), rng.uniform(0.03, 0.15)
    return {LOSS: [round((level + 0.6 * math.exp(-i / 300)) * (1 + noise * rng.gauss(0, 1)), digits) for i in range(12000)]}, []


def quiet_smaller_batch(rng):
    """The batch is made smaller, or larger, on the way: the noise is 1.4 to 2.2 times as great from there on, or less."""
    noise, by, at = rng.uniform(0.004, 0.015), rng.choice([1.4, 1.8, 2.2, 0.5]), rng.randrange(3000, 8000)
    return {LOSS: [value * (1 + noise * (by if i >= at else 1) * rng.gauss(0, 1)) for i, value in enumerate(falling(rng, 12000, 0))]}, []


def quiet_memorising(rng):
    """A fine-tuning: down by a quarter at each epoch, and slowly up within it."""
    length, noise, up = rng.randrange(400, 1500), rng.uniform(0.03, 0.08), rng.uniform(0, 0.04)
    return {LOSS: [(0.05 + 1.3 * 0.75 ** (i // length)) * (1 + up * (i % length) / length) * (1 + noise * rng.gauss(0, 1))
        for i in range(6 * length)]}, []


def quiet_norm(rng):
    """A gradient norm with a lognormal's tails, that decays; clipped at 1 in some."""
    spread, is_clipped = rng.uniform(0.15, 0.4), rng.random() < 0.4
    values = [(0.3 + 2 / (1 + i / 100)) * rng.lognormvariate(0, spread) for i in range(12000)]
    return {GRAD: [min(1.0, value) if is_clipped else value for value in values]}, []


def spike_in_wander(rng):
    """A spike of a third for a dozen points, in a loss that wanders by two spreads."""
    noise, at = rng.uniform(0.005, 0.015), rng.randrange(3000, 7000)
    factors = [1 + 2 * noise * one for one in wandering(rng, 8000, 300)]
    for i in range(at, at + 12):
        factors[i] *= 1.33
    return {LOSS: times(falling(rng, 8000, noise), factors)}, [event("loss_spike", LOSS, at, at + 14, 0.33)]


def climb(rng):
    """3.0 to 4.0 within some hundred steps, and there it stays: nobody sleeps through that."""
    at, length, noise = rng.randrange(2500, 5000), rng.randrange(250, 900), rng.uniform(0.006, 0.025)
    return {LOSS: [(3.0 + 4 * math.exp(-i / 500) + min(1, max(0, (i - at) / length))) * (1 + noise * rng.gauss(0, 1)) for i in range(8000)]}, [
        event("loss_spike", LOSS, at, at + length + 300, 1 / 3)]


def slow_divergence(rng):
    """It rises faster and faster, over a thousand steps and more."""
    at, tau, noise = rng.randrange(3000, 5000), rng.uniform(150, 400), rng.uniform(0.005, 0.02)
    values = [min(10.0, value + 0.03 * (math.exp(max(0, i - at) / tau) - 1)) * (1 + noise * rng.gauss(0, 1))
        for i, value in enumerate(falling(rng, 8000, 0))]
    return {LOSS: values}, [event("divergence", LOSS, at, at + round(7 * tau), tau)]


def stuck(rng):
    """A fine classifier's loss that stops falling at a fifth of its way in steps, for good."""
    count, power, noise = 10000, rng.uniform(0.35, 0.55), rng.uniform(0.006, 0.018)
    at = rng.randrange(1800, 2800)
    return {LOSS: [(0.5 + 8.5 / (1 + min(i, at) / 80) ** power) * (1 + noise * rng.gauss(0, 1)) for i in range(count)]}, [
        event("plateau", LOSS, at, at + 4000, 0)]


# ---- silence, nodes ----

def lines_at(gaps_s):
    ts_ms, now_ms = [], T0_MS
    for gap_s in gaps_s:
        now_ms += round(1000 * gap_s)
        ts_ms.append(now_ms)
    return ts_ms


def quiet_pauses(rng):
    """Evaluations and checkpoints that take longer and longer, up to ten minutes at the end; each half as long again at most."""
    gaps, pause = [], 20.0
    for i in range(3000):
        is_pause = i % 170 == 169
        gaps.append(rng.uniform(1.2, 2.4) + (pause if is_pause else 0))
        pause = min(600, pause * rng.uniform(1.0, 1.5)) if is_pause else pause
    return {TIME: [2.0 * (1 + 0.03 * rng.gauss(0, 1)) for _ in gaps], "ts_ms": lines_at(gaps)}, []


def half_hour(rng):
    """A collective hangs for half an hour; lines of five seconds, evaluations of a minute; no loss at all."""
    at = rng.randrange(900, 2300)
    gaps = [rng.uniform(4, 7) + (60 if i % 220 == 219 else 0) + (1800 if i == at else 0) for i in range(2600)]
    return {TIME: gaps, "ts_ms": lines_at(gaps)}, [event("stall", "", at, at, 1800, "")]


def nodes_of(rng, nodes, count, spread, slow=None, by=0, at=0):
    common = [rng.uniform(1.3, 2) if rng.random() < 0.01 else 1 for _ in range(count)]
    own = [rng.uniform(0.985, 1.015) for _ in range(nodes)]
    return {(TIME, f"node-{k}"): [0.62 * own[k] * common[i] * rng.lognormvariate(0, spread) * (1 + by if k == slow and i >= at else 1)
        for i in range(count)] for k in range(nodes)}


def quiet_nodes_with_tails(rng):
    """Nodes of one job whose step times have a lognormal's tails, and slow steps that all share."""
    return nodes_of(rng, rng.choice([5, 12]), 1500, rng.uniform(0.03, 0.08)), []


def one_of_twelve(rng):
    """One of twelve nodes is slower by a seventh or more, and nobody prints a loss."""
    at, by, slow = rng.randrange(500, 1100), rng.uniform(0.15, 0.35), rng.randrange(12)
    return nodes_of(rng, 12, 1600, 0.04, slow, by, at), [event("straggler", TIME, at, at + 150, by, f"node-{slow}")]


OUTSIDE = {"quiet-rate-of-domains": (quiet_rate_of_domains, 8), "quiet-slow-cycle-of-time": (quiet_slow_cycle_of_time, 6),
    "quiet-fragmentation": (quiet_fragmentation, 6), "quiet-buckets": (quiet_buckets, 5), "quiet-heavy-time": (quiet_heavy_time, 5),
    "quiet-printed-rate": (quiet_printed_rate, 5), "noisy-slower": (noisy_slower, 5), "leak": (leak, 5),
    "quiet-heavy-wander": (quiet_heavy_wander, 8), "quiet-mixture": (quiet_mixture, 8), "quiet-short-restarts": (quiet_short_restarts, 6),
    "quiet-batch-first": (quiet_batch_first, 5), "quiet-folds": (quiet_folds, 6),
    "quiet-steps-of-evaluations": (quiet_steps_of_evaluations, 6), "quiet-diffusion": (quiet_diffusion, 5),
    "quiet-two-digits": (quiet_two_digits, 5), "quiet-smaller-batch": (quiet_smaller_batch, 6), "quiet-memorising": (quiet_memorising, 5),
    "quiet-norm": (quiet_norm, 5), "spike-in-wander": (spike_in_wander, 5), "climb": (climb, 5), "slow-divergence": (slow_divergence, 5),
    "stuck": (stuck, 5), "quiet-pauses": (quiet_pauses, 5), "half-hour": (half_hour, 3),
    "quiet-nodes-with-tails": (quiet_nodes_with_tails, 3), "one-of-twelve": (one_of_twelve, 3)}
