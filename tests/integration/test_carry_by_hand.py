"""A job whose times somebody set right is carried with what they cover: taken back there, it is what it is when taken back here."""

import json

import pytest
from smserver import wait_until
from test_carry import export, records, take

MINUTE_MS = 60_000
T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z
TRAINED, FAILED = 51, 80  # minutes that are stated; its log is of those between


def at(minute):
    return T0 + minute * MINUTE_MS


def say(server, status, minute, **more):
    reply = server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": at(minute), **more})
    assert reply.status in (200, 204), reply


def log(server, first=TRAINED + 1, last=FAILED - 1):
    lines = [json.dumps({"line": f"step {m} loss: {3 - m / 100}", "ts": at(m)}) for m in range(first, last + 1)]
    assert server.post("/api/v1/logs?job=j&stream=algo-1", "\n".join(lines), content_type="application/x-ndjson").status == 200
    server.wait_for_extraction()


def stated(server):
    """Training from minute 51 to 80: 29 minutes."""
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.x", "InstanceCount": 2}}).status == 201
    say(server, "Starting", TRAINED - 1)
    say(server, "Training", TRAINED)
    log(server)
    say(server, "Failed", FAILED, FailureReason="AlgorithmError: x", StatusMessage="it failed")
    return TRAINED, FAILED


def ended_by_exit(server):
    """Its one process trained from minute 52, its first line, to 80."""
    opened = server.post("/api/v1/sessions", json={"job": "j", "stream": "algo-1"})
    log(server)
    assert server.post(f"/api/v1/sessions/{opened.body['session']}", json={"exit": {"code": 3, "at_ms": at(FAILED)}}).status == 200
    return TRAINED + 1, FAILED


def told_by_an_event(server):
    detail = {"TrainingJobName": "j", "TrainingJobStatus": "Failed", "SecondaryStatus": "Failed", "FailureReason": "AlgorithmError: x",
        "CreationTime": at(TRAINED - 2), "TrainingStartTime": at(TRAINED), "TrainingEndTime": at(FAILED), "LastModifiedTime": at(FAILED + 1),
        "SecondaryStatusTransitions": [{"Status": status, "StartTime": at(begin), "EndTime": at(end), "StatusMessage": status} for status, begin, end in
            (("Starting", TRAINED - 1, TRAINED), ("Training", TRAINED, FAILED), ("Failed", FAILED, FAILED))]}
    reply = server.post("/api/v1/events", json={"source": "aws.sagemaker", "detail-type": "SageMaker Training Job State Change", "detail": detail})
    assert reply.status == 200 and "accepted" in json.dumps(reply.body), reply
    return TRAINED, FAILED


def of_its_log_alone(server):
    """Posted long after: an end without a time is when the log ends."""
    log(server)
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    return TRAINED + 1, FAILED - 1


MADE = [stated, ended_by_exit, told_by_an_event, of_its_log_alone]
BY_HAND = {"an earlier end": {"end_ms": at(75)}, "a later end": {"end_ms": at(90)}, "a later start": {"start_ms": at(55)}, "an earlier start": {"start_ms": at(30)},
    "both": {"start_ms": at(40), "end_ms": at(60)}}


def view(server):
    job = server.get("/api/v1/jobs/j").body
    return {name: job.get(name) for name in ("TrainingJobStatus", "FailureReason", "CreationTime", "TrainingStartTime", "TrainingEndTime", "start_from", "end_from",
        "BillableTimeInSeconds", "TrainingTimeInSeconds", "SecondaryStatusTransitions", "by_hand")}


def times(server):
    job = server.get("/api/v1/jobs/j").body
    return [job.get(name) for name in ("TrainingStartTime", "TrainingEndTime", "BillableTimeInSeconds")]


def minutes(start, end):
    return [at(start) / 1000, at(end) / 1000, (end - start) * 60]


def change(server, by_hand):
    assert server.patch("/api/v1/jobs/j", json={"by_hand": by_hand}).status == 200


@pytest.mark.parametrize("by_hand", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("make", MADE)
def test_taken_back_it_is_the_same_on_both(make_server, make, by_hand):
    here, there = make_server(), make_server()
    start, end = make(here)
    wait_until(lambda: times(here) == minutes(start, end), what="what was told")
    before = view(here)
    change(here, by_hand)
    begun, over = ((by_hand.get(name, at(minute)) - T0) // MINUTE_MS for name, minute in (("start_ms", start), ("end_ms", end)))
    wait_until(lambda: times(here) == minutes(begun, over), what="what was set")
    data = export(here)
    assert take(there, data)["imported"] == 1
    wait_until(lambda: view(there) == view(here), what=f"what was set, there: {view(here)}")
    assert export(there) == data
    for server in (here, there):
        change(server, None)
        wait_until(lambda server=server: view(server) == before, what=f"what was told: {before}, not {view(server)}")
    there.restart()
    wait_until(lambda: view(there) == before, what="what was told, after a restart")


def test_an_older_export_without_it_is_read(make_server):
    here, there = make_server(), make_server()
    stated(here)
    change(here, {"end_ms": at(75)})
    wait_until(lambda: times(here) == minutes(TRAINED, 75), what="what was set")
    [record] = records(export(here), "job")
    assert {(row["status"], row["start_ms"], row["source"]) for row in record["told"]} >= {("Training", at(TRAINED), "stated"), ("Failed", at(FAILED), "stated")}
    lines = [{name: value for name, value in row.items() if name not in ("told", "event_times", "session_ms")} for row in records(export(here))]
    assert take(there, "\n".join(map(json.dumps, lines)).encode() + b"\n")["imported"] == 1
    wait_until(lambda: view(there) == view(here), what="what was set, there")
