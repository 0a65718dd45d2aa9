"""A tracker's client always says that its run begins, and one that is killed never says the end: its job costs until its last sign of life."""

import json
import time

from mlflowclient import call, make_run
from smserver import wait_until

HOUR_S = 3600


def log(server, run, began_s, first, count):
    metrics = [{"key": "loss", "value": 1, "timestamp": 1000 * (began_s + at), "step": at} for at in range(first, first + count)]
    assert call(server, "runs/log-batch", {"run_id": run, "metrics": metrics})[0] == 200


def billed(server, name):
    """Seconds: of its cost, and of sums."""
    [group] = server.get(f"/api/v1/aggregate?q=name={name}&of=sum:node_hours").body["groups"]
    return server.get(f"/api/v1/jobs/{name.replace('/', '%2F')}/goodput").body["cost"]["billable_seconds"] or 0, round(3600 * (group["sum:node_hours"] or 0))


def begin(server, name, began_s):
    return make_run(server, run_name=name, start_time=1000 * began_s)


def until(server, name):
    """Of its beginning the worked_until_ms of a job that goes no more, in seconds; None: it goes."""
    document = server.get(f"/api/v1/jobs/Default%2F{name}").body
    assert document["TrainingJobStatus"] == "InProgress"
    return document.get("worked_until_ms") and document["worked_until_ms"] / 1000 - document["TrainingStartTime"]


def test_a_killed_run_costs_until_its_last_sign_of_life(make_server):
    server = make_server("--silent-after", "2s", "--goodput-every", "100ms")
    past_s = int(time.time()) - 1000 * HOUR_S
    log(server, begin(server, "past", past_s), past_s, 1, 100)
    begin(server, "empty", past_s)
    live_s = int(time.time()) - 100
    live = begin(server, "live", live_s)
    log(server, live, live_s, 1, 90)
    for name, seconds in (("past", 100), ("empty", 0), ("live", 90)):
        wait_until(lambda: until(server, name) == seconds, what=f"'{name}' to go no more, not {until(server, name)}")
        wait_until(lambda: billed(server, f"Default/{name}") == (seconds, seconds), what=f"{seconds} s, not {billed(server, f'Default/{name}')}")
    other = make_server("--silent-after", "2s", "--goodput-every", "100ms")
    for name, seconds in (("past", 100), ("empty", 0)):
        moved = other.post("/api/v1/import", server.get(f"/api/v1/export?q=name%3DDefault%2F{name}").raw, content_type="application/x-ndjson")
        assert moved.status == 200, moved
        wait_until(lambda: until(other, name) == seconds, what=f"'{name}' to go no more there either, not {until(other, name)}")
        wait_until(lambda: billed(other, f"Default/{name}") == (seconds, seconds), what=f"{seconds} s there, too")
    log(server, live, live_s, 91, 5)
    wait_until(lambda: until(server, "live") == 95, what="what went on to count")
    assert call(server, "runs/update", {"run_id": live, "status": "FINISHED", "end_time": 1000 * (live_s + 97)})[0] == 200
    wait_until(lambda: billed(server, "Default/live") == (97, 97), what="its end")


def test_a_scheduler_that_says_when_a_job_began_will_say_its_end(make_server):
    """Of the job that somebody else made and dates the run is a part: it goes until now, as it did."""
    server = make_server("--silent-after", "1s", "--goodput-every", "100ms")
    began_s = int(time.time()) - 1000 * HOUR_S
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "mine"}).status < 300
    assert server.post("/api/v1/jobs/mine/transitions", json={"SecondaryStatus": "Training", "time_ms": 1000 * began_s}).status == 204
    log(server, make_run(server, run_name="r", job_name="mine", start_time=1000 * (began_s + 5)), began_s, 10, 10)
    wait_until(lambda: min(billed(server, "mine")) >= 999 * HOUR_S, what="its hours")
    other = make_server("--silent-after", "1s", "--goodput-every", "100ms")
    assert other.post("/api/v1/import", server.get("/api/v1/export").raw, content_type="application/x-ndjson").status == 200
    for one in (server, other):
        wait_until(lambda: min(billed(one, "mine")) >= 999 * HOUR_S, what="its hours")
        assert "worked_until_ms" not in one.get("/api/v1/jobs/mine").body


def printed(server, job, first_s, lines):
    """One each second."""
    body = "".join(json.dumps({"log": line, "time": first_s + n}) + "\n" for n, line in enumerate(lines))
    assert server.post(f"/api/v1/logs?job={job}&stream=algo-1", body=body.encode(), content_type="application/x-ndjson").status == 200


def steps(first, end):
    return [f"step {step} loss: {5 / (step + 1):.5f}" for step in range(first, end)]


def test_what_a_killed_process_never_told_is_lost_as_its_lines_say(make_server):
    """Of three lives the first, steps 0 to 29, told its tracker nothing; they go on at 20 and at 40, up to 59: sixty steps, and 10 + 5 made twice. Lines without steps: nobody knows."""
    server = make_server("--goodput-every", "100ms", "--tracker-wait", "200ms")
    began_s = int(time.time()) - 1000
    def state(job, status, at_s):
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": 1000 * (began_s + at_s)}).status == 204
    def breaks(job):
        return [(one.get("step"), one["lost_steps"]) for one in server.get(f"/api/v1/jobs/{job}/goodput").body["breaks"]]
    for job, first in (("said", steps(0, 30)), ("unsaid", [str({"loss": 5 / n, "epoch": n / 10}) for n in range(1, 31)])):
        printed(server, job, began_s, ["it begins"])
        run = make_run(server, run_name=job, job_name=job, start_time=1000 * began_s)
        state(job, "Training", 0)
        printed(server, job, began_s + 1, first)
        server.wait_for_points(job, "train:loss", 30)
        for at_s, begin, end in ((50, 20, 45), (100, 40, 60)):
            state(job, "Interrupted", at_s - 15)
            state(job, "Training", at_s - 5)
            printed(server, job, began_s + at_s - 1, [f"Resuming from checkpoint at step {begin}", *(steps(begin, end) if job == "said" else [])])
            server.wait_for_extraction()
            log(server, run, began_s + at_s - begin, begin, end - begin)
        state(job, "Completed", 121)
    counts = lambda: [server.get("/api/v1/jobs/said/goodput").body["steps"][key] for key in ("made", "lost")]
    wait_until(lambda: (counts(), breaks("said")) == ([60, 15], [(29, 10), (44, 5)]), what=f"what was made twice, not {breaks('said')}")
    wait_until(lambda: breaks("unsaid") == [(None, None), (44, 5)], what=f"that nobody knows it, not {breaks('unsaid')}")


def stated(server, job, status, at_ms):
    assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": at_ms}).status == 204


def seconds(server, job, *buckets):
    found = server.get(f"/api/v1/jobs/{job}/goodput").body["buckets"]
    return [found[bucket]["seconds"] for bucket in buckets]


def test_what_a_killed_process_printed_beyond_what_it_told_is_lost_as_its_lines_say(make_server):
    """A step a second. The first life prints steps 0 to 29, and has told 0 to 17 when it is killed; a second goes on at 20, to 44. Steps 18 to 29 were made,
    20 to 29 twice. Another one tells another count (of every tenth part of a step): its lines say nothing of that."""
    server = make_server("--goodput-every", "100ms", "--tracker-wait", "200ms")
    began_s = int(time.time()) - 1000
    runs = {}
    for job, every in (("same", 1), ("other", 10)):
        printed(server, job, began_s - 1, ["it begins"])
        run = runs[job] = make_run(server, run_name=job, job_name=job, start_time=1000 * began_s)
        stated(server, job, "Training", 1000 * began_s)
        printed(server, job, began_s, steps(0, 30))
        server.wait_for_points(job, "train:loss", 30)
        metrics = [{"key": "loss", "value": 1, "timestamp": 1000 * (began_s + at), "step": every * at} for at in range(18)]
        assert call(server, "runs/log-batch", {"run_id": run, "metrics": metrics})[0] == 200
        server.wait_for_points(job, "loss", 18)
    steps_of = lambda job: [server.get(f"/api/v1/jobs/{job}/goodput").body["steps"].get(key) for key in ("metric", "made", "lost", "last")]
    wait_until(lambda: steps_of("same") == ["loss", 30, 0, 29], timeout=15, what=f"the steps that it printed, not {steps_of('same')}")
    wait_until(lambda: steps_of("other")[3] == 170, timeout=15, what=f"the steps that it told, not {steps_of('other')}")

    stated(server, "same", "Interrupted", 1000 * (began_s + 30))
    stated(server, "same", "Training", 1000 * (began_s + 40))
    printed(server, "same", began_s + 49, ["Resuming from checkpoint at step 20", *steps(20, 45)])
    server.wait_for_extraction()
    metrics = [{"key": "loss", "value": 1, "timestamp": 1000 * (began_s + 30 + at), "step": at} for at in range(20, 45)]
    assert call(server, "runs/log-batch", {"run_id": runs["same"], "metrics": metrics})[0] == 200
    stated(server, "same", "Completed", 1000 * (began_s + 75))
    wait_until(lambda: steps_of("same") == ["loss", 45, 10, 44], timeout=15, what=f"what was made twice, not {steps_of('same')}")
    breaks = lambda: [(one["step"], one["from_step"], one["lost_steps"], one["redone_seconds"]) for one in server.get("/api/v1/jobs/same/goodput").body["breaks"]]
    wait_until(lambda: breaks() == [(29, 19, 10, 10)], timeout=15, what=f"what it lost, not {breaks()}")
    assert seconds(server, "same", "stalled", "redone") == [0, 10]


def test_the_steps_that_a_killed_job_printed_alone_are_lost_to_the_one_that_goes_on_with_it(make_server):
    """10 seconds a step: told to 17, printed to 29, and the next job goes on at 20: steps 20 to 29 are made twice."""
    server = make_server("--goodput-every", "100ms", "--tracker-wait", "200ms")
    began_s = int(time.time()) - 1000
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "a", "HyperParameters": {"tokens_per_step": "1000"}}).status == 201
    printed(server, "a", began_s - 1, ["it begins"])
    run = make_run(server, run_name="a", job_name="a", start_time=1000 * began_s)
    stated(server, "a", "Training", 1000 * began_s)
    body = "".join(json.dumps({"log": text, "time": began_s + 10 * n}) + "\n" for n, text in enumerate(steps(0, 30)))
    assert server.post("/api/v1/logs?job=a&stream=algo-1", body=body.encode(), content_type="application/x-ndjson").status == 200
    metrics = [{"key": "loss", "value": 1, "timestamp": 1000 * (began_s + 10 * at), "step": at} for at in range(18)]
    assert call(server, "runs/log-batch", {"run_id": run, "metrics": metrics})[0] == 200
    server.wait_for_points("a", "loss", 18)
    stated(server, "a", "Failed", 1000 * (began_s + 291))
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "b", "Tags": [{"Key": "continues", "Value": "a"}]}).status == 201
    printed(server, "b", began_s + 400, steps(20, 40))
    server.wait_for_points("b", "train:loss", 20)
    breaks = lambda: [(one.get("step"), one.get("from_step"), one["lost_steps"]) for one in server.get("/api/v1/jobs/a/goodput").body["breaks"]]
    wait_until(lambda: breaks() == [(29, 19, 10)], timeout=15, what=f"what the job lost, not {breaks()}")
    assert seconds(server, "a", "stalled", "redone") == [1, 100]
    assert server.get("/api/v1/jobs/a/tokens").body["consumed"] == 29 * 1000
