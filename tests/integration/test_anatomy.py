"""What a step is made of, by the timers in the log: each share is worked out here by hand."""

import pytest

from howlong import long
from smserver import wait_until
from test_chart_svg import send_points
from test_hosts import incidents
from test_life import MINUTE_MS, T0, line

PARTS = ("data", "forward", "backward", "communication", "optimizer", "checkpoint", "other")


@pytest.fixture
def server(emptied_server):
    return emptied_server


def anatomy(server, job="j", query=""):
    server.wait_for_extraction()
    reply = server.get(f"/api/v1/jobs/{job}/anatomy{query}")
    assert reply.status == 200, reply
    assert set(reply.body["share"]) == set(PARTS)
    return reply.body


def iteration(step, ms):
    return (f" iteration {step:8}/ 1000 | consumed samples: {step * 8} | elapsed time per iteration (ms): {ms:.1f} | learning rate: 1.0E-04 |"
        " global batch size: 8 | lm loss: 7.1E+00 | loss scale: 1.0 | grad norm: 1.2 | number of skipped iterations: 0 | number of nan iterations: 0 |")


def one_line(step, ms=1000.0, **timers):
    at = T0 + step * MINUTE_MS
    told = " | ".join(f"{name.replace('_', '-')}: {value:.2f}" for name, value in timers.items())
    return [line(at, iteration(step, ms)), line(at, f"time (ms) | {told}")]


def megatron(first, last, ms=1000.0, forward=300.0):
    """Of 1000 ms: 50 of data inside 300 of forward, 400 of backward, 80 + 20 of communication (20 inside 70 of the optimizer)."""
    return sum((one_line(n, ms, forward_compute=forward, backward_compute=400, batch_generator=50, all_grads_sync=80, params_all_gather=20, optimizer=70)
        for n in range(first, last + 1)), [])


def test_megatron_by_hand(server):
    server.send("j", megatron(1, 11))
    found = anatomy(server)
    assert found["steps"] == 11 and found["exposed_communication"] is None and found["left_out"] == 0
    want = {"data": 0.05, "forward": 0.25, "backward": 0.4, "communication": 0.1, "optimizer": 0.05, "checkpoint": None, "other": 0.15}
    assert found["share"] == {part: None if share is None else pytest.approx(share) for part, share in want.items()}
    [stream] = found["by_stream"]
    assert (stream["steps"], stream["share"]) == (11, found["share"])
    assert stream["from"]["forward"] == "(time:forward-compute - time:batch-generator) / train:step_time"
    assert stream["from"]["communication"] == "(time:all-grads-sync + time:params-all-gather) / train:step_time"
    assert "checkpoint" not in stream["from"]


def test_megatron_gathered_after_the_optimizer_before(server):
    """Versions with grads-reduce-scatter in place of all-grads-sync gathered when the optimizer's timer had stopped."""
    server.send("j", sum((one_line(n, forward_compute=300, backward_compute=400, grads_reduce_scatter=80, params_all_gather=20, optimizer=70)
        for n in range(1, 6)), []))
    found = anatomy(server)
    assert (found["share"]["optimizer"], found["share"]["communication"]) == (pytest.approx(0.07), pytest.approx(0.1))
    assert found["share"]["other"] == pytest.approx(0.13)
    assert found["by_stream"][0]["from"]["optimizer"] == "(time:optimizer) / train:step_time"


def test_megatron_saves_beside_the_steps(server):
    """Ten iterations of 1000 ms lie between step 1 and step 11, and two saves of 2500 ms: 5000 of 15000. That of step 11 is behind the last."""
    rows = []
    for n in range(1, 12):
        rows += one_line(n, forward_compute=300, backward_compute=400)
        if n in (3, 6, 11):
            rows.append(line(T0 + n * MINUTE_MS + 100, "time (ms) | save-checkpoint: 2500.00"))
    server.send("j", rows)
    found = anatomy(server)
    assert found["share"]["checkpoint"] == pytest.approx(1 / 3) and found["share"]["other"] == pytest.approx(0.3), "other is of the step alone"
    assert found["by_stream"][0]["from"]["checkpoint"] == (
        "sum(time:save-checkpoint) / (steps * median(train:step_time) + sum(time:save-checkpoint))")
    assert anatomy(server, query="?from_step=7")["share"]["checkpoint"] == 0, "nothing was saved there"
    assert anatomy(server, query="?from_step=11")["share"]["checkpoint"] is None, "one step is no time between two"


def test_saves_alone_are_an_answer(server):
    server.send("j", sum(([line(T0 + n * MINUTE_MS, iteration(n, 1000.0))] + (
        [line(T0 + n * MINUTE_MS + 100, "time (ms) | save-checkpoint: 1000.00")] if n == 5 else []) for n in range(1, 11)), []))
    found = anatomy(server)
    assert found["share"] == {part: pytest.approx(0.1) if part == "checkpoint" else None for part in PARTS}


def test_a_timer_of_several_steps_is_no_share(server):
    server.send("j", sum((one_line(n, forward_compute=300, backward_compute=4000) for n in range(1, 6)), []))
    share = anatomy(server)["share"]
    assert (share["backward"], share["other"], share["forward"]) == (None, None, pytest.approx(0.3))


def test_megatron_ranks_in_rows(server):
    """The newer print: the slowest rank's time counts."""
    rows = []
    for n in range(1, 6):
        at = T0 + n * MINUTE_MS
        rows += [line(at, iteration(n, 1000.0)), "(min, max) time across ranks (ms):",
            "    forward-compute ................................: (200.00, 300.00)", "    backward-compute ...............................: (350.00, 400.00)"]
    server.send("j", rows)
    share = anatomy(server)["share"]
    assert (share["forward"], share["backward"], share["other"]) == (pytest.approx(0.3), pytest.approx(0.4), pytest.approx(0.3))
    assert [share[part] for part in ("data", "communication", "optimizer", "checkpoint")] == [None] * 4


def test_range_of_steps(server):
    server.send("j", megatron(1, 10) + megatron(11, 20, forward=350.0))
    assert anatomy(server, query="?from_step=11")["share"]["forward"] == pytest.approx(0.3)
    assert anatomy(server, query="?to_step=10")["share"]["forward"] == pytest.approx(0.25)
    assert anatomy(server, query="?from_step=10&to_step=11")["steps"] == 2
    assert anatomy(server, query="?from_step=21")["by_stream"] == []


def test_what_was_made_again_counts_once(server):
    server.send("j", megatron(1, 20) + megatron(11, 20, forward=350.0))
    found = anatomy(server, query="?from_step=11")
    assert (found["steps"], found["share"]["forward"]) == (10, pytest.approx(0.3))


def test_deepspeed_by_hand(server):
    """Of 100 ms: 30 forward, 50 backward with 10 of communication inside, 15 of the optimizer. Micro-steps are parts of these."""
    rank = "[2025-01-02 15:46:55,967] [INFO] [logging.py:128:log_dist] [Rank 0]"
    server.send("j", sum(([f"steps: {n} loss: 2.5000 iter time (s): 0.100 samples/sec: 80.000",
        f"{rank} time (ms) | fwd_microstep: 15.00 | bwd_microstep: 25.00 | bwd_inner_microstep: 25.00 | bwd_allreduce_microstep: 0.00 | step_microstep: 15.00",
        f"{rank} time (ms) | fwd: 30.00 | bwd: 50.00 | bwd_inner: 40.00 | bwd_allreduce: 10.00 | step: 15.00"] for n in range(1, 8)), []))
    found = anatomy(server)
    want = {"data": None, "forward": 0.3, "backward": 0.4, "communication": 0.1, "optimizer": 0.15, "checkpoint": None, "other": 0.05}
    assert found["share"] == {part: None if share is None else pytest.approx(share) for part, share in want.items()}
    assert found["by_stream"][0]["from"]["backward"] == "(time:bwd - time:bwd_allreduce) / train:step_time"


LOADERS = {
    "openmmlab": "2021-12-21 21:51:30,877 - mmdet - INFO - Epoch [1][{step}/930]      lr: 1.978e-03, eta: 0:56:09, time: 0.250, data_time: 0.050, memory: 3050, loss: 1.1",
    "detectron2": "[05/01 10:00:00 d2.utils.events]:  eta: 1:20:10  iter: {step}  total_loss: 2.5  loss_cls: 0.7  time: 0.25  data_time: 0.05  lr: 0.0004995  max_mem: 2640M",
    "torchvision": "Epoch: [0]  [  {step}/5004]  eta: 1:02:01  lr: 0.000001  loss: 1.9312 (1.9501)  acc1: 12.5 (10.1)  time: 0.25  data: 0.05  max mem: 12000",
    "maskrcnn": "2019-05-27 10:48:54,461 maskrcnn_benchmark.trainer INFO: eta: 0:17:37  iter: {step}  loss: 0.6097 (0.9191)"
    "  time: 0.2500 (0.5132)  data: 0.0500 (0.0078)  lr: 0.000025  max mem: 4358",
    "vjepa": "[INFO    ][2026-03-01 12:00:00][train               ] [1,    {step}] loss: 0.625 masks: ['0.621'] [wd: 4.00e-02] [lr: 2.00e-04]"
    " [mem: 3.11e+04] [iter: 250.0 ms] [gpu: 180.0 ms] [data: 50.0 ms]",
}


@pytest.mark.parametrize("trainer", LOADERS)
def test_the_wait_for_data_inside_the_step(server, trainer):
    server.send("j", [line(T0 + n * MINUTE_MS, LOADERS[trainer].format(step=n * 10)) for n in range(1, 8)])
    found = anatomy(server)
    assert (found["steps"], found["share"]["data"], found["share"]["other"]) == (7, pytest.approx(0.2), pytest.approx(0.8))
    assert found["by_stream"][0]["from"]["data"] == "(train:data_time) / train:step_time"


def test_a_step_time_without_the_wait_is_no_whole(server):
    """lerobot's updt_s does not hold its data_s."""
    server.send("j", [line(T0 + n * MINUTE_MS, f"INFO 2026-03-01 12:00:00 ot_train.py:432 step:{n * 200} smpl:2K ep:5 epch:0.125 loss:0.8125 grdn:4.125"
        " lr:1.0e-05 updt_s:0.2125 data_s:0.0125") for n in range(1, 8)])
    assert anatomy(server)["by_stream"] == []


def test_torchtitan_by_its_metrics(server):
    """As TensorBoard and W&B get them: seconds, of a step."""
    for name, value in (("end_to_end", 2.0), ("data_loading", 0.5)):
        send_points(server, "j", f"time_metrics/{name}(s)", [value] * 7)
    found = anatomy(server)
    assert (found["steps"], found["share"]["data"], found["share"]["other"]) == (7, pytest.approx(0.25), pytest.approx(0.75))
    assert found["by_stream"][0]["from"]["data"] == "(time_metrics/data_loading(s)) / time_metrics/end_to_end(s)"


def test_medians_over_streams(server):
    for stream, forward in (("algo-1", 300.0), ("algo-2", 310.0), ("algo-3", 450.0)):
        server.send("j", megatron(1, 5, forward=forward), stream=stream)
    found = anatomy(server)
    assert found["share"]["forward"] == pytest.approx(0.26)
    assert [s["share"]["forward"] for s in found["by_stream"]] == [pytest.approx(share) for share in (0.25, 0.26, 0.4)]


def test_more_than_the_step_leaves_no_other(server):
    server.send("j", megatron(1, 5, ms=600.0))
    share = anatomy(server)["share"]
    assert share["other"] is None and share["backward"] == pytest.approx(400 / 600)


def test_only_the_newest_512_steps(server):
    server.send("j", megatron(1, 513))
    assert anatomy(server)["steps"] == 512


def test_of_a_long_job_any_steps(server):
    """The end is read first, and what is asked of earlier steps is found all the same; one timer is in every tenth step alone."""
    told = []
    for n in range(1, 6001):
        timers = {"optimizer": 100} if n % 10 == 0 else {}
        told += one_line(n, forward_compute=250 if n <= 3000 else 300, **timers)
    server.send("j", told)
    forward = {query: (found["steps"], round(found["share"]["forward"], 6), round(found["share"]["optimizer"], 6))
        for query in ("", "?to_step=3000", "?from_step=2901&to_step=3100", "?from_step=1&to_step=20", "?from_step=5991")
        for found in [anatomy(server, query=query)]}
    assert forward == {"": (512, 0.3, 0.1), "?to_step=3000": (512, 0.25, 0.1), "?from_step=2901&to_step=3100": (200, 0.275, 0.1),
        "?from_step=1&to_step=20": (20, 0.25, 0.1), "?from_step=5991": (10, 0.3, 0.1)}


def test_what_nobody_times_is_null(server):
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} loss: 2.5") for n in range(1, 11)])
    found = anatomy(server)
    assert (found["steps"], found["by_stream"], set(found["share"].values())) == (0, [], {None})
    assert server.get("/api/v1/jobs/none/anatomy").status == 404
    for query in ("from_step=x", "to_step=-1", "x=1"):
        assert server.get(f"/api/v1/jobs/j/anatomy?{query}").status == 400
    refused = server.get("/api/v1/jobs/j/anatomy?from_step=50&to_step=10")
    assert refused.status == 422 and "'to_step' (10) must not be below 'from_step' (50)" in refused.body["detail"]


def test_an_empty_answer_says_why(server):
    rank = "[2025-01-02 15:46:55,967] [INFO] [logging.py:128:log_dist] [Rank 0]"
    server.send("bare", ["step: 1 loss: 2.5"])
    server.send("engine", [f"{rank} time (ms) | fwd: 30.00 | bwd: 50.00 | bwd_inner: 40.00 | bwd_allreduce: 10.00 | step: 15.00"] * 3)
    server.send("whole", sum((one_line(n, forward_compute=500, backward_compute=400) for n in range(1, 5)), []))
    assert "no stream has timers" in anatomy(server, "bare")["reason"]
    assert "not the step itself" in anatomy(server, "engine")["reason"]
    assert "none of the chosen steps" in anatomy(server, "whole", "?from_step=100")["reason"]
    assert "reason" not in anatomy(server, "whole")


def fetching(first, last, ms):
    """Of 1000 ms of a step."""
    return sum((one_line(n, forward_compute=500, backward_compute=400, batch_generator=ms) for n in range(first, last + 1)), [])


def waits(server, job, state="open"):
    return [row for row in incidents(server, job, "data_wait") if row["state"] == state]


DOCUMENTS = {"j": ({"AlgorithmSpecification": {"TrainingInputMode": "FastFile"}}, "SlowDown"),
    "fsx": ({"InputDataConfig": [{"ChannelName": "train", "DataSource": {"FileSystemDataSource": {"FileSystemId": "fs-0123456789abcdef0",
        "FileSystemAccessMode": "ro", "FileSystemType": "FSxLustre", "DirectoryPath": "/a"}}}]}, "FSx"),
    "file": ({"AlgorithmSpecification": {"TrainingInputMode": "File"}}, "num_workers"), "unknown": ({}, "storage that it reads")}


def test_data_wait_that_grows_is_an_incident(server):
    """5 % of the first 40 steps, and of the newest eight 20 %, or 14.9: less than 10 points. A look comes within seconds."""
    server.send("less", fetching(1, 40, 50) + fetching(41, 48, 149))
    server.send("few", fetching(1, 23, 50) + fetching(24, 31, 200))  # 24 before are needed
    for job, (document, _) in DOCUMENTS.items():
        reply = server.post("/api/v1/jobs", json={"TrainingJobName": job, **document})
        assert reply.status in (200, 201), reply
        server.send(job, fetching(1, 40, 50) + fetching(41, 48, 200))
    for job, (_, words) in DOCUMENTS.items():
        [row] = wait_until(lambda job=job: waits(server, job), what=f"the incident of {job}")
        assert (row["opened_step"], row["evidence"]["value"], row["evidence"]["expected"]) == (41, pytest.approx(20), pytest.approx(5))
        assert row["opened_ms"] == T0 + 41 * MINUTE_MS  # when the log has that step, and not when somebody looked
        assert words in row["evidence"]["action"] and row["evidence"]["stream"] == "algo-1" and row["severity"] == "warning"
    assert incidents(server, "less", "data_wait") == incidents(server, "few", "data_wait") == [], "they were looked at before"


@long
def test_data_wait_ends_as_it_was_before(server):
    server.send("j", fetching(1, 40, 50) + fetching(41, 48, 200))
    wait_until(lambda: waits(server, "j"), what="the incident")
    server.send("j", fetching(49, 56, 50))
    wait_until(lambda: waits(server, "j", "recovered"), what="its end")
    server.send("j", fetching(57, 64, 300))
    wait_until(lambda: waits(server, "j"), what="another one")
    server.send("j", fetching(65, 300, 300))
    wait_until(lambda: len(waits(server, "j", "recovered")) == 2, what="the new level")
