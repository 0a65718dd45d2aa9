"""What the detectors raise for nothing, and find, on families of curves of our own (detect_families.py).

They imitate what real series do by themselves: rates that alternate, losses that wander, lines of one batch, the next training in the
same stream. `python3 rows_detect_families.py [--part tuned|held|outside] [SEED...]` prints the table by itself.
"""

import argparse
import collections
import pathlib
import tempfile

from detect_families import PARTS, make_families
from harness import program
from rows_detect import FALSE_MAX, equal_kinds, is_in, run_curves
from table import Line, Row

SEEDS = (1, 2, 3, 4, 5)
RECALL = 0.9


def new_figures():
    return {"part": "", "points": 0, "events": 0, "found": 0, "paged": 0, "false": collections.Counter(), "marks": collections.Counter()}


def is_hit(event, said):
    return is_in(event, said) and said["kind"] in equal_kinds(event["kind"]) and event["stream"] in ("", said["stream"])


def judge(labels, said, figures):
    for curve, label in labels.items():
        one = figures[label["family"]]
        one["part"] = label["part"]
        one["points"] += label["points"]
        for event in label["events"]:
            hits = [what for what in said[curve] if is_hit(event, what)]
            one["events"] += 1
            one["found"] += bool(hits)
            one["paged"] += any(what["severity"] != "info" for what in hits)
        for what in said[curve]:
            if not any(is_in(event, what) for event in label["events"]):
                one["marks" if what["severity"] == "info" else "false"][what["kind"]] += 1


def measure(bench_detect, seeds, folder, parts=PARTS):
    figures = collections.defaultdict(new_figures)
    for seed in seeds:
        curves = folder / f"families-{seed}"
        make_families(seed, curves, parts=parts)
        judge(*run_curves(bench_detect, curves), figures)
    return figures


def rate_of(one, name):
    return 1e5 * sum(one[name].values()) / one["points"]


def measure_families(bench):
    bench.say("families of curves")
    return measure(program("bench_detect"), SEEDS[:1] if bench.is_quick else SEEDS, bench.folder)


def report_families(found, bench):
    lines = []
    for family, one in found.items():
        rate = rate_of(one, "false")
        lines.append(Line(f"pages for nothing, {family} ({one['part']})", f"{rate:.2f} in 100,000 points", "", "", f"<= {FALSE_MAX}",
            rate <= FALSE_MAX))
        if one["events"]:
            recall = one["found"] / one["events"]
            lines.append(Line(f"found, {family} ({one['part']})", f"{recall:.3f} of {one['events']}", "", "", f">= {RECALL}", recall >= RECALL))
    return lines


def text_of(found):
    for family, one in found.items():
        events = f"  found {one['found']} of {one['events']}, paged {one['paged']}" if one["events"] else ""
        yield (f"{family:28} {one['part']:5} points {one['points']:8}  in 100,000: pages {rate_of(one, 'false'):6.2f}, "
            f"marks {rate_of(one, 'marks'):6.1f}{events}")
    points = sum(one["points"] for one in found.values())
    pages = sum(sum(one["false"].values()) for one in found.values())
    yield f"all: {points} points, {pages} pages for nothing, {1e5 * pages / points:.2f} in 100,000"


def details_families(found, bench):
    return list(text_of(found))


ROWS = [Row("detect-families", measure_families, report_families, details_families)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="of the families (all)")
    parser.add_argument("--program", help="another bench_detect than that of the release build")
    parser.add_argument("seeds", nargs="*", type=int, default=SEEDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        found = measure(options.program or program("bench_detect"), options.seeds, pathlib.Path(base), options.part or PARTS)
    print("\n".join(text_of(found)))


if __name__ == "__main__":
    main()
