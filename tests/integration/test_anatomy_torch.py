"""
Traces that torch's own profiler wrote, of a tiny training on the processor, shipped beside that training. Of the long tests: they need Debian's torch.

A processor has no kernels, which the first test is told. For the second each multiplication of the real trace becomes a kernel of a GPU, as long as it took
and launched where it began, and each sum over a gradient becomes communication; the shares are worked out here by another way than sm-ship's.
"""

import gzip
import json
import subprocess

import pytest

from frameworks import environment
from howlong import long
from test_anatomy import anatomy
from test_anatomy_traces import NCCL, event, kernel, launch

pytestmark = long
TRAIN = """
import sys
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def ready(profiler):
    for path in sys.argv[1:]:
        profiler.export_chrome_trace(path)


with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=4), on_trace_ready=ready) as profiler:
    for step in range(6):
        with record_function("forward"):
            loss = model(torch.randn(16, 64)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profiler.step()
        print(f"step {step} loss {loss.item():.6f}", flush=True)
"""


@pytest.fixture
def server(emptied_server):
    return emptied_server


def train(ship, server, tmp_path, *names):
    """The training under sm-ship, as the job tiny, whose profiler wrote these files."""
    (tmp_path / "train.py").write_text(TRAIN)
    paths = [tmp_path / name for name in names]
    mine = environment(server, "trainer", "mlflow", SMFLEET_SERVER=server.url, SMFLEET_SPOOL=ship.env["SMFLEET_SPOOL"])
    command = [ship.program, "--job", "tiny", "--", "/usr/bin/python3", "-S", "train.py", *map(str, paths)]
    done = subprocess.run(command, cwd=tmp_path, env=mine, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    server.wait_for_points("tiny", "train:loss", 6)
    return paths


def read(path):
    """Of a torch with Kineto an object, of Debian's a list."""
    with (gzip.open if path.name.endswith(".gz") else open)(path, "rt") as file:
        document = json.load(file)
    return document if isinstance(document, list) else document["traceEvents"]


def test_of_a_processor_it_says_that_it_has_no_kernels(ship, server, tmp_path):
    paths = train(ship, server, tmp_path, "host_1.1.pt.trace.json", "host_1.2.pt.trace.json.gz")
    steps = [sorted(row["name"] for row in read(path) if row["name"].startswith("ProfilerStep#") and row.get("ph") == "X") for path in paths]
    assert steps[0] == steps[1] and len(set(steps[0])) == 4, "real steps in a real trace"
    done = ship.run("--job", "tiny", "--trace", str(tmp_path), SMFLEET_SERVER=server.url)
    said = done.stderr.decode()
    assert done.returncode == 4 and all(f"'{path}': it has no kernels of a GPU" in said for path in paths)
    found = anatomy(server, "tiny")
    assert (found["traces_total"], found["exposed_communication"]) == (0, None)


def on_a_gpu(rows):
    """What torch timed, with the categories that Kineto would give, and kernels: of what multiplies on stream 7, of what sums on stream 20, twice as long."""
    named = [row for row in rows if row.get("ph") == "X"]
    out = [{**row, "cat": row.get("cat", "user_annotation" if "ProfilerStep" in row["name"] else "cpu_op")} for row in named]
    for number, row in enumerate(row for row in named if row["name"] in ("aten::addmm", "aten::mm", "aten::sum")):
        is_sum = row["name"] == "aten::sum"
        out.append(launch(row["ts"], 1000 + number))
        out.append(kernel(NCCL if is_sum else "ampere_sgemm_128x64_tn", row["ts"] + 3, row["dur"] * (2 if is_sum else 1), 1000 + number, stream=20 if is_sum else 7))
    return out


def by_hand(rows):
    """Microsecond by microsecond, of the kernels that another step than the last launched: who is at work in it."""
    steps = sorted((row["ts"], int(row["name"].partition("#")[2]), row["dur"]) for row in rows if row["name"].startswith("ProfilerStep#"))
    launched = {row["args"]["correlation"] for row in rows if row["cat"] == "cuda_runtime" and row["ts"] < steps[-1][0]}
    kernels = [row for row in rows if row["cat"] == "kernel" and row["args"]["correlation"] in launched]
    at_work = {}
    for row in kernels:
        for moment in range(row["ts"], row["ts"] + row["dur"]):
            at_work.setdefault(moment, set()).add(row["name"] == NCCL)
    span = max(row["ts"] + row["dur"] for row in kernels) - min(row["ts"] for row in kernels)
    return {"kernels": len(kernels), "kernel_us": span, "idle_us": span - len(at_work), "compute_us": sum(False in who for who in at_work.values()),
        "communication_us": sum(True in who for who in at_work.values()), "overlap_us": sum(len(who) == 2 for who in at_work.values()),
        "first_step": steps[0][1], "last_step": steps[-2][1], "steps": len(steps) - 1}


@pytest.mark.parametrize("name", ["rank0.json", "rank0.json.gz"])
def test_shares_of_a_trace_that_torch_wrote(ship, server, tmp_path, name):
    [path] = train(ship, server, tmp_path, name)
    rows = on_a_gpu(read(path))
    assert all(isinstance(row[key], int) for row in rows for key in ("ts", "dur")), "whole microseconds, which the count below needs"
    with (gzip.open if name.endswith(".gz") else open)(path, "wt") as file:
        json.dump(rows, file)
    wanted = by_hand(rows)
    done = ship.run("--job", "tiny", "--trace", str(path), SMFLEET_SERVER=server.url)
    assert done.returncode == 0, done.stderr.decode()
    found = anatomy(server, "tiny")
    [row] = found["traces"]
    assert {key: row[key] for key in wanted} == wanted
    assert found["exposed_communication"] == pytest.approx((wanted["communication_us"] - wanted["overlap_us"]) / wanted["kernel_us"])
