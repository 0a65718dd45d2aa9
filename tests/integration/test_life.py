"""The life of a job: what is stated, what is assumed of its lines, how its processes ended; in whatever order it is told."""

import itertools
import re
from engine import of_a_file
import sqlite3
import subprocess
import time
from datetime import datetime, timezone

import pytest

from awsclients import boto
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until

MINUTE_MS = 60_000
T0 = 1_760_000_000_000  # 2025-10-09 08:53:20 UTC
DOCUMENT = {
    "TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}}


def stamp(ms):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ms / 1000)) + f",{ms % 1000:03d}"


def line(ms, text):
    return f"{stamp(ms)} {text}"


def job_of(server, name="j"):
    reply = server.get(f"/api/v1/jobs/{name}")
    assert reply.status == 200, reply
    return reply.body


def history(server, name="j"):
    return [(row["Status"], round(row["StartTime"] * 1000)) for row in job_of(server, name)["SecondaryStatusTransitions"]]


def statuses(server, name="j"):
    return [status for status, _ in history(server, name)]


def state(server, status, expect=204, name="j", **fields):
    reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, **fields})
    assert reply.status == expect, reply
    return reply.body


def session(server, name="j", stream="algo-1", **fields):
    reply = server.post("/api/v1/sessions", json={"job": name, "stream": stream, **fields})
    assert reply.status == 201, reply
    return reply.body


def end(server, opened, **ending):
    assert server.post(f"/api/v1/sessions/{opened['session']}", json={"exit": ending}).status == 200


def announce(server):
    assert server.post("/api/v1/jobs", json=DOCUMENT).status == 201
    assert statuses(server) == ["Starting"]


def wait_statuses(server, wanted, name="j"):
    wait_until(lambda: statuses(server, name) == wanted, what=f"{wanted}")


# ---- an announced job trains from its first line on ----


def test_an_announced_job_trains_from_its_earliest_line(server):
    announce(server)
    now = int(time.time() * 1000)
    server.send("j", "gpu 40 C", stream="system/gpu001")
    server.send("j", f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(now / 1000 - 50))} Starting - Launching requested ML instances")
    server.send("j", [line(now - 30_000, "step: 1 loss: 3.0"), line(now - 40_000, "step: 0 loss: 4.0")])
    wait_until(lambda: history(server)[-1] == ("Training", now - 40_000), what="Training at the earliest line")
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["TrainingStartTime"]) == ("InProgress", (now - 40_000) / 1000)
    server.restart()
    assert history(server)[-1] == ("Training", now - 40_000)
    state(server, "Training", time_ms=now - 35_000)  # stated, it takes the place of what was assumed
    assert history(server)[-1] == ("Training", now - 35_000)


def test_training_goes_on_at_the_time_of_the_line_that_says_so(server):
    """Whenever it comes, and whatever came before it: the log of last week, a Restarting in the middle of it, and the rest of the log."""
    now = int(time.time() * 1000)
    begun = now - 7 * 86_400_000
    halted, resumed = begun + 3_060_000, begun + 3_600_000
    def train(stream, at_ms, first):
        server.send("j", [line(at_ms + 10_000 * i, f"step: {first + i} loss: {3 - i / 1000}") for i in range(100)], stream=stream)
    train("algo-1", begun, 1)
    state(server, "Restarting", time_ms=halted, StatusMessage="hardware failure")
    wait_statuses(server, ["Training", "Restarting"])
    assert history(server) == [("Training", begun), ("Restarting", halted)]
    # of two streams the later one is heard first, and one without a time before either
    server.send("j", "starting", stream="algo-3")
    wait_statuses(server, ["Training", "Restarting", "Training"])
    train("algo-2", resumed + 40_000, 105)
    wait_until(lambda: history(server)[-1] == ("Training", resumed + 40_000), what="the time of its line")
    train("algo-1", resumed, 101)
    told = [("Training", begun), ("Restarting", halted), ("Training", resumed)]
    wait_until(lambda: history(server) == told, what="the time of the earlier line")
    server.restart()
    assert history(server) == told
    server.send("j", line(resumed + 2_000_000, "step: 300 loss: 1.0"))
    server.wait_for_extraction()
    assert history(server) == told


def test_a_job_of_which_nothing_came_behind_a_restarting_has_not_trained_since(make_server):
    """Told at once behind the log of last week, before anybody has looked at the log: that it came is no line of today."""
    server = make_server()
    begun = int(time.time() * 1000) - 7 * 86_400_000
    server.send("j", [line(begun + 10_000 * i, f"step: {i} loss: {3 - i / 10000}") for i in range(5000)])
    state(server, "Restarting", time_ms=begun + 60_000_000)
    server.wait_for_extraction()
    wait_until(lambda: history(server) == [("Training", begun), ("Restarting", begun + 60_000_000)], what="what its log says", timeout=20)


def test_points_are_a_sign_and_a_systems_lines_are_not(server):
    announce(server)
    server.send("j", "gpu 40 C", stream="system/gpu001")
    server.wait_for_extraction()
    assert statuses(server) == ["Starting"]
    now = int(time.time() * 1000)
    reply = server.post("/api/v1/points?job=j&stream=algo-1", json={
        "points": [{"metric": "loss", "step": 1, "value": 2.5, "ts_ms": now - 5000}]})
    assert reply.status == 200, reply
    wait_until(lambda: history(server)[-1] == ("Training", now - 5000), what="Training at the first point")


def test_a_job_of_the_aws_door_trains_and_its_goodput_counts(server):
    boto(server, "sagemaker").create_training_job(TrainingJobName="j", RoleArn="arn:aws:iam::123456789012:role/r",
        AlgorithmSpecification={"TrainingImage": "i", "TrainingInputMode": "File"}, OutputDataConfig={"S3OutputPath": "s3://b"},
        ResourceConfig=DOCUMENT["ResourceConfig"], StoppingCondition={"MaxRuntimeInSeconds": 3600})
    base = int(time.time() * 1000) - 100 * 1000
    server.send("j", [line(base + 1000 * n, f"step: {n} loss: {3 - n / 100}") for n in range(100)])
    wait_until(lambda: history(server)[-1] == ("Training", base), what="Training")
    state(server, "Completed", time_ms=base + 99_000)
    described = boto(server, "sagemaker").describe_training_job(TrainingJobName="j")
    assert described["TrainingJobStatus"] == "Completed"
    assert round((described["TrainingEndTime"] - described["TrainingStartTime"]).total_seconds()) == 99
    assert server.delete("/api/v1/jobs/j").status == 204


def test_a_stated_start_does_not_keep_it_from_training_and_a_later_phase_does(server):
    announce(server)
    now = int(time.time() * 1000)
    state(server, "Starting", time_ms=now - 100_000)
    assert history(server) == [("Starting", now - 100_000)]
    assert job_of(server)["CreationTime"] == (now - 100_000) / 1000
    server.send("j", line(now - 90_000, "pulling"))
    wait_until(lambda: history(server)[-1] == ("Training", now - 90_000), what="Training")
    state(server, "Downloading", time_ms=now - 80_000)  # it did not train before that
    assert history(server) == [("Starting", now - 100_000), ("Downloading", now - 80_000)]
    server.send("j", line(now - 70_000, "step: 1 loss: 3.0"))
    wait_until(lambda: history(server)[-1] == ("Training", now - 70_000), what="Training after Downloading")


# ---- any order ----

LIFE = [("Starting", 0), ("Downloading", 2), ("Training", 5), ("Restarting", 20), ("Training", 22), ("Uploading", 40), ("Completed", 41)]


def test_what_is_told_in_any_order_is_one_history(server):
    wanted = [(status, T0 + at * MINUTE_MS) for status, at in LIFE]
    orders = [LIFE[::-1], LIFE, *itertools.islice(itertools.permutations(LIFE), 700, 5000, 611)]
    for number, order in enumerate(orders):
        name = f"life-{number}"
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
        for status, at in order:
            reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": T0 + at * MINUTE_MS})
            assert reply.status in (200, 204), reply
        job = job_of(server, name)
        assert history(server, name) == wanted, order
        assert (job["TrainingJobStatus"], job["TrainingStartTime"], job["TrainingEndTime"], job["CreationTime"]) == (
            "Completed", T0 / 1000 + 300, T0 / 1000 + 2460, T0 / 1000)


# ---- after the end ----


def test_an_end_is_left_by_a_stated_later_start_alone(server):
    announce(server)
    now = int(time.time() * 1000)
    state(server, "Training", time_ms=now - 50_000)
    state(server, "Completed", time_ms=now - 40_000)
    for fields in ({}, {"time_ms": now - 30_000}):
        reply = state(server, "Uploading", expect=200, **fields)
        assert reply["result"] == "ignored" and "Completed" in reply["reason"]
    assert state(server, "Training", expect=200)["result"] == "ignored"  # it bears no time, and comes before the end
    assert job_of(server)["TrainingJobStatus"] == "Completed"
    state(server, "Downloading", time_ms=now - 60_000)  # late, and of the past
    assert statuses(server) == ["Downloading", "Training", "Completed"]
    server.send("j", "a straggling line")
    server.send("j", line(now - 45_000, "step: 3 loss: 3.0"))
    server.wait_for_extraction()
    assert job_of(server)["TrainingEndTime"] == (now - 40_000) / 1000
    state(server, "Training", time_ms=now - 20_000)
    job = job_of(server)
    assert (job["TrainingJobStatus"], job.get("TrainingEndTime")) == ("InProgress", None)
    assert statuses(server) == ["Downloading", "Training", "Completed", "Training"]


@pytest.mark.parametrize("ended", ["Completed", "Failed", "Stopped"])
def test_no_other_phase_that_is_stated_later_goes_on_with_what_has_ended(server, ended):
    now = int(time.time() * 1000)
    others = ["Pending", "LaunchingMLInstances", "PreparingTrainingStack", "Downloading", "Updating", "Interrupted", "Uploading", "Stopping"]
    for status in [*others, "Starting", "Training", "Restarting"]:
        name = f"then-{status}"
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
        state(server, "Training", name=name, time_ms=now - 50_000)
        state(server, ended, name=name, time_ms=now - 40_000)
        reply = state(server, status, expect=200 if status in others else 204, name=name, time_ms=now - 30_000)
        job, after = job_of(server, name), [("Training", now - 50_000), (ended, now - 40_000)]
        if status in others:
            assert reply["result"] == "ignored" and ended in reply["reason"]
            assert (job["TrainingJobStatus"], job["TrainingEndTime"]) == (ended, (now - 40_000) / 1000)
        else:
            assert (job["TrainingJobStatus"], job.get("TrainingEndTime")) == ("InProgress", None)
            after.append((status, now - 30_000))
        assert history(server, name) == after


# ---- how processes ended ----


def test_a_session_alone_is_a_sign_of_training(server):
    announce(server)
    before_ms = int(time.time() * 1000)
    session(server, run_key="a")
    status, at_ms = history(server)[-1]
    assert status == "Training" and before_ms <= at_ms <= int(time.time() * 1000)
    assert job_of(server)["start_from"] == "assumed"


@pytest.mark.parametrize("ending, status, reason", [
    ({"code": 0}, "Completed", None), ({"code": 3}, "Failed", "exit code 3"),
    ({"signal": 9, "reason": "killed by signal 9 (SIGKILL)"}, "Failed", "killed by signal 9 (SIGKILL)")])
def test_the_documents_way_without_sm_ship(server, ending, status, reason):
    opened = session(server, run_key="start-1", host="gpu001", hp={"lr": "3e-4"})
    reply = server.post(f"/api/v1/logs?job=j&stream=algo-1&session={opened['session']}&offset=0", body="step 1 loss 2.5\n",
        headers={"Content-Type": "text/plain"})
    assert reply.status == 200
    wait_until(lambda: job_of(server)["SecondaryStatus"] == "Training", what="Training")
    at = int(time.time() * 1000) + 1000
    end(server, opened, at_ms=at, **ending)
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["TrainingEndTime"]) == (status, at / 1000)
    assert job.get("FailureReason") == reason
    assert session(server, run_key="start-2")["job"] == "j-2"  # a new start is a new run
    assert session(server, run_key="start-1", stream="algo-2")["job"] == "j"  # who comes late belongs to its own
    assert job_of(server)["TrainingJobStatus"] == status


def test_a_job_ends_with_rank_0_or_the_last_and_names_the_first_that_failed(server):
    opened = [session(server, stream=f"algo-{n}", run_key="a", host=f"gpu{n}") for n in (1, 2, 3)]
    now = int(time.time() * 1000)
    end(server, opened[2], code=0, at_ms=now + 1000)
    end(server, opened[1], code=7, at_ms=now + 2000)
    assert job_of(server)["TrainingJobStatus"] == "InProgress"
    end(server, opened[0], code=1, at_ms=now + 3000)
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["FailureReason"]) == ("Failed", "algo-2 on gpu2: exit code 7")
    assert job["TrainingEndTime"] == (now + 3000) / 1000

    opened = [session(server, "k", stream=f"node-{host}", run_key="a") for host in ("a", "b")]
    end(server, opened[0], code=0)
    assert job_of(server, "k")["TrainingJobStatus"] == "InProgress"
    end(server, opened[1], code=0)
    assert job_of(server, "k")["TrainingJobStatus"] == "Completed"
    session(server, "k", stream="node-b", run_key="a")  # the same start again: its exit does not count any more
    assert job_of(server, "k")["TrainingJobStatus"] == "InProgress"


def test_a_stated_end_ranks_above_exits_whichever_comes_first(server):
    for first in ("exit", "status"):
        opened = session(server, first, run_key="a")
        now = int(time.time() * 1000)
        tell = [lambda: end(server, opened, code=1, at_ms=now + 2000),
            lambda: state(server, "Completed", name=first, time_ms=now + 3000, unless=["Failed", "Stopped"] if first == "status" else [])]
        for act in tell if first == "exit" else tell[::-1]:
            act()
        job = job_of(server, first)
        assert (job["TrainingJobStatus"], job["TrainingEndTime"]) == ("Completed", (now + 3000) / 1000)
        assert statuses(server, first).count("Completed") == 1 and "Failed" not in statuses(server, first)


def test_a_session_goes_on_with_a_job_that_has_ended(server):
    opened = session(server, run_key="a")
    end(server, opened, code=0)
    assert job_of(server)["TrainingJobStatus"] == "Completed"
    again = session(server, run_key="b", resume=True)
    assert again["job"] == "j" and job_of(server)["TrainingJobStatus"] == "InProgress"
    end(server, again, code=0)
    assert job_of(server)["TrainingJobStatus"] == "Completed"
    state(server, "Completed", time_ms=int(time.time() * 1000) + 60_000)
    session(server, run_key="c", resume=True)
    assert job_of(server)["TrainingJobStatus"] == "InProgress"


# ---- a stop that nobody answers ----


def test_a_stop_that_nobody_answers_ends_the_job_and_lines_undo_it(make_server):
    server = make_server("--stop-after", "1s", "--lease", "500ms")
    sagemaker = boto(server, "sagemaker")
    for name in ("j", "held"):
        session(server, name, run_key="a")
    server.send("j", "step: 1 loss: 3.0")
    sagemaker.stop_training_job(TrainingJobName="j")
    assert job_of(server)["TrainingJobStatus"] == "Stopping"
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="j", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    assert sagemaker.describe_training_job(TrainingJobName="j")["TrainingJobStatus"] == "Stopped"
    assert server.post("/api/v1/sessions", json={"job": "j", "run_key": "b"}).body == {"job": "j-2"}
    server.send("j", "step: 2 loss: 3.0")  # it had not stopped
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopping", what="the stop to be undone")
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopped", what="the stop again")
    state(server, "Completed", time_ms=int(time.time() * 1000))
    assert job_of(server)["TrainingJobStatus"] == "Completed" and "Stopped" not in statuses(server)


def stopped_after(server, since_s):
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopped", what="the end")
    return time.monotonic() - since_s


def test_a_stop_waits_for_the_lease_of_who_may_answer_it(make_server):
    server = make_server("--stop-after", "500ms", "--lease", "3s")
    since_s = time.monotonic()
    session(server, run_key="a")
    state(server, "Stopping")
    assert stopped_after(server, since_s) >= 3.5


def test_a_stop_waits_for_those_who_could_not_answer_while_the_server_was_down(make_server):
    server = make_server("--stop-after", "3s", "--lease", "500ms")
    announce(server)
    state(server, "Stopping")
    at_ms = history(server)[-1][1]
    server.stop()
    wait_until(lambda: time.time() * 1000 > at_ms + 3000, what="as long as a stop waits")
    since_s = time.monotonic()
    server.start()
    assert stopped_after(server, since_s) >= 3
    assert history(server)[-1] == ("Stopped", at_ms)


def test_a_stop_waits_ten_minutes_where_nobody_says_otherwise(server):
    text = subprocess.run([server.bin("sm-server"), "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    [said] = re.findall(r"--stop-after TIME\s[^[]*\[([^]]*)\]", text)
    assert said == "10m"


def test_what_is_of_before_a_stop_is_no_later_life(make_server):
    """Buffers of shippers come late: what they hold says when it was."""
    server = make_server("--stop-after", "1s", "--lease", "500ms")
    announce(server)
    base = int(time.time() * 1000) - MINUTE_MS
    server.send("j", [line(base + n * 1000, f"step: {n} loss: 2.5") for n in range(50)])
    server.wait_for_points("j", "train:loss", 50)
    boto(server, "sagemaker").stop_training_job(TrainingJobName="j")
    status, stopped = history(server)[-1]
    assert status == "Stopping"
    server.send("j", line(stopped - 5000, "step: 50 loss: 2.5"), stream="algo-2")  # on its way when it was stopped
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopped", what="the end")

    def ended():
        job = job_of(server)
        return job["TrainingJobStatus"], round(job["TrainingEndTime"] * 1000), job["BillableTimeInSeconds"]
    assert history(server)[-1] == ("Stopped", stopped) and ended() == ("Stopped", stopped, (stopped - base) // 1000)
    before = job_of(server)
    logs = boto(server, "logs")
    names = {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": "j/algo-3-1"}
    logs.create_log_stream(**names)
    logs.put_log_events(**names, logEvents=[{"timestamp": stopped - 3000, "message": "the rest of a buffer"}])
    server.wait_for_extraction()
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "other"}).status == 201  # what the line brought was written before
    after = job_of(server)
    for name in ("TrainingJobStatus", "TrainingEndTime", "LastModifiedTime", "BillableTimeInSeconds", "SecondaryStatusTransitions"):
        assert after[name] == before[name], name

    later = stopped + 2000  # what it says after the stop takes it back, and is its end then
    wait_until(lambda: time.time() * 1000 > later, what="that time")
    logs.put_log_events(**names, logEvents=[{"timestamp": later, "message": "it goes on"}])
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopping", what="the stop to be taken back")
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopped", what="the end again")
    assert ended() == ("Stopped", later, (later - base) // 1000)

    # who was told of the first one finds that it was assumed, and what took it back
    iso = lambda ms: datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    (stopping,) = [row for row in job_of(server)["SecondaryStatusTransitions"] if row["Status"] == "Stopping"]
    assert stopping["StatusMessage"] == f"it was taken for Stopped at {iso(stopped)}: what is of {iso(later)} took that back"
    assert round(stopping["StartTime"] * 1000) == stopped


def test_a_job_that_aws_runs_is_not_taken_for_stopped(make_server):
    server = make_server("--stop-after", "200ms")
    now = int(time.time() * 1000)
    detail = {"TrainingJobName": "theirs", "TrainingJobStatus": "Stopping", "SecondaryStatus": "Stopping", "LastModifiedTime": now - 60_000}
    assert server.post("/api/v1/events", json={"detail-type": "SageMaker Training Job State Change", "detail": detail}).status == 200
    announce(server)
    state(server, "Stopping", time_ms=now - 60_000)
    wait_until(lambda: job_of(server)["TrainingJobStatus"] == "Stopped", what="the other one's end")
    assert job_of(server, "theirs")["TrainingJobStatus"] == "Stopping"


def test_the_exit_of_a_resumed_run_counts_by_whatever_clock(server):
    first = session(server)
    end(server, first, code=1, reason="lost its node", at_ms=int(time.time() * 1000))
    assert job_of(server)["TrainingJobStatus"] == "Failed"
    again = session(server, resume=True)
    end(server, again, code=0, at_ms=int(time.time() * 1000) - 5 * MINUTE_MS)  # a clock that is behind
    assert job_of(server)["TrainingJobStatus"] == "Completed"


@pytest.mark.parametrize("streams, exit_ms, end_ms", [
    (("algo-1", "algo-2"), 300, 0),  # rank 0 has ended it
    (("node-a", "node-b"), 300, 300), (("node-a", "node-b"), -300, 0)])
def test_a_session_that_had_to_wait_ends_the_job_when_its_process_ended(server, streams, exit_ms, end_ms):
    """Another had its stream until half a minute after the job's end."""
    announce(server)
    now = int(time.time() * 1000)
    ended = now - 30_000
    state(server, "Training", time_ms=now - 70_000)
    first = session(server, stream=streams[0], run_key="a")
    end(server, first, code=0, at_ms=ended)
    state(server, "Completed", time_ms=ended)
    late = session(server, stream=streams[1], run_key="a", resume=True, waited_ms=60_000)
    assert history(server)[-1] in [("Completed", ended), ("Training", ended + 1)]
    end(server, late, code=0, at_ms=ended + exit_ms)
    assert history(server)[-1] == ("Completed", ended + end_ms)
    assert statuses(server).count("Training") == (2 if end_ms else 1)


def test_a_session_that_had_to_wait_goes_on_from_when_its_process_began(server):
    announce(server)
    now = int(time.time() * 1000)
    state(server, "Training", time_ms=now - 70_000)
    state(server, "Failed", time_ms=now - 30_000)
    again = session(server, resume=True, waited_ms=10_000)
    status, at_ms = history(server)[-1]
    assert status == "Training" and now - 10_000 <= at_ms <= int(time.time() * 1000) - 10_000
    end(server, again, code=0, at_ms=at_ms + 5_000)
    assert history(server)[-2:] == [("Training", at_ms), ("Completed", at_ms + 5_000)]


def test_who_says_to_have_waited_for_weeks_moves_no_job_by_more_than_a_day(server):
    day_ms = 24 * 60 * MINUTE_MS
    announce(server)
    now = int(time.time() * 1000)
    state(server, "Training", time_ms=now - 60 * day_ms)
    state(server, "Failed", time_ms=now - 50 * day_ms)
    session(server, resume=True, waited_ms=40 * day_ms)
    status, at_ms = history(server)[-1]
    assert status == "Training" and now - day_ms <= at_ms <= int(time.time() * 1000) - day_ms


@pytest.mark.parametrize("exit_days, end_days, trained", [(4, 3, 0), (2, 2, 1), (0.5, 0.5, 0.5)])
def test_a_session_that_was_away_for_days_ends_the_job_when_its_process_ended(server, exit_days, end_days, trained):
    """The job ended three days ago, its process began five days ago. Of what went on since, a day is believed."""
    day_ms = 24 * 60 * MINUTE_MS
    announce(server)
    now = int(time.time() * 1000)
    state(server, "Training", time_ms=now - 6 * day_ms)
    first = session(server, stream="node-a", run_key="a")
    end(server, first, code=0, at_ms=now - 3 * day_ms)
    state(server, "Completed", time_ms=now - 3 * day_ms)
    late = session(server, stream="node-b", run_key="a", resume=True, waited_ms=5 * day_ms)
    end(server, late, code=0, at_ms=round(now - exit_days * day_ms))
    known = history(server)
    assert known[-1] == ("Completed", round(now - end_days * day_ms))
    spent_ms = known[-1][1] - known[-2][1] if known[-2] != ("Training", now - 6 * day_ms) else 0
    assert abs(spent_ms - trained * day_ms) < MINUTE_MS, known


def test_a_status_told_each_minute_is_one_row_and_what_is_told_late_finds_its_place(server):
    announce(server)
    for n in range(50):
        state(server, "Training", time_ms=T0 + n * MINUTE_MS)
    assert history(server)[-1] == ("Training", T0)
    state(server, "Interrupted", time_ms=T0 + 10 * MINUTE_MS)  # of the tenth minute: in the eleventh it was said to train again
    resumed = [("Training", T0), ("Interrupted", T0 + 10 * MINUTE_MS), ("Training", T0 + 11 * MINUTE_MS)]
    assert history(server)[-3:] == resumed


@of_a_file("whose rows are counted")
def test_where_there_is_no_more_room_the_first_and_the_newest_of_a_run_are_kept(make_server):
    server = make_server("--max-statuses", "10")
    announce(server)
    for n in range(50):
        state(server, "Training", time_ms=T0 + n * MINUTE_MS)
    with sqlite3.connect(server.folder / "smfleet.db") as base:
        [(count, first_ms, newest_ms)] = base.execute("SELECT count(*), min(start_ms), max(start_ms) FROM told WHERE status = 'Training'")
    assert 2 <= count <= 10 and (first_ms, newest_ms) == (T0, T0 + 49 * MINUTE_MS)
    assert history(server)[-1] == ("Training", T0)


@of_a_file("whose rows are counted")
def test_of_an_end_that_is_stated_on_and_on_the_first_and_the_newest_are_kept(make_server):
    server = make_server()
    announce(server)
    for n in range(300):
        said = {"SecondaryStatus": "Failed", "time_ms": T0 + n * MINUTE_MS, **({"FailureReason": "AlgorithmError: of the third"} if n == 3 else {})}
        assert server.post("/api/v1/jobs/j/transitions", json=said).status in (200, 204)
    [(count, first_ms, newest_ms)] = server.sql("SELECT count(*), min(start_ms), max(start_ms) FROM told WHERE status = 'Failed'")
    assert count <= 102 and (first_ms, newest_ms) == (T0, T0 + 299 * MINUTE_MS)
    assert history(server)[-1] == ("Failed", T0) and job_of(server)["FailureReason"] == "AlgorithmError: of the third"


def test_a_session_that_is_refused_changes_nothing(server):
    held = session(server, stream="algo-2")
    opened = session(server)
    end(server, opened, code=1)
    assert job_of(server)["TrainingJobStatus"] == "Failed"
    reply = server.post("/api/v1/sessions", json={"job": "j", "stream": "algo-2", "resume": True})
    assert reply.status == 409, reply
    assert job_of(server)["TrainingJobStatus"] == "Failed" and statuses(server)[-2:] == ["Training", "Failed"]
    bad = {"job": "new", "stream": "algo-1", "metrics": {"loss": "loss ("}}
    assert server.post("/api/v1/sessions", json=bad).status == 422
    assert server.get("/api/v1/jobs/new").status == 404
    assert session(server, "new")["job"] == "new" and held["job"] == "j"


def test_the_cause_of_a_break_outlives_the_resumption(server):
    """Failed of memory at minute 2, resumed at 4, stopped at 6, resumed at 8, completed at 10: a step each minute of work."""
    announce(server)
    state(server, "Training", time_ms=T0)
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} loss: 2.5") for n in (0, 1)])
    state(server, "Failed", time_ms=T0 + 2 * MINUTE_MS, FailureReason="AlgorithmError: it ran out")
    state(server, "Training", time_ms=T0 + 4 * MINUTE_MS)
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} loss: 2.5") for n in (4, 5)])
    state(server, "Stopped", time_ms=T0 + 6 * MINUTE_MS)
    state(server, "Training", time_ms=T0 + 8 * MINUTE_MS)
    server.send("j", [line(T0 + n * MINUTE_MS, f"step: {n} loss: 2.5") for n in (8, 9)])
    state(server, "Completed", time_ms=T0 + 10 * MINUTE_MS)

    def causes():
        reply = server.get("/api/v1/jobs/j/goodput").body
        return [row.get("cause") for row in reply.get("restarts", reply.get("breaks", []))]
    wait_until(lambda: causes() == ["AlgorithmError", "stopped by a user"], what="the causes")


def test_statuses_without_end_are_bounded_and_an_end_is_taken(make_server):
    server = make_server("--max-statuses", "10")
    announce(server)
    for n in range(9):
        state(server, ("Training", "Restarting")[n % 2], time_ms=T0 + n * MINUTE_MS)
    refused = state(server, "Restarting", expect=413, time_ms=T0 + 20 * MINUTE_MS)
    assert "--max-statuses" in refused["detail"]
    state(server, "Completed", time_ms=T0 + 30 * MINUTE_MS)
    assert statuses(server)[-1] == "Completed"
