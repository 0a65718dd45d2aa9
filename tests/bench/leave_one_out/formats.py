"""Formats that no preset is for, as their trainers' sources print them, made into runs whose points are known.

A file has formats one after another:

    == NAME
    area: …
    source: OWNER/REPO path of the printing code
    steps: FIRST +STRIDE [/TOTAL]
    epochs: RECORDS [nototal | noepoch]   the batch counter begins anew after so many records; nototal: the line says no total;
                                          noepoch: nor which epoch it is
    axis: count                           the lines say no step: points are counted
    once: LINE                            of a table's head, before the first record
    every N:                              a block of lines each N records; lines begin with "| "

In lines, <<step>> and the like are what is printed, with a format of Python's; <<loss:2.5 .4f>> is a value of that role which begins
near 2.5. Values are what the text says after formatting; a point's step is what a reader of the whole log would say.
"""

import math
import pathlib
import re
import time

import grow
import judge
import reading

FOLDER = reading.ROOT / "tests/bench/formats"
PLACE = re.compile(r"<<([a-z_0-9]+)(?::(-?[0-9.e+-]+))?(?: ([^<>]*(?:<[0-9][^<>]*)?))?>>")
ROLES = {"loss": ("loss", ""), "eval_loss": ("eval_loss", ""), "lr": ("learning_rate", ""), "gnorm": ("grad_norm", ""),
    "tput": ("throughput", ""), "tput_k": ("throughput", ""), "time": ("step_time", "s"), "time_ms": ("step_time", "ms"), "other": ("other", "")}
FALL = 150  # records over which a curve falls
NOON = 1_772_323_200  # of the run's first line; UTC


class Format:
    def __init__(self, name):
        self.name, self.area, self.source = name, "", ""
        self.first, self.stride, self.total = 0, 1, 0
        self.per_epoch, self.has_total, self.has_epoch, self.is_counted = 0, True, True, False
        self.once, self.blocks = [], []

    def take(self, line):
        key, _, value = line.partition(":")
        value = value.strip()
        if line.startswith("|"):
            self.blocks[-1][1].append(line[2:])
        elif key in ("area", "source"):
            setattr(self, key, value)
        elif key == "steps":
            first, stride, *total = value.split()
            self.first, self.stride, self.total = int(first), int(stride), int(total[0][1:]) if total else 0
        elif key == "epochs":
            count, *words = value.split()
            self.per_epoch, self.has_total, self.has_epoch = int(count), not words, "noepoch" not in words
        elif key == "axis":
            self.is_counted = True
        elif key == "once":
            self.once.append(line.partition(": ")[2])
        elif key.startswith("every "):
            self.blocks.append((int(key[6:]), []))
        else:
            raise ValueError(f"{self.name}: {line}")

    def batches(self):
        return self.per_epoch * self.stride

    def place(self, index):
        """Epoch and batch as printed, and the steps that are right (more than one where the log leaves it open)."""
        if not self.per_epoch:
            step = self.first + index * self.stride
            return 0, step, ((index,) if self.is_counted else (step,))
        epoch, within = divmod(index, self.per_epoch)
        batch = self.first + within * self.stride
        if self.has_total:
            return epoch, batch, (epoch * self.batches() + batch,)
        last = self.first + (self.per_epoch - 1) * self.stride
        return epoch, batch, tuple(epoch * base + batch for base in (last, last + 1, self.batches()))

    def words(self, index):
        """What is printed that is no value."""
        epoch, batch, _ = self.place(index)
        total = self.total or self.first + 10_000 * self.stride
        step = batch if not self.per_epoch else epoch * self.batches() + batch
        return {"step": step, "step_k": step // 1000, "total": total, "epoch": epoch + 1, "epoch0": epoch, "batch": batch, "batches": self.batches(),
            "pct": 100 * step / total}


def written(spec, value):
    """By a format of Python's; "e" as numpy prints, "g" with six digits."""
    return format(value, spec or ("" if isinstance(value, int) else ".4f"))


class Run:
    """The lines of a format and what is known of them."""

    def __init__(self, form, records):
        self.form, self.lines, self.known = form, list(form.once), []
        for index in range(records):
            for every, block in form.blocks:
                if (index + 1) % every == 0:
                    for number, line in enumerate(block):
                        self.add(line, index, (every, number))

    def add(self, template, index, key):
        words, at = self.form.words(index), len(self.lines)
        steps = self.form.place(index)[2]

        def fill(match):
            name, start, spec = match.groups()
            if name == "clock":
                return time.strftime(spec, time.gmtime(NOON + index * 3))
            if name in ("CR", "ESC", "TAB"):
                return {"CR": "\r", "ESC": "\x1b", "TAB": "\t"}[name]
            if name in words:
                return written(spec, words[name])
            role, unit = ROLES[name]
            value = float(start or 1) * (0.5 + 0.5 * math.exp(-index / FALL)) * (1 + 0.04 * grow.noise(self.form.name, key, match.start(), index))
            text = written(spec, value)
            told = float(text.replace(",", "")) * (1000 if name == "tput_k" else 1)
            self.known.append(judge.Known(at, role, steps, told, unit))
            return text

        self.lines.append(PLACE.sub(fill, template.replace("<<CR>>", "\r").replace("<<ESC>>", "\x1b").replace("<<TAB>>", "\t")))


def read_file(path):
    formats = []
    for line in path.read_text().split("\n"):
        if line.startswith("== "):
            formats.append(Format(line[3:].strip()))
        elif line.strip() and not line.startswith("#"):
            formats[-1].take(line)
    return formats


def files(folder):
    return [form for path in sorted(pathlib.Path(folder).glob("*.txt")) for form in read_file(path)]


def halves():
    """(title, formats) of the half that is open to tuning, and of the half that is not."""
    return [("open", files(FOLDER)), ("held out", files(FOLDER / "held-out"))]


def texts(records):
    """The open half's, as texts to put strays into."""
    return [reading.Text(form.name, "generic", Run(form, records).lines) for form in files(FOLDER)]


def verdicts(formats, records, presets=None):
    runs = [Run(form, records) for form in formats]
    for run, found in zip(runs, reading.read(((reading.CHOICE, run.lines) for run in runs), presets)):
        yield run.form, found, judge.judge(run.known, found.points)
