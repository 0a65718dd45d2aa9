"""An end that nobody dated: of a log of the past it was when its log ended, of a live job it is now. One job has one bill."""

import datetime
import subprocess
import sys
import threading
import time

import pytest

from awsclients import boto
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import ROOT, wait_until
from test_life import DOCUMENT, MINUTE_MS, T0, line, statuses

STEPS, GAP_MS = 11, MINUTE_MS
LAST_MS = T0 + (STEPS - 1) * GAP_MS
WORK_S = (STEPS - 1) * GAP_MS // 1000  # 600 s on 4 nodes at 10 an hour: 6.67
NODES, PRICE = 4, 10.0
PRICES = {"currency": "USD", "prices": [{"instance": "ml.p4d.24xlarge", "per_hour": PRICE}]}


def past_log(first=0):
    return [line(T0 + n * GAP_MS, f"step: {n} loss: 2.5") for n in range(first, STEPS)]


def iso(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def set_up(server):
    assert server.put("/api/v1/prices", json=PRICES).status == 200
    document = {**DOCUMENT, "ResourceConfig": {**DOCUMENT["ResourceConfig"], "InstanceCount": NODES}}
    assert server.post("/api/v1/jobs", json=document).status == 201


def bill(server, name="j"):
    """(TrainingEndTime, seconds by the document, by goodput, wall, cost, node hours of the fleet)"""
    job, fleet = server.get(f"/api/v1/jobs/{name}").body, server.get("/api/v1/fleet").body
    goodput = server.get(f"/api/v1/jobs/{name}/goodput").body
    cost = goodput.get("cost") or {}
    return (round(job.get("TrainingEndTime", 0) * 1000), job.get("BillableTimeInSeconds"), cost.get("billable_seconds"),
            goodput.get("wall_seconds"), round(cost.get("total") or 0, 2), round(fleet["node_hours"], 2))


WANTED = LAST_MS, WORK_S, WORK_S, WORK_S, round(PRICE * NODES * WORK_S / 3600, 2), round(NODES * WORK_S / 3600, 2)


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
@pytest.mark.parametrize("told", ["after", "before"])
def test_an_undated_end_of_a_past_log_is_its_logs(server, told, status):
    set_up(server)
    if told == "after":
        server.send("j", past_log())
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status}).status == 204
    if told == "before":
        server.send("j", past_log())
    wait_until(lambda: bill(server) == WANTED, what="one bill")
    job = server.get("/api/v1/jobs/j").body
    assert job["TrainingJobStatus"] == status and (job["start_from"], job["end_from"]) == ("assumed", "assumed")
    assert job["CreationTime"] <= job["TrainingStartTime"] == T0 / 1000
    server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status})  # the same again is no news
    assert bill(server) == WANTED


def money(server, name):
    job, [row] = server.get(f"/api/v1/jobs/{name}").body, server.get(f"/api/v1/jobs?q=name={name}").body["jobs"]
    shown, listed = ((round(one["TrainingEndTime"] * 1000), one["BillableTimeInSeconds"], round(one["cost"], 2)) for one in (job, row))
    assert shown == listed
    return shown


@pytest.mark.parametrize("count", [STEPS, 20_001])  # 11 lines a minute apart; 20001 in the same ten minutes
@pytest.mark.parametrize("told", [{"SecondaryStatus": "Completed"}, {"SecondaryStatus": "Failed"}, {"SecondaryStatus": "Completed", "assumed": True}])
def test_what_is_answered_behind_an_end_is_final(server, told, count):
    """The log was acknowledged, the end was: from then on no answer is of before."""
    assert server.put("/api/v1/prices", json=PRICES).status == 200
    resources = {**DOCUMENT["ResourceConfig"], "InstanceCount": NODES}
    log = [line(T0 + n * (LAST_MS - T0) // (count - 1), f"step: {n} loss: 2.5") for n in range(count)]
    for name in (f"j-{n}" for n in range(12 if count == STEPS else 3)):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name, "ResourceConfig": resources}).status == 201
        server.send(name, log)
        assert server.post(f"/api/v1/jobs/{name}/transitions", json=told).status == 204
        assert money(server, name) == (LAST_MS, WORK_S, WANTED[4]), name


def test_a_bill_that_ran_until_now_is_none_behind_the_end(server):
    """Somebody stated last year that it trains: until its end is told that is a year's bill."""
    set_up(server)
    server.send("j", past_log())
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": T0}).status == 204
    day_cost = PRICE * NODES * 24
    wait_until(lambda: server.get("/api/v1/jobs/j").body.get("cost", 0) > day_cost, what="the bill of a job that runs")
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert money(server, "j") == (LAST_MS, WORK_S, WANTED[4])


def test_a_past_log_behind_its_end_is_never_billed_until_now(server):
    set_up(server)
    for name in (f"j-{n}" for n in range(6)):
        assert server.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": name}).status == 201
        assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": "Completed"}).status == 204
        server.send(name, past_log())
        seen = []

        def is_final():
            seen.append(server.get(f"/api/v1/jobs/{name}").body)
            return round(seen[-1]["TrainingEndTime"] * 1000) == LAST_MS
        wait_until(is_final, what="the end of its log")
        assert all(job.get("BillableTimeInSeconds", 0) <= WORK_S for job in seen)


def test_a_stop_behind_a_past_log_is_when_that_ended(server):
    for name in (f"j-{n}" for n in range(6)):
        assert server.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": name}).status == 201
        server.send(name, past_log())
        boto(server, "sagemaker").stop_training_job(TrainingJobName=name)
        last = lambda: server.get(f"/api/v1/jobs/{name}").body["SecondaryStatusTransitions"][-1]
        assert last()["Status"] == "Stopping"  # at once: a stop does not wait until the log is read, which dates it
        wait_until(lambda: round(last()["StartTime"] * 1000) == LAST_MS, what="the end of its log")


def test_a_time_that_is_stated_later_takes_the_place_of_the_logs(server):
    set_up(server)
    server.send("j", past_log())
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: bill(server) == WANTED, what="one bill")
    work_s = WORK_S + 3600
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed", "time_ms": LAST_MS + 3600_000}).status == 204
    wanted = (LAST_MS + 3600_000, work_s, work_s, work_s, round(PRICE * NODES * work_s / 3600, 2), round(NODES * work_s / 3600, 2))
    wait_until(lambda: bill(server) == wanted, what="the bill to the time that was stated")
    assert server.get("/api/v1/jobs/j").body["end_from"] == "stated"


def test_a_stated_time_is_believed(server):
    set_up(server)
    server.send("j", past_log())
    ended_ms = LAST_MS + 5 * MINUTE_MS
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed", "time_ms": ended_ms}).status == 204
    seconds = WORK_S + 300
    wanted = ended_ms, seconds, seconds, seconds, round(PRICE * NODES * seconds / 3600, 2), round(NODES * seconds / 3600, 2)
    wait_until(lambda: bill(server) == wanted, what="the bill")
    assert server.get("/api/v1/jobs/j").body["end_from"] == "stated"


def test_more_of_the_log_moves_the_end_and_a_live_line_makes_it_now(server):
    set_up(server)
    server.send("j", past_log()[:6])
    server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"})
    wait_until(lambda: bill(server)[0] == T0 + 5 * GAP_MS, what="the end of its log so far")
    server.send("j", past_log(6))
    wait_until(lambda: bill(server) == WANTED, what="the end of its log")


def test_a_live_job_that_was_quiet_for_long_ended_when_it_was_said(server):
    set_up(server)
    now_ms = time.time() * 1000
    server.send("j", [f"step: {n} loss: 2.5" for n in range(3)])
    server.wait_for_points("j", "train:loss", 3)
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: bill(server)[2] is not None, what="the bill")
    job = server.get("/api/v1/jobs/j").body
    assert abs(job["TrainingEndTime"] * 1000 - now_ms) < 60_000 and job["end_from"] == "stated"


def test_stop_training_job_of_a_past_log(make_server):
    server = make_server("--stop-after", "1s")
    set_up(server)
    server.send("j", past_log())
    wait_until(lambda: server.get("/api/v1/jobs/j").body.get("last_heard_ms"), what="the counts")
    boto(server, "sagemaker").stop_training_job(TrainingJobName="j")
    wait_until(lambda: statuses(server)[-1] == "Stopped", what="the end")
    wait_until(lambda: bill(server) == WANTED, what="one bill")


def test_those_who_wait_for_a_log_to_be_read_leave_somebody_to_answer(make_server):
    """Two workers: three ends of jobs whose logs are read behind one that costs seconds of a processor, and a question that has nothing
    to do with them. The end is refused for the moment where nobody can wait for it, and right when it is told again."""
    server = make_server("--workers", "2", "--extract-threads", "1", "--match-steps", "5000000")
    slow = [{"Name": f"slow-{n}", "Regex": f"(?:a|a?)+b=([0-9]{{1,{n + 1}}})"} for n in range(8)]  # each line costs each all of its steps
    names = [f"j-{n}" for n in range(3)]
    ended = {"SecondaryStatus": "Completed", "time_ms": LAST_MS}
    for name, times in [("busy", 40), *((name, 1) for name in names)]:
        document = {"TrainingJobName": name, "AlgorithmSpecification": {"MetricDefinitions": slow if name == "busy" else slow[:1]}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        if name == "busy":
            assert server.post("/api/v1/jobs/busy/transitions", json=ended).status == 204
        server.send(name, [line(T0 + n * MINUTE_MS, "a" * 40 + "b=x") for n in range(STEPS)] * times)
    answered = []

    def end(name):
        reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": "Completed"})
        while reply.status == 429:
            assert "is still being read" in reply.body["detail"] and reply.headers["Retry-After"] == "1"
            reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": "Completed"})
        assert reply.status == 204, reply
        answered.append(name)

    threads = [threading.Thread(target=end, args=(name,)) for name in names]
    began = time.monotonic()  # the first of two that have to wait for a log waits: what is refused as the job stands does not have to
    refused = server.post("/api/v1/jobs/busy/transitions", json={**ended, "SecondaryStatus": "Failed", "unless": ["Completed"]})
    answered_after_s, began = time.monotonic() - began, time.monotonic()
    assert (refused.status, refused.body["field"]) == (409, "unless"), refused
    for thread in threads:
        thread.start()
    assert server.get("/api/v1/jobs").status == 200
    answered.append("list")
    for thread in threads:
        thread.join()
    assert answered_after_s < time.monotonic() - began
    assert answered[0] == "list" and sorted(answered[1:]) == names
    for name in names:
        assert server.get(f"/api/v1/jobs/{name}").body["TrainingEndTime"] * 1000 == LAST_MS


@pytest.mark.parametrize("program", ["sm-ship", "sm_ship.py"])
@pytest.mark.parametrize("trained", [None, "stated"])
def test_a_file_that_is_of_the_past_is_no_job_of_today(server, ship, program, trained):
    """Whoever sends last month's file says nothing of when the job was; what the file's lines say, its bill is."""
    set_up(server)
    if trained:
        assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": T0}).status == 204
    file = ship.folder / "past.log"
    file.write_text("".join(f"{iso(T0 + n * GAP_MS)} step: {n} loss: 2.5\n" for n in range(STEPS)))
    command = [ship.program] if program == "sm-ship" else [sys.executable, str(ROOT / "clients/sm_ship.py")]
    subprocess.run([*command, "--job", "j", str(file)], env=ship.env, timeout=60, check=True)
    wait_until(lambda: bill(server) == WANTED, what="the bill of its log")
    job = server.get("/api/v1/jobs/j").body
    assert (job["TrainingJobStatus"], job["start_from"], job["end_from"]) == ("Completed", trained or "assumed", "assumed")
    assert job["TrainingStartTime"] == T0 / 1000
    if trained:
        return
    file.write_text("".join(f"{iso(LAST_MS + n * GAP_MS)} step: {STEPS + n} loss: 2.5\n" for n in range(1, 11)))
    subprocess.run([*command, "--job", "j", "--resume", "--stream", "algo-1", str(file)], env=ship.env, timeout=60, check=True)
    wait_until(lambda: bill(server)[:2] == (LAST_MS + 10 * GAP_MS, WORK_S + 600), what="the end of what was left of it")


@pytest.mark.parametrize("program", ["sm-ship", "sm_ship.py"])
def test_files_of_all_ranks_one_after_the_other_end_where_their_logs_do(server, ship, program):
    """The job of the first file has ended when the second one goes on with it: no process but that one ends it again."""
    set_up(server)
    command = [ship.program] if program == "sm-ship" else [sys.executable, str(ROOT / "clients/sm_ship.py")]
    for rank in range(3):
        file = ship.folder / f"rank-{rank}.log"
        file.write_text("".join(f"{iso(T0 + n * GAP_MS + rank)} step: {n} loss: 2.5\n" for n in range(STEPS - rank)))
        stream = ["--stream", f"algo-{rank + 1}"] if program == "sm-ship" else []
        subprocess.run([*command, "--job", "j", "--resume", *stream, str(file)], env={**ship.env, "RANK": str(rank)}, timeout=60, check=True)
    wait_until(lambda: bill(server) == WANTED, what="the bill of their logs")
    assert server.get("/api/v1/jobs/j").body["TrainingJobStatus"] == "Completed"


def test_a_file_of_now_ends_now(server, ship):
    set_up(server)
    before_s = time.time()
    file = ship.folder / "now.log"
    file.write_text("step: 1 loss: 2.5\n")
    assert ship.run("--job", "j", str(file)).returncode == 0
    job = server.get("/api/v1/jobs/j").body
    assert job["TrainingJobStatus"] == "Completed" and before_s - 1 <= job["TrainingStartTime"] <= job["TrainingEndTime"] <= time.time() + 1
