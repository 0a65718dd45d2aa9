"""The detectors: what they find and what they raise for nothing on labelled curves, and what a point costs.

The curves come from ../shared/detect-bench (curves.py, score.py), beside the repository; where that is absent the rows on
curves say so and have no figures. `python3 rows_detect.py [BENCH_DETECT [CURVES...]]` prints the whole table by itself.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import program
from table import Line, Row

FOLDER = pathlib.Path(os.environ.get("SM_DETECT_BENCH", pathlib.Path(__file__).resolve().parents[3] / "shared/detect-bench"))
LOGS = FOLDER.parent / "logs" # real ones
SEEDS = (1, 2, 3)
SLACK = 50  # steps, as in score.py
FALSE_MAX = 1.0  # a page for nothing in 100,000 points
RECALL = {"loss_spike": 0.85, "divergence": 0.95, "non_finite": 0.95, "loss_drop": 0.95, "throughput_drop": 0.95,
    "straggler": 0.95, "plateau": 0.8}
COST_NS = 500
NO_CURVES = "no curves: ../shared/detect-bench is absent (SM_DETECT_BENCH)"


def make_curves(seed, folder):
    subprocess.run([sys.executable, FOLDER / "curves.py", "--seed", str(seed), "--out", folder], check=True, stdout=subprocess.DEVNULL)


def read_golden(path):
    """Megatron's CI keeps curves as JSON: {"lm loss": {"values": {step: value}}}."""
    curves = json.loads(path.read_text())
    names = {"lm loss": "lm loss", "iteration-time": "iter_time"}
    return {names[name]: [(int(step), value) for step, value in curve["values"].items() if value != "nan"]
        for name, curve in curves.items() if name in names}


def read_lines(path):
    """modded-nanogpt's lines."""
    found = re.findall(r"step:(\d+)/\d+ train_loss:([0-9.]+)", path.read_text(errors="replace"))
    return {"train_loss": [(int(step), float(value)) for step, value in found]}


def make_real(folder):
    """Curves of real logs, as far as they are there. What is known of them: six spikes in Mixtral's (detect.md, section 6)."""
    folder.mkdir()
    known = {"mixtral8x7b_h100": (2360, 2830, 3800, 3850, 4260, 4970)}
    labels = {}
    for read, pattern in ((read_golden, "megatron-golden-json/*.log"), (read_lines, "modded-nanogpt/*.log")):
        for path in sorted(LOGS.glob(pattern)):
            series = read(path)
            points = [{"metric": metric, "stream": "algo-1", "step": step, "ts_ms": 1000 * step, "value": value}
                for metric, values in series.items() for step, value in values]
            if not points:
                continue
            (folder / f"{path.stem}.ndjson").write_text("".join(json.dumps(point) + "\n" for point in points))
            events = [{"kind": "loss_spike", "size": 0, "first_step": step, "last_step": step} for step in known.get(path.stem, ())]
            labels[path.stem] = {"family": "real logs", "points": len(points), "events": events}
    (folder / "labels.json").write_text(json.dumps(labels))
    return folder


def run_curves(bench_detect, folder):
    """What the detectors said, by curve; and the labels."""
    labels = json.loads((folder / "labels.json").read_text())
    files = [folder / f"{name}.ndjson" for name in labels]
    output = subprocess.run([bench_detect, "curves", *files], check=True, stdout=subprocess.PIPE, text=True).stdout
    said = collections.defaultdict(list)
    for line in output.splitlines():
        one = json.loads(line)
        said[one["curve"]].append(one)
    return labels, said


def equal_kinds(kind):
    return {"loss_spike": {"loss_spike", "divergence"}, "divergence": {"divergence", "loss_spike", "non_finite"}}.get(kind, {kind})


def is_in(event, said):
    return event["first_step"] <= said["step"] <= event["last_step"] + SLACK


def score(labels, said, total):
    """score.py's rules; but the delay is to the page, where a mark came first, and a mark alone finds a spike only."""
    for curve, label in labels.items():
        points = total["points"]
        points[label["family"]] += label["points"]
        for event in label["events"]:
            hits = [one for one in said[curve] if is_in(event, one) and one["kind"] in equal_kinds(event["kind"])
                and (event["kind"] != "straggler" or one["stream"] == event["stream"])]
            total["events"][event["kind"]].append((event["size"], [one["step"] - event["first_step"] for one in hits][:1],
                [one["paged_step"] - event["first_step"] for one in hits if one["severity"] != "info"][:1]))
        for one in said[curve]:
            if not any(is_in(event, one) for event in label["events"]):
                key = "marks" if one["severity"] == "info" else "false"
                total[key][label["family"], one["kind"]] += 1


def new_total():
    return {"points": collections.Counter(), "events": collections.defaultdict(list), "false": collections.Counter(),
        "marks": collections.Counter()}


def summary(total):
    kinds = {}
    for kind, events in sorted(total["events"].items()):
        delays = sorted(delay for _, _, paged in events for delay in paged)
        kinds[kind] = {"events": len(events), "found": sum(bool(found) for _, found, _ in events), "paged": len(delays),
            "delay_median": delays[len(delays) // 2] if delays else None, "delay_max": delays[-1] if delays else None}
    spikes = collections.defaultdict(lambda: [0, 0, 0])
    for size, found, paged in total["events"]["loss_spike"]:
        spikes[size][0] += 1
        spikes[size][1] += bool(found)
        spikes[size][2] += bool(paged)
    false = {family: 1e5 * sum(n for (of, _), n in total["false"].items() if of == family) / points
        for family, points in total["points"].items()}
    return {"kinds": kinds, "spikes": {size: spikes[size] for size in sorted(spikes)}, "false_per_100k": false,
        "false": {f"{family} {kind}": n for (family, kind), n in sorted(total["false"].items())},
        "marks": {f"{family} {kind}": n for (family, kind), n in sorted(total["marks"].items())},
        "points": dict(total["points"])}


def measure_cost(bench_detect):
    output = subprocess.run([bench_detect, "cost"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def text_of(figures):
    """The table, for people."""
    for kind, one in figures["kinds"].items():
        yield (f"{kind:16} events {one['events']:4} recall {one['found'] / one['events']:.3f} paged {one['paged'] / one['events']:.3f}"
            f"  steps to the page: median {one['delay_median']}, largest {one['delay_max']}")
    for size, (events, found, paged) in figures["spikes"].items():
        yield f"  spikes of {size:3} sigma: {found}/{events} found, {paged} paged"
    for family, rate in figures["false_per_100k"].items():
        yield f"{family:16} points {figures['points'][family]:8} pages for nothing in 100,000: {rate:.2f}"
    for name in ("false", "marks"):
        yield f"{name}: " + (", ".join(f"{what} {n}" for what, n in figures[name].items()) or "none")


def measure_detect(bench):
    bench.say("detectors")
    bench_detect = program("bench_detect")
    found = {"cost": measure_cost(bench_detect)}
    if (FOLDER / "curves.py").exists():
        total = new_total()
        for seed in SEEDS[:1] if bench.is_quick else SEEDS:
            folder = bench.folder / f"seed-{seed}"
            make_curves(seed, folder)
            score(*run_curves(bench_detect, folder), total)
        found["curves"] = summary(total)
    if LOGS.exists():
        total = new_total()
        score(*run_curves(bench_detect, make_real(bench.folder / "real")), total)
        found["real"] = summary(total)
    return found


def report_detect(found, bench):
    lines = [Line(f"detectors, role {one['role']}", f"{one['ns']:.0f} ns a point, {one['hot_bytes']} bytes", "", "", f"<= {COST_NS} ns",
        one["ns"] <= COST_NS) for one in found["cost"] if one["role"] in ("loss", "grad_norm", "throughput", "step_time")]
    if "curves" not in found:
        return lines + [Line("detectors on labelled curves", NO_CURVES)]
    for kind, one in found["curves"]["kinds"].items():
        recall = one["found"] / one["events"]
        lines.append(Line(f"{kind} found", f"{recall:.3f} of {one['events']}", "", "", f">= {RECALL[kind]}", recall >= RECALL[kind]))
    families = found["curves"]["false_per_100k"] | found.get("real", {"false_per_100k": {}})["false_per_100k"]
    for family, rate in families.items():
        lines.append(Line(f"pages for nothing, {family}", f"{rate:.2f} in 100,000 points", "", "", f"<= {FALSE_MAX}", rate <= FALSE_MAX))
    return lines


def details_detect(found, bench):
    return [line for name in ("curves", "real") for line in (text_of(found[name]) if name in found else [NO_CURVES])]


ROWS = [Row("detect", measure_detect, report_detect, details_detect)]


def main():
    bench_detect = sys.argv[1] if len(sys.argv) > 1 else program("bench_detect")
    folders = [pathlib.Path(path) for path in sys.argv[2:]]
    if not folders and not (FOLDER / "curves.py").exists():
        sys.exit(NO_CURVES)
    with tempfile.TemporaryDirectory() as base:
        for seed in SEEDS if not folders else ():
            folders.append(pathlib.Path(base) / str(seed))
            make_curves(seed, folders[-1])
        total = new_total()
        for folder in folders:
            score(*run_curves(bench_detect, folder), total)
    print("\n".join(text_of(summary(total))))
    if LOGS.exists():
        total = new_total()
        with tempfile.TemporaryDirectory() as base:
            score(*run_curves(bench_detect, make_real(pathlib.Path(base) / "real")), total)
        print("\n".join(text_of(summary(total))))
    for one in measure_cost(bench_detect):
        print(f"{one['role']:14} {one['ns']:7.1f} ns a point, {one['hot_bytes']} bytes hot, {one['packed_bytes']} packed")


if __name__ == "__main__":
    main()
