"""A tracked run whose process was killed, and that a new process goes on with: what lies between is billed to nobody."""

import json
import time

import pytest

from mlflowclient import call, make_run
from smserver import wait_until
from wandbclient import make_run as make_wandb_run
from wandbclient import post

OPTIONS = ("--silent-after", "2s", "--goodput-every", "100ms")
HISTORY = "wandb-history.jsonl"


@pytest.fixture
def server(make_server):
    return make_server(*OPTIONS)


def log(server, run, at_s, first, count):
    metrics = [{"key": "loss", "value": 1, "timestamp": 1000 * (at_s + n), "step": first + n} for n in range(count)]
    assert call(server, "runs/log-batch", {"run_id": run, "metrics": metrics})[0] == 200


def update(server, run, **members):
    assert call(server, "runs/update", {"run_id": run, **members})[0] == 200


def resume(server, run, at_s):
    """As sm-ship's relay says it; a client alone is believed to go on when it says so."""
    update(server, run, status="RUNNING", resumed_time=1000 * at_s)


def finish(server, run, at_s):
    update(server, run, status="FINISHED", end_time=1000 * at_s)


def begin(server, name, began_s):
    return make_run(server, run_name=name, start_time=1000 * began_s)


def read(server, job):
    return server.get(f"/api/v1/jobs/{job.replace('/', '%2F')}").body


def statuses(server, job, began_s):
    return [(part["Status"], round(part["StartTime"] - began_s)) for part in read(server, job)["SecondaryStatusTransitions"]]


def sums(server, job):
    """Seconds that are billed: of its cost, of its document and of sums; and those that are idle."""
    goodput = server.get(f"/api/v1/jobs/{job.replace('/', '%2F')}/goodput").body
    [group] = server.get(f"/api/v1/aggregate?q=name={job}&of=sum:node_hours").body["groups"]
    return (round(goodput["cost"]["billable_seconds"] or 0), read(server, job).get("BillableTimeInSeconds"),
        round(3600 * (group["sum:node_hours"] or 0)), round(goodput["buckets"]["idle"]["seconds"]))


def wait_for(server, job, billed, idle):
    wait_until(lambda: sums(server, job) == (billed, billed, billed, idle), what=f"{billed} s and {idle} s idle, not {sums(server, job)}")


def wait_for_billed(server, job, billed):
    wait_until(lambda: sums(server, job)[:3] == (billed, billed, billed), what=f"{billed} s, not {sums(server, job)}")


def test_what_lies_between_is_not_billed_each_time(server):
    month_s = 30 * 86400
    began_s = int(time.time()) - 2 * month_s
    run = begin(server, "month", began_s)
    log(server, run, began_s, 1, 100)
    resume(server, run, began_s + month_s)
    assert statuses(server, "Default/month", began_s) == [("Training", 0), ("Interrupted", 99), ("Training", month_s)]
    log(server, run, began_s + month_s, 101, 50)
    resume(server, run, began_s + month_s + 3600)
    log(server, run, began_s + month_s + 3600, 151, 20)
    finish(server, run, began_s + month_s + 3620)
    wait_for(server, "Default/month", 99 + 49 + 20, month_s - 99 + 3600 - 49 + 1)
    goodput = server.get("/api/v1/jobs/Default%2Fmonth/goodput").body
    assert goodput["buckets"]["stalled"]["seconds"] == 0
    other = [part[0] for part in statuses(server, "Default/month", began_s)]
    assert other == ["Training", "Interrupted", "Training", "Interrupted", "Training", "Completed"]


def test_a_client_alone_goes_on_when_it_says_so(server):
    began_s = int(time.time()) - 86400
    run = begin(server, "alone", began_s)
    log(server, run, began_s, 1, 100)
    update(server, run, status="RUNNING")
    log(server, run, int(time.time()), 101, 1)
    end_s = int(time.time()) + 3
    finish(server, run, end_s)
    [_, gone, again, _] = read(server, "Default/alone")["SecondaryStatusTransitions"]
    assert (gone["Status"], gone["StartTime"]) == ("Interrupted", began_s + 99)
    wait_until(lambda: abs(sums(server, "Default/alone")[0] - 99 - (end_s - again["StartTime"])) <= 1, what="both parts alone")


@pytest.mark.parametrize("comes", ["at once", "later"])
def test_an_end_that_is_dated_before_the_resumption_is_kept(make_server, comes):
    server = make_server(*OPTIONS, "--extract-threads", "1")
    began_s = int(time.time()) - 35 * 86400
    run = begin(server, "old", began_s)
    log(server, run, began_s, 1, 100)
    update(server, run, status="RUNNING")
    busy = "step 1 loss: 2.5 lr: 0.001 grad_norm: 0.5\n" * 60_000  # what comes behind it is read behind it
    assert server.post("/api/v1/logs?job=busy&stream=algo-1", body=busy).status == 200
    log(server, run, began_s + 86400, 101, 100)
    if comes == "later":
        wait_until(lambda: ("Training", 86400) in statuses(server, "Default/old", began_s), what="what it logged behind the resumption")
    update(server, run, status="FAILED", end_time=1000 * (began_s + 86400 + 150))
    wanted = [("Training", 0), ("Interrupted", 99), ("Training", 86400), ("Failed", 86400 + 150)]
    assert statuses(server, "Default/old", began_s) == wanted
    wait_for(server, "Default/old", 99 + 150, 86400 - 99)


def test_an_end_behind_which_nothing_was_logged_is_kept(server):
    began_s = int(time.time()) - 35 * 86400
    run = begin(server, "still", began_s)
    log(server, run, began_s, 1, 100)
    update(server, run, status="RUNNING")
    finish(server, run, began_s + 120)
    assert statuses(server, "Default/still", began_s) == [("Training", 0), ("Completed", 120)]


def test_one_that_goes_on_at_once_is_one_stretch(server):
    began_s = int(time.time()) - 3600
    run = begin(server, "short", began_s)
    log(server, run, began_s, 1, 100)
    resume(server, run, began_s + 101)
    log(server, run, began_s + 101, 101, 9)
    finish(server, run, began_s + 110)
    assert statuses(server, "Default/short", began_s) == [("Training", 0), ("Completed", 110)]
    wait_for(server, "Default/short", 110, 1)


@pytest.mark.parametrize("first", ["FINISHED", "FAILED"])
def test_a_run_that_one_of_its_processes_ended_trained_on(server, first):
    began_s = int(time.time()) - 3600
    run = begin(server, "two", began_s)
    log(server, run, began_s, 1, 51)
    update(server, run, status=first, end_time=1000 * (began_s + 50))
    log(server, run, began_s + 51, 52, 50)
    word = {"FINISHED": "Completed", "FAILED": "Failed"}[first]
    assert statuses(server, "Default/two", began_s) == [("Training", 0), (word, 50)], "a value that is logged behind the end alone is none of a training"
    finish(server, run, began_s + 101)
    wanted = [("Training", 0), (word, 50), ("Training", 51), ("Completed", 101)]
    assert statuses(server, "Default/two", began_s) == wanted
    wait_for_billed(server, "Default/two", 50 + 50)
    log(server, run, began_s + 110, 102, 20)
    finish(server, run, began_s + 130)
    wanted += [("Training", 110), ("Completed", 130)]
    assert statuses(server, "Default/two", began_s) == wanted
    finish(server, run, began_s + 500)  # and logged nothing since
    assert statuses(server, "Default/two", began_s) == wanted
    wait_for_billed(server, "Default/two", 50 + 50 + 20)


def train(server, run, at_s, values):
    metrics = [{"key": "loss", "value": value, "timestamp": 1000 * (at_s + step), "step": step} for step, value in enumerate(values)]
    assert call(server, "runs/log-batch", {"run_id": run, "metrics": metrics})[0] == 200


def found(server):
    return [(row["kind"], row["opened_step"]) for row in server.get("/api/v1/incidents").body["incidents"] if row["job"] == "Default/again" and row["kind"] != "job_failed"]


def test_the_first_value_of_a_training_that_begins_anew_is_no_spike(server):
    began_s = int(time.time()) - 3600
    run = begin(server, "again", began_s)
    falling = [4 * 0.98 ** step + 0.5 + 0.01 * (step * 7 % 5) for step in range(60)]
    train(server, run, began_s, falling)
    for life in (1, 2):  # a training that died before its first checkpoint, twice
        update(server, run, status="FAILED", end_time=1000 * (began_s + 600 * life - 300))
        resume(server, run, began_s + 600 * life)
        train(server, run, began_s + 600 * life, falling[:50] + [30] if life == 2 else falling)
    wait_until(lambda: ("loss_spike", 50) in found(server), what="what is a spike in the last one")
    assert found(server) == [("loss_spike", 50)] and read(server, "Default/again")["attempts"] == 3
    update(server, run, status="FAILED", end_time=1000 * (began_s + 1500))
    resume(server, run, began_s + 1800)
    train(server, run, began_s + 1800, ["NaN"])
    wait_until(lambda: ("non_finite", 0) in found(server), what="a first value that is none")


def test_what_is_sent_late_was_no_gap(server):
    """By the times of its points, and not by their arrival."""
    began_s = int(time.time()) - 86400
    run = begin(server, "late", began_s)
    log(server, run, began_s, 1, 100)
    resume(server, run, began_s + 3600)
    log(server, run, began_s + 3600, 5000, 100)
    assert ("Interrupted", 99) in statuses(server, "Default/late", began_s)
    log(server, run, began_s + 100, 101, 900)  # the process of before trained until 999
    wait_until(lambda: ("Interrupted", 999) in statuses(server, "Default/late", began_s), what="the gap to begin later")
    log(server, run, began_s + 2000, 2000, 500)  # it was in the middle of the gap as well
    wait_until(lambda: len(statuses(server, "Default/late", began_s)) == 5, what="two gaps")
    assert statuses(server, "Default/late", began_s)[1:4] == [("Interrupted", 999), ("Training", 2000), ("Interrupted", 2499)]
    log(server, run, began_s + 1000, 1001, 1000)
    wait_until(lambda: len(statuses(server, "Default/late", began_s)) == 3, what="one gap")
    server.stop()
    server.start()
    log(server, run, began_s + 2500, 2501, 600)
    log(server, run, began_s + 3100, 3101, 500)
    wait_until(lambda: statuses(server, "Default/late", began_s) == [("Training", 0)], what="no gap")
    finish(server, run, began_s + 3700)
    wait_for(server, "Default/late", 3700, 1)


def test_a_scheduler_s_job_is_not_cut(server):
    """Whoever says when it began, other than the run's client, holds its machines until they say the end."""
    began_s = int(time.time()) - 86400
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "mine"}).status < 300
    assert server.post("/api/v1/jobs/mine/transitions", json={"SecondaryStatus": "Training", "time_ms": 1000 * began_s}).status == 204
    run = make_run(server, run_name="r", job_name="mine", start_time=1000 * (began_s + 5))
    log(server, run, began_s + 5, 1, 100)
    resume(server, run, began_s + 3600)
    assert statuses(server, "mine", began_s) == [("Training", 0)]


def meta(at_s, **more):
    return json.dumps({"_wandb": {"value": {"start_time": at_s, **more}}})


def send(server, offset, at_s, count, **members):
    history = [{"_step": offset + n, "_timestamp": at_s + n, "loss": 1} for n in range(count)]
    assert post(server, "dead", {HISTORY: (offset, history)}, **members).status == 200


def test_a_killed_run_of_wandb_begins_anew_with_its_next_process(server):
    began_s = int(time.time()) - 3600
    make_wandb_run(server, "dead", host="node-1")
    make_wandb_run(server, "dead", config=meta(began_s))
    send(server, 0, began_s, 100)
    make_wandb_run(server, "dead", host="node-1", config=meta(began_s, more=1))
    assert statuses(server, "p/dead", began_s) == [("Training", 0)], "the same process"
    make_wandb_run(server, "dead", host="node-1")
    make_wandb_run(server, "dead", config=meta(began_s + 101))
    send(server, 100, began_s + 101, 9)
    assert statuses(server, "p/dead", began_s) == [("Training", 0)], "at once"
    make_wandb_run(server, "dead", host="node-1")
    make_wandb_run(server, "dead", config=meta(began_s + 1000))
    make_wandb_run(server, "dead", config=meta(began_s + 1000, more=1))
    assert statuses(server, "p/dead", began_s) == [("Training", 0), ("Interrupted", 109), ("Training", 1000)]
    send(server, 109, began_s + 1000, 51, complete=True, exitcode=0)
    row = wait_until(lambda: (row := read(server, "p/dead"))["TrainingJobStatus"] == "Completed" and row, what="its end")
    ran = 109 + row["TrainingEndTime"] - (began_s + 1000)
    wait_until(lambda: abs(sums(server, "p/dead")[0] - ran) <= 1, what=f"{ran} s, not {sums(server, 'p/dead')}")


def test_a_killed_run_that_goes_on_with_its_next_step_is_a_break(server):
    """Nothing is made again, so its steps tell nothing of it."""
    began_s = int(time.time()) - 3600
    make_wandb_run(server, "dead")
    make_wandb_run(server, "dead", config=meta(began_s))
    send(server, 0, began_s, 100)
    make_wandb_run(server, "dead", config=meta(began_s + 1000))
    send(server, 100, began_s + 1001, 100, complete=True, exitcode=0)
    wait_until(lambda: read(server, "p/dead")["TrainingJobStatus"] == "Completed", what="its end")
    (broken,) = wait_until(lambda: server.get("/api/v1/jobs/p%2Fdead/goodput").body["breaks"], what="the break")
    assert (broken["cause"], broken["step"], broken["lost_steps"]) == ("process gone", 99, 0)
    (cause,) = server.get("/api/v1/jobs/p%2Fdead/goodput").body["causes"]
    assert (cause["cause"], cause["count"]) == ("process gone", 1)
    (restart,) = server.get("/api/v1/jobs/p%2Fdead/continuity").body["restarts"]
    assert (restart["first_step"], restart["known_from"]) == (100, "status"), restart
    buckets = server.get("/api/v1/jobs/p%2Fdead/goodput").body["buckets"]
    assert buckets["idle"]["seconds"] == pytest.approx(901, abs=3) and buckets["redone"]["seconds"] == 0
