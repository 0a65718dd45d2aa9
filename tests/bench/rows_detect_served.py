"""The curves of ../shared/detect-bench through a real server: points in, incidents by REST, judged by score.py itself.

`python3 rows_detect_served.py [SEED...]` prints score.py's own output a seed; --lines sends each curve as its file stands (NDJSON) in
pieces of a thousand points, instead of one body of columns. Before the incidents are read the server is stopped and started: what was
handed over is on disk then, and what a restart forgets or repeats shows.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

from harness import is_caught_up
from rows_detect import FALSE_MAX, FOLDER, NO_CURVES, RECALL, SEEDS, make_curves
from smserver import PATIENCE_S, Server, wait_until
from table import Line, Row

PAGE, PIECE = 1000, 1000


def columns_of(path):
    series = {}
    for line in path.read_text().splitlines():
        point = json.loads(line)
        columns = series.setdefault((point["metric"], point["stream"]), ([], [], []))
        for column, name in zip(columns, ("step", "ts_ms", "value")):
            column.append(point[name])
    return {"series": [{"metric": metric, "stream": stream, "step": step, "ts_ms": ts_ms, "value": value}
        for (metric, stream), (step, ts_ms, value) in series.items()]}


def post(server, job, body, content_type):
    reply = server.post(f"/api/v1/points?job={urllib.parse.quote(job)}", body, content_type=content_type, timeout=10 * PATIENCE_S)
    assert reply.status == 200, reply


def send_curve(server, path, in_lines):
    if not in_lines:
        post(server, path.stem, json.dumps(columns_of(path)), "application/json")
        return
    lines = path.read_text().splitlines(keepends=True)
    for first in range(0, len(lines), PIECE):
        post(server, path.stem, "".join(lines[first:first + PIECE]), "application/x-ndjson")


def read_incidents(server):
    cursor = ""
    while cursor is not None:
        reply = server.get(f"/api/v1/incidents?limit={PAGE}" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))
        assert reply.status == 200, reply
        yield from reply.body["incidents"]
        cursor = reply.body.get("next_cursor")


def serve_curves(folder, curves, in_lines=False):
    """What the server at its defaults says of the curves, as score.py reads it."""
    server = Server(folder).start()
    try:
        for path in sorted(curves.glob("*.ndjson")):
            send_curve(server, path, in_lines)
        wait_until(lambda: is_caught_up(server), 10 * PATIENCE_S, "the detectors to catch up")
        server.restart()
        return [{"curve": row["job"], "kind": row["kind"], "metric": row["metric"], "stream": row["stream"], "step": row["opened_step"],
            "severity": row["severity"]} for row in read_incidents(server)]
    finally:
        server.close()


def judge(curves, incidents):
    """score.py's own text; its last line is for machines."""
    path = curves / "incidents.txt"
    path.write_text("".join(json.dumps(one) + "\n" for one in incidents))
    return subprocess.run([sys.executable, FOLDER / "score.py", "--labels", curves / "labels.json", "--incidents", path], check=True,
        stdout=subprocess.PIPE, text=True).stdout


def run_seed(seed, folder, in_lines=False):
    curves = folder / f"curves-{seed}"
    make_curves(seed, curves)
    base = folder / f"served-{seed}"
    base.mkdir()
    return judge(curves, serve_curves(base, curves, in_lines))


def measure_served(bench):
    bench.say("labelled curves through the server")
    if not (FOLDER / "curves.py").exists():
        return {}
    return {str(seed): run_seed(seed, bench.folder) for seed in (SEEDS[:1] if bench.is_quick else SEEDS)}


def report_served(found, bench):
    lines = [] if found else [Line("labelled curves through the server", NO_CURVES)]
    for seed, text in found.items():
        summary = json.loads(text.splitlines()[-1])
        missed = [kind for kind, recall in summary["recall"].items() if recall < RECALL[kind]]
        false = summary["false_per_100k"]
        lines.append(Line(f"through the server, seed {seed}: kinds below their recall", ", ".join(missed) or "none", "", "", "none", not missed))
        lines.append(Line(f"through the server, seed {seed}: pages for nothing", f"{false:.2f} in 100,000 points", "", "", f"<= {FALSE_MAX}",
            false <= FALSE_MAX))
    return lines


def details_served(found, bench):
    return [line for seed, text in found.items() for line in (f"score.py, seed {seed}, through the server:", *text.splitlines())]


ROWS = [Row("detect-served", measure_served, report_served, details_served)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", action="store_true", help="each curve as its file stands, in pieces")
    parser.add_argument("--keep", type=pathlib.Path, help="the folder to work in, which stays")
    parser.add_argument("seeds", nargs="*", type=int, default=SEEDS)
    options = parser.parse_args()
    if not (FOLDER / "curves.py").exists():
        sys.exit(NO_CURVES)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        for seed in options.seeds:
            print(f"seed {seed}", run_seed(seed, folder, options.lines), sep="\n", flush=True)


if __name__ == "__main__":
    main()
