"""How the process of a session ended whose log is of the past: the job ends where that log does."""

import time

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import DOCUMENT, MINUTE_MS, T0, end, history, job_of, session, state
from test_past_ends import LAST_MS, PRICES, STEPS, WANTED, bill, past_log, set_up


def send(server, opened, lines, name="j", stream="algo-1"):
    query = f"job={name}&stream={stream}&session={opened['session']}"
    reply = server.post(f"/api/v1/logs?{query}", body="".join(f"{one}\n" for one in lines), headers={"Content-Type": "text/plain"})
    assert reply.status == 200, reply


def exits(server):
    return {row["stream"]: row.get("exit") for row in server.get("/api/v1/jobs/j/streams").body["streams"]}


@pytest.mark.parametrize("past", [{"past": True}, {}])
@pytest.mark.parametrize("ending, status", [({"code": 0}, "Completed"), ({"code": 3}, "Failed"), ({"signal": 9}, "Failed")])
def test_an_exit_without_a_time_is_the_end_of_a_past_log(server, past, ending, status):
    set_up(server)
    opened = session(server, **past)
    send(server, opened, past_log())
    end(server, opened, **ending)
    job = job_of(server)
    assert (job["TrainingJobStatus"], round(job["TrainingEndTime"] * 1000), job["BillableTimeInSeconds"]) == (status, *WANTED[:2])
    assert round(job["cost"], 2) == WANTED[4]
    assert exits(server) == {"algo-1": {**ending, "at_ms": LAST_MS}}
    assert job.get("FailureReason") == {0: None, 3: "exit code 3"}.get(ending.get("code"), "killed by signal 9")
    server.restart()
    assert history(server)[-1] == (status, LAST_MS)


def test_an_exit_with_a_time_of_a_past_session_ends_the_job_then(make_server):
    """Also when it comes before its log is read, which waits behind one that costs a second."""
    server = make_server("--extract-threads", "1", "--match-steps", "5000000")
    slow = {"AlgorithmSpecification": {"MetricDefinitions": [{"Name": "slow", "Regex": "(?:a|a?)+b=([0-9])"}]}}
    assert server.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": "busy", **slow}).status == 201
    set_up(server)
    opened = session(server, past=True)
    server.send("busy", ["a" * 40 + "b=x"] * 30)
    send(server, opened, past_log())
    ending = {"exit": {"code": 0, "at_ms": LAST_MS + 5 * MINUTE_MS}}  # asked again, as senders do, where it is still being read (429)
    wait_until(lambda: server.post(f"/api/v1/sessions/{opened['session']}", json=ending).status == 200, what="the end to be taken")
    assert history(server)[-1] == ("Completed", LAST_MS + 5 * MINUTE_MS)


def test_a_past_session_that_ends_without_an_exit_says_nothing_of_the_job(server):
    set_up(server)
    opened = session(server, past=True)
    send(server, opened, past_log())
    assert server.post(f"/api/v1/sessions/{opened['session']}", json={"end": True}).status == 200
    assert job_of(server)["TrainingJobStatus"] == "InProgress"


def test_the_log_of_a_past_session_may_have_ended_just_now(server):
    """Nothing is said of now: its sender knows that the run is over."""
    now_ms = int(time.time() * 1000)
    first_ms = now_ms - 12 * MINUTE_MS
    lines = [one.replace(one[:23], time.strftime("%Y-%m-%d %H:%M:%S,000", time.gmtime(first_ms // 1000 + 60 * n))) for n, one in enumerate(past_log())]
    opened = session(server, past=True)
    send(server, opened, lines)
    end(server, opened, code=0)
    assert history(server)[-1] == ("Completed", first_ms // 1000 * 1000 + (STEPS - 1) * MINUTE_MS)


def test_a_job_of_the_past_ends_with_its_rank_0(server):
    set_up(server)
    one, two = (session(server, stream=f"algo-{n}", past=True) for n in (1, 2))
    send(server, one, past_log())
    send(server, two, past_log()[:4], stream="algo-2")
    end(server, one, code=0)
    assert history(server)[-1] == ("Completed", LAST_MS)
    end(server, two, code=1)
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["FailureReason"]) == ("Failed", "algo-2: exit code 1")
    assert history(server)[-1] == ("Failed", LAST_MS)
    assert {stream: told["at_ms"] for stream, told in exits(server).items()} == {"algo-1": LAST_MS, "algo-2": T0 + 3 * MINUTE_MS}


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_a_stated_end_stands_whatever_a_past_session_says(server, status):
    set_up(server)
    state(server, status, time_ms=LAST_MS + MINUTE_MS)
    opened = session(server, past=True, run_key="a", resume=status != "Completed")
    if opened["job"] == "j":
        send(server, opened, past_log())
        end(server, opened, code=1)
    assert history(server)[-1] == (status, LAST_MS + MINUTE_MS)


@pytest.mark.parametrize("grown", [True, False])
def test_an_end_that_a_past_session_opened_is_behind_what_came(server, grown):
    set_up(server)
    half = T0 + 5 * MINUTE_MS
    opened = session(server, past=True)
    send(server, opened, past_log()[:6])
    state(server, "Completed", time_ms=half)
    assert server.post(f"/api/v1/sessions/{opened['session']}", json={"end": True}).status == 200
    again = session(server, past=True, resume=True)
    assert job_of(server)["TrainingJobStatus"] == "InProgress"
    if grown:
        send(server, again, past_log(6))
    end(server, again, code=0)
    assert history(server)[-1] == ("Completed", LAST_MS if grown else half)


def test_a_live_session_ends_now(server):
    opened = session(server)
    send(server, opened, [f"step: {n} loss: 2.5" for n in range(3)])
    before_ms = int(time.time() * 1000)
    end(server, opened, code=0)
    assert before_ms <= round(job_of(server)["TrainingEndTime"] * 1000) <= int(time.time() * 1000)


def test_a_session_that_goes_on_with_a_past_job_ends_now(server):
    """It was at work today, whatever its log shows."""
    set_up(server)
    server.send("j", past_log())
    state(server, "Completed")
    opened = session(server, resume=True)
    before_ms = int(time.time() * 1000)
    end(server, opened, code=0)
    assert before_ms <= round(job_of(server)["TrainingEndTime"] * 1000) <= int(time.time() * 1000)


def test_how_it_ended_takes_the_place_of_an_imported_end(server, ship, tmp_path):
    """sm-ship knows that the log is all there, and no more; a session of the past says that it failed."""
    set_up(server)
    (tmp_path / "old.log").write_text("".join(f"{one}\n" for one in past_log()))
    result = ship.run("--import", f"{tmp_path}/old.log", "--job", "j", "--stream", "algo-1")
    assert result.returncode == 0, result.stderr
    assert history(server)[-1] == ("Completed", LAST_MS)
    opened = session(server, past=True, resume=True)
    end(server, opened, code=3)
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["FailureReason"], job["BillableTimeInSeconds"]) == ("Failed", "exit code 3", WANTED[1])
    again = ship.run("--import", f"{tmp_path}/old.log", "--job", "j", "--stream", "algo-1")
    assert again.returncode == 0 and b"nothing is new" in again.stderr
    assert history(server)[-1] == ("Failed", LAST_MS)


def test_sm_ship_of_a_past_log_bills_no_more_than_that(server, ship, tmp_path):
    assert server.put("/api/v1/prices", json=PRICES).status == 200
    (tmp_path / "old.log").write_text("".join(f"{one}\n" for one in past_log()))
    machines = "--instance-type", DOCUMENT["ResourceConfig"]["InstanceType"], "--instance-count", "4"
    result = ship.run("--import", f"{tmp_path}/old.log", "--job", "j", *machines)
    assert result.returncode == 0, result.stderr
    job = job_of(server)
    assert (job["TrainingJobStatus"], round(job["TrainingEndTime"] * 1000), job["BillableTimeInSeconds"], round(job["cost"], 2)) == (
        "Completed", *WANTED[:2], WANTED[4])
    assert bill(server)[:5] == WANTED[:5]


def test_a_past_exit_ends_no_later_run(server):
    """The log of an earlier run is brought while the job trains again, by another stream."""
    set_up(server)
    state(server, "Completed", time_ms=LAST_MS)
    now_ms = int(time.time() * 1000)
    state(server, "Training", time_ms=now_ms - 10_000)
    live = server.post("/api/v1/sessions", json={"job": "j", "stream": "train", "resume": True}).body
    send(server, live, [f"step: {n} loss: 2.5" for n in range(3)], stream="train")
    opened = session(server, past=True)
    send(server, opened, past_log())
    end(server, opened, code=1)
    assert job_of(server)["TrainingJobStatus"] == "InProgress"
