"""Charts: nothing is hidden in a bucket, steps and attempts lie where they belong."""

import math
import random

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until


def loss_lines(steps, value):
    return [f"step: {step} loss: {value(step):.6f}" for step in steps]


def test_steps_are_the_axis(server):
    server.send("j", ["step: 10 loss: 2.5", "step: 20 loss: 2.25", "step: 30 loss: 2.0"])
    server.wait_for_points("j", "train:loss", 3)
    columns = server.points("j", "train:loss")["columns"]
    assert columns["x"] == [10, 20, 30] and columns["last"] == [2.5, 2.25, 2.0]
    assert columns["line"] == [0, 1, 2] and columns["line_stream"] == ["algo-1"] * 3
    assert columns["count"] == [1, 1, 1]


def test_spike_survives_downsampling(server):
    spike_at, count = 7_777, 20_000
    noise = random.Random(3)
    values = [5 * math.exp(-step / 8000) + noise.uniform(0, 0.01) for step in range(count)]
    values[spike_at] = 99.5
    values[spike_at + 3000] = -42.0
    server.send("j", loss_lines(range(count), lambda step: values[step]))
    server.wait_for_points("j", "train:loss", count)
    reply = server.points("j", "train:loss", buckets=100)
    columns = reply["columns"]
    assert reply["total_points"] == count and reply["bucket_width"] > 1
    assert 10 <= len(columns["x"]) <= 110 and sum(columns["count"]) == count
    top, bottom = columns["max"].index(99.5), columns["min"].index(-42.0)
    assert columns["max_x"][top] == spike_at and columns["max_line"][top] == spike_at
    assert columns["min_x"][bottom] == spike_at + 3000 and columns["min_line"][bottom] == spike_at + 3000
    # each bucket says exactly what its points say
    edges = columns["x"] + [count]
    for i, (begin, end) in enumerate(zip(edges, edges[1:])):
        inside = [round(value, 6) for value in values[begin:end]]
        assert len(inside) == columns["count"][i]
        assert (columns["min"][i], columns["max"][i]) == (min(inside), max(inside))
        assert (columns["first"][i], columns["last"][i]) == (inside[0], inside[-1])
        assert math.isclose(columns["mean"][i], sum(inside) / len(inside), rel_tol=1e-9)


def test_zoom(server):
    server.send("j", loss_lines(range(5000), lambda step: step / 10))
    server.wait_for_points("j", "train:loss", 5000)
    reply = server.points("j", "train:loss", **{"from": 1000, "to": 1099, "buckets": 1000})
    assert reply["columns"]["x"] == list(range(1000, 1100))
    assert reply["columns"]["last"] == [step / 10 for step in range(1000, 1100)]
    assert server.points("j", "train:loss", **{"from": 90_000})["columns"]["x"] == []


def test_the_same_after_sealing(make_server):
    """What was moved from the journal into blocks and chunks answers like what is in RAM."""
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    server.send("j", loss_lines(range(3000), lambda step: (step * 7919) % 1000 / 10))
    server.wait_for_points("j", "train:loss", 3000)
    before = server.points("j", "train:loss", buckets=50)["columns"]
    metrics = server.get("/metrics").raw.decode()
    assert "smfleet_" in metrics
    server.restart()
    assert server.points("j", "train:loss", buckets=50)["columns"] == before
    server.send("j", loss_lines(range(3000, 3010), lambda step: 1.5))
    server.wait_for_points("j", "train:loss", 3010)
    assert server.points("j", "train:loss", **{"from": 2995})["columns"]["x"] == list(range(2995, 3010))
    assert [line["n"] for line in server.lines("j")] == list(range(3010))


def test_nan_and_infinity_are_values(server):
    server.send("j", ["step: 1 loss: 2.5", "step: 2 loss: nan", "step: 3 loss: inf", "step: 4 loss: -inf", "step: 5 loss: 2.0"])
    row = server.wait_for_points("j", "train:loss", 5)
    assert row["last"] == 2.0 and row["min"] == 2.0 and row["max"] == 2.5
    columns = server.points("j", "train:loss")["columns"]
    assert columns["x"] == [1, 2, 3, 4, 5]
    assert columns["last"] == [2.5, "NaN", "Infinity", "-Infinity", 2.0]
    folded = server.points("j", "train:loss", buckets=1)["columns"]
    assert folded["count"] == [5] and (folded["non_finite"], folded["inf"], folded["neg_inf"]) == ([3], [1], [1])
    assert (folded["min"], folded["min_x"], folded["min_line"]) == ([2.0], [5], [4]) and (folded["max"], folded["max_x"], folded["max_line"]) == ([2.5], [1], [0])
    beyond = server.points("j", "train:loss", buckets=1, **{"from": 3, "to": 4})["columns"]
    for end in ("min", "max"):
        assert (beyond[end], beyond[f"{end}_x"], beyond[f"{end}_line"]) == (["Infinity"], [3], [2])
    assert folded["mean"] == [2.25]


def test_time_axis(server):
    rows = [("step: 1 loss: 3.0", 1_700_000_000_000), ("step: 2 loss: 2.0", 1_700_000_060_000)]
    body = "".join(f'{{"line":"{text}","ts":{ts}}}\n' for text, ts in rows)
    assert server.post("/api/v1/logs?job=j", body, content_type="application/x-ndjson").status == 200
    server.wait_for_points("j", "train:loss", 2)
    assert server.points("j", "train:loss", x="time")["columns"]["x"] == [1_700_000_000_000, 1_700_000_060_000]
    assert server.points("j", "train:loss", x="relative")["columns"]["x"] == [0, 60_000]


def test_streams_are_folded_or_chosen(server):
    for number in range(1, 5):
        server.send("j", [f"step: {step} loss: {step + number / 10:.1f}" for step in range(1, 4)], stream=f"algo-{number}")
        server.wait_for_points("j", "train:loss", 3, stream=f"algo-{number}")
    folded = server.points("j", "train:loss")["columns"]
    assert folded["x"] == [1, 2, 3] and folded["count"] == [4, 4, 4]
    assert folded["min"] == [1.1, 2.1, 3.1] and folded["max"] == [1.4, 2.4, 3.4]
    assert server.points("j", "train:loss", stream="algo-3")["columns"]["last"] == [1.3, 2.3, 3.3]
    assert server.get("/api/v1/jobs/j/points?metric=train:loss&stream=algo-9").status == 404


def test_restart_from_a_checkpoint_is_an_attempt(server):
    first = loss_lines(range(100, 200), lambda step: 3.0)
    second = ["loading checkpoint from /checkpoints/iter_150", *loss_lines(range(150, 250), lambda step: 2.0)]
    server.send("j", first + second)
    wait_until(lambda: (server.series("j", "train:loss") or {}).get("last_step") == 249, what="the second attempt")
    live = server.points("j", "train:loss", buckets=1000)["columns"]
    assert live["x"] == list(range(100, 250))
    assert [value for x, value in zip(live["x"], live["last"]) if x >= 150] == [2.0] * 100
    everything = server.points("j", "train:loss", attempts="all", buckets=1000)["columns"]
    assert sum(everything["count"]) == 200
    assert server.get("/api/v1/jobs/j").body["attempts"] == 2


def test_bad_parameters(server):
    server.send("j", "step: 1 loss: 2.0")
    base = "/api/v1/jobs/j/points?metric=train:loss"
    for parameter, value in (("x", "sideways"), ("buckets", "0"), ("buckets", "1000000"), ("from", "abc"), ("attempts", "some")):
        reply = server.get(f"{base}&{parameter}={value}")
        assert reply.status == 400 and reply.body["field"] == parameter, reply
    assert server.get("/api/v1/jobs/j/points").status == 400
    reply = server.get(f"{base}&bucket=10")
    assert reply.status == 400 and "buckets" in reply.body["detail"]


def test_presets_of_common_trainers(server):
    formats = {
        "nanogpt": (["iter 10: loss 3.5812, time 401.22ms, mfu 31.10%"], "train:loss", 3.5812, 10),
        "megatron": ([" iteration       20/  500000 | consumed samples:        5120 | elapsed time per iteration (ms): 812.3 | "
            "learning rate: 1.500E-04 | global batch size:   256 | lm loss: 7.012345E+00 | loss scale: 1.0 | grad norm: 1.234 |"],
            "train:loss", 7.012345, 20),
        "hf": (["{'loss': 2.125, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.5}"], "train:loss", 2.125, None),
        "llmc": (["s:30 trl:4.250000 lr:3.0e-04 norm:0.91"], "train:loss", 4.25, 30),
    }
    for name, (lines, metric, value, step) in formats.items():
        server.send(name, lines)
        row = server.wait_for_points(name, metric, 1)
        assert row["last"] == value and row["role"] == "loss", (name, row)
        assert step is None or row["last_step"] == step, (name, row)


def test_a_bare_name_means_its_labelled_series_too(server):
    body = {"series": [{"metric": f'gpu_util{{gpu="{gpu}"}}', "step": [1, 2], "value": [gpu, gpu + 10]} for gpu in range(3)]}
    assert server.post("/api/v1/points?job=j&stream=algo-1", json=body).status == 200
    server.wait_for_points("j", 'gpu_util{gpu="2"}', 2)
    chart = server.points("j", "gpu_util")
    assert (chart["metric"], chart["total_points"]) == ("gpu_util", 6)
    assert chart["columns"]["min"] == [0, 10] and chart["columns"]["max"] == [2, 12]
    assert server.points("j", 'gpu_util{gpu="1"}')["total_points"] == 2
    raw = server.get("/api/v1/jobs/j/points?metric=gpu_util&raw=true").body
    assert [part["metric"] for part in raw["series"]] == [f'gpu_util{{gpu="{gpu}"}}' for gpu in range(3)]
    csv = server.get("/api/v1/jobs/j/points?metric=gpu_util&raw=true&format=csv").body
    assert 'algo-1{gpu=""1""}' in csv
    assert server.get("/api/v1/jobs/j/points?metric=gpu").status == 404
