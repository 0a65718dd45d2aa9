#!/usr/bin/env python3
"""
What each work costs the server as the data grows tenfold and tenfold again: milliseconds of its processor time, and the exponent.

    tests/bench/run --only growth [--full]
    tests/bench/rows_growth.py [--full] [--threads] [SWEEP…]      # the same without the limit program; some sweeps

Figures go into build/growth.json; growth_chart.py makes the pictures of docs/performance.md from it.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
from types import SimpleNamespace

import harness
from growth_meter import Client, exponent_of, measure_idle, measure_work, settle_down, thread_cpu
from growth_sweeps import SWEEPS, begin
from table import Line, Row

FIGURES = harness.ROOT / "build/growth.json"
FREE = 0.1  # an exponent below it is none
SLACK = 0.1  # of what may grow evenly


def measure_size(bench, sweep, size):
    server = begin(bench, sweep)
    try:
        sweep.prepare(server, size)
        return measure_works(server, sweep, size)
    finally:
        if hasattr(server, "live_ends"):
            server.live_ends.end()
        server.stop(harness.CATCH_UP_S)


def measure_works(server, sweep, size):
    made_ms, client = sum(thread_cpu(server.process.pid).values()), Client(server)
    settle_down(server)
    idle = measure_idle(server)
    found = {"size": size, "made_ms": made_ms, "idle": {"ms": max(sum(idle.values()), 1e-3), "threads": idle}, "works": {}}
    for at, work in enumerate(sweep.works):
        found["works"][work.name] = measure_work(server, client, work, size, idle, 1000 * at)
    client.close()
    return {**found, "rss_anon_mb": harness.memory_mb(server.process.pid, "RssAnon")}


def measure_sweep(bench, sweep, is_full):
    sizes, found = sweep.full_sizes if is_full else sweep.sizes, []
    for size in sizes:
        bench.say(f"growth, {size} {sweep.what}")
        found.append(measure_size(bench, sweep, size))
        shutil.rmtree(bench.folder / sweep.name)
    return {"what": sweep.what, "sizes": found}


def rows_of(sweep, figures):
    """(work, may it grow, why, its costs, its exponent); what an idle server costs a second comes first."""
    sizes = [one["size"] for one in figures["sizes"]]
    idle = [one["idle"]["ms"] for one in figures["sizes"]]
    rows = [("nothing, a second", 1, "looks at each", idle, exponent_of(sizes, idle))]
    for work in sweep.works:
        costs = [one["works"][work.name]["ms"] for one in figures["sizes"]]
        rows.append((work.name, work.grows, work.why, costs, exponent_of(sizes, costs)))
    return sizes, rows


def measure_growth(bench):
    """Figures of sweeps that were not asked for stay in the file."""
    path = pathlib.Path(getattr(bench.options, "into", FIGURES))
    found = json.loads(path.read_text()) if path.exists() else {}
    wanted = getattr(bench.options, "sweeps", None) or [sweep.name for sweep in SWEEPS]
    for sweep in SWEEPS:
        if sweep.name in wanted:
            found[sweep.name] = measure_sweep(bench, sweep, bench.options.full)
            path.write_text(json.dumps(found, indent=1) + "\n")
    return {name: found[name] for name in wanted}


def report_growth(found, bench):
    lines = []
    for sweep in SWEEPS:
        if sweep.name not in found:
            continue
        sizes, rows = rows_of(sweep, found[sweep.name])
        lines.append(Line(f"growth: {sweep.what}", ", ".join(f"{size:,}" for size in sizes)))
        for name, grows, _, costs, exponent in rows:
            most = grows + (SLACK if grows else FREE)
            lines.append(Line(f"  {name}, ms of processor", ", ".join(f"{cost:.3g}" for cost in costs), "", f"{exponent:+.2f}",
                f"<= {most:.1f}", exponent <= most))
    return lines


def print_threads(found):
    """Which threads the costs are of."""
    for name, figures in found.items():
        for one in figures["sizes"]:
            for work, cost in [("nothing, a second", one["idle"]), *one["works"].items()]:
                spent = sorted(cost["threads"].items(), key=lambda pair: -pair[1])[:4]
                print(f"{name} {one['size']:>8} {work:<44} {cost['ms']:9.3f}  " + ", ".join(f"{thread} {ms:.3f}" for thread, ms in spent))


def main():
    import table
    parser = argparse.ArgumentParser(description="What works cost as the data grows.")
    parser.add_argument("sweeps", nargs="*", metavar="SWEEP", choices=[[], *(sweep.name for sweep in SWEEPS)], default=[])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--threads", action="store_true", help="also the threads that spent it")
    parser.add_argument("--into", default=FIGURES, help="the figures (build/growth.json)")
    parser.add_argument("--dir", default=harness.ROOT / "build")
    options = parser.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=options.dir)).resolve()
    bench = SimpleNamespace(folder=base, options=options, say=lambda text: print(f"… {text}", file=sys.stderr, flush=True))
    try:
        found = measure_growth(bench)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    table.print_table(report_growth(found, bench))
    if options.threads:
        print_threads(found)
    print(f"load average {os.getloadavg()[0]:.1f}")


ROWS = [Row("growth", measure_growth, report_growth)]

if __name__ == "__main__":
    main()
