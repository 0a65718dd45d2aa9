"""Each member that the server answers with is named on the page that describes the answer."""

import pathlib
import re
import time

import pytest

from smserver import ROOT, wait_until
from test_anatomy_traces import trace, write
from test_life import MINUTE_MS, line
from test_s3 import access

T0 = int(time.time()) // 60 * 60_000 - 86_400_000
# too large for its devices, and its parameters are to be counted
WIDE = {"HyperParameters": {"hidden_size": "12288", "num_layers": "96", "num_attention_heads": "96", "vocab_size": "50257", "seq_length": "2048", "micro_batch_size": "4", "bf16": "true"},
    "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 8}, "instances": ["8 x H100"]}
# whose keys are names of metrics, of settings, of signatures …
OF_NAMES = {"scores", "details", "document", "faults", "utilisation", "n", "figures", "metrics"}
PAGES = {
    "/continuity": "continuity", "/tokens": "tokens", "/schedule": "schedule", "/evaluations": "evaluations", "/anatomy": "anatomy", "/s3": "s3", "/fit": "fit",
    "/notes?deleted=true": "notes", "/nodes": "nodes", "/restart": "restarts"}


def members(answer):
    if isinstance(answer, list):
        return set().union(*map(members, answer)) if answer else set()
    if not isinstance(answer, dict):
        return set()
    return set(answer).union(*(members(value) for key, value in answer.items() if key not in OF_NAMES))


def steps(first, last, at_ms):
    return [line(at_ms + (n - first) * MINUTE_MS, f"step: {n} | loss: {3 - n / 100:.3f} | lr: 6e-4 | grad_norm: 0.5 | loss_scale: {65536 if n < 15 else 32768} | "
                 f"step_time: 1.0") for n in range(first, last + 1)]


@pytest.fixture
def told(server, ship, tmp_path):
    """A job that has something of everything: a restart that differs, a fault of its machine, scores that fell, a trace, requests to S3."""
    settings = {"learning_rate": "6e-4", "lr_scheduler_type": "constant", "max_steps": "200", "global_batch_size": "8", "seq_length": "1024", "max_grad_norm": "1.0",
        "rampup_batch_size": "8 8 100"}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "HyperParameters": settings, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}}).status == 201
    assert server.post("/api/v1/logs?job=j&stream=algo-1&host=gpu07", body="\n".join(
        steps(1, 30, T0) + [line(T0 + 30 * MINUTE_MS, "Saved checkpoint to /ckpt/checkpoint-20 at step 20"), line(T0 + 31 * MINUTE_MS, "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus"),
        line(T0 + 32 * MINUTE_MS, "Resuming from checkpoint at step 20")] + steps(21, 40, T0 + 33 * MINUTE_MS)) + "\n").status == 200
    server.post("/api/v1/logs?job=j&stream=access", body="".join(access(38, "GET", f"shards/train/{i}.tar", "503 SlowDown") for i in range(7)))
    for step, value in ((10, 0.6), (20, 0.5)):
        assert server.post("/api/v1/jobs/j/evaluations", json={"step": step, "path": f"/ckpt/checkpoint-{step}", "suite": "ours", "evaluated_ms": T0,
            "scores": {"task/acc": {"value": value, "stderr": 0.01, "n": 100, "shots": 0}}}).status in (200, 201)
    done = ship.run("--job", "j", "--stream", "algo-1", "--trace", str(write(tmp_path, "a.pt.trace.json", trace())))
    assert done.returncode == 0, done
    note = server.post("/api/v1/jobs/j/notes", json={"stream": "algo-1", "line": 3, "text": "a"}).body["id"]
    assert server.delete(f"/api/v1/jobs/j/notes/{note}").status == 200
    server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Failed", "time_ms": T0 + 60 * MINUTE_MS, "FailureReason": "exit code 1"})
    server.wait_for_extraction()
    wait_until(lambda: server.get("/api/v1/jobs/j/continuity").body["restarts"] and server.get("/api/v1/nodes/gpu07").body.get("fault_list"), what="the restart and the fault")
    return server


def test_each_member_of_an_answer_is_on_its_page(told):
    answers = [(path, page, told.get(f"/api/v1/jobs/j{path}").body) for path, page in PAGES.items()]
    answers += [(path, page, told.get(path).body) for path, page in (("/api/v1/nodes", "nodes"), ("/api/v1/nodes/gpu07", "nodes"), ("/api/v1/evaluations", "evaluations"))]
    answers.append(("POST /api/v1/fit", "fit", told.post("/api/v1/fit", json=WIDE).body))
    missing = []
    for path, page, answer in answers:
        text = pathlib.Path(ROOT, "docs", f"{page}.md").read_text()
        names = members(answer)
        assert len(names) > 4, (path, answer)
        missing += [(path, name) for name in sorted(names) if "/" not in name and not re.search(rf"\b{re.escape(name)}\b", text)]
    assert not missing, f"not on their page: {missing}"
