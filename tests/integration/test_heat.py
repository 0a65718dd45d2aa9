"""GET /jobs/JOB/heat: a metric of all streams beside each other, each against the median of all."""

import json
from urllib.parse import quote

import pytest
from smserver import wait_until


def heat(server, job, query="", status=200):
    reply = server.get(f"/api/v1/jobs/{quote(job, safe='')}/heat{query}")
    assert reply.status == status, reply
    return reply.body


def send(server, job, stream, values, metric="step_time", first=0):
    steps = list(range(first, first + len(values)))
    text = ", ".join(json.dumps(value) if isinstance(value, str) else repr(value) for value in values)
    body = f'{{"series":[{{"metric":"{metric}","stream":"{stream}","step":{steps},"ts_ms":{[1_700_000_000_000 + step * 1000 for step in steps]},"value":[{text}]}}]}}'
    reply = server.request("POST", f"/api/v1/points?job={quote(job, safe='')}", body=body.encode(), headers={"Content-Type": "application/json"})
    assert reply.status == 200, reply


def rows(reply):
    return {row["stream"]: row["away"] for row in reply["rows"]}


def has(server, job, streams, count):
    def done():
        series = server.get(f"/api/v1/jobs/{quote(job, safe='')}/metrics").body["series"]
        return sum(one["count"] >= count for one in series) >= streams
    wait_until(done, what="all points")


def test_who_is_slower_than_the_others(server):
    for i, slow in enumerate([1.0, 1.02, 1.0, 1.5]):
        send(server, "a/b", f"algo-{i + 1}", [1.0] * 32 + [slow] * 32)
    has(server, "a/b", 4, 64)
    reply = heat(server, "a/b", "?buckets=4")
    assert (reply["metric"], reply["role"], reply["x"], reply["from"], reply["bucket_width"], reply["columns"]) == ("step_time", "step_time", "step", 0, 16, 4)
    assert reply["median"] == [1, 1, pytest.approx(1.01), pytest.approx(1.01)]
    assert rows(reply) == {"algo-1": [0, 0, -10, -10], "algo-2": [0, 0, 10, 10], "algo-3": [0, 0, -10, -10], "algo-4": [0, 0, 485, 485]}
    by_time = heat(server, "a/b", "?x=time&buckets=8")
    assert by_time["x"] == "time" and by_time["bucket_width"] == 8192 and len(by_time["median"]) == by_time["columns"] <= 8
    assert by_time["from"] <= 1_700_000_000_000 and rows(by_time)["algo-4"][-1] == 485
    part = heat(server, "a/b", "?buckets=4&from=32&to=63")
    assert part["from"] == 32 and part["bucket_width"] == 8 and rows(part)["algo-4"] == [485] * 4


def test_a_bucket_without_a_point_and_one_without_a_finite_value(server):
    send(server, "j", "algo-1", [2.0] * 8)
    send(server, "j", "algo-2", [2.0] * 4)
    send(server, "j", "algo-3", [2.0, "NaN", "NaN", "NaN", "NaN", "Infinity", 1.0, "NaN"])
    send(server, "j", "other", [1.0] * 8, metric="loss")
    has(server, "j", 4, 4)
    reply = heat(server, "j", "?buckets=4")
    assert rows(reply) == {"algo-1": [0, 0, 0, 333], "algo-2": [0, 0, None, None], "algo-3": [0, "NaN", "NaN", -333]}
    assert reply["median"] == [2, 2, 2, 1.5]
    send(server, "zero", "algo-1", [0.0] * 4)
    send(server, "zero", "algo-2", [0.0] * 4)
    send(server, "zero", "algo-3", [5.0] * 4)
    has(server, "zero", 3, 4)
    zero = heat(server, "zero", "?buckets=1")
    assert zero["median"] == [0] and rows(zero) == {"algo-1": [0], "algo-2": [0], "algo-3": [1_000_000]}  # there is nothing to be far from


def test_series_of_one_stream_are_one_row_in_one_unit(server):
    """Two GPUs of a node, one of whose times are told in seconds: in the unit of the first, as in a chart."""
    for i, slow in enumerate((100, 100, 300)):
        send(server, "units", f"algo-{i + 1}", [float(slow)] * 8, metric='step_time{gpu=\\"0\\"}')
        body = {"series": [{"metric": 'step_time{gpu="1"}', "stream": f"algo-{i + 1}", "unit": "s", "step": [*range(8)], "value": [slow / 1000] * 8}]}
        assert server.post("/api/v1/points?job=units", json=body).status == 200
    has(server, "units", 6, 8)
    reply = heat(server, "units", "?metric=step_time&buckets=1")
    assert reply["median"] == [100] and rows(reply) == {"algo-1": [0], "algo-2": [0], "algo-3": [2000]}, reply


def test_the_metric_that_is_meant(server):
    send(server, "t", "algo-1", [10.0] * 4, metric="throughput")
    has(server, "t", 1, 4)
    assert heat(server, "t")["role"] == heat(server, "t", "?metric=throughput")["role"] == "throughput"
    send(server, "l", "algo-1", [10.0] * 4, metric="loss")
    has(server, "l", 1, 4)
    missing = heat(server, "l", status=404)
    assert missing["field"] == "metric" and "'l'" in missing["detail"]
    assert heat(server, "l", "?metric=loss")["columns"] == 4
    assert heat(server, "l", "?metric=nix", status=404)["field"] == "metric"
    assert "nobody" in heat(server, "nobody", status=404)["detail"]


def test_what_cannot_be_asked(server):
    send(server, "q", "algo-1", [1.0])
    for query, field in [("x=relative", "x"), ("x=7", "x"), ("buckets=0", "buckets"), ("buckets=1001", "buckets"), ("from=a", "from"),
            ("attempts=0", "attempts"), ("stream=a", "stream")]:
        assert heat(server, "q", "?" + query, status=400)["field"] == field
    has(server, "q", 1, 1)
    assert heat(server, "q", "?buckets=1000")["columns"] == heat(server, "q", "?buckets=1")["columns"] == 1
