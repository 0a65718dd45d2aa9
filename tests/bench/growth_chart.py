#!/usr/bin/env python3
"""
Draws build/growth.json for docs/performance.md: one picture a sweep, by the server's own chart.svg, into docs/growth-SWEEP.svg.

    tests/bench/growth_chart.py [--into docs]

A chart of the server has steps on its x axis, so a step is a power of ten: 3 is a thousand of what is stored.
"""

import argparse
import json
import math
import pathlib
import tempfile
import urllib.parse

import harness
from growth_sweeps import SWEEPS
from rows_growth import FIGURES
from smserver import Server, wait_until

SIZE = "width=760&height=300"


def series_of(name, sizes, costs):
    steps = [round(math.log10(size)) for size in sizes]
    return {"metric": name, "stream": "algo-1", "step": steps, "ts_ms": [1_700_000_000_000 + step for step in steps], "value": costs}


def draw(server, sweep, figures):
    """A line a work; the picture's legend has their names."""
    sizes = [one["size"] for one in figures["sizes"]]
    series = [series_of("idle, a second", sizes, [round(one["idle"]["ms"], 4) for one in figures["sizes"]])]
    for work in sweep.works:
        costs = [round(one["works"][work.name]["ms"], 4) for one in figures["sizes"]]
        series.append(series_of(work.name.replace(",", ""), sizes, costs))
    series[0]["metric"] = "idle: a second"
    reply = server.post(f"/api/v1/points?job={sweep.name}", json={"series": series})
    assert reply.status == 200, reply
    wait_until(lambda: len(server.get(f"/api/v1/jobs/{sweep.name}/metrics").body["series"]) == len(series), what="the series")
    names = urllib.parse.quote(",".join(one["metric"] for one in series))
    title = urllib.parse.quote(f"ms of processor by {sweep.what}, powers of ten")
    reply = server.get(f"/api/v1/jobs/{sweep.name}/chart.svg?metric={names}&scale=log&title={title}&{SIZE}")
    assert reply.status == 200, reply
    return reply.raw


def main():
    parser = argparse.ArgumentParser(description="Pictures of how costs grow, for docs/performance.md.")
    parser.add_argument("--into", default=harness.ROOT / "docs", type=pathlib.Path)
    options = parser.parse_args()
    found = json.loads(FIGURES.read_text())
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder).start()
        for sweep in SWEEPS:
            if sweep.name in found:
                (options.into / f"growth-{sweep.name}.svg").write_bytes(draw(server, sweep, found[sweep.name]))
        server.stop()


if __name__ == "__main__":
    main()
