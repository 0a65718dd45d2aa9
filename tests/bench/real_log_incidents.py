#!/usr/bin/env python3
"""What the detectors say of real logs: `sm-ship --import` of a folder into a server at its defaults, and each incident by REST.

  real_log_incidents.py [--logs ../shared/logs] [--json]     a table; or one JSON line an incident, with its evidence

The names of jobs are the files' below the folder. A person judges them (docs/detection.md): the program does not know what is true.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

from harness import is_caught_up
from rows_detect import LOGS
from rows_detect_served import read_incidents
from smserver import PATIENCE_S, Server, wait_until

WATCHED = {"loss", "eval_loss", "grad_norm", "throughput", "step_time", "entropy", "reward"}


def import_logs(server, logs, folder):
    environment = {**os.environ, "SMFLEET_SERVER": server.url, "SMFLEET_SPOOL": str(folder / "spool")}
    subprocess.run([server.bin("sm-ship"), "--import", f"{logs}/(?<job>.*)[.]log"], check=True, env=environment, stdout=sys.stderr)
    wait_until(lambda: is_caught_up(server), 10 * PATIENCE_S, "the detectors to catch up")
    server.restart()  # what was handed over is on disk then


def count_points(server):
    """Of series that are watched."""
    total, cursor = 0, ""
    while cursor is not None:
        reply = server.get("/api/v1/jobs?limit=1000" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))
        assert reply.status == 200, reply
        total += sum(metric["count"] for job in reply.body["jobs"] for metric in job["metrics"] if metric["role"] in WATCHED)
        cursor = reply.body.get("next_cursor")
    return total


def rows_of(incidents):
    """One row for each job, metric, kind and severity, with the steps."""
    rows = collections.defaultdict(list)
    for one in sorted(incidents, key=lambda one: one["opened_step"] or 0):
        rows[one["severity"] == "info", one["job"], one["metric"] or "", one["kind"], one["severity"]].append(one["opened_step"])
    return sorted(rows.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=pathlib.Path, default=LOGS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        folder = pathlib.Path(base)
        server = Server(folder).start()
        try:
            import_logs(server, options.logs, folder)
            incidents, points = list(read_incidents(server)), count_points(server)
        finally:
            server.close()
    if options.json:
        print("\n".join(json.dumps(one) for one in incidents))
        return
    for (_, job, metric, kind, severity), steps in rows_of(incidents):
        print(f"{severity:8} {kind:18} {job} {metric}: {len(steps)} at {', '.join(map(str, steps[:12]))}{'…' if len(steps) > 12 else ''}")
    print(f"{points} points in series that are watched, {len(incidents)} incidents, {sum(one['severity'] != 'info' for one in incidents)} no marks")


if __name__ == "__main__":
    main()
