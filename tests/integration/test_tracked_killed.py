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
