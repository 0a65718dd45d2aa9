"""
HolisticTraceAnalysis itself beside sm-ship, on the same traces: kernels on several streams, some that others launched, steps of which the last is
left out, times with fractions since 1970 and without. Of the long tests.
"""

import gzip
import json
import os
import random
import subprocess
import sys

import pytest

from howlong import long
from smserver import ROOT
from test_anatomy import anatomy
from test_anatomy_traces import NCCL, event, kernel, launch, ship_trace

pytestmark = long
COMPUTING = ["ampere_sgemm_128x64_tn", "void at::native::vectorized_elementwise_kernel<4, float>(int)", "cutlass_80_wmma"]
MOVING = ["Memcpy DtoH (Device -> Pinned)", "Memset (Device)", "Memcpy HtoD (Pinned -> Device)"]
ASK = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=sys.argv[2])
rows = [analysis.get_temporal_breakdown(visualize=False).iloc[0], analysis.get_comm_comp_overlap(visualize=False).iloc[0]]
print("ANSWER " + json.dumps({key: float(value) for row in rows for key, value in row.items()}))
"""


@pytest.fixture
def server(emptied_server):
    return emptied_server


def ask_hta(path):
    done = subprocess.run([sys.executable, "-c", ASK, path.name, str(path.parent)], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".cache/hta")})
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    assert done.returncode == 0 and answers, done.stderr[-2000:]
    return json.loads(answers[0].removeprefix("ANSWER "))


def pick(chance):
    """A name, its stream and how long it runs: a twelfth communicates, as long as ten others."""
    kind = chance.random()
    if kind < 0.08:
        return NCCL, 20, chance.uniform(20, 300)
    if kind < 0.14:
        return chance.choice(MOVING), 7, chance.uniform(1, 10)
    if kind < 0.16:
        return "void batchedMemcpyKernel<1>", 7, chance.uniform(2, 9)
    return chance.choice(COMPUTING), 7, chance.uniform(1.2, 12)


def make(seed, steps, epoch_us, digits, launches=400):
    chance, number, events = random.Random(seed), 1000, []
    now, free = epoch_us + 1000.0, {7: 0.0, 20: 0.0}

    def put(row):
        for key in ("ts", "dur"):
            row[key] = round(row[key], digits) if digits else int(row[key])
        events.append(row)

    for step in range(10, 10 + steps):
        began = now
        for _ in range(launches):
            number += chance.choice([1, 1, 1, 2, 5])
            now += chance.expovariate(1 / 6) + 1
            name, stream, length = pick(chance)
            start = max(free[stream], now + 4 + 3 * chance.random())
            free[stream] = start + length + chance.uniform(0.3, 1.5)
            put(event("cpu_op", "aten::mm", now - 1, 3, **{"External id": number, "Input Dims": [[8, 8], []]}))
            put(launch(now, number))
            put(kernel(name, start, length, number, stream=stream))
            if chance.random() < 0.02:
                put(event("cuda_sync", "Stream Wait Event", now, 0.5, stream=20, correlation=number + 1, device=0))
        now += chance.uniform(10, 60)
        put(event("user_annotation", f"ProfilerStep#{step}", began, now - began))
        put(event("gpu_user_annotation", f"ProfilerStep#{step}", began + 10, now - began))
    chance.shuffle(events)
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "traceEvents": [
        *events, event("Trace", "PyTorch Profiler (0)", epoch_us, 5000), {"ph": "i", "s": "g", "name": "Record Window End", "ts": now}], "traceName": "x"}


CASES = [(0, 5, 0, 3), (1, 5, 1_700_000_000_000_000, 3), (2, 1, 0, 0), (3, 3, 1_700_000_000_000_000, 0), (4, 2, 0, 3), (5, 12, 0, 0)]


@pytest.mark.parametrize("seed, steps, epoch_us, digits", CASES)
def test_within_a_point_of_hta(server, ship, tmp_path, seed, steps, epoch_us, digits):
    server.send("j", "x")
    path = tmp_path / "t.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(make(seed, steps, epoch_us, digits)).encode()))
    ship_trace(ship, server, path)
    [row] = anatomy(server)["traces"]
    theirs = ask_hta(path)
    assert 5 < theirs["compute_time_pctg"] < 95 and 5 < theirs["comp_comm_overlap_pctg"] < 95, "a trace of all of them"
    ours = {"idle_time_pctg": row["idle"], "compute_time_pctg": row["compute"], "non_compute_time_pctg": row["non_compute"],
        "comp_comm_overlap_pctg": row["overlap"]}
    assert {key: 100 * value for key, value in ours.items()} == {key: pytest.approx(theirs[key], abs=0.1) for key in ours}
    assert row["kernel_us"] == pytest.approx(theirs["kernel_time(us)"], abs=1)
