"""
A training whose loss goes by steps, other metrics by tokens, an accuracy by epochs. Its node is lost, and it goes on from a checkpoint: what of each metric is made
again, and what is not. A curve, a row of statistics, and a search say the same of it; each figure is worked out here.
"""

import time

import pytest

from smserver import quote, wait_until

TOKENS, EPOCH = 1024, 10  # of a step; steps of an epoch
NOW_MS = int(time.time()) * 1000 - 3600_000
BEST = 101 * TOKENS  # at this step, in tokens, the evaluation was the best, and is not made again


def entry(step, n, again):
    at = {"ts_ms": NOW_MS + n * 500}
    yield {"metric": "loss", "step": step, "value": 3 - step / 200, **at}
    if step % 10 == 0:
        yield {"metric": "train/by_tokens", "step": step * TOKENS, "value": step + again / 2, **at}
    if step % 100 == 1:
        yield {"metric": "eval/by_tokens", "step": step * TOKENS, "value": 0.5 if step == 101 else 2 - step / 500, **at}
    if step % EPOCH == EPOCH - 1:
        yield {"metric": "accuracy", "step": step // EPOCH + 1, "value": step // EPOCH + 1 + again / 2, **at}


def send(server, steps, n, again):
    for begin in range(0, len(steps), 25):
        rows = [one for offset, step in enumerate(steps[begin:begin + 25]) for one in entry(step, n + begin + offset, again)]
        assert server.post("/api/v1/points?job=own/axes&stream=algo-1", json=rows).status == 200


def live(server, metric):
    reply = server.get(f"/api/v1/jobs/{quote('own/axes')}/points?metric={quote(metric)}&stream=algo-1&raw=true")
    assert reply.status == 200, reply
    return dict(zip(reply.body["series"][0]["step"], reply.body["series"][0]["value"], strict=True)), len(reply.body["series"][0]["step"])


def check(server):
    server.wait_for_extraction()
    wanted = {
        "loss": {step: 3 - step / 200 for step in range(300)},
        "train/by_tokens": {step * TOKENS: step + (step >= 200) / 2 for step in range(0, 300, 10)},
        "eval/by_tokens": {step * TOKENS: 0.5 if step == 101 else 2 - step / 500 for step in (1, 101, 201)},
        "accuracy": {epoch: epoch + (epoch > 20) / 2 for epoch in range(1, 31)},
    }
    for metric, points in wanted.items():
        got, count = live(server, metric)
        assert got == pytest.approx(points) and count == len(points), metric
        row = server.series("own/axes", metric)
        values = list(points.values())
        assert (row["count"], row["last"]) == (len(points), pytest.approx(values[-1])), metric
        assert (row["min"], row["max"]) == pytest.approx((min(values), max(values))), metric
        drawn = server.points("own/axes", metric, x="time", buckets=1000)
        assert sum(drawn["columns"]["count"]) == len(points), metric
    assert server.get(f"/api/v1/jobs/{quote('own/axes')}").body["attempts"] == 2
    assert [one["first_step"] for one in server.points("own/axes", "train/by_tokens")["attempts"][1:]] == [200 * TOKENS]

    def finds(query):
        return [row["TrainingJobName"] for row in server.get(f"/api/v1/jobs?q={quote(query)}").body["jobs"]] == ["own/axes"]
    for query in (f"metric.eval/by_tokens.best=0.5 and metric.eval/by_tokens.best_step={BEST}", "metric.eval/by_tokens.min=0.5 and metric.eval/by_tokens.count=3",
            "metric.train/by_tokens.count=30 and metric.train/by_tokens.last=290.5", "metric.accuracy.count=30 and metric.accuracy.max=30.5", "loss.count=300"):
        wait_until(lambda query=query: finds(query), what=query)


def test_a_training_that_goes_by_steps_tokens_and_epochs(make_server):
    server = make_server()
    send(server, range(250), 0, False)
    server.wait_for_extraction()
    send(server, range(200, 300), 2000, True)
    check(server)
    server.restart()
    check(server)
