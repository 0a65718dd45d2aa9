"""Job search: a history of many jobs, written by the store's verbs, and each shape of query over it (jobs.c)."""

import json
import subprocess

from harness import program
from table import Line, Row

JOBS, QUICK_JOBS, TIMES = 100_000, 10_000, 50
SHAPE_MS, TOTAL_MS, PATTERN_MS, INSERT_MS = 20, 60, 300, 3


def measure_jobs(bench):
    jobs = QUICK_JOBS if bench.is_quick else JOBS
    bench.say(f"job search: {jobs} jobs")
    path = bench.folder / "jobs.db"
    output = subprocess.run([program("bench_jobs"), "--file", str(path), "--jobs", str(jobs), "--times", str(TIMES)], check=True,
        stdout=subprocess.PIPE).stdout
    return {**json.loads(output), "bytes": path.stat().st_size}


def target_ms(shape):
    if shape["name"].startswith("total"):
        return TOTAL_MS
    return PATTERN_MS if shape["name"].startswith("pattern") else SHAPE_MS


def report_jobs(figures, bench):
    jobs = figures["jobs"]
    lines = [Line(f"insert of {jobs} jobs, {figures['batch']} a commit; worst commit {figures['worst_commit_ms']:.0f} ms, "
        f"worst checkpoint {figures['worst_checkpoint_ms']:.0f} ms",
        f"{figures['insert_ms']:.2f} ms a job", target=f"<= {INSERT_MS} ms", is_met=figures["insert_ms"] <= INSERT_MS),
        Line("database of these jobs", f"{figures['bytes'] / jobs:.0f} bytes a job")]
    for shape in figures["shapes"]:
        most = target_ms(shape)
        lines.append(Line(f"jobs, {shape['name']}, {shape['total'] or shape['found']} found",
            f"p50 {shape['p50_ms']:.2f} p99 {shape['p99_ms']:.2f} ms, processor p99 {shape['cpu_p99_ms']:.2f} ms, "
            f"first time {shape['cold_ms']:.0f} ms", target=f"p99 <= {most} ms",
            is_met=not shape["failure"] and shape["p99_ms"] <= most))
    return lines


ROWS = [Row("jobs", measure_jobs, report_jobs)]
