"""Start and end that are set by hand win over whatever is worked out, together as alone, now as later; taken back, all is as it was."""

import json
import time
from urllib.parse import urlencode

import pytest

from awsclients import boto
from smserver import wait_until
from test_by_hand import names_of
from test_life import end, history, job_of, session, state, statuses
from test_past_ends import GAP_MS, LAST_MS, NODES, PRICE, PRICES, STEPS, T0, WORK_S, past_log

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LAST_YEAR_MS = (int(time.time()) // 86_400 - 365) * DAY_MS
TYPE = "ml.p4d.24xlarge"
DOCUMENT = {"TrainingJobName": "j", "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": NODES, "VolumeSizeInGB": 30}}


def announce(server, **fields):
    assert server.put("/api/v1/prices", json=PRICES).status == 200
    assert server.post("/api/v1/jobs", json={**DOCUMENT, **fields}).status == 201


def send_undated(server):
    server.send("j", [f"step: {n} loss: 2.5" for n in range(3)])
    server.wait_for_points("j", "train:loss", 3)


def patch(server, expect=200, field=None, **by_hand):
    reply = server.patch("/api/v1/jobs/j", json={"by_hand": by_hand})
    assert (reply.status, (reply.body or {}).get("field")) == (expect, field), reply


def take_all_back(server):
    assert server.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200


def times(server):
    job = job_of(server)
    return tuple(round(job.get(name, 0) * 1000) for name in ("TrainingStartTime", "TrainingEndTime"))


def froms(server):
    job = job_of(server)
    return job.get("start_from"), job.get("end_from")


def faces(server):
    """What each face says: its seconds, its cost, its node-hours; of a job that nobody knows the times of: None."""
    job, goodput, fleet = (server.get(f"/api/v1/{path}").body for path in ("jobs/j", "jobs/j/goodput", "fleet"))
    described = boto(server, "sagemaker").describe_training_job(TrainingJobName="j")
    [group] = server.get("/api/v1/aggregate?q=name=j&of=sum:billable,sum:duration,sum:node_hours,sum:cost").body["groups"]
    [row] = server.get("/api/v1/jobs?q=name%3Dj").body["jobs"]
    [longest] = [row["highest"] for row in server.get("/api/v1/quotas").body["quotas"] if row["quota"] == "longest_run_seconds"]
    sheet = server.get("/api/v1/jobs?format=csv&fields=billable,duration").raw.decode().splitlines()[1]

    def rounded(number):
        return number and round(number, 2)
    return {"start and end": times(server), "seconds": (job.get("TrainingTimeInSeconds"), job.get("BillableTimeInSeconds")),
        "described": (described.get("TrainingTimeInSeconds"), described.get("BillableTimeInSeconds")), "table": sheet, "longest": longest,
        "billable": goodput["cost"].get("billable_seconds"), "cost": (rounded(goodput["cost"].get("total")), rounded(job.get("cost")), rounded(row.get("cost"))),
        "sums": tuple(rounded(group[name]) for name in ("sum:billable", "sum:duration", "sum:node_hours", "sum:cost")),
        "fleet": rounded(fleet["node_hours"]), "created": job["CreationTime"] <= job.get("TrainingStartTime", job["TrainingEndTime"])}


def wanted_of(start_ms, end_ms):
    seconds = (end_ms - start_ms) // 1000
    hours = NODES * seconds / 3600
    cost, hours = round(hours * PRICE, 2), round(hours, 2)
    return {"start and end": (start_ms, end_ms), "seconds": (seconds, seconds), "described": (seconds, seconds), "table": f"{seconds},{seconds}",
        "longest": seconds, "billable": seconds, "cost": (cost, cost, cost), "sums": (seconds, seconds, hours, cost), "fleet": hours, "created": True}


def wait_for(server, start_ms, end_ms):
    wanted = wanted_of(start_ms, end_ms)
    seen = {}

    def is_so():
        seen.clear()
        seen.update(faces(server))
        return seen == wanted
    try:
        wait_until(is_so, what="the faces")
    except AssertionError as late:
        raise AssertionError({name: (seen[name], wanted[name]) for name in wanted if seen[name] != wanted[name]}) from late


def is_found(server, start_ms, end_ms):
    """By its times, in memory and by SQL."""
    seconds = (end_ms - start_ms) // 1000
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start_ms / 1000))
    for query in (f"duration={seconds}", f"billable={seconds}", f"created<={created}"):
        for also in ("", " and attempts>=1"):
            assert names_of(server, q=query + also) == ["j"], query + also


# ---- a start and an end of before the log ----


HELD = {"start_ms": LAST_YEAR_MS, "end_ms": LAST_YEAR_MS + 2 * HOUR_MS}


@pytest.fixture
def quick(make_server):
    return make_server("--goodput-every", "100ms")


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_times_of_the_document_count_of_a_log_that_bears_none(quick, status):
    announce(quick, by_hand=HELD)
    send_undated(quick)
    state(quick, status)
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])
    is_found(quick, HELD["start_ms"], HELD["end_ms"])
    assert froms(quick) == ("by_hand", "by_hand") and statuses(quick)[-2:] == ["Training", status]
    quick.restart()
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])
    begun_ms = time.time() * 1000
    take_all_back(quick)
    assert all(begun_ms - HOUR_MS < ms <= begun_ms + HOUR_MS for ms in times(quick)), "as its lines came"
    assert "by_hand" not in froms(quick)


def test_both_are_set_by_one_request_whatever_is_worked_out(quick):
    announce(quick)
    send_undated(quick)
    state(quick, "Completed")
    before = times(quick), history(quick)
    for by_hand in (HELD, {"start_ms": LAST_YEAR_MS + DAY_MS, "end_ms": LAST_YEAR_MS + DAY_MS + HOUR_MS}, HELD):  # later, and sooner than what was set
        patch(quick, **by_hand)
        wait_for(quick, by_hand["start_ms"], by_hand["end_ms"])
    patch(quick, end_ms=HELD["end_ms"] + HOUR_MS)  # one beside the other
    wait_for(quick, HELD["start_ms"], HELD["end_ms"] + HOUR_MS)
    patch(quick, start_ms=HELD["end_ms"])
    wait_for(quick, HELD["end_ms"], HELD["end_ms"] + HOUR_MS)
    # what would be left is looked at, not what there was
    patch(quick, 422, "by_hand.start_ms", start_ms=HELD["end_ms"] + 2 * HOUR_MS)
    patch(quick, 422, "by_hand.end_ms", end_ms=HELD["end_ms"] - 1)
    patch(quick, 422, "by_hand.end_ms", start_ms=HELD["end_ms"], end_ms=HELD["start_ms"])
    patch(quick, 422, "by_hand.start_ms", start_ms=None)  # its lines came long after that end
    assert times(quick) == (HELD["end_ms"], HELD["end_ms"] + HOUR_MS)
    patch(quick, end_ms=None)
    assert times(quick) == (HELD["end_ms"], before[0][1]) and froms(quick) == ("by_hand", "stated")
    patch(quick, start_ms=None)
    assert (times(quick), history(quick)) == before


def test_a_document_cannot_end_before_it_begins(server):
    reply = server.post("/api/v1/jobs", json={**DOCUMENT, "by_hand": {"start_ms": HELD["end_ms"], "end_ms": HELD["start_ms"]}})
    assert (reply.status, reply.body["field"]) == (422, "by_hand.end_ms")


def test_what_says_nothing_of_times_is_taken_while_they_do_not_count_yet(server):
    """Its end was set with its document, and it runs."""
    announce(server, by_hand=HELD)
    patch(server, nodes=8)
    send_undated(server)
    patch(server, nodes=6)
    assert server.patch("/api/v1/jobs/j", json={"by_hand": {"price_per_hour": 3}, "notes": "so"}).status == 200
    assert job_of(server)["by_hand"] == {**HELD, "nodes": 6, "price_per_hour": 3}


def test_an_end_alone_that_is_before_all_that_is_known_is_no_bill(quick):
    """By the document it ended last year, by its lines it trains now: nobody knows how long it took, until its start is said."""
    announce(quick, by_hand={"end_ms": HELD["end_ms"]})
    send_undated(quick)
    state(quick, "Completed")
    wait_until(lambda: quick.get("/api/v1/jobs/j/goodput").body["cost"].get("reason") == "no times", what="that nobody knows")
    assert times(quick) == (HELD["end_ms"], HELD["end_ms"]) and froms(quick)[1] == "by_hand"
    patch(quick, start_ms=HELD["start_ms"])
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])


def test_a_document_that_comes_behind_its_log_sets_times(quick):
    assert quick.put("/api/v1/prices", json=PRICES).status == 200
    send_undated(quick)
    state(quick, "Completed")
    patch(quick, start_ms=HELD["start_ms"])
    announce(quick, by_hand={"end_ms": HELD["end_ms"]})  # beside what was set
    assert job_of(quick)["by_hand"] == HELD
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])


# ---- an end that was stated before the first line ----


EARLY_MS = T0 - 2 * HOUR_MS


@pytest.fixture
def early(quick):
    """Its log is of 600 seconds; its end was stated in another time zone."""
    announce(quick)
    quick.send("j", past_log())
    quick.wait_for_points("j", "train:loss", STEPS)
    wait_until(lambda: statuses(quick)[-1] == "Training", what="Training")
    state(quick, "Completed", time_ms=EARLY_MS)
    return quick


def facts_of(server):
    """All that is to be there again once what was set is taken back."""
    job = job_of(server)
    goodput = server.get("/api/v1/jobs/j/goodput").body
    return (times(server), froms(server), history(server), goodput["cost"], goodput["wall_seconds"],
        {name: job.get(name) for name in ("TrainingTimeInSeconds", "BillableTimeInSeconds", "CreationTime", "cost", "attempts", "attempt_list")})


def settled(server):
    """As worked out of what is there now."""
    wait_until(lambda: server.get("/api/v1/jobs/j").body.get("cost", 0) is None or "cost" in job_of(server), what="its goodput")
    return facts_of(server)


@pytest.mark.parametrize("by_hand, start_ms, end_ms, says", [
    ({"end_ms": LAST_MS}, T0, LAST_MS, ("assumed", "by_hand")),
    ({"start_ms": T0 - GAP_MS, "end_ms": LAST_MS + GAP_MS}, T0 - GAP_MS, LAST_MS + GAP_MS, ("by_hand", "by_hand")),
    ({"start_ms": EARLY_MS - HOUR_MS}, EARLY_MS - HOUR_MS, EARLY_MS, ("by_hand", "stated")),
    ({"start_ms": EARLY_MS - DAY_MS, "end_ms": EARLY_MS - HOUR_MS}, EARLY_MS - DAY_MS, EARLY_MS - HOUR_MS, ("by_hand", "by_hand"))])
def test_an_end_that_was_stated_before_the_first_line_is_set_right(early, by_hand, start_ms, end_ms, says):
    before = settled(early)
    assert before[0] == (0, EARLY_MS)
    patch(early, **by_hand)
    wait_for(early, start_ms, end_ms)
    is_found(early, start_ms, end_ms)
    assert froms(early) == says and statuses(early)[-2:] == ["Training", "Completed"]
    early.restart()
    wait_for(early, start_ms, end_ms)
    take_all_back(early)
    wait_until(lambda: facts_of(early) == before, what=f"what was there before: {before}")


def test_a_start_behind_the_end_that_is_left_is_refused(early):
    before = facts_of(early)
    patch(early, 422, "by_hand.start_ms", start_ms=T0)
    patch(early, 422, "by_hand.end_ms", start_ms=T0, end_ms=EARLY_MS)
    assert facts_of(early)[:3] == before[:3]
    patch(early, start_ms=T0, end_ms=LAST_MS)
    patch(early, 422, "by_hand.end_ms", end_ms=None)
    patch(early, start_ms=None)
    wait_for(early, T0, LAST_MS)


def test_one_that_is_set_right_is_sorted_and_summed_beside_others(early):
    """Others of an hour and of a minute; by day it is on its own."""
    for name, seconds in (("hour", 3600), ("minute", 60)):
        assert early.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": name}).status == 201
        for status, ms in (("Training", T0 - DAY_MS), ("Completed", T0 - DAY_MS + seconds * 1000)):
            state(early, status, name=name, time_ms=ms)
    patch(early, end_ms=LAST_MS)
    for field in ("billable", "duration", "TrainingTimeInSeconds", "BillableTimeInSeconds"):
        for query in ("", "attempts>=1"):
            assert names_of(early, sort=field, q=query) == ["minute", "j", "hour"], (field, query)
            assert names_of(early, sort=f"-{field}", q=query) == ["hour", "j", "minute"], (field, query)
    day = time.strftime("%Y-%m-%d", time.gmtime(T0 / 1000))

    def billed():
        return early.get(f"/api/v1/goodput?{urlencode({'from': day, 'to': day})}").body["billed_node_hours"]
    wait_until(lambda: billed() == pytest.approx(NODES * WORK_S / 3600), what="the hours of its day")
    take_all_back(early)
    assert names_of(early, sort="billable") == ["minute", "hour", "j"]
    wait_until(lambda: not billed(), what="that its day has no hours")


# ---- what is learned afterwards ----


def test_what_is_told_later_leaves_what_was_set(quick):
    announce(quick, by_hand=HELD)
    send_undated(quick)
    opened = session(quick)
    end(quick, opened, code=0, at_ms=int(time.time() * 1000))
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])
    for status, ms in (("Training", HELD["start_ms"] - 2 * HOUR_MS), ("Interrupted", HELD["start_ms"] - HOUR_MS),
            ("Training", HELD["start_ms"] - HOUR_MS // 2), ("Completed", HELD["end_ms"] + DAY_MS), ("Completed", HELD["start_ms"] - DAY_MS)):
        quick.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": ms})
        wait_for(quick, HELD["start_ms"], HELD["end_ms"])
    quick.send("j", past_log())
    quick.wait_for_points("j", "train:loss", 3 + STEPS)
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])


def described(ms, **times_ms):
    return {"detail-type": "SageMaker Training Job State Change", "detail": {"TrainingJobName": "j", "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed", "LastModifiedTime": ms, **times_ms, "ResourceConfig": DOCUMENT["ResourceConfig"]}}


def test_an_event_that_comes_later_leaves_what_was_set(early):
    patch(early, end_ms=LAST_MS)
    wait_for(early, T0, LAST_MS)
    reply = early.post("/api/v1/events", json=described(EARLY_MS + 1, TrainingEndTime=EARLY_MS + 1))
    assert reply.status < 300, reply
    wait_for(early, T0, LAST_MS)
    assert job_of(early)["by_hand"] == {"end_ms": LAST_MS}


def test_an_end_by_hand_is_no_fact_to_those_who_go_on(quick):
    """A session goes on with a job of which somebody said that it ended sooner; what is set counts for its next end."""
    announce(quick)
    send_undated(quick)
    state(quick, "Completed")
    patch(quick, **HELD)
    opened = session(quick, resume=True)
    assert job_of(quick)["TrainingJobStatus"] == "InProgress"
    end(quick, opened, code=0, at_ms=int(time.time() * 1000))
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])


def test_an_end_by_hand_is_not_stated_again_by_who_states_the_same(quick):
    """An exit ended it: that it is Completed, told again without a time, is when the exit said, not when somebody set it."""
    announce(quick)
    send_undated(quick)
    ended_ms = int(time.time() * 1000)
    end(quick, session(quick), code=0, at_ms=ended_ms)
    wait_until(lambda: times(quick)[1] == ended_ms, what="the end of the exit")
    before = history(quick)
    patch(quick, **HELD)
    state(quick, "Completed")
    take_all_back(quick)
    assert history(quick) == before


def test_a_line_takes_a_presumed_stop_back_though_its_end_was_set(make_server):
    server = make_server("--stop-after", "1s")
    announce(server)
    server.send("j", past_log()[:6])
    wait_until(lambda: job_of(server).get("last_heard_ms"), what="the counts")
    state(server, "Stopping", time_ms=T0 + 5 * GAP_MS)
    wait_until(lambda: statuses(server)[-1] == "Stopped", what="the end")
    patch(server, end_ms=T0 + 4 * GAP_MS)
    server.send("j", past_log(6))
    wait_until(lambda: "took that back" in job_of(server)["SecondaryStatusTransitions"][-1]["StatusMessage"] or
        "took that back" in json.dumps(job_of(server)["SecondaryStatusTransitions"]), what="that it was heard")


def test_how_it_failed_is_told_whatever_its_end_was_set_to(quick):
    announce(quick)
    quick.send("j", ["step: 1 loss: 2.5", "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."])
    opened = session(quick)
    end(quick, opened, code=1)
    wait_until(lambda: ";" in job_of(quick).get("FailureReason", ""), what="the fault in the reason")
    reason = job_of(quick)["FailureReason"]
    patch(quick, **HELD)
    assert job_of(quick)["FailureReason"] == reason
    take_all_back(quick)
    assert job_of(quick)["FailureReason"] == reason


# ---- elsewhere ----


def carried(server, make_server):
    other = make_server("--goodput-every", "100ms")
    assert other.put("/api/v1/prices", json=PRICES).status == 200
    export = server.get("/api/v1/export?q=name%3Dj").raw
    reply = other.post("/api/v1/import", export, content_type="application/x-ndjson")
    assert reply.status < 300 and reply.body["imported"] == 1, reply
    assert other.get("/api/v1/export?q=name%3Dj").raw == export
    return other


@pytest.mark.parametrize("by_hand, start_ms, end_ms", [
    ({"end_ms": LAST_MS}, T0, LAST_MS), ({"start_ms": EARLY_MS - HOUR_MS}, EARLY_MS - HOUR_MS, EARLY_MS),
    ({"start_ms": T0 - GAP_MS, "end_ms": LAST_MS}, T0 - GAP_MS, LAST_MS)])
def test_what_was_set_is_set_elsewhere_and_is_taken_back_there(early, make_server, by_hand, start_ms, end_ms):
    before = history(early)
    patch(early, **by_hand)
    wait_for(early, start_ms, end_ms)
    other = carried(early, make_server)
    wait_for(other, start_ms, end_ms)
    assert froms(other) == froms(early) and history(other) == history(early)
    take_all_back(other)
    assert history(other) == before and times(other) == (0, EARLY_MS)


def test_times_of_last_year_are_carried_with_what_is_behind_them(quick, make_server):
    announce(quick)
    send_undated(quick)
    state(quick, "Completed")
    before = times(quick), history(quick)
    patch(quick, **HELD)
    wait_for(quick, HELD["start_ms"], HELD["end_ms"])
    other = carried(quick, make_server)
    wait_for(other, HELD["start_ms"], HELD["end_ms"])
    take_all_back(other)
    assert (times(other), history(other)) == before
