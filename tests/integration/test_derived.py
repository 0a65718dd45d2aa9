"""Derived metrics: what follows from the log's points and the job's settings, marked, with formula and inputs; and the ETA."""

import datetime

import pytest
from smserver import wait_until

ARGUMENTS = [
    "------------------------ arguments ------------------------",
    "  global_batch_size ............................... 512",
    "  seq_length ...................................... 2048",
    "  world_size ...................................... 16",
    "  num_parameters .................................. 6.7B",
    "  train_iters ..................................... 1000",
    "-------------------- end of arguments ---------------------",
]
START_MS = 1_700_000_000_123
STEP_MS = 20_000
MACHINES = {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2}


def line(step, ts_ms, more=""):
    time = datetime.datetime.fromtimestamp(ts_ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return f"{time} step: {step} loss: 2.5{more}"


def steps(first, last, start_ms=START_MS, more=""):
    return [line(step, start_ms + step * STEP_MS, more) for step in range(first, last)]


def derived(server, job):
    series = server.get(f"/api/v1/jobs/{job}/metrics").body["series"]
    return {one["metric"]: one for one in series if one["metric"].startswith("derived:")}


def job_with(server, job, key):
    return wait_until(lambda: (lambda body: body if key in body else None)(server.get(f"/api/v1/jobs/{job}").body), what=key)


def test_everything_follows_from_times_settings_and_machines(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "gpt", "ResourceConfig": MACHINES}).status == 201
    server.send("gpt", [*ARGUMENTS, *steps(0, 101)])
    server.wait_for_points("gpt", "derived:mfu", 99)
    job = job_with(server, "gpt", "eta_ms")
    got = derived(server, "gpt")
    rate = 512 * 2048 / 20
    want = {"steps_per_second": 0.05, "tokens": 100 * 512 * 2048, "tokens_per_second": rate, "tokens_per_second_per_device": rate / 16,
        "tflops_per_device": 6 * 6.7e9 * rate / 16 / 1e12, "mfu": 100 * 6 * 6.7e9 * rate / 16 / 1e12 / 312}
    assert {name.removeprefix("derived:"): one["last"] for name, one in got.items()} == pytest.approx(want)
    mfu = got["derived:mfu"]
    assert mfu["role"] == "mfu" and mfu["unit"] == "%" and mfu["derived"]["formula"].startswith("100 * TFLOP/s")
    inputs = mfu["derived"]["inputs"]
    assert inputs["peak_tflops"] == {"value": 312, "from": "2 x ml.p4d.24xlarge"}
    assert inputs["devices"] == {"value": 16, "from": "world_size, algo-1 line 3"}
    assert inputs["parameters"] == {"value": 6.7e9, "from": "num_parameters, algo-1 line 4"}
    printed = [one for one in server.get("/api/v1/jobs/gpt/metrics").body["series"] if "derived" not in one]
    assert [one["role"] for one in printed] == ["loss"]
    chart = server.points("gpt", "mfu")
    assert chart["metric"] == "derived:mfu"
    assert job["total_steps"] == 1000 and job["total_steps_from"].startswith("train_iters")
    assert job["eta_ms"] == pytest.approx(START_MS + 1000 * STEP_MS, abs=1000)
    found = server.get("/api/v1/jobs?q=mfu.last%3E40").body["jobs"]
    assert [one["TrainingJobName"] for one in found] == ["gpt"] and found[0]["total_steps"] == 1000


def test_stated_settings_are_believed_before_the_log(server):
    document = {"TrainingJobName": "gpt", "HyperParameters": {"global_batch_size": "256", "train_iters": "200"}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    server.send("gpt", [*ARGUMENTS, *steps(0, 11)])
    server.wait_for_points("gpt", "derived:tokens", 11)
    assert server.points("gpt", "derived:tokens")["columns"]["last"] == [step * 256 * 2048 for step in range(11)]
    tokens = derived(server, "gpt")["derived:tokens"]
    assert tokens["last"] == 10 * 256 * 2048
    assert tokens["derived"]["inputs"]["global_batch_size"] == {"value": 256, "from": "global_batch_size, HyperParameters"}
    assert "derived:mfu" not in derived(server, "gpt") # whose peak nobody knows
    assert job_with(server, "gpt", "total_steps")["total_steps"] == 200


def test_what_the_log_prints_is_not_derived(server):
    server.send("gpt", [*ARGUMENTS, *steps(0, 11, more=" tokens/s: 50000")])
    server.wait_for_points("gpt", "derived:steps_per_second", 9)
    got = derived(server, "gpt")
    assert "derived:tokens_per_second" not in got
    assert got["derived:tokens_per_second_per_device"]["last"] == pytest.approx(50000 / 16)


def test_arrival_times_and_unknown_batches_give_nothing(server):
    server.send("gpt", [f"step: {step} loss: 2.5" for step in range(20)])
    server.wait_for_points("gpt", "train:loss", 20)
    assert derived(server, "gpt") == {}
    server.send("half", steps(0, 11))
    server.wait_for_points("half", "derived:steps_per_second", 9)
    assert list(derived(server, "half")) == ["derived:steps_per_second"]


def test_a_restart_and_a_pause_give_no_absurd_rates(server):
    later = START_MS + 10_000_000
    lines = [*ARGUMENTS, *steps(0, 50), *[line(50 + i, START_MS + 50 * STEP_MS + 600_000 + i * STEP_MS) for i in range(20)],
        "Starting training", *[line(40 + i, later + i * STEP_MS) for i in range(30)]]
    server.send("gpt", lines)
    query = "/api/v1/jobs/gpt/points?metric=derived:steps_per_second&raw=true&attempts=all"

    def rates():
        reply = server.get(query)
        values = reply.body["series"][0]["value"] if reply.status == 200 else []
        return values if len(values) >= 48 + 19 + 29 else None
    assert wait_until(rates, what="all rates") == pytest.approx([0.05] * 96)
    assert server.get("/api/v1/jobs/gpt").body["attempts"] == 2


def test_the_settings_of_one_stream_serve_the_others(server):
    server.send("gpt", ARGUMENTS, stream="algo-1")
    job_with(server, "gpt", "HyperParametersFromLog")
    server.send("gpt", steps(0, 11), stream="algo-2")
    server.wait_for_points("gpt", "derived:tokens_per_second", 9, stream="algo-2")


def test_killed_and_replayed_the_points_are_the_same(make_server):
    for options in (("--seal-age", "100ms"), ()):
        server = make_server(*options)
        server.send("whole", [*ARGUMENTS, *steps(0, 60)])
        for first in range(0, 60, 10):
            server.send("cut", [*(ARGUMENTS if first == 0 else []), *steps(first, first + 10)])
            if first in (10, 30):
                server.kill()
                server.start()
        for metric, count in (("derived:steps_per_second", 58), ("derived:tokens", 60), ("derived:tokens_per_second", 58)):
            server.wait_for_points("cut", metric, count)
            server.wait_for_points("whole", metric, count)

            def is_same():  # what is counted already may be drawn a moment later
                parts = [server.get(f"/api/v1/jobs/{job}/points?metric={metric}&raw=true").body["series"][0] for job in ("cut", "whole")]
                return parts[0] == parts[1] or {**parts[0], "line": 0} == {**parts[1], "line": 0}
            wait_until(is_same, what=f"the same {metric}")
        server.kill()
        server.start()
        assert derived(server, "cut")["derived:tokens"]["count"] == 60
