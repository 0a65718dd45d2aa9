"""Metric extraction in one thread, by CPU time: definitions against the same expressions bare, and the choice of a preset."""

import json
import subprocess

from harness import ROOT, program
from table import Line, Row

# definitions, what share of the speed of the bare expressions, line by line by PCRE2 JIT, is wanted. With 6 it was 470 of
# 1043 MB/s once.
SETS = [(6, 0.45), (40, 1.5)]
CHOICE_MS = 50


def run(*arguments):
    output = subprocess.run([program("bench_extract"), *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def measure_extract(bench):
    bench.say("extraction")
    sets = []
    for count, _ in SETS:
        bare, ours = run(str(count))
        sets.append({"definitions": count, "bare_mb_s": bare["mb_s"], "mb_s": ours["mb_s"], "to_bare": ours["to_bare"]})
    load, choice = run("presets", str(ROOT / "server/data/presets.json"))
    return {"sets": sets, "presets_load_ms": load["presets_load_ms"], "choice_ms": choice["ms"]}


def report_extract(extract, bench):
    lines = [Line(f"extraction, {one['definitions']} definitions", f"{one['mb_s']:.0f} MB/s", f"{one['bare_mb_s']:.0f} MB/s bare",
        f"{one['to_bare']:.2f}", f">= {share:g} of bare", one["to_bare"] >= share) for one, (_, share) in zip(extract["sets"], SETS)]
    lines.append(Line("choice of a preset, first 1000 lines", f"{extract['choice_ms']:.1f} ms", "", "", f"<= {CHOICE_MS} ms",
        extract["choice_ms"] <= CHOICE_MS))
    return lines


ROWS = [Row("extract", measure_extract, report_extract)]
