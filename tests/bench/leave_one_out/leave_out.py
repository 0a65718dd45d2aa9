"""The table that tells how well a format is read by nobody's preset."""

import collections
import os
import pathlib
import re

import judge
import reading

TABLE = reading.ROOT / "tests/unit/extract/corpus_table.h"


def real_texts():
    """The real logs, and the preset of each as the test of the corpus has it. An empty list where there are none."""
    folder = pathlib.Path(os.environ.get("SM_LOGS") or reading.ROOT.parent / "shared/logs")
    if not folder.is_dir():
        print(f"no real logs: {folder} is not there (SM_LOGS)")
        return []
    presets = dict(re.findall(r'^\{"([^"]+)", "([^"]+)"', TABLE.read_text(), re.MULTILINE))
    generic = {preset["name"] for preset in reading.generic_presets()}
    texts = []
    for name, preset in presets.items():
        path = folder / name
        if preset == "-" or preset in generic or not path.is_file():
            continue
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
        texts.append(reading.Text(name, preset, lines, False))
    return texts


def known_by(text, found):
    return [judge.Known(point.line, point.role, (point.step,) if text.has_steps else (), point.value, point.unit) for point in found.points]


def judge_texts(texts):
    """(text, verdict) of each: what its own preset gives, and how much of it the generic reading does."""
    own = reading.read(((text.preset, text.lines) for text in texts), reading.presets_as_printed())
    alone = reading.read(((reading.CHOICE, text.lines) for text in texts), reading.generic_presets())
    for text, by_preset, by_generic in zip(texts, own, alone):
        yield text, judge.judge(known_by(text, by_preset), by_generic.points)


def print_table(title, rows):
    """Rows of (name, verdict), then their total."""
    total = sum_of(rows)
    print(f"\n## {title}\n\n| format | {' | '.join(judge.ROLES)} | series | invented |\n|{'---|' * (len(judge.ROLES) + 3)}")
    for name, verdict in rows:
        cells = [judge.cell(verdict.roles[role]) for role in judge.ROLES]
        print(f"| {name} | {' | '.join(cells)} | {verdict.series} | {verdict.invented or ''} |")
    cells = [judge.cell(total.roles[role]) for role in judge.ROLES]
    print(f"| **all** | {' | '.join(cells)} | {total.series} | {judge.share(total.invented, total.series)} % |")
    return total


def mean_of(rows):
    """Each format counts the same, however long its lines are."""
    cells = []
    for role in judge.ROLES:
        counts = [verdict.roles[role] for _, verdict in rows if verdict.roles[role].there]
        found = [count.found / count.there for count in counts]
        exact = [count.step / count.found for count in counts if count.found]
        right = [count.role / count.found for count in counts if count.found]
        cells.append("/".join(judge.share(sum(one), len(one)) for one in (found, exact, right)))
    return cells


def sum_of(rows):
    total = judge.Verdict()
    for _, verdict in rows:
        total.add(verdict)
    return total


def report_rows(title, rows):
    total = print_table(title, rows)
    print(f"| **mean of formats** | {' | '.join(mean_of(rows))} | | |")
    return total


def report(title, texts, is_verbose):
    by_format = collections.defaultdict(judge.Verdict)
    for text, verdict in judge_texts(texts):
        by_format[text.preset if text.is_grown else text.name].add(verdict)
        if is_verbose:
            for name, why in verdict.names:
                print(f"invented in {text.name}: {name}: {why}")
    rows = list(by_format.items())
    return report_rows(title, rows)
