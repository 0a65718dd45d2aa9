"""A tracker's client always says that its run begins, and one that is killed never says the end: its job costs until its last sign of life."""

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
