"""Several formats in one stream: two frameworks side by side, a stray line, and a trainer that is followed by another."""

import json
from urllib.parse import quote

import pytest

from smserver import wait_until

STRAYS = [
    "[2023-04-01 12:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=300, skipped=0, lr=[9.6e-06], mom=[(0.9, 0.95)]",
    ':::MLLOG {"namespace": "", "time_ms": 1560000000000, "event_type": "POINT_IN_TIME", "key": "eval_accuracy", "value": 0.25, '
    '"metadata": {"file": "train.py", "lineno": 3, "epoch_num": 4}}',
    "{'eval_loss': 1.25, 'eval_runtime': 3.5, 'epoch': 1.0}",
    " validation loss at iteration 100 | lm loss value: 8.017406E+00 | lm loss PPL: 3.033300E+03 |",
    "epoch,step,train_loss,val_loss",
    "NCCL version 2.18.1+cuda12.1",
    "100%|##########| 500000/500000 [00:30<00:00, 12.5it/s]",
    "782/782 [==============================] - 3s 4ms/step - loss: 2.3456 - accuracy: 0.1250",
    "Epoch 3:  10%|#         | 10/100 [00:10<01:30,  1.00it/s, v_num=0, train_loss=9.500]",
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
]


@pytest.fixture
def server(make_server):
    return make_server()


def loss_at(step):
    return 2 + 1 / (1 + step)


def nanogpt(step):
    return f"iter {step}: loss {loss_at(step):.4f}, time {200 + step % 9}.25ms, mfu 41.20%"


def plain(step):
    return f"step {step} loss {loss_at(step):.4f} lr 0.0001"


def megatron(step):
    return (f" iteration {step:8}/    5000 | consumed samples: {step * 4:12} | elapsed time per iteration (ms): 1376.1 | learning rate: 1.500E-04 | "
        f"global batch size:     4 | lm loss: {loss_at(step):.6E} | loss scale: 1.0 | grad norm: 0.310 | number of skipped iterations:   0 |")


def openmmlab(step):
    return f"2026-01-02 03:04:05,678 - mmdet - INFO - Epoch [1][{step}/5000]\tlr: 2.000e-02, eta: 1:00:00, time: 0.500, data_time: 0.010, loss: {loss_at(step):.4f}"


def definitions(server, job):
    return server.get(f"/api/v1/jobs/{job}/definitions").body


def formats(server, job):
    return {one["preset"]: one["lines"] for one in definitions(server, job)["formats"]}


def test_two_frameworks_in_one_stream(server):
    for start in range(0, 500, 100):
        server.send("two", [line for step in range(start, start + 100) for line in (nanogpt(step), openmmlab(step + 1))])
    server.wait_for_points("two", "train:loss", 500)
    second = 'train:loss{preset="openmmlab"}'
    wait_until(lambda: server.series("two", second)["count"] == 500, what="the loss of the other")
    assert server.series("two", "train:loss")["count"] == 500
    assert formats(server, "two") == {"nanogpt": 500, "openmmlab": 500}
    for asked in ("train:loss", "loss"):  # of the one that leads alone: two curves are not drawn as one
        assert server.get(f"/api/v1/jobs/two/points?metric={asked}").body["total_points"] == 500
    raw = server.get("/api/v1/jobs/two/points?metric=train:loss&raw=true").body
    assert [one["metric"] for one in raw["series"]] == ["train:loss"] and raw["series"][0]["step"] == list(range(500))
    assert server.get(f"/api/v1/jobs/two/points?metric={quote(second)}").body["total_points"] == 500
    server.restart()
    assert formats(server, "two") == {"nanogpt": 500, "openmmlab": 500}
    server.send("two", [line for step in range(500, 600) for line in (nanogpt(step), openmmlab(step + 1))])
    wait_until(lambda: server.series("two", second)["count"] == 600, what="it goes on")
    assert server.series("two", "train:loss")["count"] == 600
    (stream,) = server.get("/api/v1/jobs/two/streams").body["streams"]
    assert stream["preset"] == "nanogpt" and [one["preset"] for one in stream["formats"]] == ["nanogpt", "openmmlab"]
    assert stream["formats"][1]["last_line"] == 1199 and "Epoch [1][1/5000]" in stream["formats"][1]["reason"]


def test_a_label_of_the_senders_own_is_part_of_its_metric(server):
    rows = 'metric,step,value\n"reward{preset=""fast""}",1,1.5\n"reward{preset=""slow""}",1,2.5\n'
    assert server.post("/api/v1/points?job=own", rows.encode(), content_type="text/csv").status == 200
    wait_until(lambda: server.get("/api/v1/jobs/own/points?metric=reward").body.get("total_points") == 2, what="the points of both")


@pytest.mark.parametrize("trainer", [nanogpt, plain], ids=["nanogpt", "generic"])
def test_stray_lines_disturb_nothing(server, trainer):
    lines = [trainer(step) for step in range(1000)]
    server.send("whole", lines)
    for i, stray in enumerate(STRAYS):
        server.send(f"stray{i}", lines[:300] + [stray] + lines[300:])
    server.wait_for_points("whole", "train:loss", 1000)
    for i, stray in enumerate(STRAYS):
        server.wait_for_points(f"stray{i}", "train:loss", 1000)
        for one in server.get("/api/v1/jobs/whole/metrics").body["series"]:
            if not one["metric"].startswith("derived:"):
                assert server.series(f"stray{i}", one["metric"])["count"] == one["count"], (stray, one["metric"])
        assert definitions(server, f"stray{i}")["preset"] == definitions(server, "whole")["preset"], stray


def test_another_trainer_goes_on(server):
    server.send("next", [nanogpt(step) for step in range(1, 3001)] + ["Resuming from checkpoint /ckpt/2000"])
    server.send("next", [megatron(step) for step in range(2001, 5001)])
    server.wait_for_points("next", "train:loss", 5000)  # 1000 of the first are superseded
    (stream,) = server.get("/api/v1/jobs/next/streams").body["streams"]
    assert (stream["attempt"], stream["preset"]) == (2, "megatron-lm")


def mllog(key, value, **metadata):
    return ":::MLLOG " + json.dumps({"namespace": "", "time_ms": 1714047610249, "event_type": "POINT_IN_TIME", "key": key, "value": value,
        "metadata": {"file": "train.py", "lineno": 92, **metadata}})


def steps_of(server, job):
    """By the name of each series, with its labels."""
    return {row["metric"] + (f"{{{row['labels']}}}" if row.get("labels") else ""): (row["first_step"], row["last_step"], row["count"])
        for row in server.get(f"/api/v1/jobs/{job}/metrics").body["series"] if not row["metric"].startswith("derived:")}


def test_mllog_counts_by_one_axis_in_each_series(server):
    """The step where the line says it; what is counted in samples or in epochs alone is a series of its own beside one by steps."""
    lines = []
    for step in range(1, 21):
        lines.append(mllog("train_loss", 4 - step / 100, samples_count=64 * step, step_num=step))
        lines.append(mllog("train_loss", 3 - step / 100, samples_count=64 * step))
        lines.append(mllog("eval_accuracy", step / 100, epoch_num=step, samples_count=64 * step))
        lines.append(mllog("tracked_stats", {"throughput": 400 + step}, step=step))
    server.send("mixed", lines)
    server.send("samples", [mllog("train_loss", 3 - step / 100, samples_count=64 * step) for step in range(1, 21)])
    server.send("epochs", [mllog("eval_accuracy", step / 100, epoch_num=step) for step in range(1, 6)])
    server.send("unknown", [mllog("train_loss", 3 - step / 100, step_num=None, samples_count=64 * step, warmup={"step": "x"}) for step in range(1, 21)])
    server.wait_for_extraction()
    assert steps_of(server, "mixed") == {"train:loss": (1, 20, 20), 'train:loss{preset="mllog-samples"}': (64, 1280, 20),
        "eval_accuracy": (64, 1280, 20), "train:throughput": (1, 20, 20)}
    assert steps_of(server, "samples") == steps_of(server, "unknown") == {"train:loss": (64, 1280, 20)}
    assert steps_of(server, "epochs") == {"eval_accuracy": (1, 5, 5)}
