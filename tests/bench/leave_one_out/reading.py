"""Texts through bench_leave_one_out: what the extraction gives for them, by the shipped presets or by the generic reading alone."""

import json
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import ROOT, program  # noqa: E402

PRESETS = ROOT / "server/data/presets.json"
CHOICE = "*"  # in place of a preset's name: what a stream without definitions gets


class Text(NamedTuple):
    name: str
    preset: str  # that it is written for
    lines: list
    is_grown: bool = True  # a real log is not
    has_steps: bool = True  # else its preset counts the points


class Point(NamedTuple):
    line: int
    name: str
    role: str
    unit: str
    step: int
    value: float
    attempt: int


class Reading(NamedTuple):
    preset: str  # of the end
    points: list


def shipped():
    return json.loads(PRESETS.read_text())["presets"]


def presets_as_printed():
    """The shipped presets, but that a running mean stays what is printed: that it is one, only the format's preset can know."""
    presets = shipped()
    for preset in presets:
        for definition in preset["definitions"]:
            for value in [definition, *definition.get("Values", ())]:
                value.pop("Mean", None)
    return presets


def knows_no_trainer(preset):
    """A file of comma-separated values is whoever's: its preset reads any header that names a step."""
    return preset.get("generic") or preset["name"] == "csv"


def generic_presets():
    """The presets that know no trainer: what is left when a format's own preset and those near it are taken away. (A preset that
    is not near knows none of the lines, so that it is all the same whether it stays.)"""
    return [preset for preset in shipped() if knows_no_trainer(preset)]


def own_presets():
    return [preset for preset in shipped() if not knows_no_trainer(preset)]


def parse(output):
    readings, series = [], {}
    for line in output.split("\n"):
        if line.startswith("P\t"):
            _, number, key, step, attempt, value = line.split("\t")
            name, role, unit = series[key]
            points.append(Point(int(number), name, role, unit, int(step), float(value), int(attempt)))
        elif line.startswith("S\t"):
            _, key, role, unit, name = line.split("\t", 4)
            series[key] = (name, role, unit.strip())
        elif line.startswith("=POINTS "):
            points, series = [], {}
            readings.append(Reading(line[8:], points))
    return readings


def read(texts, presets=None):
    """(preset or CHOICE, lines) of each text; `presets` instead of the shipped ones. One Reading a text."""
    texts = list(texts)
    body = "".join(f"=TEXT {preset} {len(lines)}\n" + "".join(line.replace("\n", " ") + "\n" for line in lines) for preset, lines in texts)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"presets": presets if presets is not None else shipped()}, file)
        file.flush()
        output = subprocess.run([program("bench_leave_one_out"), file.name], input=body.encode("utf-8", "surrogateescape"),
            check=True, stdout=subprocess.PIPE).stdout.decode("utf-8", "replace")
    readings = parse(output)
    assert len(readings) == len(texts)
    return readings
