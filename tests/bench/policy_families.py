"""Families of post-training for detect_families.py: entropies and rewards that collapse, and those that do what healthy ones do.

TUNED were looked at while the detectors were made; HELD have other shapes and other parameters.
"""

import math

ENTROPY, REWARD = "train:entropy", "train:reward"


def event(kind, metric, at, size):
    return {"kind": kind, "metric": metric, "stream": "algo-1", "first_step": at, "last_step": at + 150, "size": size}


def noisy(rng, values, share):
    return [value * (1 + share * rng.gauss(0, 1)) for value in values]


def added(rng, values, spread):
    return [value + spread * rng.gauss(0, 1) for value in values]


def wander(rng, count, tau):
    keep, at, values = math.exp(-1 / tau), rng.gauss(0, 1), []
    for _ in range(count):
        values.append(at)
        at = keep * at + math.sqrt(1 - keep * keep) * rng.gauss(0, 1)
    return values


# ---- entropies ----

def decay(rng, count):
    """A power law towards a floor, as the entropy of a policy that learns."""
    start, floor, tau, power = rng.uniform(0.3, 2), rng.uniform(0.05, 0.5), rng.choice([10, 40, 150]), rng.uniform(0.3, 0.8)
    return [start * (floor + (1 - floor) / (1 + i / tau) ** power) for i in range(count)]


def fall_to(values, at, length, share):
    """From `at` on within `length` points to a share of what it was, and no further."""
    return [value * (1 - (1 - share) * min(1, max(0, (i - at) / length))) for i, value in enumerate(values)]


def entropy_collapse(rng):
    at = rng.randrange(400, 1500)
    values = fall_to(decay(rng, 2500), at, rng.choice([1, 20, 60]), rng.uniform(0.02, 0.12))
    return {ENTROPY: noisy(rng, values, rng.choice([0.03, 0.08]))}, [event("entropy_collapse", ENTROPY, at, 0.9)]


def entropy_collapse_turned(rng):
    """Held out: Stable-Baselines3 prints it as its negative; a fall as a sigmoid, to other depths, of a younger run."""
    at, length, share = rng.randrange(200, 500), rng.uniform(3, 9), rng.uniform(0.01, 0.18)
    top = rng.uniform(0.6, 4)
    values = [-top * (0.8 + 0.2 * math.exp(-i / 200)) * (share + (1 - share) / (1 + math.exp((i - at - 20) / length))) for i in range(1200)]
    return {ENTROPY: noisy(rng, values, rng.uniform(0.01, 0.06))}, [event("entropy_collapse", ENTROPY, at, 1 - share)]


def quiet_entropy(rng):
    return {ENTROPY: noisy(rng, decay(rng, 6000), rng.choice([0.02, 0.06, 0.12]))}, []


def quiet_entropy_cycle(rng):
    """A bonus that is turned up when it is low."""
    period, height = rng.choice([120, 400, 1500]), rng.uniform(0.2, 0.5)
    values = [value * (1 + height * math.sin(2 * math.pi * i / period)) for i, value in enumerate(decay(rng, 6000))]
    return {ENTROPY: noisy(rng, values, rng.choice([0.03, 0.08]))}, []


def quiet_entropy_schedules(rng):
    """Held out: straight to little; an exponential; by a cosine; of continuous actions, through 0."""
    count, last, noise = 6000, rng.uniform(0.02, 0.2), rng.uniform(0.02, 0.1)
    way = rng.choice(["straight", "exponential", "cosine", "continuous"])
    length = rng.randrange(1500, 6000)
    if way == "continuous":
        first = rng.uniform(2, 20)
        return {ENTROPY: added(rng, [first * (1 - 1.6 * min(1, i / length)) for i in range(count)], 0.02 * first)}, []
    shapes = {"straight": lambda at: 1 - at, "exponential": lambda at: math.exp(-4 * at), "cosine": lambda at: (1 + math.cos(math.pi * at)) / 2}
    return {ENTROPY: noisy(rng, [last + (1 - last) * shapes[way](min(1, i / length)) for i in range(count)], noise)}, []


def quiet_entropy_wander(rng):
    """Held out: it wanders, by a third or so, and responses of a new kind come in at once."""
    tau, height = rng.choice([30, 150, 600]), rng.uniform(0.1, 0.3)
    values = [value * math.exp(height * one) for value, one in zip(decay(rng, 6000), wander(rng, 6000, tau))]
    at = rng.randrange(1000, 5000)
    return {ENTROPY: noisy(rng, [value * (0.6 if i > at else 1) for i, value in enumerate(values)], 0.05)}, []


# ---- rewards ----

def rise(rng, count):
    first, gain, tau = rng.uniform(0, 0.3), rng.uniform(0.3, 0.6), rng.choice([50, 200, 600])
    return [first + gain * (1 - math.exp(-i / tau)) for i in range(count)]


def reward_collapse(rng):
    at, spread = rng.randrange(500, 1500), rng.choice([0.01, 0.03, 0.06])
    values = rise(rng, 2500)
    kept, length = values[0] + rng.uniform(-0.1, 0.25) * (values[at] - values[0]), rng.choice([1, 15, 50])
    values = [value + (kept - value) * min(1, max(0, (i - at) / length)) for i, value in enumerate(values)]
    return {REWARD: added(rng, values, spread)}, [event("reward_collapse", REWARD, at, values[at] - kept)]


def reward_collapse_of_returns(rng):
    """Held out: returns of a control task, of any size and sign, with heavy tails; it falls to below where it began."""
    scale, at, tau = 10 ** rng.uniform(0, 4), rng.randrange(400, 1200), rng.uniform(40, 150)
    values = [scale * (-1 + 3 * (1 - math.exp(-i / tau))) for i in range(2000)]
    values = [value if i < at else -scale * rng.uniform(1, 1.5) for i, value in enumerate(values)]
    return {REWARD: [value + 0.1 * scale * rng.gauss(0, 1) * (4 if rng.random() < 0.03 else 1) for value in values]}, [
        event("reward_collapse", REWARD, at, 2)]


def quiet_reward(rng):
    """It rises and stays; or never does."""
    way, spread = rng.choice(["rises", "flat", "noise"]), rng.choice([0.01, 0.05, 0.15])
    values = rise(rng, 6000) if way == "rises" else [0.3 if way == "flat" else 0.0] * 6000
    return {REWARD: added(rng, values, spread)}, []


def quiet_reward_sparse(rng):
    """0 or 1 an episode, seldom 1; or more and more often."""
    most = rng.choice([0.02, 0.1, 0.5, 0.9])
    tau = rng.choice([1, 300, 2000])
    return {REWARD: [float(rng.random() < most * (1 - math.exp(-i / tau))) for i in range(6000)]}, []


def quiet_reward_dips(rng):
    """A bad batch, a bad evaluation: a point or a few far below."""
    values, length = rise(rng, 6000), rng.choice([1, 3, 8])
    for at in rng.sample(range(200, 5900), 25):
        for i in range(at, at + length):
            values[i] = values[0]
    return {REWARD: added(rng, values, 0.03)}, []


def quiet_success_rate(rng):
    """Held out: of sixteen answers how many were right, of tasks of another hardness every hundred points or so."""
    rate, values = rise(rng, 6000), []
    while len(values) < 6000:
        harder = rng.gauss(0, 0.06)
        values += [sum(rng.random() < rate[min(5999, len(values))] + harder for _ in range(16)) / 16 for _ in range(rng.randrange(40, 200))]
    return {REWARD: values[:6000]}, []


def quiet_reward_wander(rng):
    """Held out: it rises, and wanders at one scale; or slowly loses what it had gained."""
    tau, height, falls = rng.choice([50, 200, 800]), rng.uniform(0.03, 0.1), rng.random() < 0.3
    values = [value + height * one for value, one in zip(rise(rng, 6000), wander(rng, 6000, tau))]
    if falls:
        values = [value - 0.25 * max(0, i - 2000) / 4000 for i, value in enumerate(values)]
    return {REWARD: added(rng, values, rng.choice([0.01, 0.04]))}, []


def quiet_returns(rng):
    """Held out: heavy tails on the lower side, as an agent that crashes at times."""
    scale, tau, often = 10 ** rng.uniform(0, 4), rng.uniform(50, 500), rng.uniform(0.01, 0.15)
    return {REWARD: [scale * ((1 - math.exp(-i / tau)) * (rng.random() >= often) + 0.05 * rng.gauss(0, 1)) for i in range(6000)]}, []


TUNED = {"entropy-collapse": (entropy_collapse, 8), "quiet-entropy": (quiet_entropy, 8), "quiet-entropy-cycle": (quiet_entropy_cycle, 8),
    "reward-collapse": (reward_collapse, 8), "quiet-reward": (quiet_reward, 8), "quiet-reward-sparse": (quiet_reward_sparse, 8),
    "quiet-reward-dips": (quiet_reward_dips, 6)}
HELD = {"entropy-collapse-turned": (entropy_collapse_turned, 8), "quiet-entropy-schedules": (quiet_entropy_schedules, 8),
    "quiet-entropy-wander": (quiet_entropy_wander, 8), "reward-collapse-of-returns": (reward_collapse_of_returns, 8),
    "quiet-success-rate": (quiet_success_rate, 8), "quiet-reward-wander": (quiet_reward_wander, 8), "quiet-returns": (quiet_returns, 8)}
