"""The page's charts in headless Chromium: from navigation to pixel, zoom, and while lines come. Rows for tests/bench/run."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness  # noqa: F401  (finds smserver)
from smserver import build_folder
from table import Line, Row

PAGE = pathlib.Path(__file__).resolve().parent / "page"
BUILD = {**os.environ, "SM_BUILD_DIR": str(build_folder())}
P99_MS, LONG_TASK_MS, HEAP_KIB = 250, 50, 4096


def run_page(script, *arguments):
    """The script's own figures; an empty list where there is no Chromium or no Node."""
    for program in ("node", os.environ.get("SM_CHROMIUM", "/usr/bin/chromium-headless-shell")):
        if not shutil.which(program):
            print(f"{script}: not run, there is no {program}", file=sys.stderr)
            return []
    done = subprocess.run(["node", PAGE / script, *arguments], stdout=subprocess.PIPE, text=True, timeout=1800, env=BUILD, check=True)
    return json.loads(done.stdout)


def measure(bench):
    runs, seconds = ("5", "10") if bench.is_quick else ("9", str(int(bench.seconds)))
    history = "6000" if bench.is_quick else "36000"
    return {"open": run_page("chart_open.mjs", "--runs", runs), "live": run_page("chart_live.mjs", "--seconds", seconds, "--history", history)}


def report(found, bench):
    lines = [Line(f"page: {one['name']}", f"{one['all_ms']:.0f} ms", "", "", f"<= {one['budget_ms']} ms", one["all_ms"] <= one["budget_ms"])
        for one in found["open"]]
    for one in found["live"]:
        p99, held, grown = one["p99_ms"], one["long_task_ms_a_second"], one["heap_grown_kib"]
        lines += [Line(f"page, live: {one['name']}, line to pixel p99", f"{p99} ms", "", "", f"<= {P99_MS} ms", p99 is not None and p99 <= P99_MS),
            Line(f"page, live: {one['name']}, beyond 50 ms a task", f"{held} ms/s", "", "", f"<= {LONG_TASK_MS} ms/s", held <= LONG_TASK_MS),
            Line(f"page, live: {one['name']}, heap", f"{grown:+} KiB", "", "", "flat", grown <= HEAP_KIB)]
    return lines


def details(found, bench):
    return [f"page: {one['name']}: first {one.get('first_ms', one['all_ms']):.0f} ms, best {one['best_ms']:.0f} ms, the page's thread "
        f"{one.get('cpu_ms', 0):.0f} ms of processor" for one in found["open"]]


ROWS = [Row("page-charts", measure, report, details)]
