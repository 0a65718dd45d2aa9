"""A time or a number that cannot be is refused where it is stated, by its field: one wrong job is not everybody's bill."""

import time

import pytest

from smserver import wait_until
from test_past_ends import LAST_MS, WANTED, bill, past_log, set_up

DAY_MS = 86_400_000
EARLIEST_MS = 631_152_000_000  # 1990-01-01, as of lines


def refused(reply, field):
    assert (reply.status, (reply.body or {}).get("field")) == (422, field), reply


@pytest.fixture
def ended(server):
    set_up(server)
    server.send("j", past_log())
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    wait_until(lambda: bill(server) == WANTED, what="one bill")
    return server


def test_a_status_of_before_all_logs_is_refused(server):
    set_up(server)
    server.send("j", past_log())
    for ms in (0, 1, LAST_MS // 1000, EARLIEST_MS - 1, int(time.time() * 1000) + 2 * DAY_MS):  # the third: seconds
        refused(server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed", "time_ms": ms}), "time_ms")
    assert server.get("/api/v1/jobs/j").body["TrainingJobStatus"] == "InProgress"
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed", "time_ms": LAST_MS}).status == 204
    wait_until(lambda: bill(server) == WANTED, what="the bill of its log")


def test_a_time_set_by_hand_is_one_that_can_be(ended):
    ahead_ms = int(time.time() * 1000) + 10 * DAY_MS
    for field, ms in (("start_ms", 1), ("start_ms", EARLIEST_MS - 1), ("end_ms", ahead_ms)):
        refused(ended.patch("/api/v1/jobs/j", json={"by_hand": {field: ms}}), f"by_hand.{field}")
    assert bill(ended) == WANTED and "by_hand" not in ended.get("/api/v1/jobs/j").body


@pytest.mark.parametrize("by_hand, field", [
    ({"nodes": -4}, "by_hand.nodes"), ({"price_per_hour": -5}, "by_hand.price_per_hour"), ({"instance_type": 5}, "by_hand.instance_type"),
    ({"start_ms": 1}, "by_hand.start_ms"), ({"end_ms": EARLIEST_MS - 1}, "by_hand.end_ms"), ({"foo": 1}, "by_hand.foo"), (5, "by_hand")])
def test_what_a_document_sets_by_hand_is_checked_as_in_a_patch(server, by_hand, field):
    refused(server.post("/api/v1/jobs", json={"TrainingJobName": "j", "by_hand": by_hand}), field)
    assert server.get("/api/v1/jobs/j").status == 404
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "by_hand": {"nodes": 4, "end_ms": None}}).status == 201
    assert server.get("/api/v1/jobs/j").body["nodes"] == 4


@pytest.mark.parametrize("field, value", [
    ("CreationTime", "x"), ("CreationTime", 0.5), ("TrainingStartTime", -5), ("TrainingEndTime", []), ("LastModifiedTime", 1e300),
    ("TrainingJobStatus", "Nope"), ("TrainingJobStatus", 5), ("SecondaryStatus", "Nope")])
def test_a_document_that_states_what_cannot_be_is_refused(shared_server, field, value):
    refused(shared_server.post("/api/v1/jobs", json={"TrainingJobName": "j", field: value}), field)


def test_a_document_as_describe_prints_it_is_taken(server):
    described = {"TrainingJobName": "j", "CreationTime": "2024-05-01T12:00:00.123000+02:00", "TrainingStartTime": 1714557600.5, "TrainingEndTime": None,
                 "LastModifiedTime": "2024-05-01 10:00:00.123000+00:00", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training",
                 "SecondaryStatusTransitions": [{"Status": "Starting", "StartTime": 1714557600.5}]}
    assert server.post("/api/v1/jobs", json=described).status == 201
    assert server.get("/api/v1/jobs/j").body["TrainingJobStatus"] == "InProgress"


def test_an_exit_of_before_all_logs_is_refused(server):
    session = server.post("/api/v1/sessions", json={"job": "j", "stream": "algo-1"}).body
    for ms in (0, EARLIEST_MS - 1, int(time.time() * 1000) + 10 * DAY_MS):
        reply = server.post(f"/api/v1/sessions/{session['session']}", json={"exit": {"code": 0, "at_ms": ms}})
        refused(reply, "exit")
    assert server.get("/api/v1/jobs/j").body["TrainingJobStatus"] == "InProgress"
