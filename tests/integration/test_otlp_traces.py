"""Spans as OTLP: how long each part of a step took, of which GET …/anatomy makes shares. Each number is worked out here by hand."""

import itertools
import os
import re
import subprocess
import sys

import pytest

from howlong import long
from otlp import traces
from smserver import ROOT
from test_anatomy import PARTS, anatomy
from test_otlp import JSON, PROTOBUF, Form, form  # noqa: F401

TRACES = "/v1/traces"
T0 = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture
def server(emptied_server):
    return emptied_server


ids = itertools.count(1)


def span(name, start_ms, length_ms, parent=None, step=None, **attributes):
    if step is not None:
        attributes["step"] = step
    return {"id": next(ids), "name": name, "start": T0 + round(start_ms * MS), "end": T0 + round((start_ms + length_ms) * MS),
        "parent": parent["id"] if parent else 0, "attributes": attributes}


def one_step(n):
    """1000 ms: 100 of data, 200 + 100 of forward, 400 of backward with 150 of all_reduce inside, 50 of the optimizer; 150 nobody times.
    Only the step says its number. An SDK sends what has ended first, so the step is the last."""
    at = n * 2000
    step = span("train_step", at, 1000, step=n)
    backward = span("Backward", at + 400, 400, step)
    return [span("dataloader", at, 100, step), span("forward", at + 100, 200, step), span("model.forward", at + 300, 100, step),
        span("http GET", at + 450, 30, backward), span("all-reduce", at + 500, 150, backward), backward,
        span("trainer.optimizer.step", at + 800, 50, step), step]


WANT = {"data": 0.1, "forward": 0.3, "backward": 0.25, "communication": 0.15, "optimizer": 0.05, "checkpoint": None, "other": 0.15}


def shares(found):
    return {part: None if share is None else pytest.approx(share) for part, share in found.items()}


def test_spans_are_shares_of_a_step(server, form):
    form.check(form.send(server, TRACES, traces({"training.job": "j", "host.name": "h"}, sum(map(one_step, range(1, 12)), []))), "", 0, "")
    found = anatomy(server)
    assert found["steps"] == 11 and found["share"] == shares(WANT)
    [stream] = found["by_stream"]
    assert (stream["stream"], stream["steps"], stream["share"]) == ("h", 11, found["share"])
    assert stream["from"]["backward"] == "(span:backward) / span:step_time"
    [series] = server.get("/api/v1/jobs/j/points?metric=span:backward&raw=true").body["series"]
    assert (series["step"], series["value"]) == (list(range(1, 12)), [250] * 11), "not one point a span"


def test_what_is_sent_again_counts_once_and_streams_apart(server, form):
    for stream in ("a", "b", "a"):
        message = traces({"training.job": "j", "host.name": stream}, sum(map(one_step, range(1, 5)), []))
        form.check(form.send(server, TRACES, message), "", 0, "")
        if stream == "a":
            again = message
    form.send(server, TRACES, again)
    found = anatomy(server)
    assert [(one["stream"], one["steps"], one["share"]["forward"]) for one in found["by_stream"]] == [
        ("a", 4, pytest.approx(0.3)), ("b", 4, pytest.approx(0.3))]


def test_spans_of_a_step_may_come_in_several_requests(server, form):
    """Each says its step itself. Two micro-batches of 100 ms forward each, the second in the next request: 200 of 1000."""
    for n in range(1, 10):
        at = n * 2000
        for part in ([span("forward", at, 100, step=n), span("data", at + 100, 50, step=n)],
                [span("forward", at + 150, 100, step=n), span("step", at, 1000, step=n)]):
            form.send(server, TRACES, traces({"training.job": "j"}, part))
    assert anatomy(server)["share"] == shares({**dict.fromkeys(PARTS), "data": 0.05, "forward": 0.2, "other": 0.75})


def test_a_checkpoint_is_beside_the_steps(server, form):
    """Steps 1 to 11 of 1000 ms, two saves of 2500 ms, of which one lies inside its step's span: 5000 of 10 * 1000 + 5000."""
    spans = []
    for n in range(1, 12):
        step = span("step", n * 9000, 3500 if n == 3 else 1000, step=n)
        spans += [span("save_checkpoint", n * 9000 + 500, 2500, step)] if n == 3 else []
        spans += [step] + ([span("save_checkpoint", n * 9000 + 2000, 2500, step=n)] if n == 6 else [])
    form.send(server, TRACES, traces({"training.job": "j"}, spans))
    assert anatomy(server)["share"]["checkpoint"] == pytest.approx(1 / 3)


def test_what_is_rejected_is_counted(server, form):
    spans = [span("forward", 0, 10), span("forward", 10, 10, step=1), span("backward", 20, 5, step=-1), span("GET /", 30, 5),
        {**span("data", 0, 1, step=1), "end": T0 - 5}, {**span("data", 0, 1, step=1), "start": 0}]
    reply = form.send(server, TRACES, traces({"training.job": "j"}, spans))
    form.check(reply, "rejectedSpans", 4,
        f"the span 'data' from {T0} ns to {T0 - 5} ns has no times between 1990 and 2200, the end behind the start; "
        f"the span 'data' from 0 ns to {T0 + MS} ns has no times between 1990 and 2200, the end behind the start; "
        "2 spans say no step: give each the attribute 'step', or send them with a span around them that has it")
    reply = form.send(server, TRACES, traces({"training.job": "j"}, [span("GET /", 30, 5)]))
    form.check(reply, "rejectedSpans", 0, "none of 1 spans is named as a part of a training step (--span-names)")
    reply = form.send(server, TRACES, traces({"service.nothing": "j"}, [span("forward", 30, 5, step=1)]))
    form.check(reply, "rejectedSpans", 1, "no label names the job (--job-labels)")
    broken = b'{"resourceSpans":[{' if form.is_json else b"\x0a\xff"
    reply = server.post(TRACES, broken, content_type=form.media)
    assert reply.status == 400, reply


def test_names_of_ones_own(make_server):
    server = make_server("--span-names", "data=grab, read shard;communication=step.sync;step=forward")
    spans = sum(([span("grab", n * 2000, 100, step=n), span("IO/read-shard", n * 2000 + 100, 100, step=n),
        span("train.step.sync", n * 2000 + 200, 50, step=n), span("forward", n * 2000, 1000, step=n)] for n in range(1, 5)), [])
    Form(True).send(server, TRACES, traces({"training.job": "j"}, spans))
    assert anatomy(server)["share"] == shares({**dict.fromkeys(PARTS), "data": 0.2, "communication": 0.05, "other": 0.75})


def run_client(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".cache/otel")})
    assert done.returncode == 0 and not done.stderr, done.stderr


@long
def test_the_sdk_of_opentelemetry(server):
    """The page's example, and then the times of one_step, which the SDK sends packed and in the order in which spans end."""
    example, = (block for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs/anatomy.md").read_text(), re.S) if "OTLPSpanExporter" in block)
    example = example.replace("http://SERVER:8080", server.url)
    run_client("import itertools\nbatches, model = itertools.count(), lambda batch: sum(range(100000))\n" + example)
    found = anatomy(server, "llama-7b")
    assert found["by_stream"][0]["stream"] == "0" and found["steps"] == 10
    assert {part for part, share in found["share"].items() if share is not None} == {"data", "forward", "other"}

    setup = example[:example.index("for steps.step")].replace('"llama-7b"', '"j"').replace("OTLPSpanExporter(", "OTLPSpanExporter(compression=Compression.Gzip, endpoint=")
    run_client("from opentelemetry.exporter.otlp.proto.http import Compression\n" + setup + f"""
def spent(name, start_ms, length_ms, parent=None):
    around = trace.set_span_in_context(parent) if parent else None
    return tracer.start_span(name, context=around, start_time={T0} + start_ms * {MS}), {T0} + (start_ms + length_ms) * {MS}

for steps.step in range(1, 200):
    at = steps.step * 2000
    step, end = spent("train_step", at, 1000)
    for name, offset, length in (("dataloader", 0, 100), ("forward", 100, 300)):
        span, over = spent(name, at + offset, length, step)
        span.end(over)
    backward, over = spent("backward", at + 400, 400, step)
    inner, inner_over = spent("all_reduce", at + 500, 150, backward)
    inner.end(inner_over)
    backward.end(over)
    span, over = spent("optimizer.step", at + 800, 50, step)
    span.end(over)
    step.end(end)
provider.shutdown()
""")
    found = anatomy(server)
    assert found["steps"] == 199 and found["share"] == shares(WANT)
