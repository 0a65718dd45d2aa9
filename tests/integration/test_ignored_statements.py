"""A reply says when what was stated changes nothing: 200 and why; 204 is for what the job's history shows from then on."""

import time

import pytest

from test_life import MINUTE_MS, T0, end, history, job_of, line, session, state, stamp
from test_past_ends import LAST_MS, past_log

HOUR_MS = 60 * MINUTE_MS
AT_11, AT_12 = T0 + 2 * HOUR_MS, T0 + 3 * HOUR_MS


def iso(ms):
    return stamp(ms).replace(" ", "T").replace(",", ".") + "Z"


def announce(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    state(server, "Training", time_ms=T0)


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
@pytest.mark.parametrize("more", [{}, {"unless": ["InProgress"]}])
def test_a_second_end_at_another_time_says_that_it_changes_nothing(server, status, more):
    announce(server)
    state(server, status, time_ms=AT_11)
    before = job_of(server)
    reply = state(server, status, expect=200, time_ms=AT_12, **more)
    assert reply == {"result": "ignored", "reason": f"the job is {status} since {iso(AT_11)}: {status} at that time changes nothing"}
    assert job_of(server) == before and before["TrainingEndTime"] == AT_11 / 1000
    state(server, status, time_ms=AT_11, **more)  # the same again is as true as it was
    state(server, status)  # so is that it has ended
    assert job_of(server)["TrainingEndTime"] == AT_11 / 1000


def test_what_is_new_of_a_second_end_counts(server):
    announce(server)
    state(server, "Failed", time_ms=AT_12)
    state(server, "Failed", time_ms=AT_12 + MINUTE_MS, FailureReason="lost its node")
    assert (job_of(server)["FailureReason"], job_of(server)["TrainingEndTime"]) == ("lost its node", AT_12 / 1000)
    state(server, "Failed", time_ms=AT_11)  # earlier: the job ended then
    assert job_of(server)["TrainingEndTime"] == AT_11 / 1000
    state(server, "Completed", time_ms=AT_12 + 2 * MINUTE_MS)  # another end
    assert history(server)[-1] == ("Completed", AT_12 + 2 * MINUTE_MS)


def test_a_status_within_its_stretch_is_known_and_one_outside_is_not(server):
    announce(server)
    state(server, "Training", time_ms=T0 + HOUR_MS)
    state(server, "Completed", time_ms=AT_11)
    assert state(server, "Stopping", expect=200, time_ms=AT_12)["result"] == "ignored"


def test_an_end_behind_one_that_was_set_by_hand_says_that_it_changes_nothing(server):
    announce(server)
    state(server, "Completed", time_ms=AT_11)
    assert server.patch("/api/v1/jobs/j", json={"by_hand": {"end_ms": AT_12}}).status == 200
    reply = state(server, "Completed", expect=200, time_ms=AT_11 - MINUTE_MS)
    assert reply["reason"].startswith(f"the job is Completed since {iso(AT_12)}")
    assert job_of(server)["TrainingEndTime"] == AT_12 / 1000


@pytest.mark.parametrize("told", ["Completed", "Failed", "exit", None])
def test_an_assumed_end_says_whether_the_job_ends_by_it(server, told):
    if told == "exit":
        opened = session(server)
    server.send("j", past_log())
    if told == "exit":
        end(server, opened, code=3, at_ms=LAST_MS + MINUTE_MS)
    elif told:
        state(server, told, time_ms=LAST_MS + MINUTE_MS)
    reply = state(server, "Completed", expect=200 if told else 204, assumed=True)
    shown = "Failed" if told == "exit" else told or "Completed"
    if told:
        reason = f"the job is {shown} since {iso(LAST_MS + MINUTE_MS)}: that it is taken for Completed changes nothing"
        assert reply == {"result": "ignored", "reason": reason}
    job = job_of(server)
    assert (job["TrainingJobStatus"], round(job["TrainingEndTime"] * 1000)) == (shown, LAST_MS + (MINUTE_MS if told else 0))


def test_live_ends_are_taken_at_their_word(server):
    now_ms = int(time.time() * 1000)
    server.send("j", line(now_ms - MINUTE_MS, "step: 1 loss: 2.5"))
    state(server, "Completed", time_ms=now_ms, unless=["Failed"])
    assert job_of(server)["TrainingEndTime"] == now_ms / 1000
    assert state(server, "Completed", expect=200, time_ms=now_ms + 1000, unless=["Failed"])["result"] == "ignored"
