"""Compares a reading with what is known to be there: points by their line and value, roles, steps, and series that are invented."""

import collections
import math
import re
from typing import NamedTuple

ROLES = ("loss", "eval_loss", "learning_rate", "grad_norm", "throughput", "step_time")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}
CLOSE = 1e-6
MANY = 64

# A name is plausible as a metric's when one of these words is in it. Not the list of the reader's: it is not to judge itself.
METRIC_WORDS = re.compile(r"(?i)loss|nll|ppl|perplex|entropy|xent|acc|prec|recall|(?<![a-z])f1|auc|bleu|rouge|wer|cer|mae|mse|rmse|map|iou|dice|"
    r"fid|psnr|ssim|err|score|metric|reward|return|advantage|kl|clip|ratio|value|logp|prob|margin|lr|learning|rate|grad|norm|gn(?:orm)?$|"
    r"scale|weight|decay|momentum|beta|temp|alpha|tok|sample|seq|image|img|fps|wps|ups|tps|ips|tgs|qps|speed|throughput|flops|mfu|bench|bw|"
    r"bandwidth|time|latency|duration|elapsed|wall|sec|ms$|dt$|eta|mem|alloc|cache|util|power|pow|gpu|cpu|epoch|progress|percent|len|size|"
    r"bsz|wpb|count|num|total|step|iter|episode|update|batch|oom|overflow|skip|nan|zero|dev|std|mean|min|max|avg|median|top-?\d|hit|ndcg|"
    r"mrr|box|cls|dfl|obj|att|ctc|aux|z_|balance|expert|router|drop|gate|quality|bpb|bpc|bits|cost|energy|stale|version|lag|l1|l2|mlm|nsp|instances|label|(?<![A-Za-z])AP(?![a-z])|it/s|s/it")
# Names that add nothing to their role: a reader takes such a series for the metric itself.
PLAIN = re.compile(r"(?i)(?:(?:train|val|valid|validation|eval|test|dev|epoch)(?:ing)?[:/_. ])?"
    r"(?:loss|lr|learning[_ ]rate|grad(?:ient)?[_ ]norm|throughput|step[_ ]time)(?:\{.*)?")
NAME_MAX = 64  # a longer name is a sentence
INVENTED_SHARE = 0.5


class Known(NamedTuple):
    """A point that is there."""
    line: int
    role: str
    steps: tuple  # that are right: one, but where the log leaves it open; empty: any, for the log says none
    value: float
    unit: str = ""


class Count:
    """Of one role: how many points are there, found, found with the exact step, found with the role."""

    def __init__(self):
        self.there = self.found = self.step = self.role = 0

    def add(self, other):
        self.there += other.there
        self.found += other.found
        self.step += other.step
        self.role += other.role


class Verdict:
    def __init__(self):
        self.roles = {role: Count() for role in ROLES}
        self.series = self.invented = 0
        self.names = []  # of invented series, with why

    def add(self, other):
        for role in ROLES:
            self.roles[role].add(other.roles[role])
        self.series += other.series
        self.invented += other.invented
        self.names += other.names


def is_same(a, b, unit_a="", unit_b=""):
    """Equal values; times in whatever unit they are said to be. A unit that is not said is the other's."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if unit_a in SECONDS and unit_b in SECONDS:
        a, b = a * SECONDS[unit_a], b * SECONDS[unit_b]
    return a == b or (not math.isinf(a) and not math.isinf(b) and abs(a - b) <= CLOSE * max(abs(a), abs(b)))


def steps_of(item):
    return item.steps if isinstance(item, Known) else (item.step,)


class Lines:
    """What stands on each line, and what of it is taken. A line with very many values (a whole curve as one JSON object, a bar
    with carriage returns) is looked up by the value, and by the step with it."""

    def __init__(self, items):
        self.by_line = collections.defaultdict(list)
        self.by_value = collections.defaultdict(list)
        self.taken = set()
        for item in items:
            self.by_line[item.line].append(item)
        for items in self.by_line.values():
            for item in items if len(items) > MANY else ():
                self.by_value[item.line, f"{item.value:.5e}"].append(item)
                for step in steps_of(item):
                    self.by_value[item.line, f"{item.value:.5e}", step].append(item)

    def near(self, one):
        items = self.by_line.get(one.line, [])
        if len(items) <= MANY:
            return items
        value = f"{one.value:.5e}"
        exact = [self.by_value.get((one.line, value, step)) for step in steps_of(one)]
        return next((items for items in exact if items), None) or self.by_value.get((one.line, value), [])

    def has(self, one):
        return any(is_same(one.value, item.value, one.unit, item.unit) for item in self.near(one))

    def take(self, one):
        """Of equal values the one with the role, then the one with the step; None: there is none that is not taken."""
        items = self.near(one)
        if len(items) > MANY:
            items[:] = [item for item in items[:MANY] if id(item) not in self.taken] + items[MANY:]
        best = max((item for item in items[:MANY] if id(item) not in self.taken and is_same(one.value, item.value, one.unit, item.unit)),
            key=lambda item: (item.role == one.role, item.step in one.steps), default=None)
        self.taken.add(id(best))
        return best


def invented_of(known, points):
    """Series with fewer than half of their points (by line and value) known, and that either stand for a role by a plain name, though
    the text is known to have that role elsewhere (a "loss" that is none), or have a name that no metric has."""
    lines = Lines(known)
    series = collections.defaultdict(lambda: [0, 0, None])
    for point in points:
        counts = series[point.name]
        counts[0] += 1
        counts[1] += lines.has(point)
        counts[2] = point.role
    roles = {one.role for one in known}
    for name, (count, corresponding, role) in series.items():
        bare = name.partition("{")[0]
        if corresponding >= count * INVENTED_SHARE:
            continue
        if role in ROLES and role in roles and PLAIN.fullmatch(name):
            yield name, f"not the {role}"
        elif len(bare) > NAME_MAX or not METRIC_WORDS.search(bare):
            yield name, "no metric"


def judge(known, points):
    """`known` has points of all roles ('other' too, which only saves series from being called invented)."""
    verdict = Verdict()
    keys = [one for one in known if one.role in ROLES]
    lines = Lines(points)
    for one in keys:
        point = lines.take(one)
        count = verdict.roles[one.role]
        count.there += 1
        if point:
            count.found += 1
            count.step += not one.steps or point.step in one.steps
            count.role += point.role == one.role
    verdict.series = len({point.name for point in points})
    verdict.names = list(invented_of(known, points))
    verdict.invented = len(verdict.names)
    return verdict


def share(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "-"


def cell(count):
    """found/exact step/role right, in percent: of all points, and of those found."""
    if not count.there:
        return ""
    return f"{share(count.found, count.there)}/{share(count.step, count.found)}/{share(count.role, count.found)}"
