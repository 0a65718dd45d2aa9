"""Log search: a gigabyte of sealed text by the server, by the limit program, and by ripgrep over the same bytes in cache."""

import json
import re
import shutil
import subprocess
import time
import urllib.parse

from harness import CATCH_UP_S, program, read_metrics
from smserver import Server, wait_until
from table import Line, Row

MIB, QUICK_MIB, PART_BYTES, STREAMS, TIMES = 1024, 256, 8 << 20, 4, 3
FIRST_HITS_MS = 50
# name, pattern, is it a regular expression, the target: a share of ripgrep's time or of the limit program's
SHAPES = [
    ("rare word", "Xyzzyrare", False, ("ripgrep", 0.25)),
    ("phrase", "NCCL WARN Call to ibv", False, ("ripgrep", 0.25)),
    ("number as a word", r"\b0884187\b", True, ("limit", 1.1)),
    ("(?i)out of memory", "(?i)out of memory", True, ("ripgrep", 1)),
    ("WARN.*timeout", "WARN.*timeout", True, ("ripgrep", 1)),
    ("iteration and digits", r"iteration\s+0088418[0-9]/", True, ("limit", 1.1)),
    ("[A-Z]{14,}", "[A-Z]{14,}", True, ("limit", 1.1)),
    ("common word", "loss", False, ("ripgrep", 2)),
]


def load(server, path):
    with open(path, "rb") as file:
        part, tail, lines = 0, b"", 0
        while data := file.read(PART_BYTES):
            text, newline, tail_next = (tail + data).rpartition(b"\n")
            reply = server.post(f"/api/v1/logs?job=search&stream=algo-{part % STREAMS + 1}", text + newline, timeout=CATCH_UP_S)
            assert reply.status == 200, reply
            part, tail, lines = part + 1, tail_next, lines + reply.body["accepted"]
    wait_until(lambda: read_metrics(server)["sealed_lines_total"] == lines, CATCH_UP_S, "the seal")


def best_ms(run):
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        result = run()
        times.append((time.perf_counter() - start) * 1000)
    return min(times), result


def ask(server, pattern, is_regex, histogram):
    query = urllib.parse.urlencode({"q": pattern, "regex": str(is_regex).lower(), "histogram": str(histogram).lower()})
    reply = server.get(f"/api/v1/jobs/search/logs/search?{query}", timeout=CATCH_UP_S)
    assert reply.status == 200, reply
    return reply.body


def measure_search(bench):
    mib = QUICK_MIB if bench.is_quick else MIB
    bench.say(f"log search: {mib} MiB")
    text = bench.folder / "text.log"
    patterns = [pattern if is_regex else re.escape(pattern) for _, pattern, is_regex, _ in SHAPES]
    limit = json.loads(subprocess.run([program("bench_search_limit"), "--mib", str(mib), "--file", str(text), *patterns],
        check=True, stdout=subprocess.PIPE).stdout)
    server = Server(bench.folder, "--seal-age", "1s", "--search-ms", "60000").start()
    load(server, text)
    ripgrep = shutil.which("rg")
    if not ripgrep:
        bench.say("ripgrep is not installed: no figures of it")
    figures = {"bytes": limit["bytes"], "shapes": []}
    for (name, pattern, is_regex, _), limit_ms in zip(SHAPES, limit["ms"]):
        first_ms, first = best_ms(lambda: ask(server, pattern, is_regex, False))
        whole_ms, whole = best_ms(lambda: ask(server, pattern, is_regex, True))
        command = [ripgrep, "--no-mmap", "--count", *([] if is_regex else ["-F"]), "--", pattern, str(text)]
        ripgrep_ms = best_ms(lambda: subprocess.run(command, stdout=subprocess.DEVNULL))[0] if ripgrep else None
        figures["shapes"].append({"name": name, "first_ms": first_ms, "whole_ms": whole_ms, "limit_ms": limit_ms,
            "ripgrep_ms": ripgrep_ms, "hits": whole["total"], "first_hits": len(first["hits"])})
    server.stop()
    return figures


def report_search(search, bench):
    lines = []
    for shape, (name, _, _, (against, share)) in zip(search["shapes"], SHAPES):
        other = shape[f"{against}_ms"]
        lines.append(Line(f"log search, {name}, {shape['hits']} hits", f"{shape['whole_ms']:.1f} ms",
            f"{other:.1f} ms" if other else "", f"{shape['whole_ms'] / other:.2f}" if other else "", f"<= {share:g} of {against}",
            shape["whole_ms"] <= share * other if other else None))
    full = [shape for shape in search["shapes"] if shape["first_hits"] == 50]
    if full:
        slowest = max(shape["first_ms"] for shape in full)
        lines.append(Line("log search, first 50 hits", f"{slowest:.1f} ms", "", "", f"<= {FIRST_HITS_MS} ms", slowest <= FIRST_HITS_MS))
    return lines


ROWS = [Row("search", measure_search, report_search)]
