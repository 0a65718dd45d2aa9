"""What breaks a training off, and what does not: statuses that stand while steps go on, and what was before a start set by hand."""

import datetime

import pytest

from smserver import wait_until

BEGIN_S = 1_794_700_800  # 2026-11-15 00:00 UTC
STEP_S = 40
STEPS = 200
FIRST_S = 60  # of the Training; step n is printed at FIRST_S + n * STEP_S
END_S = FIRST_S + (STEPS + 1) * STEP_S
MIDDLE_S = FIRST_S + 100 * STEP_S + 1  # one second behind step 100
PRICE = 0.36  # an hour: 0.004 for forty seconds


@pytest.fixture
def quick(make_server):
    server = make_server("--goodput-every", "100ms")
    prices = {"currency": "USD", "prices": [{"instance": "ml.c5.xlarge", "per_hour": PRICE}]}
    assert server.request("PUT", "/api/v1/prices", json=prices).status == 200
    return server


def begin(server, job, *states):
    document = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 5}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    for status, after_s in states:
        change = {"SecondaryStatus": status, "time_ms": (BEGIN_S + after_s) * 1000}
        assert server.post(f"/api/v1/jobs/{job}/transitions", json=change).status == 204


def log(server, job, steps):
    """Of (step, seconds after the beginning)."""
    def stamp(after_s):
        return datetime.datetime.fromtimestamp(BEGIN_S + after_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = "".join(f"{stamp(after_s)} step {step} loss: 2.5\n" for step, after_s in steps)
    assert server.post(f"/api/v1/logs?job={job}&stream=algo-1", text.encode(), content_type="text/plain").status == 200


def even_steps():
    return [(step, FIRST_S + step * STEP_S) for step in range(1, STEPS + 1)]


def goodput(server, job, made):
    url = f"/api/v1/jobs/{job}/goodput"
    wait_until(lambda: (server.get(url).body.get("steps") or {}).get("made") == made, what=lambda: server.get(url).body)
    return server.get(url).body


@pytest.mark.parametrize("states, breaks", [
    ([("Starting", 0), ("Training", FIRST_S), ("Stopping", MIDDLE_S), ("Stopped", END_S)], 0),
    ([("Starting", 0), ("Training", FIRST_S), ("Uploading", MIDDLE_S), ("Completed", END_S)], 0),
    ([("Starting", 0), ("Training", FIRST_S), ("Updating", MIDDLE_S), ("Training", MIDDLE_S + 60), ("Completed", END_S)], 0),
    ([("Starting", 0), ("Training", MIDDLE_S), ("Completed", END_S)], 0),
    ([("Starting", 0), ("Training", FIRST_S), ("Restarting", MIDDLE_S), ("Training", MIDDLE_S + 20 * STEP_S), ("Completed", END_S)], 1),
], ids=["stopping", "uploading", "updating", "training late", "restarting"])
def test_steps_that_go_on_beside_a_status_are_not_broken_off(quick, states, breaks):
    begin(quick, "j", *states)
    log(quick, "j", even_steps())
    found = goodput(quick, "j", STEPS)
    assert len(found["breaks"]) == breaks and sum(cause["count"] for cause in found["causes"]) == breaks
    assert found["steps"]["lost"] == 0

    def of_the_fleet():
        return quick.get("/api/v1/goodput?from=2026-11-15&to=2026-11-15").body
    wait_until(lambda: of_the_fleet()["buckets"]["productive"]["node_hours"] > 0, what=of_the_fleet)  # the day knows the steps
    assert sum(cause["count"] for cause in of_the_fleet()["causes"]) == breaks


def test_a_start_by_hand_leaves_out_the_steps_and_breaks_before_it(quick):
    """200 steps, ten minutes of a break, 181..400: the hour set by hand is that of the last steps but ten."""
    begin(quick, "j", ("Starting", 0), ("Training", FIRST_S), ("Completed", FIRST_S + 421 * STEP_S + 600))
    again = [(step, FIRST_S + (step + 20) * STEP_S + 600) for step in range(181, 401)]
    log(quick, "j", even_steps() + again)
    whole = goodput(quick, "j", 400)
    assert (len(whole["breaks"]), whole["steps"]["lost"]) == (1, 20)

    def lost():
        return quick.get("/api/v1/aggregate?of=sum:lost_steps").body["groups"][0]["sum:lost_steps"]
    wait_until(lambda: lost() == 20, what=lost)
    start_s, end_s = FIRST_S + 320 * STEP_S + 600, FIRST_S + 410 * STEP_S + 600  # of steps 300 and 390
    by_hand = {"start_ms": (BEGIN_S + start_s) * 1000, "end_ms": (BEGIN_S + end_s) * 1000}
    assert quick.request("PATCH", "/api/v1/jobs/j", json={"by_hand": by_hand}).status in (200, 204)
    found = goodput(quick, "j", 90)
    assert found["buckets"]["productive"]["seconds"] == 90 * STEP_S == 3600
    assert found["cost"]["per_step"] == pytest.approx(PRICE / 90)
    assert found["breaks"] == [] and found["causes"] == [] and found["steps"]["lost"] == 0
    wait_until(lambda: lost() == 0, what="the break before the start to be gone from the sums")

    assert quick.request("PATCH", "/api/v1/jobs/j", json={"by_hand": None}).status in (200, 204)
    assert len(goodput(quick, "j", 400)["breaks"]) == 1


def test_a_start_by_hand_in_the_middle_breaks_nothing_off(quick):
    begin(quick, "j", ("Starting", 0), ("Training", FIRST_S), ("Completed", END_S))
    log(quick, "j", even_steps())
    goodput(quick, "j", STEPS)
    by_hand = {"start_ms": (BEGIN_S + FIRST_S + 100 * STEP_S) * 1000}
    assert quick.request("PATCH", "/api/v1/jobs/j", json={"by_hand": by_hand}).status in (200, 204)
    found = goodput(quick, "j", 100)
    assert found["breaks"] == [] and found["causes"] == []
    assert found["buckets"]["productive"]["seconds"] == 100 * STEP_S


def test_what_failed_prints_its_last_step_and_restarts_without_one(quick):
    """A step in the midst of statuses that break it off, and none behind them, ended the server when somebody asked for the goodput."""
    begin(quick, "j", ("Starting", 0), ("Training", FIRST_S))
    log(quick, "j", even_steps())
    for status, after_s in (("Failed", END_S - STEP_S - 5), ("Restarting", END_S + 60), ("Training", END_S + 120), ("Completed", END_S + 600)):
        change = {"SecondaryStatus": status, "time_ms": (BEGIN_S + after_s) * 1000}
        assert quick.post("/api/v1/jobs/j/transitions", json=change).status == 204
    body = goodput(quick, "j", STEPS)
    [broken] = body["breaks"]
    assert (broken["from_ms"], broken["to_ms"]) == ((BEGIN_S + END_S + 60) * 1000, (BEGIN_S + END_S + 120) * 1000)
    assert (broken["step"], broken["cause"]) == (STEPS, "unknown")


OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.1 GiB is free."
TIMED_OUT = ("[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, "
             "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600031 milliseconds before timing out.")
LAST_S = FIRST_S + STEPS * STEP_S


@pytest.mark.parametrize("out_of_memory_s, others, cause, title", [
    (LAST_S - 4, True, "cuda_oom", "GPU out of memory"),  # rank 0 prints beside it
    (LAST_S - 4, False, "cuda_oom", "GPU out of memory"),
    (LAST_S + 4, True, "cuda_oom", "GPU out of memory"),
    (LAST_S - 600, False, "cuda_oom", "GPU out of memory"),  # nothing else was said: of a quarter of an hour before the end
    (LAST_S - 600, True, "nccl_timeout", "NCCL timeout"),  # work went on behind it
    (LAST_S - 1200, False, None, None),
])
def test_one_failure_has_one_cause(quick, out_of_memory_s, others, cause, title):
    """Of its incident, of its reason and of its goodput."""
    end_s = LAST_S + (610 if others else 30)
    begin(quick, "j", ("Starting", 0), ("Training", FIRST_S))
    log(quick, "j", even_steps())

    def stamp(after_s):
        return datetime.datetime.fromtimestamp(BEGIN_S + after_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    quick.send("j", f"{stamp(out_of_memory_s)} {OUT_OF_MEMORY}", stream="algo-2")
    if others:
        quick.send("j", f"{stamp(LAST_S + 600)} {TIMED_OUT}")
    quick.wait_for_extraction()
    change = {"SecondaryStatus": "Failed", "time_ms": (BEGIN_S + end_s) * 1000}
    assert quick.post("/api/v1/jobs/j/transitions", json=change).status == 204

    def failed():
        rows = quick.get("/api/v1/incidents?q=name%3Dj").body["incidents"]
        return [row["evidence"].get("fault", {}) for row in rows if row["kind"] == "job_failed"]
    [fault] = wait_until(lambda: [one for one in failed() if one or not cause], what=failed)
    [broken] = goodput(quick, "j", STEPS)["breaks"]
    assert (fault.get("signature"), fault.get("title")) == (cause, title)
    assert broken["cause"] == (cause or "unknown"), broken
    assert (title or "") in (quick.get("/api/v1/jobs/j").body.get("FailureReason") or "")
