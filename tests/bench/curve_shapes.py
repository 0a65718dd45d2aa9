"""What curves of families are made of (detect_families.py, outside_families.py): a loss that falls, a steady rate, a wander, a label."""

import math

LOSS, RATE, TIME = "train:loss", "train:tokens_per_second", "train:step_time"
T0_MS, STEP_MS = 1_780_000_000_000, 1000


def falling(rng, count, noise, start=11.0, correlation=0.0):
    """A pre-training loss: a power law towards a floor, and noise in proportion."""
    floor, power, left, values = rng.uniform(1.6, 2.6), rng.uniform(0.25, 0.5), 0.0, []
    for i in range(count):
        left = correlation * left + math.sqrt(1 - correlation * correlation) * rng.gauss(0, 1)
        values.append((floor + (start - floor) / (1 + i / 60) ** power) * (1 + noise * left))
    return values


def steady(rng, count, noise, level=1750.0):
    return [level * (1 + noise * rng.gauss(0, 1)) for _ in range(count)]


def wandering(rng, count, tau):
    """A first-order process of variance one."""
    keep, at, values = math.exp(-1 / tau), rng.gauss(0, 1), []
    for _ in range(count):
        values.append(at)
        at = keep * at + math.sqrt(1 - keep * keep) * rng.gauss(0, 1)
    return values


def event(kind, metric, first, last, size, stream="algo-1"):
    return {"kind": kind, "metric": metric, "stream": stream, "first_step": first, "last_step": last, "size": size}


def times(values, factors):
    return [value * factor for value, factor in zip(values, factors)]


def telegraph(rng, count, dwell, by):
    """1, and 1 - by, in turns; `dwell` says how long each lasts."""
    factors, is_low = [], False
    while len(factors) < count:
        factors += [1 - by if is_low else 1] * max(1, round(dwell(is_low)))
        is_low = not is_low
    return factors[:count]
