"""The examples of presets.json, grown to the lines of a run: steps go on, values move, times of day advance. Deterministic.

Where in a line the step and the values stand is found by trying: one number is changed, and the preset itself says what became
of it. What was grown must give as many points a record as the example, with steps that never go back; an example that cannot be
grown so is named in the report, and stands in series.txt by hand instead.
"""

import math
import re
import zlib

import reading

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
TIME = re.compile(r"((?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d(?:[-/]\d\d(?:\d\d)?)?|\b[A-Z]\d{4,8}|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+)[ T,\t])"
    r"(\d\d):(\d\d):(\d\d)")
TOTAL = re.compile(r"\s*/\s*(\d+)|/\1")
EPOCH = re.compile(r"\b(?:epoch|ep\.)[\s:=\[(#]*$", re.IGNORECASE)
COUNT = re.compile(r"(?:samples|tokens|episodes?|timesteps|trained|seen)['\"]?[\s:=|]*$", re.IGNORECASE)
BATCHES = 40  # of an epoch, where a text has several

# Lines that a log has once, before what repeats: the header of a table.
ONCE = {"csv": 1, "fastai": 1}


class Token:
    """One number of an example."""

    def __init__(self, line, match):
        self.line, self.start, self.end, self.text = line, match.start(), match.end(), match.group(0)
        self.is_step = self.is_value = False
        self.is_count = bool(COUNT.search(match.string[:match.start()])) and "." not in self.text
        self.is_epoch = bool(EPOCH.search(match.string[:match.start()]))
        self.total = TOTAL.match(match.string, match.end())


def noise(*key):
    """-1 to 1, the same for the same key."""
    return zlib.crc32(repr(key).encode()) / 2**31 - 1


def format_like(text, value):
    """The value written as `text` is: decimals, exponent, thousands."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if exponent:
        written = f"{value:.{decimals}e}"
        if "E" in text:
            written = written.upper()
        return written
    return f"{value:,.{decimals}f}" if "," in text else f"{value:.{decimals}f}"


def number_of(text):
    return float(text.replace(",", ""))


def bumped(token):
    value = number_of(token.text)
    if "." in token.text or "e" in token.text.lower():
        changed = format_like(token.text, value * 1.25 if value else 0.5)
        return changed if number_of(changed) != value else format_like(token.text, value * 2 or 1)
    return format_like(token.text, value + 1)


def tokens_of(lines):
    found = []
    for number, line in enumerate(lines):
        masked = TIME.sub(lambda match: "_" * len(match.group(0)), line)
        found += [Token(number, match) for match in NUMBER.finditer(masked)]
    return found


def replaced(line, changes):
    """The line with new texts in place of (start, end); numbers that stand right-aligned stay so."""
    for start, end, text in sorted(changes, reverse=True):
        is_aligned = re.search(r"  $|[\[(] $", line[:start])
        if is_aligned and len(text) > end - start:
            start = max(start - (len(text) - end + start), is_aligned.start() + 1)
        line = line[:start] + (text.rjust(end - start) if is_aligned else text) + line[end:]
    return line


def variants_of(lines, tokens):
    """The lines as they are, and once with each number changed."""
    variants = [lines]
    for token in tokens:
        changed = list(lines)
        changed[token.line] = replaced(lines[token.line], [(token.start, token.end, bumped(token))])
        variants.append(changed)
    return variants


def classify(tokens, before, after):
    """Which tokens are steps and which values, by what the change of one did to the points."""
    shape = [(point.line, point.name) for point in before.points]
    for token, result in zip(tokens, after):
        if [(point.line, point.name) for point in result.points] != shape:
            continue
        token.is_step = any(a.step != b.step for a, b in zip(before.points, result.points))
        token.is_value = not token.is_step and any(a.value != b.value for a, b in zip(before.points, result.points))


def advanced(line, seconds):
    def move(match):
        clock = int(match.group(2)) * 3600 + int(match.group(3)) * 60 + int(match.group(4)) + seconds
        return f"{match.group(1)}{clock // 3600 % 24:02}:{clock // 60 % 60:02}:{clock % 60:02}"
    return TIME.sub(move, line)


def stride_of(tokens):
    steps = sorted({int(number_of(token.text)) for token in tokens if token.is_step})
    if len(steps) > 1 and steps[-1] - steps[0] < 10_000:
        return steps[-1] - steps[0] + steps[-1] - steps[-2]
    return 10 if steps and steps[0] >= 10 and steps[0] % 10 == 0 else 1


def value_at(token, key, index):
    value = number_of(token.text)
    if token.is_count:
        return value * (index + 1)
    return value * (0.5 + 0.5 * math.exp(-index / 150)) * (1 + 0.04 * noise(key, token.line, token.start, index))


def record(key, lines, tokens, index, step, epoch, total):
    """Record `index` of the run: `step` is added to the steps, `epoch` to the epochs; `total` is the last step that is written."""
    out = []
    for number, line in enumerate(lines):
        changes = []
        for token in (token for token in tokens if token.line == number):
            if token.is_step:
                changes.append((token.start, token.end, format_like(token.text, number_of(token.text) + step)))
                if token.total and int(token.total.group(1)) < total(int(number_of(token.text))):
                    changes.append((*token.total.span(1), str(total(int(number_of(token.text))))))
            elif token.is_value:
                changes.append((token.start, token.end, format_like(token.text, value_at(token, key, index))))
            elif epoch and token.is_epoch:
                changes.append((token.start, token.end, format_like(token.text, number_of(token.text) + epoch)))
        out.append(advanced(replaced(line, changes), index))
    return out


def grown_lines(key, lines, tokens, once, records):
    stride = stride_of(tokens)
    out = list(lines[:once])
    for index in range(records):
        out += record(key, lines, tokens, index, index * stride, 0, lambda first: first + records * stride)[once:]
    return out


def epoch_lines(key, lines, tokens, records):
    """Epochs of BATCHES records, whose batch counter begins anew; the total on the line is true. None: it has no such counter."""
    steps = [token for token in tokens if token.is_step]
    if len(lines) > 1 or len(steps) != 1 or not steps[0].total or not any(token.is_epoch and not token.is_step for token in tokens):
        return None
    stride, first = stride_of(tokens), int(number_of(steps[0].text))
    begin = stride if first >= stride else first
    total = begin + (BATCHES - 1) * stride + (begin == 0)
    changed = [line[:steps[0].total.start(1)] + str(total) + line[steps[0].total.end(1):] for line in lines]
    again = [token for token in tokens_of(changed)]
    for token, old in zip(again, tokens):
        token.is_step, token.is_value = old.is_step, old.is_value
    out = []
    for index in range(records):
        epoch, batch = divmod(index, BATCHES)
        out += record(key, changed, again, index, begin - first + batch * stride, epoch, lambda _: 0)
    return out


def fault_of(points, example_points, records, has_steps):
    """What is wrong with the points of a grown text; None: nothing."""
    wanted = len(example_points) * records
    if abs(len(points) - wanted) > max(2 * len(example_points), wanted // 50):
        return f"{len(points)} points instead of {wanted}"
    steps = {}
    for point in points:
        if point.step < steps.get(point.name, [point.step])[-1]:
            return f"the steps of {point.name} go back at line {point.line}"
        steps.setdefault(point.name, []).append(point.step)
    if has_steps and max(len(set(one)) for one in steps.values()) < records // 2:
        return "the steps stand still"
    return None


class Example:
    """One example of a preset on its way to a run."""

    def __init__(self, preset, number):
        self.preset, self.key = preset["name"], f"{preset['name']}#{number}"
        self.lines, self.once = preset["examples"][number]["lines"], ONCE.get(preset["name"], 0)
        self.tokens = tokens_of(self.lines)
        self.variants = variants_of(self.lines, self.tokens)
        self.points = []

    def candidates(self, records):
        yield self.key, grown_lines(self.key, self.lines, self.tokens, self.once, records)
        in_epochs = epoch_lines(self.key, self.lines, self.tokens, records)
        if in_epochs:
            yield self.key + "/epochs", in_epochs

    def fault_of(self, points, records):
        return None if self.once else fault_of(points, self.points, records, self.has_steps())

    def has_steps(self):
        return bool(self.once) or any(token.is_step for token in self.tokens)


def grow_presets(records):
    """The texts, and what could not be grown: its name, and why."""
    examples = [Example(preset, number) for preset in reading.own_presets() for number in range(len(preset["examples"]))]
    results = iter(reading.read((example.preset, lines) for example in examples for lines in example.variants))
    for example in examples:
        before, *after = [next(results) for _ in example.variants]
        example.points = before.points
        classify(example.tokens, before, after)
    grown = [(example, name, lines) for example in examples for name, lines in example.candidates(records)]
    texts, faults = [], []
    for (example, name, lines), found in zip(grown, reading.read((example.preset, lines) for example, _, lines in grown)):
        fault = example.fault_of(found.points, records)
        if fault:
            faults.append((name, fault))
        else:
            texts.append(reading.Text(name, example.preset, lines, True, example.has_steps()))
    return texts, faults
