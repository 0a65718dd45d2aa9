"""Debian's own Prometheus: a server with the data that a test gives it, and what it is asked."""

import json
import math
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from smserver import wait_until


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_here():
    return bool(shutil.which("prometheus") and shutil.which("promtool"))


def openmetrics(series):
    """[(labels with __name__, [(ms, value)])] as text for promtool: a family after the other."""
    def spell(value):
        return "NaN" if math.isnan(value) else repr(float(value)) if math.isfinite(value) else "+Inf" if value > 0 else "-Inf"
    lines = []
    for labels, samples in sorted(series, key=lambda one: one[0]["__name__"]):
        inner = ",".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
        lines += [f"{labels['__name__']}{{{inner}}} {spell(value)} {ms / 1000:.3f}" for ms, value in samples]
    return "\n".join(lines) + "\n# EOF\n"


class Prometheus:
    def __init__(self, folder, config="global: {}\n", series=()):
        self.folder, self.port = folder, free_port()
        (folder / "prometheus.yml").write_text(config)
        (folder / "data").mkdir()
        if series:
            (folder / "series.om").write_text(openmetrics(series))
            made = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "series.om", folder / "data"], capture_output=True, text=True)
            assert made.returncode == 0, made.stderr + made.stdout
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{self.port}", "--storage.tsdb.retention.time=100y"], stdout=log, stderr=log, env=dict(os.environ, GOMAXPROCS="2"))
        wait_until(self.is_ready, what="Prometheus")

    def is_ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def ask(self, path, **parameters):
        """(status, body) of /api/v1/…"""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters, doseq=True), timeout=60) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def close(self):
        self.process.terminate()
        self.process.wait(60)


def rows(result, data):
    """{labels: [(time, value)]} of a reply's data."""
    def pair(one):
        return one[0], float(one[1].replace("Inf", "inf"))
    if result in ("scalar", "string"):
        return {(): [pair(data)]}
    return {tuple(sorted(one["metric"].items())): [pair(each) for each in one.get("values", [one.get("value")])] for one in data}


def is_close(left, right, relative=1e-9):
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right or abs(left - right) <= relative * max(abs(left), abs(right))


def difference(ours, theirs):
    """None, or what differs in two replies' data."""
    if ours["resultType"] != theirs["resultType"]:
        return ours["resultType"], theirs["resultType"]
    left, right = (rows(one["resultType"], one["result"]) for one in (ours, theirs))
    if left.keys() != right.keys():
        return "series", sorted(left.keys() - right.keys())[:3], sorted(right.keys() - left.keys())[:3]
    for labels, points in left.items():
        if [time for time, _ in points] != [time for time, _ in right[labels]]:
            return labels, "times", points[:3], right[labels][:3], len(points), len(right[labels])
        for (time, one), (_, other) in zip(points, right[labels]):
            if not is_close(one, other):
                return labels, time, one, other
    return None
