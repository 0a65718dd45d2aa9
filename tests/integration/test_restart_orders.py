"""What is stated of a job's breaks, and what it logs, come in any order: the same facts always give the same history and the same bill."""

import itertools

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import DOCUMENT, T0, history, line, state

PRICE = {"currency": "EUR", "prices": [
    {"instance": DOCUMENT["ResourceConfig"]["InstanceType"], "per_hour": 60, "from": "2025-01-01", "source": "a test"}]}
LOGS = {
    "1": [line(T0 + 10_000 * n, f"step: {n} loss: 2.5") for n in range(1, 51)],  # up to 500 s
    "b": [line(T0 + 525_000, "NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>"), line(T0 + 526_000, "waiting for peers")],
    "2": [line(T0 + 600_000 + 10_000 * (n - 40), f"step: {n} loss: 2.5") for n in range(41, 81)],  # from 610 s up to 1000 s
    "3": [line(T0 + 1_100_000 + 10_000 * (n - 75), f"step: {n} loss: 2.5") for n in range(76, 101)],  # from 1110 s up to 1350 s
}
STATED = {"T": ("Training", 0), "R": ("Restarting", 510), "I": ("Interrupted", 510), "s": ("Restarting", 540), "t": ("Restarting", 570),
    "S": ("Restarting", 1020), "C": ("Completed", 1010), "D": ("Completed", 1360)}


def tell(server, job, facts):
    for fact in facts:
        if fact in LOGS:
            server.send(job, LOGS[fact])
        elif fact == "E":
            status, at_s = STATED["R"]
            detail = {"TrainingJobName": job, "TrainingJobStatus": "InProgress", "SecondaryStatus": status, "LastModifiedTime": T0 + at_s * 1000,
                "SecondaryStatusTransitions": [{"Status": status, "StartTime": T0 + at_s * 1000, "StatusMessage": "spot"}]}
            reply = server.post("/api/v1/events", json={"detail-type": "SageMaker Training Job State Change", "detail": detail})
            assert reply.status == 200, reply
        elif fact == "w":
            server.wait_for_extraction()
        else:
            status, at_s = STATED[fact]
            reply = server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": T0 + at_s * 1000})
            assert reply.status in (200, 204), reply


def begin(server, jobs):
    assert server.put("/api/v1/prices", json=PRICE).status == 200
    for job, facts in jobs.items():
        resources = {**DOCUMENT["ResourceConfig"], "InstanceCount": 2}
        assert server.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": job, "ResourceConfig": resources}).status == 201
        tell(server, job, facts)
    server.wait_for_extraction()


def seconds_of(server, job):
    return [(status, (at_ms - T0) / 1000) for status, at_ms in history(server, job)]


def figures(server, job):
    row = server.get(f"/api/v1/jobs/{job}").body
    goodput = server.get(f"/api/v1/jobs/{job}/goodput").body
    return {
        "attempts": row["attempts"], "billable": row.get("BillableTimeInSeconds"), "cost": round(goodput["cost"]["total"], 2),
        "lost": round(goodput["cost"]["lost"], 2), "breaks": [(one["lost_steps"], one["restart_seconds"]) for one in goodput["breaks"]],
        "seconds": {name: bucket["seconds"] for name, bucket in goodput["buckets"].items() if bucket["seconds"]}}


def agree(server, jobs, statuses, expected):
    def others():
        return {facts: seconds_of(server, job) for job, facts in jobs.items() if seconds_of(server, job) != statuses}
    try:
        wait_until(lambda: not others(), timeout=20)
    except AssertionError:
        assert others() == {}
    for job, facts in jobs.items():
        assert figures(server, job) == expected, facts


def orders_of(facts, must=("12", "1b", "b2", "23")):
    """All orders in which what is of one stream keeps its own."""
    for order in itertools.permutations(facts):
        if all(order.index(pair[0]) < order.index(pair[1]) for pair in must if pair[0] in facts and pair[1] in facts):
            yield "".join(order)


@pytest.mark.parametrize("fact, status, billable, lost", [
    ("R", "Restarting", 1010, 7.00), ("I", "Interrupted", 910, 3.67), ("E", "Restarting", 1010, 7.00)])  # an interruption is not billed
def test_one_break_stands_where_it_was_whenever_it_is_told(server, fact, status, billable, lost):
    """Steps of ten seconds: 80 but for the first one behind the break (500 s to 610 s), and ten made again; 210 s x 2 nodes at 60 an hour."""
    jobs = {f"j{n}": order for n, order in enumerate(itertools.islice(orders_of(f"T1{fact}2C"), 0, None, 3 if fact == "R" else 7))}
    begin(server, jobs)
    agree(server, jobs, [("Training", 0), (status, 510), ("Training", 610), ("Completed", 1010)], {
        "attempts": 2, "billable": billable, "cost": round(billable * 2 * 60 / 3600, 2), "lost": lost, "breaks": [(10, 110)],
        "seconds": {"productive": 790, "redone": 100, "restart": 110, "idle": 10}})


def test_restartings_in_a_row_are_one_break_whatever_a_failed_start_prints(server):
    """Two starts fail: one before it prints anything, and one behind two lines. What stands between without a step is no training."""
    orders = ["T1rbst2C", "T1Rbst2C", "T1bRst2C", "T1bR2stC", "T1b2RstC", "T1b2tsRC", "T1b2wtwswRwC", "TRst1b2C", "CTRst1b2", "CtsR1b2T", "T1RwbwswtwC2",
        "1b2wTCRst", "RstT1wbw2wC"]
    jobs = {f"j{n}": order.replace("r", "R") for n, order in enumerate(orders)}
    begin(server, jobs)
    agree(server, jobs, [("Training", 0), ("Restarting", 510), ("Training", 610), ("Completed", 1010)], {
        "attempts": 2, "billable": 1010, "cost": 33.67, "lost": 7.00, "breaks": [(10, 110)],
        "seconds": {"productive": 790, "redone": 100, "restart": 110, "idle": 10}})


def test_steps_between_two_restartings_are_two_breaks_in_any_order(server):
    """It trained from 610 s to 1000 s, which nobody stated: 100 steps but for the first one behind each break, and 15 steps made again."""
    orders = ["T1R2S3D", "T12R3SD", "T123RSD", "T123SRD", "TRS123D", "DSRT123", "T1RS2w3D", "T1wRwSw2w3wD", "RSD1w2w3wT", "12wSw3DTwR"]
    jobs = {f"j{n}": order for n, order in enumerate(orders)}
    begin(server, jobs)
    agree(server, jobs, [("Training", 0), ("Restarting", 510), ("Training", 610), ("Restarting", 1020), ("Training", 1110), ("Completed", 1360)], {
        "attempts": 3, "billable": 1360, "cost": 45.33, "lost": 12.33, "breaks": [(10, 110), (5, 110)],
        "seconds": {"productive": 980, "redone": 150, "restart": 220, "idle": 10}})


LAGGING = {"interrupted": ["Interrupted"], "starting": ["Starting"], "failed": ["Failed", "Starting"]}


@pytest.mark.parametrize("lag_ms", [1, 500, 2_000, 21_000])
def test_a_status_that_lags_behind_the_first_steps_is_that_of_their_restart(server, lag_ms):
    """60 steps of 4 s, and 120 s later 41 to 100 again: the status of that comes behind step 41, while the next ones are made in time. By hand: 20
    steps lost, 120 s of restart; what the late status covers up to the next step is not made better. Of the last job the training broke off twice:
    its status comes in time for a second break, from which it goes on half a minute later."""
    first_ms = T0 + 60 * 4_000 + 124_000
    before = [line(T0 + 4_000 * n, f"step: {n} loss: 2.5") for n in range(1, 61)]
    behind = [line(first_ms + 4_000 * (n - 41), f"step: {n} loss: 2.5") for n in range(41, 101)]
    cut = lag_ms // 4_000 + 1
    again = [line(first_ms + lag_ms + 34_000 + 4_000 * (n - cut), f"step: {n + 41} loss: 2.5") for n in range(cut, 60)]
    say = lambda job, status, at_ms: server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status, "time_ms": at_ms})
    jobs = {**{order: ["Restarting"] for order in ("before", "between", "after")}, **LAGGING, "twice": ["Restarting"]}
    for job, statuses in jobs.items():
        resources = {**DOCUMENT["ResourceConfig"], "InstanceCount": 2}
        assert server.post("/api/v1/jobs", json={**DOCUMENT, "TrainingJobName": job, "ResourceConfig": resources}).status == 201
        late = [("Training", T0), *((status, first_ms + lag_ms + n) for n, status in enumerate(statuses)), ("Completed", first_ms + 59 * 4_000 + 40_000)]
        rest = again if job == "twice" else behind[cut:]
        steps = [lambda job=job, lines=lines: server.send(job, lines) for lines in (before + behind[:cut], rest)]
        told = [lambda job=job, one=one: say(job, *one) for one in late]
        for act in {"before": told + steps, "after": steps + told}.get(job, [told[0], steps[0], *told[1:-1], steps[1], told[-1]]):
            act()
    server.wait_for_extraction()
    expected = {job: (2, [(20, 120, "spot interruption" if job == "interrupted" else "unknown")]) for job in jobs}
    second_s = (lag_ms + 34_000 - 4_000 * (cut - 1)) / 1000  # from the last step before the status; it stands up to the next one
    expected["twice"] = (3, [(20, 120, "unknown"), (0, second_s, "unknown")])

    def found_of(job):
        breaks = server.get(f"/api/v1/jobs/{job}/goodput").body["breaks"]
        return server.get(f"/api/v1/jobs/{job}").body["attempts"], [(one["lost_steps"], one["restart_seconds"], one["cause"]) for one in breaks]

    def found():
        return {job: found_of(job) for job in jobs}
    try:
        wait_until(lambda: found() == expected, timeout=20)
    except AssertionError:
        assert found() == expected
