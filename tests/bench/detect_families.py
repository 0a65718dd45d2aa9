#!/usr/bin/env python3
"""Families of labelled curves: shapes that look like trouble and are none, and some that are. Standard library only.

  detect_families.py --seed 1 --out DIR [--scale 1.0] [--part tuned|held|outside]

They are written as the curves of ../shared/detect-bench are, and read by the same score: one point a line, labels.json beside them. The
same seed gives the same curves. The detectors were changed while looking at the families in TUNED. Those in HELD have other shapes
and other parameters; they were run, but nothing of a detector was fitted to them. OUTSIDE (outside_families.py) came last.

Of a family whose name begins with "quiet-" nothing may be paged. The others say what must be found and where.
"""

import argparse
import json
import math
import pathlib
import random

import outside_families
import policy_families
from curve_shapes import LOSS, RATE, STEP_MS, T0_MS, TIME, event, falling, steady, telegraph, times, wandering


# ---- rates that change, and come back ----

def quiet_alternating(rng):
    mean, by = rng.choice([20, 60, 150, 300]), rng.choice([0.06, 0.1, 0.2, 0.35])
    factors = telegraph(rng, 12000, lambda is_low: rng.expovariate(1 / mean), by)
    return {RATE: times(steady(rng, 12000, rng.choice([0.004, 0.015, 0.04])), factors)}, []


def quiet_checkpoint_writes(rng):
    every, lasts, by = rng.choice([300, 700, 1200]), rng.choice([20, 40, 80]), rng.choice([0.12, 0.3, 0.6])
    factors = [1 - by if i % every < lasts and i >= every else 1 for i in range(12000)]
    return {RATE: times(steady(rng, 12000, rng.choice([0.005, 0.02])), factors)}, []


def quiet_levels(rng):
    """Several levels, a walk among them."""
    mean, levels, factors = rng.choice([40, 120, 350]), [1, *(rng.uniform(0.65, 0.97) for _ in range(rng.choice([2, 3])))], []
    while len(factors) < 12000:
        factors += [rng.choice(levels)] * max(1, round(rng.expovariate(1 / mean)))
    return {RATE: times(steady(rng, 12000, rng.choice([0.004, 0.015, 0.04])), factors)}, []


def quiet_shards(rng):
    """Held out: each shard of the data has a speed of its own, of three; said as a step time."""
    factors = []
    while len(factors) < 12000:
        factors += [rng.choice([1, 1.07, 1.18])] * round(rng.lognormvariate(math.log(220), 0.5))
    return {TIME: times(steady(rng, 12000, rng.choice([0.006, 0.02]), 1.4), factors)}, []


def quiet_four_speeds(rng):
    """Held out, made after quiet-shards had been looked at: four speeds, stays of another law, also long ones."""
    mean, speeds, factors = rng.choice([60, 150, 300]), [1, 0.94, 0.88, rng.uniform(0.6, 0.8)], []
    while len(factors) < 12000:
        factors += [rng.choice(speeds)] * max(1, round(rng.gammavariate(2, mean / 2)))
    return {RATE: times(steady(rng, 12000, rng.choice([0.005, 0.025]), 900), factors)}, []


def quiet_neighbours(rng):
    """Held out: somebody else's job on the same switch, at times for long."""
    by = rng.uniform(0.07, 0.28)
    factors = telegraph(rng, 12000, lambda is_low: rng.uniform(20, 250) if is_low else rng.uniform(30, 700), by)
    return {RATE: times(steady(rng, 12000, rng.choice([0.008, 0.025]), 320), factors)}, []


def quiet_cycle_of_rate(rng):
    period, phase, height = rng.choice([300, 900, 2500, 6000]), rng.uniform(0, 2 * math.pi), rng.choice([0.02, 0.03])
    factors = [1 + height * math.sin(2 * math.pi * i / period + phase) for i in range(12000)]
    return {RATE: times(steady(rng, 12000, rng.choice([0.003, 0.01, 0.02])), factors)}, []


def quiet_triangle_of_rate(rng):
    """Held out: up slowly, down faster, periods that differ."""
    factors, height = [], rng.uniform(0.015, 0.03)
    while len(factors) < 12000:
        period, top = rng.randrange(400, 3000), rng.uniform(0.6, 0.9)
        factors += [1 + height * (2 * i / (top * period) - 1 if i < top * period else 1 - 2 * (i - top * period) / ((1 - top) * period))
            for i in range(period)]
    return {TIME: times(steady(rng, 12000, rng.choice([0.004, 0.012]), 0.8), factors)}, []


def noisy_shift(rng):
    """A rate of 20 s a step, give or take 4, that becomes 17 % slower for good."""
    at, spread = rng.randrange(2500, 5000), rng.choice([0.12, 0.16, 0.2])
    values = [max(0.2, 1 + spread * rng.gauss(0, 1)) * (0.83 if i >= at else 1) * 0.05 for i in range(7000)]
    return {RATE: values}, [event("throughput_drop", RATE, at, at + 120, 0.17)]


def noisy_time_shift(rng):
    """Held out: the same of a step time, by other shares, with a skew."""
    at, by = rng.randrange(2500, 5000), rng.choice([0.17, 0.25])
    values = [20 * rng.lognormvariate(0, 0.17) * (1 / (1 - by) if i >= at else 1) for i in range(7000)]
    return {TIME: values}, [event("throughput_drop", TIME, at, at + 120, by)]


def alternating_and_slower(rng):
    """Held out: two levels for a long time, then another one below both."""
    mean, by = rng.choice([30, 90]), rng.uniform(0.06, 0.12)
    factors = telegraph(rng, 9000, lambda is_low: rng.expovariate(1 / mean), by)
    at = rng.randrange(5000, 7000)
    factors = [0.6 if i >= at else one for i, one in enumerate(factors)]
    return {RATE: times(steady(rng, 9000, 0.012), factors)}, [event("throughput_drop", RATE, at, at + 120, 0.4)]


# ---- losses that wander ----

def quiet_cycle_of_loss(rng):
    period, phase = rng.choice([200, 500, 1200, 4000]), rng.uniform(0, 2 * math.pi)
    factors = [1 + 0.02 * math.sin(2 * math.pi * i / period + phase) for i in range(12000)]
    return {LOSS: times(falling(rng, 12000, rng.choice([0.002, 0.006, 0.015])), factors)}, []


def quiet_triangle_of_loss(rng):
    """Held out: no sine, and a second one over it."""
    period, phase, height = rng.randrange(250, 5000), rng.random(), rng.uniform(0.012, 0.025)
    factors = [1 + height * (4 * abs((i / period + phase) % 1 - 0.5) - 1) + 0.004 * math.sin(i / 37) for i in range(12000)]
    return {LOSS: times(falling(rng, 12000, rng.choice([0.003, 0.01])), factors)}, []


def restarts(count, first, times_longer, warm):
    """Where in its cycle a cosine schedule is: 0 at the restart's top, 1 at its end; and how many steps since it."""
    since, length = 0, first
    for _ in range(count):
        yield since / length, since
        since += 1
        if since >= length:
            since, length = 0, round(length * times_longer)


def annealed(rng, count, noise, first, times_longer, height, warm):
    """The lower the rate, the lower the loss; a restart gives that away again, within `warm` steps."""
    gained, values, base = 0.0, [], falling(rng, count, noise)
    for (share, since), value in zip(restarts(count, first, times_longer, warm), base):
        wanted = height * (1 - math.cos(math.pi * share)) / 2
        gained += (wanted - gained) / (warm if since < 6 * warm else 1)
        values.append(value * (1 - gained))
    return values


def quiet_cosine_restarts(rng):
    return {LOSS: annealed(rng, 12000, rng.choice([0.006, 0.015, 0.03]), rng.choice([800, 2000]), 1, rng.choice([0.02, 0.04, 0.06]), 30)}, []


def quiet_longer_restarts(rng):
    """Held out: each cycle is longer than the one before."""
    return {LOSS: annealed(rng, 14000, rng.uniform(0.005, 0.025), rng.randrange(500, 1000), rng.choice([1.5, 2]), rng.uniform(0.025, 0.07),
        rng.randrange(5, 80))}, []


def quiet_wander(rng):
    noise, tau, height = rng.choice([0.003, 0.01, 0.02]), rng.choice([40, 150, 500, 1500]), rng.choice([0.7, 1.4, 2.5])
    factors = [1 + height * noise * one for one in wandering(rng, 12000, tau)]
    return {LOSS: times(falling(rng, 12000, noise), factors)}, []


def quiet_wander_on_all_scales(rng):
    """Held out: the sum of processes from tens to thousands of points."""
    noise, factors = rng.uniform(0.003, 0.02), [1.0] * 12000
    for tau in (25, 100, 400, 1600):
        height = rng.uniform(0.2, 0.9) * noise
        factors = [one + height * other for one, other in zip(factors, wandering(rng, 12000, tau))]
    return {LOSS: times(falling(rng, 12000, noise, correlation=rng.choice([0, 0.4])), factors)}, []


def stops(rng, count, noise, power, floor):
    """Falls as a power law does, and stops early."""
    at, values = rng.randrange(count // 6, count // 3), []
    for i in range(count):
        value = floor + (11 - floor) / (1 + min(i, at) / 60) ** power
        values.append(value * (1 + noise * rng.gauss(0, 1)))
    return {LOSS: values}, [event("plateau", LOSS, at, at + 4000, 0)]


def early_plateau(rng):
    return stops(rng, 12000, rng.choice([0.005, 0.015]), rng.choice([0.4, 0.5]), rng.uniform(0.8, 1.6))


def early_plateau_of_a_slow_fall(rng):
    """Held out: it falls more slowly, towards a higher floor."""
    return stops(rng, 14000, rng.uniform(0.004, 0.012), rng.uniform(0.3, 0.45), rng.uniform(1.2, 2.2))


def ramp(rng):
    """Up by a tenth within 200 points, and it stays there."""
    at, noise = rng.randrange(3000, 6000), rng.choice([0.006, 0.014])
    values = falling(rng, 8000, noise)
    values = [value * (1 + 0.1 * min(1, max(0, (i - at) / 200))) for i, value in enumerate(values)]
    return {LOSS: values}, [event("loss_spike", LOSS, at, at + 400, 0.1)]


def slow_ramp(rng):
    """Held out: other heights and lengths."""
    at, by, length = rng.randrange(3000, 6000), rng.uniform(0.12, 0.25), rng.randrange(80, 400)
    values = falling(rng, 8000, rng.uniform(0.005, 0.02))
    values = [value * (1 + by * min(1, max(0, (i - at) / length))) for i, value in enumerate(values)]
    return {LOSS: values}, [event("loss_spike", LOSS, at, at + 2 * length + 300, by)]


# ---- how a loss is printed ----

def epochs(rng, count, lines, batches, noise, first_batches, first_share=1.0):
    """Lines that are means of `batches` batches; the first of an epoch is one of fewer."""
    values = []
    for i in range(count):
        own = first_batches if i % lines == 0 else batches
        level = (1.2 + 4 / (1 + i / 300) ** 0.5) * (first_share if i % lines == 0 else 1)
        values.append(level * (1 + noise / math.sqrt(own) * rng.gauss(0, 1)))
    return values


def quiet_first_line(rng):
    return {LOSS: epochs(rng, 12000, rng.choice([25, 80, 200]), 50, rng.choice([0.08, 0.2]), 1), "every": 50}, []


def quiet_first_line_higher(rng):
    """Held out: the first line is of few batches, and of another level as well (the model was in another mode)."""
    return {LOSS: epochs(rng, 12000, rng.randrange(30, 300), 20, rng.uniform(0.05, 0.15), 2, rng.choice([1, 1.03])), "every": 20}, []


def quiet_first_line_of_long_epochs(rng):
    """Held out, made after quiet-first-line-higher had been looked at: longer epochs, and data with odd batches of their own."""
    values = epochs(rng, 12000, rng.randrange(150, 600), 30, rng.uniform(0.06, 0.15), 1)
    return {LOSS: [value * (rng.choice([0.92, 1.08]) if rng.random() < 0.0005 else 1) for value in values], "every": 30}, []


def quiet_next_model(rng):
    noise, values = rng.choice([0.004, 0.012]), []
    while len(values) < 12000:
        values += falling(rng, rng.choice([1500, 3000]), noise)
    return {LOSS: values[:12000]}, []


def quiet_next_model_warm(rng):
    """Held out: the next one starts with a shoulder, from a slightly other height."""
    values = []
    while len(values) < 12000:
        one = falling(rng, rng.randrange(900, 4000), rng.uniform(0.004, 0.015), start=rng.uniform(9.5, 11))
        values += one[:1] * rng.randrange(3, 9) + one[1:]
    return {LOSS: values[:12000]}, []


def quiet_next_model_after_another(rng):
    """Held out, made after quiet-next-model-warm had been looked at: other models, a start that rises for some points."""
    values = []
    while len(values) < 12000:
        one = falling(rng, rng.randrange(700, 3000), rng.uniform(0.004, 0.02), start=rng.uniform(8, 10))
        values += [one[0] * (1 + 0.01 * math.sin(i)) for i in range(rng.randrange(0, 7))] + one
    return {LOSS: values[:12000]}, []


def quiet_evaluations(rng):
    """21 evaluations at one level, then it goes on: as a loss, and as an evaluation's."""
    def one(noise):
        level, values = rng.uniform(1, 4), []
        for _ in range(6):
            values += [level * (1 + noise * rng.gauss(0, 1)) for _ in range(21)]
            level *= rng.choice([0.85, 0.95, 1.02])
        return values
    return {f"{name}{k}": one(rng.choice([0.0005, 0.002, 0.01])) for k in range(12) for name in ("val_loss/", "train:loss/")}, []


def quiet_few_evaluations(rng):
    """Held out: 21 to 60 evaluations in all, that level off."""
    def one():
        noise, tau = rng.choice([0.001, 0.004]), rng.uniform(2, 12)
        return [(1.5 + 3 * math.exp(-i / tau) + (0.002 * max(0, i - 15))) * (1 + noise * rng.gauss(0, 1)) for i in range(rng.randrange(21, 60))]
    return {f"{name}{k}": one() for k in range(24) for name in ("val_loss/", "train:loss/")}, []


# ---- a fault that comes again, hangs, nodes ----

def same_batch(rng):
    """One bad batch, at the same place of each of eight epochs: to be found when it is new, and no more than twice paged."""
    length, noise = rng.choice([800, 1300]), rng.choice([0.006, 0.015])
    at, values = rng.randrange(300, length - 100), falling(rng, 8 * length, noise)
    events = []
    for epoch in range(1, 8):
        first = epoch * length + at
        for i in range(first, first + 6):
            values[i] *= 1.35
        if epoch <= 2:
            events.append(event("loss_spike", LOSS, first, first + 6, 0.35))
    return {LOSS: values}, events


def same_batches(rng):
    """Held out: two of them, and epochs that differ by a step or two."""
    length, noise = rng.randrange(700, 1500), rng.uniform(0.005, 0.012)
    places, start, events = (rng.randrange(200, 320), rng.randrange(400, length - 100)), 0, []
    values = falling(rng, 8 * length + 20, noise)
    for epoch in range(8):
        for at in places if epoch else ():
            for i in range(start + at, start + at + 5):
                values[i] *= 1.3
            if epoch <= 2:
                events.append(event("loss_spike", LOSS, start + at, start + at + 5, 0.3))
        start += length + rng.choice([-1, 0, 1])
    return {LOSS: values}, events


def hang(rng):
    """A line a second or so, evaluations of half a minute; then nothing for an hour; then it goes on."""
    return hanging(rng, 1.0, 30.0, 3600.0)


def long_hang(rng):
    """Held out: lines of twelve seconds, checkpoints of two minutes, a hang of half a day."""
    return hanging(rng, 12.0, 120.0, 40000.0)


def hanging(rng, gap_s, pause_s, hang_s):
    at, now_ms, ts_ms = rng.randrange(1200, 1900), T0_MS, []
    for i in range(2400):
        pause = hang_s if i == at else pause_s if i % 150 == 149 else 0
        now_ms += round(1000 * (gap_s * rng.uniform(0.8, 1.3) + pause))
        ts_ms.append(now_ms)
    seconds = [(ts_ms[i] - ts_ms[i - 1]) / 1000 if i else gap_s for i in range(2400)]
    return {TIME: seconds, "ts_ms": ts_ms}, [event("stall", "", at, at, hang_s, "")]


def node_times(rng, nodes, count, by, at):
    slow = rng.randrange(nodes)
    own = [1 + 0.01 * rng.gauss(0, 1) for _ in range(nodes)]
    series = {(TIME, f"algo-{k + 1}"): [1.2 * own[k] * (1 + 0.025 * rng.gauss(0, 1)) * (1 + by if k == slow and i >= at else 1)
        for i in range(count)] for k in range(nodes)}
    return series, f"algo-{slow + 1}"


def slow_node(rng):
    """Step times of each node, and no loss at all: one falls behind."""
    by, at = rng.choice([0.12, 0.25]), rng.randrange(700, 1200)
    series, stream = node_times(rng, rng.choice([8, 24]), 1800, by, at)
    return series, [event("straggler", TIME, at, at + 120, by, stream)]


def quiet_nodes(rng):
    """Held out: each node has its own speed, and all are slower during checkpoints."""
    series, _ = node_times(rng, rng.choice([6, 16]), 1500, 0, 0)
    return {name: [value * (1.5 if i % 300 < 12 else 1) for i, value in enumerate(values)] for name, values in series.items()}, []


TUNED = {"quiet-alternating": (quiet_alternating, 8), "quiet-levels": (quiet_levels, 8),
    "quiet-checkpoint-writes": (quiet_checkpoint_writes, 6),
    "quiet-cycle-of-rate": (quiet_cycle_of_rate, 6), "noisy-shift": (noisy_shift, 5), "quiet-cycle-of-loss": (quiet_cycle_of_loss, 6),
    "quiet-cosine-restarts": (quiet_cosine_restarts, 6), "quiet-wander": (quiet_wander, 8), "ramp": (ramp, 5), "early-plateau": (early_plateau, 5),
    "quiet-first-line": (quiet_first_line, 5), "quiet-next-model": (quiet_next_model, 5), "quiet-evaluations": (quiet_evaluations, 6),
    "same-batch": (same_batch, 5), "hang": (hang, 3), "slow-node": (slow_node, 3), **policy_families.TUNED}
HELD = {"quiet-shards": (quiet_shards, 8), "quiet-neighbours": (quiet_neighbours, 8), "quiet-triangle-of-rate": (quiet_triangle_of_rate, 6),
    "noisy-time-shift": (noisy_time_shift, 5), "alternating-and-slower": (alternating_and_slower, 5),
    "quiet-triangle-of-loss": (quiet_triangle_of_loss, 6), "quiet-longer-restarts": (quiet_longer_restarts, 6),
    "quiet-wander-on-all-scales": (quiet_wander_on_all_scales, 8), "slow-ramp": (slow_ramp, 5),
    "early-plateau-of-a-slow-fall": (early_plateau_of_a_slow_fall, 5),
    "quiet-first-line-higher": (quiet_first_line_higher, 5), "quiet-next-model-warm": (quiet_next_model_warm, 5),
    "quiet-few-evaluations": (quiet_few_evaluations, 6), "same-batches": (same_batches, 5), "long-hang": (long_hang, 3),
    "quiet-nodes": (quiet_nodes, 3), "quiet-four-speeds": (quiet_four_speeds, 8),
    "quiet-first-line-of-long-epochs": (quiet_first_line_of_long_epochs, 5),
    "quiet-next-model-after-another": (quiet_next_model_after_another, 5), **policy_families.HELD}
PARTS = {"tuned": TUNED, "held": HELD, "outside": outside_families.OUTSIDE}


def rounded(value):
    return float(f"{value:.6g}")


def write_curve(path, series):
    ts_ms, every, lines = series.pop("ts_ms", None), series.pop("every", 1), []
    for name, values in series.items():
        metric, stream = name if isinstance(name, tuple) else (name, "algo-1")
        lines += [(i, {"metric": metric, "stream": stream, "step": i * every,
            "ts_ms": ts_ms[i] if ts_ms else T0_MS + i * STEP_MS, "value": rounded(value)})
            for i, value in enumerate(values)]
    lines.sort(key=lambda line: line[0])
    path.write_text("".join(json.dumps(line) + "\n" for _, line in lines))
    return len(lines)


def make_families(seed, folder, scale=1.0, parts=PARTS):
    folder.mkdir(parents=True, exist_ok=True)
    labels = {}
    for part in parts:
        for name, (make, count) in PARTS[part].items():
            for k in range(max(1, round(scale * count))):
                series, events = make(random.Random(f"{seed}/{name}/{k}"))
                points = write_curve(folder / f"{name}-{k}.ndjson", series)
                labels[f"{name}-{k}"] = {"family": name, "part": part, "points": points, "events": events}
    (folder / "labels.json").write_text(json.dumps(labels, indent=1))
    return labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--part", choices=PARTS)
    options = parser.parse_args()
    labels = make_families(options.seed, options.out, options.scale, (options.part,) if options.part else PARTS)
    print(len(labels), "curves,", sum(label["points"] for label in labels.values()), "points,",
        sum(len(label["events"]) for label in labels.values()), "events")


if __name__ == "__main__":
    main()
